//! Every cell against the baseline of its profile.

use serde::Serialize;

use super::cell::{Blocks, Counted};
use super::statistics::{LogChange, Percent, holm};
use super::until::UntilReport;
use super::{Cell, Metric, RunReport};
use crate::ledger::Outline;

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

impl Conclusion {
    /// What follows from a change and its corrected p.
    pub(super) fn of(change: &Percent, p_holm: f64, confidence: f64) -> Conclusion {
        match p_holm < 1.0 - confidence {
            true if change.percent > 0.0 => Conclusion::Higher,
            true => Conclusion::Lower,
            false => Conclusion::NoDifferenceShown,
        }
    }
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

/// Fills in the changes of all cells but the baseline's.
pub(super) fn compare(cells: &mut [Cell], counted: &Counted<'_>, outline: &Outline, until: Option<&UntilReport>) {
    let (baseline, confidence) = (outline.baseline.as_str(), outline.confidence);
    for metric in Metric::ALL {
        let staged = until.filter(|until| until.metric == *metric && until.needed.is_some());
        let comparing = Comparing { metric: *metric, pilot: staged.map(|until| until.pilot as usize), confidence };
        let mut found = Vec::new();
        for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.variant != baseline) {
            let base = counted.get(&(baseline, cell.profile.as_str()));
            let own = counted.get(&(cell.variant.as_str(), cell.profile.as_str()));
            if let Some(compared) = base.zip(own).and_then(|(base, own)| comparing.against(base, own)) {
                found.push((index, compared));
            }
        }
        let corrected = holm(&found.iter().map(|(_, compared)| compared.paired.p).collect::<Vec<_>>());
        let comparisons = found.len();
        for ((index, compared), p_holm) in found.into_iter().zip(corrected) {
            cells[index].change.put(*metric, comparing.conclude(&compared, p_holm, comparisons));
        }
    }
}

/// How a metric is compared.
struct Comparing {
    metric: Metric,
    /// Pairs that decided how many follow.
    pilot: Option<usize>,
    confidence: f64,
}

/// A cell against its baseline, before correction.
struct Compared {
    paired: LogChange,
    welch: Option<LogChange>,
    pairs: usize,
}

impl Comparing {
    fn against(&self, base: &Blocks<'_>, own: &Blocks<'_>) -> Option<Compared> {
        let value = |run: &RunReport| run.metrics.get(self.metric).copied();
        let pairs: Vec<(f64, f64)> =
            own.iter().filter_map(|(block, run)| Some((value(base.get(block)?)?, value(run)?))).collect();
        let paired = match self.pilot {
            Some(pilot) => LogChange::paired_in_two_stages(&pairs, pilot, self.confidence)?,
            None => LogChange::paired(&pairs, self.confidence)?,
        };
        let values = |blocks: &Blocks<'_>| blocks.values().filter_map(|run| value(run)).collect::<Vec<_>>();
        let welch = LogChange::welch(&values(base), &values(own), self.confidence);
        Some(Compared { paired, welch, pairs: pairs.len() })
    }

    fn conclude(&self, compared: &Compared, p_holm: f64, comparisons: usize) -> Change {
        let Compared { paired, welch, pairs } = compared;
        let change = paired.percent();
        let alpha = 1.0 - self.confidence;
        let conclusion = Conclusion::of(&change, p_holm, self.confidence);
        let only_before_correction = paired.p < alpha && p_holm >= alpha;
        Change {
            change,
            p: paired.p,
            p_holm,
            conclusion,
            method: if self.pilot.is_some() { "paired, two-stage" } else { "paired" },
            n: *pairs,
            welch: welch.map(|welch| welch.percent()),
            detectable_percent: paired.detectable_percent(self.confidence),
            not_after_correction_for: only_before_correction.then_some(comparisons),
            below_noise_floor: false,
        }
    }
}
