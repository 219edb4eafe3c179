//! What scanners, fuzzers and broken peers do to a coordinator while a study runs: the study ends valid, and memory and
//! descriptors are given back.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use vufleet_proto::v1::{ClockProbe, Event, Hello, event, fleet_client::FleetClient};
use vufleet_trust::address::Security;
use vufleet_trust::authority::Pair;
use vufleet_trust::client;
use vufleet_trust::identity::{Identity, Role};
use vufleet_trust::validity::Validity;

use super::certs::{Certs, pair};
use super::raw::{self, PREFACE};
use crate::lab::fleet::{Coordinator, agent};
use crate::lab::{Job, Lab, eventually, files, study};

const SEED: u64 = 6;
/// Bytes of memory that may stay behind: the allocator keeps some of what it once had.
const KEPT: u64 = 64 << 20;

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A port that is tormented, and certificates to get in by.
struct Victim {
    address: String,
    /// None: it is plaintext.
    pairs: Option<[Pair; 2]>,
}

impl Victim {
    fn socket(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    }

    /// Inside, where it has let an agent or an operator in.
    fn inside(&self, role: Role) -> Box<dyn Stream> {
        let Some([agent, operator]) = &self.pairs else { return Box::new(self.socket()) };
        let pair = if role == Role::Agent { agent } else { operator };
        let shown = Some((pair.certificate_pem(), pair.key_pem()));
        Box::new(raw::connect(&self.address, shown, &rustls::version::TLS13, b"h2"))
    }

    /// Says something, and hears what comes of it. That it is hung up on is what may happen.
    fn say(&self, role: Role, words: &[u8]) {
        let mut stream = self.inside(role);
        let said = stream.write_all(words).and_then(|()| stream.flush()).and_then(|()| stream.read(&mut [0; 4_096]));
        said.map(drop).unwrap_or_else(|error| assert_ne!(error.kind(), io::ErrorKind::InvalidInput));
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Headers of a call, none of them compressed (RFC 7541, 6.2.2).
fn headers(path: &str, extra: &[(&str, &str)]) -> Vec<u8> {
    let call = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "lab")];
    let mut block = Vec::new();
    for (name, value) in call.iter().chain(&[("content-type", "application/grpc"), ("te", "trailers")]).chain(extra) {
        block.push(0);
        for text in [name, value] {
            let length = text.len();
            if length < 127 {
                block.push(length as u8);
            } else {
                block.push(127);
                let mut rest = length - 127;
                while rest >= 128 {
                    block.push((rest % 128) as u8 | 128);
                    rest /= 128;
                }
                block.push(rest as u8);
            }
            block.extend(text.bytes());
        }
    }
    block
}

fn call(path: &str, body: &[u8]) -> Vec<u8> {
    [PREFACE, &frame(1, 4, 1, &headers(path, &[])), &frame(0, 1, 1, body)].concat()
}

fn random(random: &mut StdRng, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; random.random_range(0..most)];
    random.fill_bytes(&mut bytes);
    bytes
}

/// Headers that are said to go on, and do not.
pub fn headers_cut_off() -> Vec<u8> {
    [PREFACE, &frame(1, 0, 1, &headers(JOIN, &[]))].concat()
}

const JOIN: &str = "/vufleet.v1.Fleet/Join";

/// Everything that a fuzzer does, from one seed.
fn torment(victim: &Victim) {
    let mut dice = StdRng::seed_from_u64(SEED);
    let hello: Vec<u8> =
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".iter().copied().chain(random(&mut dice, 300)).collect();
    for _ in 0..100 {
        // Bytes at the door: any, the beginning of a TLS hello, HTTP/1.
        let cut = dice.random_range(1..hello.len());
        for words in [random(&mut dice, 3_000), hello[..cut].to_vec(), b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n".to_vec()]
        {
            victim.socket().write_all(&words).unwrap_or_default();
        }
        // Inside: frames of nonsense, protobuf of nonsense.
        let (kind, flags) = (dice.random_range(0..12), dice.random_range(0..=255));
        let nonsense = frame(kind, flags, dice.random_range(0..4), &random(&mut dice, 500));
        victim.say(Role::Operator, &[PREFACE, &nonsense].concat());
        let message = random(&mut dice, 500);
        let prefixed = [&[0][..], &(message.len() as u32).to_be_bytes(), &message].concat();
        victim.say(Role::Agent, &call(JOIN, &prefixed));
        for method in ["Agents", "Submit", "Stop", "Study"] {
            victim.say(Role::Operator, &call(&format!("/vufleet.v1.Operator/{method}"), &prefixed));
        }
    }
    // A message of 4 GiB, headers of a megabyte, calls that are taken back at once, pings without end.
    victim.say(Role::Agent, &call(JOIN, &[0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]));
    let huge = "x".repeat(1 << 20);
    let block = headers(JOIN, &[("x", &huge)]);
    let mut pieces = block.chunks(16_000);
    let mut words = [PREFACE, &frame(1, 0, 1, pieces.next().unwrap())].concat();
    pieces.for_each(|piece| words.extend(frame(9, 0, 1, piece)));
    victim.say(Role::Agent, &words);
    let opened = headers(JOIN, &[]);
    let resets =
        (0..5_000).flat_map(|n| [frame(1, 4, 2 * n + 1, &opened), frame(3, 0, 2 * n + 1, &[0, 0, 0, 8])].concat());
    victim.say(Role::Agent, &PREFACE.iter().copied().chain(resets).collect::<Vec<_>>());
    let pings = (0..50_000).flat_map(|_| frame(6, 0, 0, &[7; 8]));
    victim.say(Role::Operator, &PREFACE.iter().copied().chain(pings).collect::<Vec<_>>());
}

/// Connections of another address of this host, so that what it uses up is its own.
pub async fn from_elsewhere(address: &str) -> io::Result<tokio::net::TcpStream> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind("127.0.0.66:0".parse().unwrap())?;
    socket.connect(address.parse::<SocketAddr>().unwrap()).await
}

/// A scan, 500 that say nothing, and 50 that say a byte now and then.
async fn crowd(address: &str) {
    use tokio::io::AsyncWriteExt;
    for _ in 0..500 {
        drop(from_elsewhere(address).await.unwrap());
    }
    let mut idle = Vec::new();
    for _ in 0..500 {
        idle.push(from_elsewhere(address).await.unwrap());
    }
    for byte in &PREFACE[..8] {
        for slow in idle.iter_mut().take(50) {
            slow.write_all(&[*byte]).await.unwrap_or_default();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    drop(idle);
}

pub fn descriptors(job: &Job) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", job.pid())).unwrap().count()
}

fn memory(job: &Job) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", job.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

fn bears_it(lab: &Lab, coordinator: Coordinator, victim: &Victim, certs: &str) {
    let run = format!("run study.toml --coordinator {} {certs} --set schedule.measure=15s --out out", coordinator.url);
    let mut job = lab.start(&run);
    lab.await_load(&mut job, 1, 1);
    let (open, held) = (descriptors(&coordinator.job), memory(&coordinator.job));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| runtime.block_on(crowd(&victim.address)));
        torment(victim);
    });
    job.end().expect(0);
    let results = files::results(&lab.path("out"));
    assert!(!files::story(&results).contains("was lost"), "{}", files::story(&results));
    eventually("descriptors are given back", || descriptors(&coordinator.job) <= open + 2);
    let kept = memory(&coordinator.job).saturating_sub(held);
    assert!(kept < KEPT, "{kept} bytes stayed behind");
    let log = coordinator.job.err();
    assert!(
        log.contains("more refusals are not told") || log.matches("refused ").count() <= 60,
        "a scan fills the log:\n{log}"
    );
    assert!(log.len() < 100_000, "{} bytes of log", log.len());
    assert!(!log.contains("panicked"), "{log}");
    lab.run(&format!("agents --coordinator {} {certs}", coordinator.url)).expect(0);
}

#[test]
fn a_study_in_plaintext_bears_scans_and_nonsense() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "");
    let _agent = agent(&lab, &coordinator, "drive,observe", "one");
    let victim = Victim { address: coordinator.address().to_owned(), pairs: None };
    bears_it(&lab, coordinator, &victim, "");
}

#[test]
fn a_study_over_tls_bears_scans_and_nonsense() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let coordinator = certs.coordinator(&lab, "");
    let _agent = certs.agent(&lab, &coordinator, "drive,observe", "one");
    let of = |role| pair(&certs.ours, role, Identity::ANY, Validity::days(9));
    let address = coordinator.url.strip_prefix("https://").unwrap().to_owned();
    let victim = Victim { address, pairs: Some([of(Role::Agent), of(Role::Operator)]) };
    let operator = format!("--certs {}", certs.good(&lab, Role::Operator, "alice").display());
    bears_it(&lab, coordinator, &victim, &operator);
}

async fn joined(
    url: &str,
    certs: PathBuf,
    events: tokio::sync::mpsc::Receiver<Event>,
) -> tonic::Streaming<vufleet_proto::v1::Command> {
    let endpoint = tonic::transport::Endpoint::from_shared(url.to_owned()).unwrap();
    let channel = client::connect(&endpoint, &Security::Certificates(certs), Role::Agent).await.unwrap();
    let events = tokio_stream::wrappers::ReceiverStream::new(events);
    FleetClient::new(channel).join(events).await.unwrap().into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_takes_no_answers_is_cut_off() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let mut coordinator = certs.coordinator(&lab, "");
    let (events, outgoing) = tokio::sync::mpsc::channel(64);
    let hello = Hello { protocol: vufleet_proto::PROTOCOL, name: "a".to_owned(), boot: 1, ..Default::default() };
    events.send(Event { body: Some(event::Body::Hello(hello)), ..Default::default() }).await.unwrap();
    let _unread = joined(&coordinator.url, certs.good(&lab, Role::Agent, "a"), outgoing).await;
    let mut sent = 0;
    let probe = || Event { body: Some(event::Body::ClockProbe(ClockProbe { sent_ns: 1 })), ..Default::default() };
    while events.send(probe()).await.is_ok() {
        sent += 1;
        assert!(sent < 1_000_000, "it is never cut off");
    }
    coordinator.job.await_words("it is cut off");
    coordinator.job.await_words("left agent=\"a\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_joins_and_says_nothing_is_dropped() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let coordinator = certs.coordinator(&lab, "");
    let (_silent, outgoing) = tokio::sync::mpsc::channel::<Event>(1);
    let before = descriptors(&coordinator.job);
    let endpoint = tonic::transport::Endpoint::from_shared(coordinator.url.clone()).unwrap();
    let security = Security::Certificates(certs.good(&lab, Role::Agent, "a"));
    let channel = client::connect(&endpoint, &security, Role::Agent).await.unwrap();
    let events = tokio_stream::wrappers::ReceiverStream::new(outgoing);
    let refusal = FleetClient::new(channel.clone()).join(events).await.unwrap_err();
    assert!(refusal.message().contains("within 10 s"), "{refusal}");
    tokio::task::block_in_place(|| eventually("it is hung up on", || descriptors(&coordinator.job) <= before));
}
