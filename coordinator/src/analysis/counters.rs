//! The database's own counters as they were read, for whoever wants to see more of them than witnesses do.

use std::collections::BTreeSet;

use vufleet_proto::v1;

/// Readings of one run, in the order of their instants. Names are kept once: there may be thousands of readings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters {
    /// The database's own names. Most count from its start, some are of the instant.
    pub names: Vec<String>,
    /// One reading after the other.
    pub readings: Vec<CountersReading>,
}

/// One reading.
#[derive(Debug, Clone, PartialEq)]
pub struct CountersReading {
    /// Name of the agent that read.
    pub agent: String,
    /// Before the counters were read.
    pub before_ns: u64,
    /// After.
    pub after_ns: u64,
    /// In the order of the names, the last of which may be missing.
    values: Vec<Option<u64>>,
}

impl Counters {
    /// Takes a reading, unless it failed.
    pub(super) fn take(&mut self, agent: &str, counters: &v1::Counters) {
        if counters.values.is_empty() {
            return;
        }
        // In their own order: the same events make the same report.
        let new: BTreeSet<&String> = counters.values.keys().filter(|name| !self.names.contains(name)).collect();
        self.names.extend(new.into_iter().cloned());
        let values = self.names.iter().map(|name| counters.values.get(name).copied()).collect();
        let (before_ns, after_ns) = (counters.before_ns, counters.after_ns);
        self.readings.push(CountersReading { agent: agent.to_owned(), before_ns, after_ns, values });
    }

    pub(super) fn sort(&mut self) {
        self.readings.sort_by(|a, b| (a.before_ns, &a.agent).cmp(&(b.before_ns, &b.agent)));
    }

    /// The counter of that name in a reading of this run.
    pub fn value(&self, reading: &CountersReading, name: &str) -> Option<u64> {
        let place = self.names.iter().position(|known| known == name)?;
        reading.values.get(place).copied().flatten()
    }
}
