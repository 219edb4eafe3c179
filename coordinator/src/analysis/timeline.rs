//! How a run went from beginning to end, thin enough to be drawn: means of a hundred or so equal pieces of its time.
//!
//! Only for looking at. Pieces of one run are correlated and give no interval.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fold::Fold;
use super::host::HostUse;
use super::measure::Measured;
use super::window::Window;

/// More points than this nobody can tell apart in a chart.
const MOST_POINTS: u64 = 120;

/// A piece of a run's time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimelinePoint {
    /// Its middle, seconds after the start of the load.
    pub at_s: f64,
    /// Transactions a second of the whole fleet.
    pub tps: Option<f64>,
    /// CPU of the database's host, all cores = 100.
    pub host_cpu_percent: Option<f64>,
    /// CPU of the database process, on the same base.
    pub process_cpu_percent: Option<f64>,
}

/// What falls into one piece.
#[derive(Debug, Default)]
struct Piece {
    /// Transactions and covered time, by agent.
    work: BTreeMap<Arc<str>, (f64, u64)>,
    host: Mean,
    process: Mean,
}

#[derive(Debug, Default, Clone, Copy)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

impl Fold<'_> {
    /// The run in pieces, from the start of its load.
    pub(super) fn timeline(&self, measured: &Measured) -> Vec<TimelinePoint> {
        let window = measured.window;
        let series = self.database_series(measured);
        let ends = self.samples.iter().map(|sample| sample.end_ns).chain(series.iter().map(|usage| usage.to_ns));
        let length_ns = ends.max().unwrap_or(window.origin_ns).saturating_sub(window.origin_ns);
        let finest_ns = window.interval_ns.max(self.sums_ns().unwrap_or(0));
        let step_ns = length_ns.div_ceil(MOST_POINTS).max(1).next_multiple_of(finest_ns);
        let place = |middle_ns: u64| middle_ns.checked_sub(window.origin_ns).map(|since| since / step_ns);
        let mut pieces: BTreeMap<u64, Piece> = BTreeMap::new();
        for sample in &self.samples {
            let Some(index) = place(sample.middle_ns()) else { continue };
            let work = &mut pieces.entry(index).or_default().work;
            let (done, covered_ns) = work.entry(Arc::clone(&sample.agent)).or_default();
            *done += sample.work().transactions();
            *covered_ns += sample.length_ns();
        }
        for usage in &series {
            let Some(index) = place(usage.from_ns + usage.to_ns.saturating_sub(usage.from_ns) / 2) else { continue };
            let piece = pieces.entry(index).or_default();
            piece.host.add(usage.cpu_percent);
            piece.process.add(usage.database.as_ref().and_then(|process| process.cpu_percent));
        }
        pieces.into_iter().map(|(index, piece)| piece.point(index, step_ns)).collect()
    }

    /// The database's host between its samples.
    fn database_series(&self, measured: &Measured) -> Vec<HostUse> {
        let host = self.database_host(&measured.hosts).and_then(|host| self.hosts.get(&host.key));
        let pairs = host.into_iter().flat_map(|points| points.windows(2));
        pairs.map(|pair| pair[0].until(&pair[1])).collect()
    }
}

impl Piece {
    fn point(self, index: u64, step_ns: u64) -> TimelinePoint {
        let rate = |(done, covered_ns): &(f64, u64)| done * 1e9 / (*covered_ns).max(1) as f64;
        TimelinePoint {
            at_s: (index as f64 + 0.5) * step_ns as f64 / 1e9,
            tps: (!self.work.is_empty()).then(|| self.work.values().map(rate).sum()),
            host_cpu_percent: self.host.value(),
            process_cpu_percent: self.process.value(),
        }
    }
}

impl TimelinePoint {
    /// The CPU alone.
    pub(super) fn withheld(self) -> TimelinePoint {
        TimelinePoint {
            at_s: self.at_s,
            tps: None,
            host_cpu_percent: self.host_cpu_percent,
            process_cpu_percent: self.process_cpu_percent,
        }
    }
}

/// Seconds after the start of the load at which a run's window begins and ends.
pub fn window_s(window: Window) -> (f64, f64) {
    (window.seconds(window.start_ns), window.seconds(window.end_ns.unwrap_or(window.start_ns)))
}
