//! Whether the database was away inside the window.

use std::collections::BTreeSet;

use super::drift::series;
use super::fold::Fold;
use super::measure::Measured;
use super::witness::Reading;
use crate::ledger::{Pace, RunFacts};

/// No transaction that succeeded for so long is an outage where there were more than `SILENCE_RATE` a second before.
const SILENCE_NS: u64 = 2_000_000_000;
const SILENCE_RATE: f64 = 10.0;

/// The first sign that the database was away: it restarted, nothing went through, or the sessions were gone.
pub(super) fn outage(fold: &Fold<'_>, measured: &Measured, facts: &RunFacts) -> Option<String> {
    let (start_ns, end_ns) = (measured.window.start_ns, measured.end_ns);
    let touches = |from_ns: u64, to_ns: u64| from_ns < end_ns && to_ns > start_ns;
    let seconds = |at_ns| measured.window.seconds(at_ns);
    if let Some(at_ns) = fold.restart(start_ns, end_ns) {
        return Some(format!("the database restarted before {:.1} s after the start", seconds(at_ns)));
    }
    for points in fold.hosts.values() {
        for pair in points.windows(2).filter(|pair| touches(pair[0].at_ns, pair[1].at_ns)) {
            if let Some(name) = pair[0].database_lost_in(&pair[1]) {
                let at_s = seconds(pair[1].at_ns);
                return Some(format!("the database process {name} ended before {at_s:.1} s after the start"));
            }
        }
    }
    if measured.by_transactions {
        return None;
    }
    silence(fold, measured).or_else(|| sessions_gone(fold, measured, facts))
}

impl Fold<'_> {
    /// The first reading after a restart of the database between two instants.
    fn restart(&self, start_ns: u64, end_ns: u64) -> Option<u64> {
        let touches = |pair: &[Reading]| pair[0].at_ns() < end_ns && pair[1].at_ns() > start_ns;
        let mut pairs = self.readings.windows(2).filter(|pair| touches(pair));
        pairs.find(|pair| pair[1].uptime_s < pair[0].uptime_s).map(|pair| pair[1].at_ns())
    }

    /// Whether there was one: counters are not comparable across it.
    pub(super) fn restarted(&self, start_ns: u64, end_ns: u64) -> bool {
        self.restart(start_ns, end_ns).is_some()
    }
}

fn silence(fold: &Fold<'_>, measured: &Measured) -> Option<String> {
    if fold.profile.pace == Pace::Waiting {
        return None; // users that wait in step are silent by themselves
    }
    let (mut count, mut time_ns, mut silent_ns) = (0.0, 0, 0);
    for point in series(fold, measured.window).values() {
        if point.done > 0.0 {
            count += point.done;
            time_ns += point.length_ns;
            silent_ns = 0;
        } else if point.inside {
            silent_ns += point.length_ns;
        }
        let rate_before = count * 1e9 / (time_ns.max(1)) as f64;
        if silent_ns >= SILENCE_NS && rate_before > SILENCE_RATE {
            let from_s = measured.window.seconds(point.end_ns) - silent_ns as f64 / 1e9;
            return Some(format!(
                "no transaction succeeded for {:.0} s, from {from_s:.1} s after the start",
                silent_ns as f64 / 1e9
            ));
        }
    }
    None
}

fn sessions_gone(fold: &Fold<'_>, measured: &Measured, facts: &RunFacts) -> Option<String> {
    let lost: BTreeSet<&str> =
        fold.samples.iter().filter(|sample| sample.lost_connections()).map(|sample| &*sample.agent).collect();
    let wanted_of = |agent: &str| facts.driving.iter().find(|it| it.name == agent).map_or(0, |it| it.vus);
    fold.inside(measured.window).find_map(|sample| {
        let wanted = wanted_of(&sample.agent) * fold.profile.sessions_per_vu;
        let gone = sample.sessions * 2 < wanted && lost.contains(&*sample.agent);
        let at_s = measured.window.seconds(sample.end_ns);
        gone.then(|| {
            format!("agent {} had {} of {wanted} sessions {at_s:.1} s after the start", sample.agent, sample.sessions)
        })
    })
}
