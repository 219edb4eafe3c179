//! What an agent hands over, keeps and forgets from one connection to the next, with a test in the coordinator's place.

mod allow;
mod questions;

use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::process::{Child, Command as Process, Stdio};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{TcpListenerStream, UnboundedReceiverStream};
use tonic::{Request, Response, Status, Streaming};
use vufleet_proto::v1::fleet_server::{Fleet, FleetServer};
use vufleet_proto::v1::{self, Command, Event, command, event::Body, phase};
use vufleet_scenarios::study::{self, Edits};

/// A test that waits for something that never comes fails instead of hanging.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("what was waited for never came")
}

/// An agent, and the streams that it opens.
struct Lab {
    agent: Child,
    streams: mpsc::UnboundedReceiver<Stream>,
}

impl Lab {
    async fn start() -> Lab {
        Lab::start_with(&["--roles", "drive", "--allow-control"]).await
    }

    async fn start_with(flags: &[&str]) -> Lab {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (opened, streams) = mpsc::unbounded_channel();
        let router = tonic::transport::Server::builder().add_service(FleetServer::new(Door { opened }));
        tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
        let agent = Process::new(env!("CARGO_BIN_EXE_vufleet-agent"))
            .args(["--coordinator", &url, "--name", "a"])
            .args(flags)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Lab { agent, streams }
    }

    async fn stream(&mut self) -> Stream {
        soon(self.streams.recv()).await.unwrap()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.agent.kill().ok();
        self.agent.wait().ok();
    }
}

struct Door {
    opened: mpsc::UnboundedSender<Stream>,
}

#[tonic::async_trait]
impl Fleet for Door {
    type JoinStream = Pin<Box<dyn tokio_stream::Stream<Item = Result<Command, Status>> + Send>>;

    async fn join(&self, request: Request<Streaming<Event>>) -> Result<Response<Self::JoinStream>, Status> {
        let (commands, outgoing) = mpsc::unbounded_channel();
        self.opened.send(Stream { events: request.into_inner(), commands }).unwrap();
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(outgoing))))
    }
}

/// One connection of the agent, closed when dropped.
struct Stream {
    events: Streaming<Event>,
    commands: mpsc::UnboundedSender<Result<Command, Status>>,
}

impl Stream {
    fn say(&self, body: command::Body) {
        self.commands.send(Ok(Command { body: Some(body) })).unwrap();
    }

    /// Greets as the coordinator of a ledger that has the agent's events up to `last_seq`.
    fn welcome(&self, ledger: u64, last_seq: u64) {
        self.welcome_by(ledger, ledger, last_seq);
    }

    /// The same as one of several coordinators that a ledger has had.
    fn welcome_by(&self, coordinator: u64, ledger: u64, last_seq: u64) {
        let lease_ns = 60_000_000_000;
        self.say(command::Body::Welcome(v1::Welcome { lease_ns, last_seq, coordinator, ledger, ..Default::default() }));
    }

    /// Orders a run that the agent cannot make: that it says so is an event.
    fn order_nonsense(&self, run: u64) {
        self.say(command::Body::Prepare(v1::Prepare { run, study: "nonsense".to_owned(), ..Default::default() }));
    }

    /// Orders a run that it can make.
    fn order(&self, run: u64) {
        let study = study::read(STUDY, &Edits::default()).unwrap();
        let drive = Some(v1::Drive { first_vu: 0, vus: 2, total_vus: 2 });
        let (study, digest, profile) = (study.text.clone(), study.digest.clone(), study.profiles[0].id.clone());
        let interval_ns = 100_000_000;
        self.say(command::Body::Prepare(v1::Prepare {
            run,
            study,
            digest,
            profile,
            drive,
            interval_ns,
            ..Default::default()
        }));
    }

    /// Hands over what undoes the variant of a run: a row that vanishes.
    fn hold(&self, run: u64, file: &Path) {
        let target = format!("kind = 'sqlite'\npath = '{}'", file.display());
        let study = STUDY.replace("kind = 'simulated'", &target);
        let body = Some(v1::step::Body::Sql("DELETE FROM variant".to_owned()));
        self.say(command::Body::Hold(v1::Hold { run, study, steps: vec![v1::Step { body }], ..Default::default() }));
    }

    /// What the next heartbeat says is held.
    async fn held(&mut self) -> Vec<u64> {
        loop {
            if let Some(Body::Heartbeat(heartbeat)) = self.next().await.body {
                return heartbeat.holds;
            }
        }
    }

    /// Run and error of the next variant that the agent has undone.
    async fn undone(&mut self) -> (u64, String) {
        loop {
            let event = self.next().await;
            if let Some(Body::Undone(undone)) = event.body {
                return (event.run, undone.error);
            }
        }
    }

    async fn next(&mut self) -> Event {
        soon(self.events.message()).await.unwrap().expect("the agent is connected")
    }

    /// So many events that are to be recorded: sequence number, run, and step of the run.
    async fn recorded(&mut self, count: usize) -> Vec<(u64, u64, phase::Kind)> {
        let mut recorded = Vec::new();
        while recorded.len() < count {
            let event = self.next().await;
            if let Some(Body::Phase(phase)) = event.body {
                recorded.push((event.seq, event.run, phase.kind()));
            }
        }
        recorded
    }

    /// Lets the agent be for as long as two heartbeats take, in which nothing is to be recorded.
    async fn expect_silence(&mut self) {
        let mut heartbeats = 0;
        while heartbeats < 2 {
            let event = self.next().await;
            assert_eq!(event.seq, 0, "{event:?}");
            heartbeats += u32::from(matches!(event.body, Some(Body::Heartbeat(_))));
        }
    }
}

const STUDY: &str = "name = 'uplink'\nseed = 1\n[target]\nkind = 'simulated'\n[workload]\nkind = 'oltp'\n\
                     script = 'point_select'\n[[profiles]]\nvus = 2\n[schedule]\nmeasure = '60s'\n";

const FAILED: phase::Kind = phase::Kind::Failed;

/// The newest event came first on a new connection, passed for the last of all, and the older ones were never recorded.
#[tokio::test]
async fn after_a_reconnect_everything_waits_for_the_welcome_and_goes_out_in_order() {
    let mut lab = Lab::start().await;
    let mut first = lab.stream().await;
    first.welcome(7, 0);
    (1..=3).for_each(|run| first.order_nonsense(run));
    assert_eq!(first.recorded(3).await, [(1, 1, FAILED), (2, 2, FAILED), (3, 3, FAILED)]);
    drop(first);

    let mut second = lab.stream().await;
    second.order_nonsense(4);
    second.expect_silence().await;
    second.welcome(7, 1);
    assert_eq!(second.recorded(3).await, [(2, 2, FAILED), (3, 3, FAILED), (4, 4, FAILED)]);
}

/// Run 1 of one ledger is not run 1 of another.
#[tokio::test]
async fn another_ledger_gets_nothing_of_what_was_done_for_the_last_one() {
    let mut lab = Lab::start().await;
    let mut first = lab.stream().await;
    first.welcome(7, 0);
    first.order(1);
    let (_, run, step) = first.recorded(1).await[0];
    assert_eq!((run, step), (1, phase::Kind::Prepared));
    drop(first);

    let mut second = lab.stream().await;
    second.welcome(8, 0);
    second.expect_silence().await;
    second.order_nonsense(1);
    assert_eq!(second.recorded(1).await, [(1, 1, FAILED)]);
}

/// A database whose variant is on, and whether it still is.
struct Varied {
    directory: tempfile::TempDir,
}

impl Varied {
    fn new() -> Varied {
        let varied = Varied { directory: tempfile::tempdir().unwrap() };
        varied.open().execute_batch("CREATE TABLE variant (id INTEGER); INSERT INTO variant VALUES (1)").unwrap();
        varied
    }

    fn file(&self) -> std::path::PathBuf {
        self.directory.path().join("varied.db")
    }

    fn open(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }

    fn is_on(&self) -> bool {
        self.open().query_row("SELECT count(*) FROM variant", [], |row| row.get::<_, i64>(0)).unwrap() == 1
    }

    async fn off(&self) {
        let off = async {
            while self.is_on() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon(off).await;
    }
}

/// An agent that keeps what undoes the variant of run 5 for coordinator 7 with ledger 70.
async fn holding(varied: &Varied) -> (Lab, Stream) {
    let mut lab = Lab::start().await;
    let mut first = lab.stream().await;
    first.welcome_by(7, 70, 0);
    first.hold(5, &varied.file());
    while first.held().await != [5] {}
    (lab, first)
}

#[tokio::test]
async fn a_variant_is_kept_through_a_reconnect_and_undone_for_the_next_coordinator() {
    let varied = Varied::new();
    let (mut lab, first) = holding(&varied).await;
    drop(first);

    let mut again = lab.stream().await;
    again.welcome_by(7, 70, 0);
    assert_eq!(again.held().await, [5]);
    assert!(varied.is_on(), "its coordinator is there");
    drop(again);

    let mut next = lab.stream().await;
    next.welcome_by(8, 70, 0);
    assert_eq!(next.undone().await, (5, String::new()));
    assert!(!varied.is_on());
    while !next.held().await.is_empty() {}
}

#[tokio::test]
async fn a_variant_that_is_released_stays_as_it_is() {
    let varied = Varied::new();
    let mut lab = Lab::start().await;
    let first = lab.stream().await;
    first.welcome_by(7, 70, 0);
    first.hold(5, &varied.file());
    first.say(command::Body::Release(v1::Release { run: 5 }));
    drop(first);
    let mut next = lab.stream().await;
    next.welcome_by(8, 70, 0);
    next.expect_silence().await;
    assert!(varied.is_on());
}

/// Its run's number is another run's in another ledger.
#[tokio::test]
async fn a_variant_of_another_ledger_is_undone_without_a_word() {
    let varied = Varied::new();
    let (mut lab, first) = holding(&varied).await;
    drop(first);
    let mut next = lab.stream().await;
    next.welcome_by(8, 80, 0);
    next.expect_silence().await;
    varied.off().await;
    next.expect_silence().await;
}

#[tokio::test]
async fn an_agent_that_is_told_to_end_undoes_its_variants_first() {
    let varied = Varied::new();
    let (lab, mut first) = holding(&varied).await;
    let pid = nix::unistd::Pid::from_raw(lab.agent.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(first.undone().await, (5, String::new()));
    assert!(!varied.is_on());
}
