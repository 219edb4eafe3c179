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
    /// Blocks that the pilot asks for; none before all of it is there.
    pub needed: Option<u32>,
    /// The widest half of an interval that there is now, in per cent.
    pub reached_percent: Option<f64>,
}
