//! Whether a ledger holds everything once, and says what its report says.

use std::collections::BTreeMap;
use std::path::Path;

use prost::Message;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use vufleet_proto::v1::{self, event::Body};

use super::lab::{Lab, files};

/// What two neighbouring intervals of an agent may be apart beyond what is uncertain of its clock: an edge is the same instant to both, as
/// far as the clock was known when each was told, and clocks drift meanwhile.
const EDGE_NS: u64 = 2_000_000;

/// What the virtual users of a study counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub ok: u64,
    pub unknown: u64,
}

/// A ledger, read while nobody writes it or somebody does.
pub struct Audit {
    events: Vec<Recorded>,
}

struct Recorded {
    run: u64,
    agent: String,
    boot: i64,
    seq: u64,
    event: v1::Event,
}

impl Audit {
    pub fn of(data: &Path) -> Audit {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let ledger = Connection::open_with_flags(data.join("ledger.sqlite3"), flags).unwrap();
        let sql = "SELECT run, agent, boot, seq, payload FROM events WHERE boot <> 0 ORDER BY boot, seq";
        let mut statement = ledger.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| {
            let payload: Vec<u8> = row.get(4)?;
            Ok(Recorded {
                run: row.get::<_, i64>(0)?.cast_unsigned(),
                agent: row.get(1)?,
                boot: row.get(2)?,
                seq: row.get::<_, i64>(3)?.cast_unsigned(),
                event: v1::Event::decode(payload.as_slice()).unwrap(),
            })
        });
        Audit { events: rows.unwrap().map(Result::unwrap).collect() }
    }

    /// Fails unless every process's events are numbered from 1 without a gap, each once, and its intervals follow each other.
    #[track_caller]
    pub fn assert_whole(&self) -> &Audit {
        let mut last: BTreeMap<i64, u64> = BTreeMap::new();
        for Recorded { agent, boot, seq, event, .. } in &self.events {
            let before = last.insert(*boot, *seq).unwrap_or(0);
            assert_eq!(*seq, before + 1, "agent {agent}, boot {boot:x}: event {seq} follows {before}");
            assert_eq!(event.seq, *seq, "agent {agent}, boot {boot:x}");
        }
        let mut last: BTreeMap<(u64, i64), &v1::Interval> = BTreeMap::new();
        for (Recorded { run, agent, boot, seq, .. }, interval) in self.intervals() {
            let whose = format!("run {run}, agent {agent}, event {seq}");
            assert!(interval.end_ns >= interval.start_ns, "{whose}: {}", edges(interval));
            let Some(last) = last.insert((*run, *boot), interval) else { continue };
            let bound = last.uncertainty_ns + interval.uncertainty_ns + EDGE_NS;
            let gap = interval.start_ns.abs_diff(last.end_ns);
            let both = format!("{}, then {}", edges(last), edges(interval));
            assert!(gap <= bound, "{whose}: {gap} ns between two intervals, {bound} at most: {both}");
        }
        self
    }

    fn intervals(&self) -> impl Iterator<Item = (&Recorded, &v1::Interval)> {
        self.events.iter().filter_map(|recorded| match &recorded.event.body {
            Some(Body::Interval(interval)) => Some((recorded, interval)),
            _ => None,
        })
    }

    /// Of all runs and agents.
    pub fn counted(&self) -> Counted {
        let kinds = self.intervals().flat_map(|(_, interval)| &interval.kinds);
        kinds
            .fold(Counted::default(), |sum, kind| Counted { ok: sum.ok + kind.ok, unknown: sum.unknown + kind.unknown })
    }

    /// Uncertainties of an agent's intervals, milliseconds.
    pub fn uncertainties_ms(&self, agent: &str) -> Vec<f64> {
        let own = self.intervals().filter(|(recorded, _)| recorded.agent == agent);
        own.map(|(_, interval)| interval.uncertainty_ns as f64 / 1e6).collect()
    }

    /// First instant of each driving agent in a run.
    pub fn starts_ns(&self, run: u64) -> BTreeMap<String, u64> {
        let mut starts = BTreeMap::new();
        for (recorded, interval) in self.intervals().filter(|(recorded, _)| recorded.run == run) {
            starts.entry(recorded.agent.clone()).or_insert(interval.start_ns);
        }
        starts
    }

    /// Whether an agent said something of a kind in a run.
    pub fn said(&self, run: u64, agent: &str, what: impl Fn(&Body) -> bool) -> bool {
        let own = self.events.iter().filter(|recorded| recorded.run == run && recorded.agent == agent);
        own.filter_map(|recorded| recorded.event.body.as_ref()).any(what)
    }
}

fn edges(interval: &v1::Interval) -> String {
    let v1::Interval { start_ns, end_ns, uncertainty_ns, sessions, .. } = interval;
    format!("{start_ns} to {end_ns} ({uncertainty_ns} ns uncertain, {sessions} sessions)")
}

/// Fails unless the database committed exactly what was counted, a transaction of unknown outcome either way.
#[track_caller]
pub fn assert_agrees(counted: Counted, commits: u64) {
    let Counted { ok, unknown } = counted;
    assert!(commits >= ok && commits <= ok + unknown, "{commits} commits, counted {counted:?}");
}

/// Fails unless the database committed at least what was counted, and no more than a part of a load that was ended by force.
#[track_caller]
pub fn assert_agrees_but_for(counted: Counted, commits: u64, lost: u64) {
    let Counted { ok, unknown } = counted;
    let most = ok + unknown + lost;
    assert!(commits >= ok && commits <= most, "{commits} commits, counted {counted:?}, at most {lost} not told of");
}

/// Fails unless every run has one verdict and, where there are any, reasons, and the ledger gives the same report again.
#[track_caller]
pub fn assert_truthful(lab: &Lab, out: &str) -> Value {
    let told = files::results(&lab.path(out));
    for run in files::runs(&told) {
        let verdict = files::verdict(run);
        let reasons = run["reasons"].as_array().unwrap();
        assert!(["valid", "degraded", "invalid"].contains(&verdict), "{run:#}");
        assert_eq!(verdict == "valid", reasons.is_empty(), "a reason for what is not valid:\n{}", files::story(&told));
    }
    lab.run(&format!("export {} --out {out}-again", told["study_id"].as_str().unwrap())).expect(0);
    let again = files::results(&lab.path(&format!("{out}-again")));
    assert_eq!(told, again, "the report is a function of the ledger");
    told
}
