//! A crew that runs TPROC-C on a test server, and the sums of what it tells.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use secrecy::SecretString;
use tokio::sync::mpsc::UnboundedReceiver;
use vufleet_agent::clock::CommonClock;
use vufleet_agent::crew::{Crew, CrewPlan};
use vufleet_agent::outbox::Outlet;
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::{FaultKind, Interval, KindCounts, phase};
use vufleet_scenarios::study::{self, Edits, Study};
use vufleet_testbed::MariaDb;

/// A study of one profile on `database`.
pub fn on_mariadb(server: &MariaDb, database: &str, workload: &str, vus: u32) -> Study {
    let text = format!(
        "name = 'tprocc'\nseed = 1\n[target]\nkind = 'mysql'\nhost = '127.0.0.1'\nport = {}\ndatabase = '{database}'\n\
         user = 'bench'\ntls = 'disabled'\n[workload]\nkind = 'tprocc'\n{workload}\n[[profiles]]\nvus = {vus}\n\
         [schedule]\nmeasure = '1s'\nconnect_rate = 1000\n",
        server.port()
    );
    let mut study = study::read(&text, &Edits::default()).expect("a sound study");
    study.target.password = Some(SecretString::from("bench-password"));
    study
}

/// A crew at work, and all it has told.
pub struct Load {
    crew: Crew,
    inbox: UnboundedReceiver<(u64, Body)>,
    pub told: Told,
}

/// Sums over the whole run, by transaction kind.
#[derive(Debug, Default)]
pub struct Told {
    pub kinds: BTreeMap<String, KindCounts>,
    pub intervals: Vec<Orders>,
    pub finished: bool,
    pub stopped: bool,
}

/// One interval, on the common clock.
#[derive(Debug, Clone, Copy)]
pub struct Orders {
    pub start_ns: u64,
    pub end_ns: u64,
    /// New orders that ended in it.
    pub new_orders: u64,
    /// Time that its transactions of all kinds took from when they were due.
    pub response_ns: f64,
}

impl Orders {
    fn of(interval: &Interval) -> Orders {
        let new_orders = interval.kinds.iter().filter(|kind| kind.name == "new_order");
        Orders {
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            new_orders: new_orders.map(|kind| kind.ok + kind.rollback).sum(),
            response_ns: interval.kinds.iter().map(|kind| sum(&kind.response)).sum(),
        }
    }
}

/// Sum of all values of a histogram.
fn sum(mut bytes: &[u8]) -> f64 {
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes).expect("a histogram that can be read");
    histogram.mean() * histogram.len() as f64
}

impl Told {
    fn hear(&mut self, body: Body) {
        match body {
            Body::Interval(interval) => {
                self.intervals.push(Orders::of(&interval));
                interval.kinds.into_iter().for_each(|kind| self.add(kind));
            }
            Body::Phase(phase) => match phase.kind() {
                phase::Kind::Finished => self.finished = true,
                phase::Kind::Stopped => self.stopped = true,
                phase::Kind::Failed => panic!("the crew failed: {}", phase.message),
                _ => {}
            },
            Body::Notice(notice) => println!("notice: {}", notice.text),
            _ => {}
        }
    }

    fn add(&mut self, kind: KindCounts) {
        let sum = self.kinds.entry(kind.name.clone()).or_default();
        sum.ok += kind.ok;
        sum.rollback += kind.rollback;
        sum.unknown += kind.unknown;
        sum.failed += kind.failed;
        sum.retries += kind.retries;
        sum.statements += kind.statements;
        sum.fault_rollbacks += kind.fault_rollbacks;
        for fault in kind.faults {
            match sum.faults.iter_mut().find(|known| known.kind == fault.kind) {
                Some(known) => known.count += fault.count,
                None => sum.faults.push(fault),
            }
        }
    }

    pub fn sum(&self, of: impl Fn(&KindCounts) -> u64) -> u64 {
        self.kinds.values().map(of).sum()
    }

    pub fn new_orders(&self) -> KindCounts {
        self.kinds.get("new_order").cloned().unwrap_or_default()
    }

    pub fn faults(&self, wanted: FaultKind) -> u64 {
        self.sum(|kind| kind.faults.iter().filter(|fault| fault.kind == wanted as i32).map(|fault| fault.count).sum())
    }
}

impl Load {
    /// Connects every session and starts them. `limit`: transactions of each.
    pub async fn start(study: Study, limit: Option<u64>) -> Load {
        vufleet_agent::session::install_tls_provider();
        let profile = study.profiles[0].clone();
        let (outlet, inbox) = Outlet::new();
        let plan = CrewPlan {
            first_vu: 0,
            vus: profile.vus,
            total_vus: profile.vus,
            profile,
            study: Arc::new(study),
            run: 1,
            run_key: 1,
            interval: Duration::from_millis(100),
            limit,
            threads: 2,
            opening: None,
        };
        let crew = Crew::muster(&plan, CommonClock::default(), outlet).expect("a crew");
        crew.connect();
        let mut load = Load { crew, inbox, told: Told::default() };
        loop {
            match load.inbox.recv().await.expect("the crew is at work").1 {
                Body::Phase(phase) if phase.kind() == phase::Kind::Connected => break,
                body => load.told.hear(body),
            }
        }
        load.crew.start(Instant::now());
        load
    }

    /// Listens until `enough`.
    pub async fn until(&mut self, enough: impl Fn(&Told) -> bool) {
        while !enough(&self.told) {
            let (_, body) = self.inbox.recv().await.expect("the crew is at work");
            self.told.hear(body);
        }
    }

    /// Ends the load.
    pub async fn stop(mut self) -> Told {
        self.crew.stop(Duration::from_secs(20));
        self.until(|told| told.stopped).await;
        self.told
    }
}
