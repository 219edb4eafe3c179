//! Ledgers with a known truth: a lab of two driving agents and a database host whose every figure is chosen.
#![allow(dead_code)] // each test file uses its part

pub mod audit;
pub mod judged;
pub mod signals;

use std::collections::BTreeMap;

pub use signals::*;
use tempfile::TempDir;
use vufleet::analysis::{Options, Report, report};
use vufleet::ledger::{
    DrivingAgent, Fact, Ledger, MeasureFacts, RunEnd, RunFacts, RunId, StudyFacts, StudyId, StudyState,
};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;
use vufleet_scenarios::plan::PlannedRun;
use vufleet_scenarios::study::{Edits, Study, read};

pub const S: u64 = 1_000_000_000;
pub const MS: u64 = 1_000_000;
/// When the load of the first run starts.
pub const T0: u64 = 1_780_000_000 * S;
pub const RAMP_UP_S: u64 = 2;
pub const WINDOW_S: u64 = 20;
/// The load goes on a little after the window.
pub const LOAD_S: u64 = RAMP_UP_S + WINDOW_S + 1;
/// Of each agent.
pub const TPS: u64 = 100;
pub const STATEMENTS: u64 = 20;
pub const AGENTS: [&str; 2] = ["load-a", "load-b"];
pub const SESSIONS: u32 = 8;

/// One profile of 16 virtual users on MySQL, read_write.
pub const STUDY: &str = r#"
name = "audit lab"
seed = 42
[target]
kind = "mysql"
host = "127.0.0.1"
database = "sbtest"
user = "bench"
[workload]
kind = "oltp"
script = "read_write"
tables = 10
table_size = 25000
[[profiles]]
vus = 16
[schedule]
ramp_up = "2s"
measure = "20s"
repetitions = 3
"#;

pub fn study(text: &str) -> Study {
    read(text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// A ledger with one study.
pub struct Lab {
    pub dir: TempDir,
    pub ledger: Ledger,
    pub id: StudyId,
    runs: u64,
}

impl Lab {
    pub fn new() -> Lab {
        Lab::of(STUDY)
    }

    pub fn of(text: &str) -> Lab {
        Lab::with(&study(text))
    }

    pub fn with(study: &Study) -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let facts = StudyFacts { begun_ns: T0 - 60 * S, vufleet: "0.1.0".to_owned() };
        let id = ledger.begin_study(study, &facts).unwrap();
        Lab { dir, ledger, id, runs: 0 }
    }

    /// Records the tape as the next run.
    pub fn record(&mut self, tape: Tape) -> RunId {
        self.runs += 1;
        let number = self.runs as u32;
        let Tape { variant, profile, repetition, attempt, facts, events, noted, end } = tape;
        let planned = PlannedRun { number, variant, profile, repetition };
        let run = self.ledger.begin_run(&self.id, &planned, attempt).unwrap();
        if let Some(facts) = &facts {
            self.ledger.set_run_facts(run, facts).unwrap();
        }
        let mut by_agent: BTreeMap<String, Vec<v1::Event>> = BTreeMap::new();
        for (agent, body) in events {
            let before = self.ledger.last_seq(boot(&agent)).unwrap();
            let batch = by_agent.entry(agent).or_default();
            let seq = before + batch.len() as u64 + 1;
            batch.push(v1::Event { seq, run: run.0, body: Some(body) });
        }
        for (agent, batch) in by_agent {
            self.ledger.record(&agent, boot(&agent), &batch).unwrap();
        }
        for fact in &noted {
            self.ledger.note(run, fact).unwrap();
        }
        if let Some((at_ns, end)) = end {
            self.ledger.end_run(run, at_ns, &end).unwrap();
        }
        run
    }

    pub fn finish(&mut self) {
        self.ledger.set_study_state(&self.id, StudyState::Finished, T0 + 3600 * S, "").unwrap();
    }

    pub fn report(&self) -> Report {
        report(&self.ledger, "last", Options::default()).unwrap()
    }
}

/// Report of a study with this one run.
pub fn report_of(tape: Tape) -> Report {
    let mut lab = Lab::new();
    lab.record(tape);
    lab.finish();
    lab.report()
}

pub fn boot(agent: &str) -> u64 {
    // Large on purpose: SQLite's integers are signed.
    u64::MAX - agent.bytes().map(u64::from).sum::<u64>()
}

/// Everything that a run leaves in the ledger. Starts out without a flaw.
#[derive(Clone)]
pub struct Tape {
    pub variant: String,
    pub profile: String,
    pub repetition: u32,
    pub attempt: u32,
    pub facts: Option<RunFacts>,
    pub events: Vec<(String, Body)>,
    pub noted: Vec<Fact>,
    pub end: Option<(u64, RunEnd)>,
}

impl Tape {
    pub fn new(repetition: u32) -> Tape {
        Tape::with_rate(repetition, TPS)
    }

    /// With so many transactions a second and agent.
    pub fn with_rate(repetition: u32, tps: u64) -> Tape {
        let mut events = Vec::new();
        for agent in AGENTS {
            for second in -1..LOAD_S as i64 {
                events.push((agent.to_owned(), Body::Interval(interval(second, if second < 0 { 0 } else { tps }))));
                events.push((agent.to_owned(), Body::Host(driver_host(second))));
            }
        }
        for second in -1..=(LOAD_S as i64 + 1) {
            events.push(("observer".to_owned(), Body::Host(database_host(second, 100))));
            let done = second.clamp(0, LOAD_S as i64) as u64 * tps * AGENTS.len() as u64;
            events.push(("observer".to_owned(), Body::Counters(counters(second, done))));
        }
        Tape {
            variant: "baseline".to_owned(),
            profile: "16vu".to_owned(),
            repetition,
            attempt: 1,
            facts: Some(facts()),
            events,
            noted: Vec::new(),
            end: Some((T0 + (LOAD_S + 1) * S, RunEnd::Finished)),
        }
    }

    pub fn facts(&mut self) -> &mut RunFacts {
        self.facts.as_mut().unwrap()
    }

    pub fn intervals(&mut self) -> impl Iterator<Item = (&str, &mut v1::Interval)> {
        self.events.iter_mut().filter_map(|(agent, body)| match body {
            Body::Interval(interval) => Some((agent.as_str(), interval)),
            _ => None,
        })
    }

    /// The interval of an agent that starts so many seconds after the load.
    pub fn interval(&mut self, agent: &str, second: u64) -> &mut v1::Interval {
        let found = self.intervals().find(|(name, it)| *name == agent && it.start_ns == T0 + second * S);
        found.expect("there is such an interval").1
    }

    pub fn drop_interval(&mut self, agent: &str, second: u64) {
        self.events.retain(
            |(name, body)| !matches!(body, Body::Interval(it) if name == agent && it.start_ns == T0 + second * S),
        );
    }

    pub fn hosts(&mut self, agent: &str) -> impl Iterator<Item = &mut v1::HostSample> {
        self.events.iter_mut().filter(move |(name, _)| name == agent).filter_map(|(_, body)| match body {
            Body::Host(sample) => Some(sample),
            _ => None,
        })
    }

    pub fn readings(&mut self) -> impl Iterator<Item = &mut v1::Counters> {
        self.events.iter_mut().filter_map(|(_, body)| match body {
            Body::Counters(counters) => Some(counters),
            _ => None,
        })
    }
}

pub fn facts() -> RunFacts {
    RunFacts {
        begun_ns: T0 - 5 * S,
        start_at_ns: Some(T0),
        ramp_up_ns: RAMP_UP_S * S,
        measure: MeasureFacts::DurationNs(WINDOW_S * S),
        settle_ns: S,
        interval_ns: S,
        sessions: 16,
        vus: 16,
        driving: AGENTS.map(|name| DrivingAgent { name: name.to_owned(), boot: boot(name), vus: SESSIONS }).to_vec(),
        observing: vec!["observer".to_owned()],
        counters_agent: Some("observer".to_owned()),
        shared_host: false,
        target_version: Some("10.11.19-MariaDB".to_owned()),
        connection: Some("tcp, no TLS".to_owned()),
        connect_ns: Some(S / 4),
        plaintext: false,
        other_versions: BTreeMap::new(),
    }
}

pub fn near(found: f64, known: f64, tolerance: f64) {
    assert!((found - known).abs() <= tolerance * known.abs(), "{found} is not {known}");
}
