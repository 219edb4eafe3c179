//! What virtual users did, added up from the intervals on their way to the coordinator: once a second, and nothing on the path
//! of a transaction. Of studies that are `relative_only` nothing is added.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use vufleet_proto::v1;
use vufleet_telemetry::sheet::{Label, Sheet};

/// Kinds of transactions that are told apart: studies name theirs as they like, and an agent may serve many.
const KINDS: usize = 100;
/// What the others are called together.
const OTHERS: &str = "others";

/// Sums since the agent began.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    kinds: BTreeMap<String, Kind>,
    faults: BTreeMap<(&'static str, v1::FaultKind), u64>,
    reconnects: u64,
    not_started: u64,
    intervals: u64,
    lateness: Option<Duration>,
}

#[derive(Debug, Clone, Default)]
struct Kind {
    ok: u64,
    rollback: u64,
    unknown: u64,
    failed: u64,
    retries: u64,
    statements: u64,
}

impl Figures {
    /// Notes that an interval has come in, so long after its end.
    pub fn note(&mut self, lateness: Duration) {
        self.intervals += 1;
        self.lateness = Some(lateness);
    }

    /// Adds what is in an interval.
    pub fn add(&mut self, interval: &v1::Interval) {
        for counts in &interval.kinds {
            let name =
                if self.kinds.len() < KINDS || self.kinds.contains_key(&counts.name) { &counts.name } else { OTHERS };
            let kind = self.kinds.entry(name.to_owned()).or_default();
            kind.ok += counts.ok;
            kind.rollback += counts.rollback;
            kind.unknown += counts.unknown;
            kind.failed += counts.failed;
            kind.retries += counts.retries;
            kind.statements += counts.statements;
            self.add_faults("transaction", &counts.faults);
        }
        self.add_faults("connect", &interval.connect_faults);
        self.reconnects += interval.reconnects;
        self.not_started += interval.not_started;
    }

    fn add_faults(&mut self, place: &'static str, counts: &[v1::FaultCount]) {
        for count in counts {
            *self.faults.entry((place, count.kind())).or_default() += count.count;
        }
    }

    /// Tells of all of it.
    pub fn tell(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let help = "Intervals that the virtual users' threads have handed over, one a second of load";
        sheet.counter("vufleet_agent_intervals", help, self.intervals as f64)?;
        let help = "From the end of the last interval to its arrival at the uplink";
        let lateness = self.lateness.map(|lateness| lateness.as_secs_f64());
        sheet.gauge_if_known("vufleet_agent_interval_lateness_seconds", help, lateness)?;
        self.tell_of_transactions(sheet)?;
        let per_kind =
            |of: fn(&Kind) -> u64| self.kinds.iter().map(move |(name, kind)| ([("kind", name.as_str())], of(kind)));
        each(
            sheet,
            "vufleet_agent_retries",
            "Transactions that were sent again after a fault",
            per_kind(|kind| kind.retries),
        )?;
        each(
            sheet,
            "vufleet_agent_statements",
            "Statements sent, begin, commit and rollback included",
            per_kind(|kind| kind.statements),
        )?;
        let faults =
            self.faults.iter().map(|((place, kind), count)| ([("fault", fault(*kind)), ("place", place)], *count));
        each(
            sheet,
            "vufleet_agent_faults",
            "Faults, retried or not, inside transactions and while connecting",
            faults,
        )?;
        sheet.counter("vufleet_agent_session_reconnects", "Sessions opened again", self.reconnects as f64)?;
        let help = "Open arrivals that were due and dropped, because no virtual user could take them";
        sheet.counter("vufleet_agent_not_started", help, self.not_started as f64)
    }

    fn tell_of_transactions(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let outcomes = self.kinds.iter().flat_map(|(name, kind)| {
            [("ok", kind.ok), ("rollback", kind.rollback), ("unknown", kind.unknown), ("failed", kind.failed)]
                .map(|(outcome, count)| ([("kind", name.as_str()), ("outcome", outcome)], count))
        });
        each(sheet, "vufleet_agent_transactions", "Transactions that have ended", outcomes)
    }
}

fn each<'l, const N: usize>(
    sheet: &mut Sheet<'_>,
    name: &str,
    help: &str,
    counts: impl Iterator<Item = ([Label<'l>; N], u64)>,
) -> fmt::Result {
    let counts: Vec<_> = counts.collect();
    sheet.counters(name, help, counts.iter().map(|(labels, count)| (labels.as_slice(), *count as f64)))
}

/// "lock_timeout"
fn fault(kind: v1::FaultKind) -> &'static str {
    match kind {
        v1::FaultKind::FaultNone => "none",
        v1::FaultKind::FaultDeadlock => "deadlock",
        v1::FaultKind::FaultLockTimeout => "lock_timeout",
        v1::FaultKind::FaultSerialization => "serialization",
        v1::FaultKind::FaultConnectionLost => "connection_lost",
        v1::FaultKind::FaultRefused => "refused",
        v1::FaultKind::FaultStatement => "statement",
        v1::FaultKind::FaultDuplicate => "duplicate",
        v1::FaultKind::FaultDeadline => "deadline",
        v1::FaultKind::FaultOverloaded => "overloaded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_beyond_a_bound_are_counted_together() {
        let kind = |n: usize| v1::KindCounts { name: format!("kind-{n:03}"), ok: 2, ..Default::default() };
        let mut figures = Figures::default();
        figures.add(&v1::Interval { kinds: (0..KINDS + 5).map(kind).collect(), ..Default::default() });
        figures.add(&v1::Interval { kinds: vec![kind(0), kind(KINDS)], ..Default::default() });
        assert_eq!(figures.kinds.len(), KINDS + 1);
        assert_eq!(figures.kinds["kind-000"].ok, 4);
        assert_eq!(figures.kinds[OTHERS].ok, 12);
    }

    #[test]
    fn faults_are_counted_by_kind_and_place() {
        let deadlocks = |count| vec![v1::FaultCount { kind: v1::FaultKind::FaultDeadlock.into(), count }];
        let kinds = vec![v1::KindCounts { name: "a".to_owned(), faults: deadlocks(2), ..Default::default() }];
        let mut figures = Figures::default();
        figures.add(&v1::Interval { kinds, connect_faults: deadlocks(3), ..Default::default() });
        assert_eq!(figures.faults[&("transaction", v1::FaultKind::FaultDeadlock)], 2);
        assert_eq!(figures.faults[&("connect", v1::FaultKind::FaultDeadlock)], 3);
    }
}
