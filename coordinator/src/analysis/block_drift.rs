//! Where a metric went from block to block: a machine that warms up, a table that grows, a neighbour that comes at night.
//!
//! What a block's runs share they share with all of its cells, so that the runs of a block are one observation, not many:
//! each block's mean over all cells, every cell being there in every block that is looked at, against the block's number.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Metric;
use super::cell::Counted;
use super::statistics::{LogChange, Percent};
use super::until::logs;

/// Where a metric went from block to block, all cells together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockDrift {
    /// Of which metric.
    #[serde(skip)]
    pub metric: Metric,
    /// From one block to the next.
    #[serde(flatten)]
    pub per_block: Percent,
    /// Two-sided, of no drift.
    pub p: f64,
    /// Over how many blocks.
    pub blocks: usize,
}

impl BlockDrift {
    /// None of fewer than three blocks in which every cell has a run that counts.
    pub(super) fn of(counted: &Counted<'_>, metric: Metric, confidence: f64) -> Option<BlockDrift> {
        let cells: Vec<_> =
            counted.values().map(|blocks| logs(blocks, metric)).filter(|cell| !cell.is_empty()).collect();
        let mut sums: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
        for (block, value) in cells.iter().flatten() {
            let (sum, count) = sums.entry(*block).or_default();
            *sum += value;
            *count += 1;
        }
        let whole = sums.into_iter().filter(|(_, (_, count))| *count == cells.len());
        let means: Vec<(f64, f64)> =
            whole.map(|(block, (sum, count))| (f64::from(block), sum / count as f64)).collect();
        let change = LogChange::slope(&means, confidence)?;
        Some(BlockDrift { metric, per_block: change.percent(), p: change.p, blocks: means.len() })
    }
}
