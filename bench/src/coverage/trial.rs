//! One study: its runs into a ledger as agents and coordinator would write them, and the report on it.

use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;
use vufleet::analysis::{self, Metric, Options, Report, report};
use vufleet::ledger::{
    DrivingAgent, FILE_NAME, Ledger, MeasureFacts, RunEnd, RunFacts, StudyFacts, StudyId, StudyState,
};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;
use vufleet_scenarios::plan::{self, PlannedRun};
use vufleet_scenarios::random::mix;
use vufleet_scenarios::study::Study;

use super::{Model, Repeats};

const S: u64 = 1_000_000_000;
const BEGUN: u64 = 1_780_000_000 * S;
/// Intervals of a second that a window has.
const SECONDS: u64 = 2;
const AGENT: &str = "load-a";
const BOOT: u64 = 7;

/// Where one ledger after the other is written and read.
pub struct Desk<'m> {
    model: &'m Model,
    study: Study,
    dir: TempDir,
}

impl<'m> Desk<'m> {
    /// In memory, where there is a file system in it.
    pub fn new(model: &'m Model) -> Result<Desk<'m>> {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? };
        Ok(Desk { model, study: model.study(), dir })
    }

    /// Makes the study of that number in a ledger of its own, and reports on it.
    pub fn report(&mut self, seed: u64, number: u64) -> Result<Report> {
        self.study.seed = mix(mix(seed) ^ number);
        for rest in ["", "-wal", "-shm"] {
            let path = self.dir.path().join(format!("{FILE_NAME}{rest}"));
            if path.exists() {
                std::fs::remove_file(path)?;
            }
        }
        let mut pen = Pen { ledger: Ledger::open(self.dir.path())?, clock_ns: BEGUN, seq: 0 };
        let facts = StudyFacts { begun_ns: BEGUN, vufleet: "model".to_owned() };
        let id = pen.ledger.begin_study(&self.study, &facts)?;
        let mut made = plan::expand(&self.study);
        self.make(&mut pen, &id, &made)?;
        loop {
            let told = report(&pen.ledger, &id.0, Options::default())?;
            let all = plan::of_blocks(&self.study, self.blocks(&told));
            if all.len() == made.len() {
                pen.ledger.set_study_state(&id, StudyState::Finished, pen.clock_ns, "")?;
                return Ok(report(&pen.ledger, &id.0, Options::default())?);
            }
            self.make(&mut pen, &id, &all[made.len()..])?;
            made = all;
        }
    }

    fn make(&self, pen: &mut Pen, id: &StudyId, runs: &[PlannedRun]) -> Result<()> {
        runs.iter().try_for_each(|run| pen.write(id, run, self.model.tps(self.study.seed, run)))
    }

    /// How many there are to be, by what is known so far.
    fn blocks(&self, told: &Report) -> u32 {
        match self.model.repeats {
            Repeats::Fixed(count) => count,
            Repeats::Until { min, .. } => analysis::blocks_needed(told).unwrap_or(min),
            Repeats::Peeking { max, percent, .. } => {
                let mut changes = told.cells.iter().filter_map(|cell| cell.change.get(Metric::Tps));
                let narrow = changes.all(|it| it.change.ci[1] - it.change.percent <= percent);
                let now = told.cells[0].n as u32;
                if narrow || now == max { now } else { now + 1 }
            }
        }
    }
}

struct Pen {
    ledger: Ledger,
    clock_ns: u64,
    seq: u64,
}

impl Pen {
    fn write(&mut self, id: &StudyId, planned: &PlannedRun, tps: f64) -> Result<()> {
        let run = self.ledger.begin_run(id, planned, 1)?;
        let start_ns = self.clock_ns + S;
        self.clock_ns = start_ns + SECONDS * S;
        self.ledger.set_run_facts(run, &facts(start_ns))?;
        let events: Vec<v1::Event> = (0..SECONDS)
            .map(|second| {
                self.seq += 1;
                let body = Some(Body::Interval(interval(start_ns + second * S, tps.round() as u64)));
                v1::Event { seq: self.seq, run: run.0, body }
            })
            .collect();
        self.ledger.record(AGENT, BOOT, &events)?;
        self.ledger.end_run(run, self.clock_ns, &RunEnd::Finished)?;
        Ok(())
    }
}

fn facts(start_ns: u64) -> RunFacts {
    RunFacts {
        begun_ns: start_ns - S,
        start_at_ns: Some(start_ns),
        ramp_up_ns: 0,
        measure: MeasureFacts::DurationNs(SECONDS * S),
        settle_ns: 0,
        interval_ns: S,
        sessions: 1,
        vus: 1,
        driving: vec![DrivingAgent { name: AGENT.to_owned(), boot: BOOT, vus: 1 }],
        observing: Vec::new(),
        counters_agent: None,
        shared_host: false,
        target_version: None,
        connection: None,
        connect_ns: None,
        plaintext: false,
        other_versions: Default::default(),
    }
}

fn interval(start_ns: u64, transactions: u64) -> v1::Interval {
    let kind = v1::KindCounts {
        name: "read_write".to_owned(),
        ok: transactions,
        statements: transactions,
        ..Default::default()
    };
    v1::Interval {
        start_ns,
        end_ns: start_ns + S,
        uncertainty_ns: 1_000,
        sessions: 64,
        kinds: vec![kind],
        ..Default::default()
    }
}
