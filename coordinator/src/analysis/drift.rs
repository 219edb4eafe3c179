//! The fleet's throughput from interval to interval, and whether it went somewhere.

use std::collections::BTreeMap;

use super::fold::Fold;
use super::window::Window;

/// A drift below this is of no interest.
const DRIFT_PERCENT: f64 = 10.0;
/// A drift below this many standard errors is noise.
const DRIFT_ERRORS: f64 = 3.0;

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

/// How throughput changed inside the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drift {
    /// From the first to the last third, of the mean.
    pub(super) percent: f64,
    /// The same in standard errors of that difference.
    errors: f64,
}

impl Drift {
    /// None of windows with fewer than nine intervals.
    pub(super) fn of(fold: &Fold<'_>, window: Window) -> Option<Drift> {
        let rates: Vec<f64> =
            series(fold, window).into_values().filter(|point| point.inside).map(|point| point.rate).collect();
        let third = rates.len() / 3;
        if third < 3 {
            return None;
        }
        let (first, first_error) = mean_and_squared_error(&rates[..third]);
        let (last, last_error) = mean_and_squared_error(&rates[rates.len() - third..]);
        let (mean, _) = mean_and_squared_error(&rates);
        let error = (first_error + last_error).sqrt();
        let change = last - first;
        (mean > 0.0)
            .then(|| Drift { percent: 100.0 * change / mean, errors: change.abs() / error.max(f64::MIN_POSITIVE) })
    }

    /// Large, and more than noise.
    pub(super) fn is_real(&self) -> bool {
        self.percent.abs() > DRIFT_PERCENT && self.errors > DRIFT_ERRORS
    }
}

fn mean_and_squared_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (n - 1.0) / n)
}
