//! Whoever else finds the coordinator's port: nothing that they say changes anything.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::lab::fleet::{Coordinator, agent, listed};
use super::lab::{Lab, files, study};

/// What a TLS client says first, cut off in the middle.
const HALF_A_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03half of a client hello";
/// How an HTTP/2 client begins, with a frame that is longer than any may be.
const PREFACE_AND_NONSENSE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x04\x00\x00\x00\x00\x00";

fn say(address: &str, words: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(words).unwrap();
    stream
}

#[test]
fn strangers_on_the_port_change_nothing() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "");
    let address = coordinator.address();
    let _agent = agent(&lab, &coordinator, "drive,observe", "one");
    let mut job = lab.start(&format!("run study.toml --coordinator {} --out out", coordinator.url));
    lab.await_load(&mut job, 1, 1);

    let garbage: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let mut open = vec![say(address, b""), say(address, HALF_A_HELLO), say(address, PREFACE_AND_NONSENSE)];
    for _ in 0..50 {
        open.push(say(address, b""));
        drop(say(address, HALF_A_HELLO));
    }
    // It may hang up before it has heard all of it.
    TcpStream::connect(address).unwrap().write_all(&garbage).ok();
    let mut browser = say(address, b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n");
    browser.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut answer = Vec::new();
    browser.read_to_end(&mut answer).ok();
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));

    job.end().expect(0);
    let results = files::results(&lab.path("out"));
    assert!(!files::story(&results).contains("was lost"), "{}", files::story(&results));
    assert_eq!(listed(&lab, &coordinator.url).len(), 2, "a heading and one agent");
    drop(open);
}
