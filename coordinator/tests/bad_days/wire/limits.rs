//! Where limits are reached, others are served as before.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use vufleet_trust::identity::Role;

use super::certs::{Certs, listed};
use super::floods::{descriptors, from_elsewhere, headers_cut_off};
use crate::lab::fleet::{Coordinator, listed as listed_plainly};
use crate::lab::{Lab, eventually, study};

/// Whether the other side has hung up, soon.
fn is_hung_up_on(stream: &mut impl Read) -> bool {
    loop {
        match stream.read(&mut [0; 4_096]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => {
                return !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_takes_all_places_takes_its_own() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let coordinator = certs.coordinator(&lab, "");
    let operator = certs.good(&lab, Role::Operator, "alice");
    let address = coordinator.url.strip_prefix("https://").unwrap().to_owned();
    let before = descriptors(&coordinator.job);
    let mut crowd = Vec::new();
    for _ in 0..400 {
        crowd.push(from_elsewhere(&address).await.unwrap());
    }
    tokio::task::block_in_place(|| {
        listed(&lab, &coordinator.url, &operator);
        assert!(descriptors(&coordinator.job) <= before + 256 + 3, "no more than may be in their handshake");
    });
    let mut coordinator = coordinator;
    coordinator.job.await_words("256 handshakes of its address are under way");
    tokio::task::block_in_place(|| eventually("all are dropped", || descriptors(&coordinator.job) <= before));
}

#[test]
fn who_stops_in_the_middle_of_its_words_is_dropped() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "");
    for words in [&b""[..], b"PRI * HT", &headers_cut_off()] {
        let mut socket = TcpStream::connect(coordinator.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        std::io::Write::write_all(&mut socket, words).unwrap();
        let begun = Instant::now();
        assert!(is_hung_up_on(&mut socket), "after {:?}: {words:?}", begun.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_without_descriptors_recovers() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let mut command = std::process::Command::new("/bin/sh");
    let line = format!("ulimit -n 40; exec {} coordinator --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_vufleet"));
    command.args(["-c", &line]);
    let coordinator = Coordinator::of(lab.spawn(command));
    let mut crowd = Vec::new();
    for _ in 0..100 {
        let socket = tokio::net::TcpStream::connect(coordinator.address().parse::<SocketAddr>().unwrap());
        crowd.push(socket.await.unwrap());
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(crowd);
    tokio::task::block_in_place(|| {
        eventually("it accepts again", || lab.run(&format!("agents --coordinator {}", coordinator.url)).code == 0);
        assert_eq!(listed_plainly(&lab, &coordinator.url).len(), 1);
    });
}
