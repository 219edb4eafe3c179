//! Every cell against the baseline of its profile.

use std::collections::BTreeMap;

use serde::Serialize;

use super::statistics::{LogChange, Percent, holm};
use super::{Cell, Metric, RunReport};

/// What a comparison shows, after correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// The cell's values are higher.
    Higher,
    /// They are lower.
    Lower,
    /// Neither is shown; that is not the same as no difference.
    NoDifferenceShown,
}

/// A metric of a cell against the same of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// From log-ratios paired by block.
    #[serde(flatten)]
    pub change: Percent,
    /// Two-sided.
    pub p: f64,
    /// The same after Holm's correction over all cells of the metric.
    pub p_holm: f64,
    /// What follows from that.
    pub conclusion: Conclusion,
    /// How it was compared.
    pub method: &'static str,
    /// Number of pairs.
    pub n: usize,
    /// The same without pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub welch: Option<Percent>,
    /// The smallest change that would have been seen four times out of five.
    pub detectable_percent: f64,
    /// The uncorrected interval leaves zero out, but the corrected p does not: over how many comparisons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after_correction_for: Option<usize>,
    /// Variants without a difference may be as far apart, by their own intervals.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub below_noise_floor: bool,
}

/// The runs that count, by cell and block.
pub(super) type Counted<'a> = BTreeMap<(&'a str, &'a str), BTreeMap<u32, &'a RunReport>>;

/// Fills in the changes of all cells but the baseline's.
pub(super) fn compare(cells: &mut [Cell], counted: &Counted<'_>, baseline: &str, confidence: f64) {
    for metric in Metric::ALL {
        let mut found = Vec::new();
        for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.variant != baseline) {
            let base = counted.get(&(baseline, cell.profile.as_str()));
            let own = counted.get(&(cell.variant.as_str(), cell.profile.as_str()));
            if let Some(comparison) = base.zip(own).and_then(|(base, own)| against(base, own, *metric, confidence)) {
                found.push((index, comparison));
            }
        }
        let corrected = holm(&found.iter().map(|(_, (paired, ..))| paired.p).collect::<Vec<_>>());
        let comparisons = found.len();
        for ((index, (paired, welch, n)), p_holm) in found.into_iter().zip(corrected) {
            let change = conclude(paired, welch, n, p_holm, comparisons, confidence);
            cells[index].change.put(*metric, change);
        }
    }
}

type Blocks<'a> = BTreeMap<u32, &'a RunReport>;

fn against(
    base: &Blocks<'_>,
    own: &Blocks<'_>,
    metric: Metric,
    confidence: f64,
) -> Option<(LogChange, Option<LogChange>, usize)> {
    let value = |run: &RunReport| run.metrics.get(metric).copied();
    let pairs: Vec<(f64, f64)> =
        own.iter().filter_map(|(block, run)| Some((value(base.get(block)?)?, value(run)?))).collect();
    let paired = LogChange::paired(&pairs, confidence)?;
    let values = |blocks: &Blocks<'_>| blocks.values().filter_map(|run| value(run)).collect::<Vec<_>>();
    Some((paired, LogChange::welch(&values(base), &values(own), confidence), pairs.len()))
}

fn conclude(
    paired: LogChange,
    welch: Option<LogChange>,
    n: usize,
    p_holm: f64,
    comparisons: usize,
    confidence: f64,
) -> Change {
    let change = paired.percent();
    let alpha = 1.0 - confidence;
    let conclusion = match p_holm < alpha {
        true if change.percent > 0.0 => Conclusion::Higher,
        true => Conclusion::Lower,
        false => Conclusion::NoDifferenceShown,
    };
    let only_before_correction = paired.p < alpha && p_holm >= alpha;
    Change {
        change,
        p: paired.p,
        p_holm,
        conclusion,
        method: "paired",
        n,
        welch: welch.map(|welch| welch.percent()),
        detectable_percent: paired.detectable_percent(confidence),
        not_after_correction_for: only_before_correction.then_some(comparisons),
        below_noise_floor: false,
    }
}
