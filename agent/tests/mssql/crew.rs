//! Virtual users on a scripted server: what a deadline, a deadlock and a cut make of their counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::SecretString;
use tokio::sync::mpsc::UnboundedReceiver;
use vufleet_agent::clock::CommonClock;
use vufleet_agent::crew::{Crew, CrewPlan};
use vufleet_agent::outbox::Outlet;
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::phase::Kind;
use vufleet_proto::v1::{FaultKind, Interval};
use vufleet_scenarios::study::{self, Edits};

use crate::mock::{Mock, PASSWORD};
use crate::number;

fn plan(port: u16, deadline: &str, sql: &str, limit: u64) -> CrewPlan {
    let text = format!(
        "name = 'crew'\nseed = 1\n[target]\nkind = 'mssql'\nport = {port}\ndatabase = 'tpcc'\nuser = 'bench'\n\
         tls = 'disabled'\ndeadline = '{deadline}'\n[workload]\nkind = 'sql'\nprotocol = 'text'\n\
         [[workload.transactions]]\nname = 'one'\ntransaction = true\nstatements = [\"{sql}\"]\n[[profiles]]\nvus = 4\n\
         [schedule]\nmeasure = '1s'\n"
    );
    let mut study = study::read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"));
    study.target.password = Some(SecretString::from(PASSWORD));
    CrewPlan {
        profile: study.profiles[0].clone(),
        study: Arc::new(study),
        first_vu: 0,
        vus: 4,
        total_vus: 4,
        run: 1,
        run_key: 1,
        interval: Duration::from_millis(100),
        limit: Some(limit),
        threads: 1,
        opening: None,
    }
}

async fn until(inbox: &mut UnboundedReceiver<(u64, Body)>, kind: Kind, intervals: &mut Vec<Interval>) -> String {
    let wait = async {
        loop {
            match inbox.recv().await.expect("the crew is at work").1 {
                Body::Phase(phase) if phase.kind() == kind => return phase.connection,
                Body::Phase(phase) if phase.kind() == Kind::Started => {}
                Body::Phase(phase) => panic!("{:?}: {}", phase.kind(), phase.message),
                Body::Interval(interval) => intervals.push(interval),
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("the crew says what it has done")
}

/// Runs the crew to its limit. Returns the intervals.
async fn work(plan: &CrewPlan) -> Vec<Interval> {
    let (outlet, mut inbox) = Outlet::new();
    let crew = Crew::muster(plan, CommonClock::default(), outlet).unwrap();
    crew.connect();
    let mut intervals = Vec::new();
    assert_eq!(until(&mut inbox, Kind::Connected, &mut intervals).await, "tcp, no TLS");
    crew.start(Instant::now());
    until(&mut inbox, Kind::Finished, &mut intervals).await;
    crew.stop(Duration::from_secs(1));
    until(&mut inbox, Kind::Stopped, &mut intervals).await;
    intervals
}

fn faults(intervals: &[Interval], kind: FaultKind) -> u64 {
    let counts = intervals.iter().flat_map(|interval| &interval.kinds).flat_map(|counts| &counts.faults);
    counts.filter(|count| count.kind() == kind).map(|count| count.count).sum()
}

fn sum(intervals: &[Interval], of: impl Fn(&vufleet_proto::v1::KindCounts) -> u64) -> u64 {
    intervals.iter().flat_map(|interval| &interval.kinds).map(of).sum()
}

/// Nobody has to reconnect after a deadline: the server ended the statement when it was asked to.
#[tokio::test]
async fn deadlines_end_transactions_and_not_connections() {
    let mock = Mock::start().await;
    let endless = "WAITFOR DELAY '00:10:00'";
    mock.answer(endless, number(0).with_delay(Duration::from_secs(600))).await;
    let intervals = work(&plan(mock.port, "300ms", endless, 2)).await;
    assert_eq!(faults(&intervals, FaultKind::FaultDeadline), 8, "two of each of four users");
    assert_eq!(sum(&intervals, |counts| counts.failed), 8);
    // The users' own, and the watchdog's spare one.
    assert_eq!(mock.connections.lock().await.count(), 5);
}

#[tokio::test]
async fn a_deadlock_is_tried_again_and_counted() {
    let mock = Mock::start().await;
    mock.fail("UPDATE T SET N = 1", 1205, "chosen as the deadlock victim").await;
    let intervals = work(&plan(mock.port, "30s", "UPDATE T SET N = 1", 1)).await;
    let deadlocks = faults(&intervals, FaultKind::FaultDeadlock);
    assert_eq!((deadlocks, sum(&intervals, |counts| counts.retries)), (44, 40), "eleven attempts of each user");
    assert_eq!(sum(&intervals, |counts| counts.failed), 4);
}

#[tokio::test]
async fn memory_that_is_short_is_tried_again_and_counted() {
    let mock = Mock::start().await;
    mock.fail("SELECT BIG", 8645, "A timeout occurred while waiting for memory resources").await;
    let intervals = work(&plan(mock.port, "30s", "SELECT BIG", 1)).await;
    assert_eq!(faults(&intervals, FaultKind::FaultOverloaded), 44);
}
