//! What the database's workers waited for: growth of its wait statistics over a window.
//!
//! Only SQL Server keeps them, and which of them are somebody's idleness the agent has left out. A wait is booked when it
//! ends, and by every worker at once: many milliseconds a second are many workers.

use std::collections::BTreeMap;

use serde::Serialize;

use super::RunReport;
use super::counters::{Counters, CountersReading, WAIT};
use super::witness::Reading;

/// So many waits of a cell are told.
const TOP: usize = 10;

/// One type of wait.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wait {
    /// The server's name.
    pub name: String,
    /// Time waited, all workers together.
    pub ms_per_s: f64,
    /// The part of it spent after the wait was over, until a processor was free.
    pub signal_ms_per_s: f64,
    /// Waits that began.
    pub waits_per_s: f64,
}

impl Wait {
    fn scaled(&self, share: f64) -> Wait {
        Wait {
            name: self.name.clone(),
            ms_per_s: self.ms_per_s * share,
            signal_ms_per_s: self.signal_ms_per_s * share,
            waits_per_s: self.waits_per_s * share,
        }
    }

    fn add(&mut self, other: &Wait) {
        self.ms_per_s += other.ms_per_s;
        self.signal_ms_per_s += other.signal_ms_per_s;
        self.waits_per_s += other.waits_per_s;
    }
}

/// Every wait that grew between two readings, the longest first.
pub(super) fn between(counters: &Counters, first: &Reading, last: &Reading) -> Vec<Wait> {
    let find = |wanted: &Reading| counters.readings.iter().find(|it| it.is_of_server() && it.at_ns() == wanted.at_ns());
    let (Some(from), Some(to)) = (find(first), find(last)) else { return Vec::new() };
    let seconds = to.at_ns().saturating_sub(from.at_ns()) as f64 / 1e9;
    let times = counters.names.iter().filter_map(|name| name.strip_prefix(WAIT)?.strip_suffix(".ms"));
    let mut waits: Vec<Wait> = times.filter_map(|name| grown(counters, (from, to), name, seconds)).collect();
    order(&mut waits);
    waits
}

/// None of a wait that did not grow. One that the earlier reading does not have had never happened.
fn grown(counters: &Counters, span: (&CountersReading, &CountersReading), name: &str, seconds: f64) -> Option<Wait> {
    let rate = |what: &str| {
        let of = |reading| counters.value(reading, &format!("{WAIT}{name}.{what}"));
        let growth = of(span.1)?.checked_sub(of(span.0).unwrap_or(0))?;
        Some(growth as f64 / seconds).filter(|_| seconds > 0.0)
    };
    Some(Wait {
        name: name.to_owned(),
        ms_per_s: rate("ms").filter(|rate| *rate > 0.0)?,
        signal_ms_per_s: rate("signal_ms").unwrap_or(0.0),
        waits_per_s: rate("count").unwrap_or(0.0),
    })
}

/// The longest waits of a cell: means over its runs, in which a wait that a run does not have is 0.
pub(super) fn top<'r>(runs: impl Iterator<Item = &'r RunReport>) -> Vec<Wait> {
    let told: Vec<&RunReport> = runs.filter(|run| !run.waits.is_empty()).collect();
    let share = 1.0 / told.len().max(1) as f64;
    let mut sums: BTreeMap<&str, Wait> = BTreeMap::new();
    for wait in told.iter().flat_map(|run| &run.waits) {
        let scaled = wait.scaled(share);
        sums.entry(&wait.name).and_modify(|sum| sum.add(&scaled)).or_insert(scaled);
    }
    let mut waits: Vec<Wait> = sums.into_values().collect();
    order(&mut waits);
    waits.truncate(TOP);
    waits
}

fn order(waits: &mut [Wait]) {
    waits.sort_by(|a, b| b.ms_per_s.total_cmp(&a.ms_per_s).then_with(|| a.name.cmp(&b.name)));
}
