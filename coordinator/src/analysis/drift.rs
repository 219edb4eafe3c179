//! The fleet's throughput from interval to interval, and where it went inside the window. Whether that is more than noise
//! is told by [`super::steady`].

use std::collections::BTreeMap;

use super::fold::Fold;
use super::window::Window;

/// One interval of the whole fleet.
#[derive(Debug, Default)]
pub(super) struct FleetPoint {
    pub(super) inside: bool,
    pub(super) end_ns: u64,
    pub(super) length_ns: u64,
    /// Transactions that ended as intended.
    pub(super) done: f64,
    rate: f64,
}

/// The fleet's intervals since the start of the load, by their place.
pub(super) fn series(fold: &Fold<'_>, window: Window) -> BTreeMap<i64, FleetPoint> {
    let mut series: BTreeMap<i64, FleetPoint> = BTreeMap::new();
    for sample in &fold.samples {
        let index = window.index(sample.start_ns, sample.end_ns);
        if index < 0 {
            continue;
        }
        let point = series.entry(index).or_default();
        let work = sample.work();
        point.inside |= window.holds(sample.start_ns, sample.end_ns);
        point.end_ns = point.end_ns.max(sample.end_ns);
        point.length_ns = point.length_ns.max(sample.length_ns());
        point.done += work.transactions();
        point.rate += work.transactions() * 1e9 / sample.length_ns().max(1) as f64;
    }
    series
}

/// Transactions a second, interval by interval inside the window.
pub(super) fn rates(fold: &Fold<'_>, window: Window) -> Vec<f64> {
    series(fold, window).into_values().filter(|point| point.inside).map(|point| point.rate).collect()
}

/// By how much the last third differs from the first, in per cent of the mean; none of fewer than nine intervals.
pub(super) fn percent(rates: &[f64]) -> Option<f64> {
    let third = rates.len() / 3;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let change = || mean(&rates[rates.len() - third..]) - mean(&rates[..third]);
    (third >= 3 && mean(rates) > 0.0).then(|| 100.0 * change() / mean(rates))
}
