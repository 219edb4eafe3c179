//! What an agent hands over, keeps and forgets from one connection to the next, with a test in the coordinator's place.

use std::net::SocketAddr;
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
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (opened, streams) = mpsc::unbounded_channel();
        let router = tonic::transport::Server::builder().add_service(FleetServer::new(Door { opened }));
        tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
        let agent = Process::new(env!("CARGO_BIN_EXE_vufleet-agent"))
            .args(["--coordinator", &url, "--roles", "drive", "--name", "a"])
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
        let lease_ns = 60_000_000_000;
        self.say(command::Body::Welcome(v1::Welcome {
            lease_ns,
            last_seq,
            coordinator: ledger,
            ledger,
            ..Default::default()
        }));
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
