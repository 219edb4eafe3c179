//! How far runs that should be equal are apart: between cells that do not differ (A/A), from block to block, from run to run.

use super::Metric;
use super::statistics::Percent;

/// What a variant that does not differ from the baseline differs by.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseFloor {
    /// Of which metric.
    pub metric: Metric,
    /// The largest change in size, over profiles and such variants, in per cent.
    pub percent: f64,
    /// The bound of their intervals that is farthest from zero, in per cent.
    pub bound_percent: f64,
    /// Comparisons that it was taken from.
    pub comparisons: usize,
}

/// Where a metric went from block to block, all cells together.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockDrift {
    /// Of which metric.
    pub metric: Metric,
    /// From one block to the next.
    pub per_block: Percent,
    /// Two-sided, of no drift.
    pub p: f64,
    /// Over how many blocks.
    pub blocks: usize,
}

/// A run that is far from the others of its cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlier {
    /// Which.
    pub run: u64,
    /// Its variant.
    pub variant: String,
    /// Its profile.
    pub profile: String,
    /// Its block.
    pub repetition: u32,
    /// By which metric.
    pub metric: Metric,
    /// From the median of its cell, in per cent.
    pub percent: f64,
    /// The same in robust standard deviations of its cell (modified z score).
    pub score: f64,
}

/// Whether throughput went somewhere inside the window of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// Where its trend leads from the first to the last instant, in per cent of the mean.
    pub percent: f64,
    /// Two-sided, of no trend.
    pub p: f64,
}

/// How the number of repetitions came about.
#[derive(Debug, Clone, PartialEq)]
pub struct UntilReport {
    /// Whose interval decides.
    pub metric: Metric,
    /// Half the width that it is to have, in per cent.
    pub percent: f64,
    /// Pilot blocks.
    pub pilot: u32,
    /// Most blocks.
    pub max: u32,
    /// Standard deviation of the pilot's widest cell, in per cent; none before all of it is there.
    pub sd_percent: Option<f64>,
    /// Blocks that the pilot asks for, be it more than there may be; none before all of it is there.
    pub needed: Option<u32>,
    /// The widest half of an interval that there is now, in per cent.
    pub reached_percent: Option<f64>,
}

impl UntilReport {
    /// Blocks to be made; none before the pilot is there.
    pub fn wanted(&self) -> Option<u32> {
        self.needed.map(|needed| needed.min(self.max))
    }

    /// Whether the interval stays wider than it is to be, because there may not be as many blocks as that takes.
    pub fn is_cut(&self) -> bool {
        self.needed.is_some_and(|needed| needed > self.max)
    }
}
