//! What the recorder says of a crew, against what went over its connections: commands counted, errors read and transactions timed
//! between the virtual users and the server, by somebody who knows the protocol and nothing else.
//!
//! The clock between them starts when a transaction's first byte has come and stops before its last one is handed on: no
//! transaction may be recorded as shorter than that.

mod tap;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use tokio::sync::mpsc::UnboundedReceiver;
use vufleet_agent::clock::CommonClock;
use vufleet_agent::crew::{Crew, CrewPlan};
use vufleet_agent::outbox::Outlet;
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::phase::Kind;
use vufleet_proto::v1::{FaultKind, Interval};
use vufleet_scenarios::study::{self, Edits};
use vufleet_testbed::MariaDb;

use tap::{Seen, Tap};

/// By how much a median may be recorded as longer: the ways of the first byte to the tap and of the last one from it, on a busy
/// machine.
const ALLOWANCE: Duration = Duration::from_millis(4);

/// A server with the table of the OLTP workload.
fn server(rows: u32) -> MariaDb {
    let server = MariaDb::start().unwrap();
    let create = "CREATE TABLE sbtest.sbtest1 (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, c CHAR(120) NOT NULL, \
                  pad CHAR(60) NOT NULL, KEY k_1 (k))";
    let insert =
        format!("INSERT INTO sbtest.sbtest1 SELECT seq, seq, REPEAT('c', 119), 'pad' FROM sbtest.seq_1_to_{rows}");
    server.sql(&format!("{create}; {insert}")).unwrap();
    server
}

fn plan(tap: &Tap, workload: &str, vus: u32, limit: u64) -> CrewPlan {
    let text = format!(
        "name = 'capture'\nseed = 3\n[target]\nkind = 'mysql'\nsocket = '{}'\ndatabase = '{}'\nuser = '{}'\n[workload]\n\
         {workload}\n[[profiles]]\nvus = {vus}\n[schedule]\nmeasure = '1s'\nconnect_rate = 1000000\n",
        tap.socket().display(),
        MariaDb::DATABASE,
        MariaDb::BENCH.user
    );
    let mut study = study::read(&text, &Edits::default()).unwrap();
    study.target.password = Some(MariaDb::BENCH.password.to_owned().into());
    CrewPlan {
        profile: study.profiles[0].clone(),
        study: Arc::new(study),
        first_vu: 0,
        vus,
        total_vus: vus,
        run: 1,
        run_key: 1,
        interval: Duration::from_millis(100),
        limit: Some(limit),
        threads: 2,
        opening: None,
    }
}

/// What the recorder says of a whole run.
#[derive(Debug)]
struct Told {
    ok: u64,
    failed: u64,
    unknown: u64,
    retries: u64,
    statements: u64,
    fault_rollbacks: u64,
    reconnects: u64,
    deadlocks: u64,
    lost: u64,
    service: Histogram<u64>,
}

impl Told {
    fn of(intervals: &[Interval]) -> Told {
        let kinds = || intervals.iter().flat_map(|interval| &interval.kinds);
        let sum = |of: fn(&vufleet_proto::v1::KindCounts) -> u64| kinds().map(of).sum::<u64>();
        let faults = |kind: FaultKind| {
            let faults = kinds().flat_map(|counts| &counts.faults);
            faults.filter(|fault| fault.kind == kind as i32).map(|fault| fault.count).sum()
        };
        let mut service = Histogram::new(3).unwrap();
        for counts in kinds().filter(|counts| !counts.service.is_empty()) {
            let one: Histogram<u64> = Deserializer::new().deserialize(&mut &counts.service[..]).unwrap();
            service.add(one).unwrap();
        }
        Told {
            ok: sum(|counts| counts.ok),
            failed: sum(|counts| counts.failed),
            unknown: sum(|counts| counts.unknown),
            retries: sum(|counts| counts.retries),
            statements: sum(|counts| counts.statements),
            fault_rollbacks: sum(|counts| counts.fault_rollbacks),
            reconnects: intervals.iter().map(|interval| interval.reconnects).sum(),
            deadlocks: faults(FaultKind::FaultDeadlock),
            lost: faults(FaultKind::FaultConnectionLost),
            service,
        }
    }
}

/// The next step of the crew; what it counted meanwhile is kept.
async fn phase(inbox: &mut UnboundedReceiver<(u64, Body)>, intervals: &mut Vec<Interval>) -> Kind {
    let next = async {
        loop {
            match inbox.recv().await.expect("the crew is at work").1 {
                Body::Phase(phase) if phase.kind() == Kind::Started => {}
                Body::Phase(phase) => return phase.kind(),
                Body::Interval(interval) => intervals.push(interval),
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(120), next).await.expect("the crew says what it has done")
}

/// Runs a crew to its limit. `meanwhile` is called on a thread of its own when the load begins.
async fn run(tap: &Tap, plan: &CrewPlan, meanwhile: impl FnOnce() + Send + 'static) -> (Told, Seen) {
    vufleet_agent::session::install_tls_provider();
    let (outlet, mut inbox) = Outlet::new();
    let crew = Crew::muster(plan, CommonClock::default(), outlet).unwrap();
    crew.connect();
    let mut intervals = Vec::new();
    assert_eq!(phase(&mut inbox, &mut intervals).await, Kind::Connected);
    let begin = Instant::now();
    crew.start(begin);
    let meanwhile = std::thread::spawn(meanwhile);
    assert_eq!(phase(&mut inbox, &mut intervals).await, Kind::Finished);
    crew.stop(Duration::from_secs(5));
    assert_eq!(phase(&mut inbox, &mut intervals).await, Kind::Stopped);
    while let Some((_, body)) = inbox.recv().await {
        if let Body::Interval(interval) = body {
            intervals.push(interval);
        }
    }
    meanwhile.join().unwrap();
    (Told::of(&intervals), tap.seen(begin))
}

/// Every quantile recorded is at least that on the wire, and the median not much more.
fn assert_timed_as_seen(told: &Told, seen: &Seen) {
    let mut seen = seen.services.clone();
    seen.sort_unstable();
    assert_eq!(told.service.len(), seen.len() as u64);
    for quantile in [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0] {
        let rank = (quantile * seen.len() as f64).ceil() as usize;
        let (on_wire, recorded) =
            (seen[rank.max(1) - 1], Duration::from_nanos(told.service.value_at_quantile(quantile)));
        println!("{quantile}: {on_wire:?} on the wire, {recorded:?} recorded");
        assert!(recorded >= on_wire, "at {quantile}: {recorded:?} recorded, {on_wire:?} on the wire");
        assert!(quantile > 0.5 || recorded <= on_wire + ALLOWANCE, "at {quantile}: {recorded:?}, {on_wire:?}");
    }
}

#[tokio::test]
async fn every_statement_takes_as_long_as_it_took_on_the_wire() {
    let server = server(100);
    // Answers that take from 0 to 19 ms: quantiles have something to differ in.
    let tap = Tap::new(&server, |answer| Duration::from_millis(answer * 7 % 20));
    let workload = "kind = 'oltp'\nscript = 'point_select'\ntables = 1\ntable_size = 100";
    let (told, seen) = run(&tap, &plan(&tap, workload, 1, 200), || ()).await;
    println!("{told:?}");
    assert_eq!((told.ok, told.failed, told.statements, told.retries), (200, 0, 200, 0));
    assert_eq!((seen.connections, seen.executes, seen.commits, seen.prepares), (1, 200, 0, 0));
    assert_timed_as_seen(&told, &seen);
}

#[tokio::test]
async fn a_transaction_is_counted_statement_by_statement() {
    let server = server(1_000);
    let tap = Tap::new(&server, |_| Duration::ZERO);
    let workload = "kind = 'oltp'\nscript = 'read_write'\ntables = 1\ntable_size = 1000";
    let (told, seen) = run(&tap, &plan(&tap, workload, 1, 100), || ()).await;
    // BEGIN, 10 points, 4 ranges, 2 updates, DELETE and INSERT, COMMIT.
    assert_eq!((told.ok, told.failed, told.statements), (100, 0, 2_000));
    assert_eq!((seen.begins, seen.executes, seen.commits, seen.rollbacks), (100, 1_800, 100, 0));
    assert_timed_as_seen(&told, &seen);
}

#[tokio::test]
async fn faults_retries_and_reconnects_are_those_of_the_wire() {
    let server = Arc::new(server(30));
    let tap = Tap::new(&server, |_| Duration::ZERO);
    let workload = "kind = 'oltp'\nscript = 'write_only'\ntables = 1\ntable_size = 30\nrange_size = 5\n\
                    distribution = 'uniform'\nindex_updates = 3\ndelete_inserts = 2";
    let kill = {
        let server = Arc::clone(&server);
        move || {
            let busy =
                "SELECT MAX(ID) FROM information_schema.PROCESSLIST WHERE USER = 'bench' AND COMMAND = 'Execute'";
            let id = loop {
                let id = server.sql(busy).unwrap();
                if id.trim() != "NULL" {
                    break id;
                }
            };
            server.sql(&format!("KILL {id}")).unwrap();
        }
    };
    let (told, seen) = run(&tap, &plan(&tap, workload, 4, 500), kill).await;
    println!("{told:?}\n{seen:?}");
    assert!(told.deadlocks > 0, "four users on thirty rows meet: {told:?}");
    assert_eq!((told.lost, told.reconnects, seen.connections), (1, 1, 5));
    assert_eq!((told.ok, told.failed + told.unknown), (4 * 500 - 1, 1), "one was lost with its connection");
    assert_eq!(told.ok, seen.commits);
    assert_eq!(told.deadlocks, seen.errors.get(&1213).copied().unwrap_or(0));
    assert_eq!((told.fault_rollbacks, told.retries), (seen.rollbacks, seen.begins_again));
    assert_eq!(told.statements, seen.executes + seen.begins + seen.commits_asked + seen.rollbacks);
    assert_timed_as_seen(&told, &seen);
}
