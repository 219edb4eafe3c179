//! Samples that should be there and are not.
//!
//! Time is counted, not samples: an agent that cuts late beside a busy database sends one long interval for two short
//! ones, and nothing of what it counted is missing.

use super::fold::Fold;
use super::measure::Measured;
use super::verdict::Reason;
use crate::ledger::RunFacts;

/// Share of the samples that may be missing.
const MISSING: f64 = 0.05;

/// Says of which agents too many are missing.
pub(super) fn missing_samples(fold: &Fold<'_>, measured: &Measured, facts: &RunFacts, reasons: &mut Vec<Reason>) {
    let window = measured.window;
    let mut judge = |agent: &str, what: &'static str, covered_ns: u64, expected: u64| {
        let got = ((covered_ns + window.interval_ns / 2) / window.interval_ns).min(expected);
        if (got as f64) < (1.0 - MISSING) * expected as f64 {
            reasons.push(Reason::SamplesMissing { agent: agent.to_owned(), what: what.into(), got, expected });
        }
    };
    for agent in &facts.driving {
        let mine = || fold.inside(window).filter(|sample| *sample.agent == *agent.name);
        // An agent whose sessions have all done their transactions is silent for a good reason.
        let until_ns = if measured.by_transactions { mine().last().map_or(0, |it| it.end_ns) } else { measured.end_ns };
        judge(&agent.name, "intervals", mine().map(|sample| sample.length_ns()).sum(), window.expected(until_ns));
    }
    for agent in &facts.observing {
        let series = fold.hosts.iter().filter(|(key, _)| key.agent == *agent && !key.drives);
        let gaps = series.flat_map(|(_, points)| points.windows(2)).map(|pair| {
            let (from, to) = (pair[0].at_ns.max(window.start_ns), pair[1].at_ns.min(measured.end_ns));
            // Counters bridge a sample that is late or lost, not an observer that was away.
            to.saturating_sub(from).min(2 * window.interval_ns)
        });
        // The last part of an interval has no sample at its end where the run is over before.
        let whole = measured.end_ns.saturating_sub(window.start_ns) / window.interval_ns;
        judge(agent, "host samples", gaps.sum(), whole);
    }
}
