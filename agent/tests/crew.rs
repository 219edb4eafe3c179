//! A crew as its agent commands it, without a coordinator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use secrecy::SecretString;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use vufleet_agent::clock::CommonClock;
use vufleet_agent::crew::{Crew, CrewPlan};
use vufleet_agent::outbox::Outlet;
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::phase::Kind;
use vufleet_proto::v1::{Interval, Phase};
use vufleet_scenarios::study::{self, Edits};
use vufleet_testbed::MariaDb;

/// A crew on a target that does not exist.
fn plan(vus: u32, threads: usize) -> CrewPlan {
    plan_on("kind = 'simulated'\nservice_time = '1ms'", vus, threads)
}

fn plan_on(target: &str, vus: u32, threads: usize) -> CrewPlan {
    let mut study = study::read(
        &format!(
            "name = 'crew'\nseed = 1\n[target]\n{target}\n[workload]\nkind = 'oltp'\nscript = 'point_select'\n\
             tables = 1\ntable_size = 10\n[[profiles]]\nvus = {vus}\n[schedule]\nmeasure = '1s'\n\
             connect_rate = 1000000\n"
        ),
        &Edits::default(),
    )
    .unwrap();
    study.target.password = Some(SecretString::from(MariaDb::BENCH.password));
    CrewPlan {
        profile: study.profiles[0].clone(),
        study: Arc::new(study),
        first_vu: 0,
        vus,
        total_vus: vus,
        run: 1,
        run_key: 1,
        interval: Duration::from_millis(100),
        limit: None,
        threads,
        opening: None,
    }
}

/// The next interval, whatever else comes.
async fn interval(inbox: &mut UnboundedReceiver<(u64, Body)>) -> Interval {
    loop {
        if let Body::Interval(interval) = inbox.recv().await.expect("the crew is at work").1 {
            return interval;
        }
    }
}

/// The next step of the crew that it was ordered to take; when its load began is told beside them. A test that waits for one that never comes fails instead of hanging.
async fn phase(inbox: &mut UnboundedReceiver<(u64, Body)>, intervals: &mut Vec<Interval>) -> Phase {
    let next = async {
        loop {
            match inbox.recv().await.expect("the crew is at work").1 {
                Body::Phase(phase) if phase.kind() == Kind::Started => {}
                Body::Phase(phase) => return phase,
                Body::Interval(interval) => intervals.push(interval),
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), next).await.expect("the crew says what it has done")
}

/// Users that connected at the same moment made their thread say so twice, and the load began without the others.
#[tokio::test]
async fn connected_means_all_of_them() {
    for _ in 0..20 {
        let (outlet, mut inbox) = Outlet::new();
        let crew = Crew::muster(&plan(64, 4), CommonClock::default(), outlet).unwrap();
        crew.connect();
        let mut intervals = Vec::new();
        let connected = phase(&mut inbox, &mut intervals).await;
        assert_eq!((connected.kind(), connected.sessions), (Kind::Connected, 64));
        assert_eq!(connected.message, "simulated");
        crew.start(Instant::now());
        crew.stop(Duration::from_secs(5));
        let stopped = phase(&mut inbox, &mut intervals).await;
        assert_eq!((stopped.kind(), stopped.sessions), (Kind::Stopped, 0));
        assert!(inbox.recv().await.is_none(), "nothing is told twice");
    }
}

/// Each attempt had a deadline of its own, and a transaction outlasted its own ten times over.
#[tokio::test]
async fn all_attempts_at_a_transaction_share_its_deadline() {
    let target = "kind = 'simulated'\nservice_time = '100ms'\nfaults = { lock_timeout = 1.0 }\ndeadline = '250ms'";
    let (outlet, mut inbox) = Outlet::new();
    let plan = CrewPlan { limit: Some(1), ..plan_on(target, 1, 1) };
    let crew = Crew::muster(&plan, CommonClock::default(), outlet).unwrap();
    crew.connect();
    let mut intervals = Vec::new();
    assert_eq!(phase(&mut inbox, &mut intervals).await.kind(), Kind::Connected);
    crew.start(Instant::now());
    assert_eq!(phase(&mut inbox, &mut intervals).await.kind(), Kind::Finished);
    crew.stop(Duration::ZERO);
    assert_eq!(phase(&mut inbox, &mut intervals).await.kind(), Kind::Stopped);
    let counts = || intervals.iter().flat_map(|interval| &interval.kinds);
    assert_eq!(counts().map(|kind| kind.failed).sum::<u64>(), 1);
    let retries = counts().map(|kind| kind.retries).sum::<u64>();
    assert!(retries <= 2, "{retries} retries of 100 ms each");
}

fn on_mariadb(port: u16) -> String {
    format!(
        "kind = 'mysql'\nhost = '127.0.0.1'\nport = {port}\ndatabase = '{}'\nuser = '{}'\ntls = 'disabled'",
        MariaDb::DATABASE,
        MariaDb::BENCH.user
    )
}

/// A server with the table that the virtual users read.
fn server() -> MariaDb {
    let server = MariaDb::start().unwrap();
    server.sql("CREATE TABLE sbtest.sbtest1 (id int PRIMARY KEY, k int, c char(120), pad char(60))").unwrap();
    server
}

/// Transactions that ended in the next interval.
async fn transactions(inbox: &mut UnboundedReceiver<(u64, Body)>) -> u64 {
    loop {
        match inbox.recv().await.expect("the crew is at work").1 {
            Body::Interval(interval) => return interval.kinds.iter().map(|kind| kind.ok).sum(),
            Body::Phase(phase) if phase.kind() == Kind::Started => {}
            Body::Phase(phase) => panic!("{:?}: {}", phase.kind(), phase.message),
            _ => {}
        }
    }
}

/// Sessions were stopped one after the other, two seconds each, before the first was dropped.
#[tokio::test]
async fn a_server_that_freezes_does_not_hold_up_the_end() {
    vufleet_agent::session::install_tls_provider();
    let server = server();
    let (outlet, mut inbox) = Outlet::new();
    let crew = Crew::muster(&plan_on(&on_mariadb(server.port()), 64, 2), CommonClock::default(), outlet).unwrap();
    crew.connect();
    let mut intervals = Vec::new();
    assert_eq!(phase(&mut inbox, &mut intervals).await.kind(), Kind::Connected);
    crew.start(Instant::now());
    while transactions(&mut inbox).await == 0 {}
    kill(Pid::from_raw(server.pid().unwrap().cast_signed()), Signal::SIGSTOP).unwrap();
    // Every session waits for an answer now.
    while transactions(&mut inbox).await > 0 {}
    crew.stop(Duration::ZERO);
    // In less than the minute that this waits; one after the other it took two.
    assert_eq!(phase(&mut inbox, &mut intervals).await.kind(), Kind::Stopped);
}

/// Hands connections on to a server, but for the first ones, which it closes at once.
async fn moody_door(server: u16, refusals: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        for count in 0.. {
            let (mut inner, _) = listener.accept().await.unwrap();
            if count >= refusals {
                let mut outer = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                tokio::spawn(async move { tokio::io::copy_bidirectional(&mut inner, &mut outer).await });
            }
        }
    });
    port
}

/// One connection in ten thousand that was not answered in time ended the whole study.
#[tokio::test]
async fn a_connection_that_broke_while_it_was_made_is_made_again() {
    vufleet_agent::session::install_tls_provider();
    let server = server();
    let door = moody_door(server.port(), 4).await;
    let (outlet, mut inbox) = Outlet::new();
    let crew = Crew::muster(&plan_on(&on_mariadb(door), 8, 2), CommonClock::default(), outlet).unwrap();
    crew.connect();
    let connected = phase(&mut inbox, &mut Vec::new()).await;
    assert_eq!((connected.kind(), connected.sessions), (Kind::Connected, 8), "{}", connected.message);
}

/// Whoever waits for the stop counts the way to the coordinator and back as time of the transactions.
#[tokio::test]
async fn the_last_of_counted_transactions_ends_the_interval() {
    let hour = Duration::from_secs(3_600);
    let (outlet, mut inbox) = Outlet::new();
    let counted = CrewPlan { limit: Some(3), interval: hour, ..plan(8, 3) };
    let crew = Crew::muster(&counted, CommonClock::default(), outlet).unwrap();
    crew.connect();
    let mut intervals = Vec::new();
    assert_eq!(phase(&mut inbox, &mut intervals).await.kind(), Kind::Connected);
    crew.start(Instant::now());
    assert_eq!(phase(&mut inbox, &mut intervals).await.kind(), Kind::Finished);
    let interval = tokio::time::timeout(Duration::from_secs(60), interval(&mut inbox)).await;
    let interval = interval.expect("it comes by itself, long before an hour is over");
    assert_eq!(interval.kinds[0].ok, 24);
    let length = Duration::from_nanos(interval.end_ns - interval.start_ns);
    assert!(length < hour / 2, "{length:?}");
}
