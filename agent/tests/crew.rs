//! A crew as its agent commands it, without a coordinator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;
use vufleet_agent::clock::CommonClock;
use vufleet_agent::crew::{Crew, CrewPlan};
use vufleet_agent::outbox::Outlet;
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::phase::Kind;
use vufleet_proto::v1::{Interval, Phase};
use vufleet_scenarios::study::{self, Edits};

fn plan(vus: u32, threads: usize) -> CrewPlan {
    let study = study::read(
        &format!(
            "name = 'crew'\nseed = 1\n[target]\nkind = 'simulated'\nservice_time = '1ms'\n\
             [workload]\nkind = 'oltp'\nscript = 'point_select'\n[[profiles]]\nvus = {vus}\n\
             [schedule]\nmeasure = '1s'\nconnect_rate = 1000000\n"
        ),
        &Edits::default(),
    )
    .unwrap();
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

async fn phase(inbox: &mut UnboundedReceiver<(u64, Body)>, intervals: &mut Vec<Interval>) -> Phase {
    loop {
        match inbox.recv().await.expect("the crew is at work").1 {
            Body::Phase(phase) => return phase,
            Body::Interval(interval) => intervals.push(interval),
            _ => {}
        }
    }
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
