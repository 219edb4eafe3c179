//! What variants differ by that do not differ (A/A): the noise that every other change is seen through.

use serde::Serialize;

use super::{Cell, Metric};

/// What a variant that does not differ from the baseline differs by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoiseFloor {
    /// Of which metric.
    #[serde(skip)]
    pub metric: Metric,
    /// The largest change in size, over profiles and such variants, in per cent.
    pub percent: f64,
    /// The bound of their intervals that is farthest from zero, in per cent.
    pub bound_percent: f64,
    /// Comparisons that it was taken from.
    pub comparisons: usize,
}

impl NoiseFloor {
    /// By the changes of these variants; metrics without one have no floor.
    pub(super) fn all(cells: &[Cell], controls: &[String]) -> Vec<NoiseFloor> {
        Metric::ALL.iter().filter_map(|metric| NoiseFloor::of(cells, controls, *metric)).collect()
    }

    fn of(cells: &[Cell], controls: &[String], metric: Metric) -> Option<NoiseFloor> {
        let mut floor = NoiseFloor { metric, percent: 0.0, bound_percent: 0.0, comparisons: 0 };
        for cell in cells.iter().filter(|cell| controls.contains(&cell.variant)) {
            let Some(change) = cell.change.get(metric).map(|change| &change.change) else { continue };
            floor.percent = floor.percent.max(change.percent.abs());
            floor.bound_percent = change.ci.iter().fold(floor.bound_percent, |bound, end| bound.max(end.abs()));
            floor.comparisons += 1;
        }
        (floor.comparisons > 0).then_some(floor)
    }
}

/// Marks the changes that are no larger than what equal variants may differ by.
pub(super) fn mark(cells: &mut [Cell], floors: &[NoiseFloor], controls: &[String]) {
    for cell in cells.iter_mut().filter(|cell| !controls.contains(&cell.variant)) {
        for floor in floors {
            if let Some(change) = cell.change.get_mut(floor.metric) {
                change.below_noise_floor = change.change.percent.abs() <= floor.bound_percent;
            }
        }
    }
}
