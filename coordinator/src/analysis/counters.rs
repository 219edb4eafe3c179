//! The database's own counters as they were read, for whoever wants to see more of them than witnesses do.

use std::collections::{BTreeMap, BTreeSet};

use vufleet_proto::v1;

/// What names of waits begin with. A reading leaves a wait out that has not grown since the one before it.
pub(super) const WAIT: &str = "wait.";

/// Readings of one run, in the order of their instants. Names are kept once: there may be thousands of readings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters {
    /// The database's own names. Most count from its start, some are of the instant.
    pub names: Vec<String>,
    /// One reading after the other.
    pub readings: Vec<CountersReading>,
    places: BTreeMap<String, usize>,
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
    /// How long the database had been up.
    uptime_s: u64,
    /// In the order of the names, the last of which may be missing.
    values: Vec<Option<u64>>,
}

impl CountersReading {
    /// The instant that the counters are taken to be of.
    pub(super) fn at_ns(&self) -> u64 {
        self.before_ns + self.after_ns.saturating_sub(self.before_ns) / 2
    }

    /// Other readings (of orders) have neither an uptime nor waits.
    pub(super) fn is_of_server(&self) -> bool {
        self.uptime_s > 0
    }
}

impl Counters {
    /// Takes a reading, unless it failed.
    pub(super) fn take(&mut self, agent: &str, counters: &v1::Counters) {
        if counters.values.is_empty() {
            return;
        }
        // In their own order: the same events make the same report.
        let new: BTreeSet<&String> = counters.values.keys().filter(|name| !self.places.contains_key(*name)).collect();
        for name in new {
            self.places.insert(name.clone(), self.names.len());
            self.names.push(name.clone());
        }
        let values = self.names.iter().map(|name| counters.values.get(name).copied()).collect();
        let (before_ns, after_ns, uptime_s) = (counters.before_ns, counters.after_ns, counters.uptime_s);
        self.readings.push(CountersReading { agent: agent.to_owned(), before_ns, after_ns, uptime_s, values });
    }

    /// Brings the readings into their order and fills in the waits that stood still. Those that did so all the time say
    /// nothing and go.
    pub(super) fn settle(&mut self) {
        self.readings.sort_by(|a, b| (a.before_ns, &a.agent).cmp(&(b.before_ns, &b.agent)));
        let waits: Vec<usize> = (0..self.names.len()).filter(|place| self.names[*place].starts_with(WAIT)).collect();
        if waits.is_empty() {
            return;
        }
        let mut last: Vec<Option<u64>> = vec![None; self.names.len()];
        let mut uptime_s = 0;
        for reading in self.readings.iter_mut().filter(|reading| reading.is_of_server()) {
            if reading.uptime_s < uptime_s {
                last.fill(None);
            }
            uptime_s = reading.uptime_s;
            reading.values.resize(last.len(), None);
            for place in &waits {
                last[*place] = reading.values[*place].or(last[*place]);
                reading.values[*place] = last[*place];
            }
        }
        self.forget(&waits.into_iter().filter(|place| self.is_still(*place)).collect());
    }

    /// One that came up in the middle had never happened before, and has moved.
    fn is_still(&self, place: usize) -> bool {
        let of_server = self.readings.iter().filter(|reading| reading.is_of_server());
        let mut values = of_server.map(|reading| reading.values.get(place).copied().flatten());
        let first = values.next();
        values.all(|value| Some(value) == first)
    }

    fn forget(&mut self, gone: &BTreeSet<usize>) {
        let stays = |place: usize| !gone.contains(&place);
        for reading in &mut self.readings {
            let values = std::mem::take(&mut reading.values).into_iter().enumerate();
            reading.values = values.filter(|(place, _)| stays(*place)).map(|(_, value)| value).collect();
        }
        let names = std::mem::take(&mut self.names).into_iter().enumerate();
        self.names = names.filter(|(place, _)| stays(*place)).map(|(_, name)| name).collect();
        self.places = self.names.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect();
    }

    /// The counter of that name in a reading of this run.
    pub fn value(&self, reading: &CountersReading, name: &str) -> Option<u64> {
        reading.values.get(*self.places.get(name)?).copied().flatten()
    }
}
