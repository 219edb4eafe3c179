//! Repetitions in two stages: a pilot says how many blocks make an interval narrow enough.
//!
//! Stein, "A two-sample test for a linear hypothesis whose power is independent of the variance", Annals of Mathematical
//! Statistics 16 (1945), 243-258. The interval keeps the pilot's standard deviation and degrees of freedom, however many
//! blocks follow: it then holds the truth as often as it says. One that is looked at block by block, and ends when it is
//! narrow by chance, does not.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Metric;
use super::cell::{Blocks, Counted};
use super::statistics::{half_width, standard_deviation};
use crate::ledger::{Outline, UntilOutline};

/// How the number of repetitions came about.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd_percent: Option<f64>,
    /// Blocks that the pilot asks for, be it more than there may be; none before all of it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<u32>,
    /// The widest half of an interval that there is now, in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
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

    /// What the pilot of a study shows; none of a study without one, and of a metric that nobody knows.
    pub(super) fn of(outline: &Outline, counted: &Counted<'_>) -> Option<UntilReport> {
        let UntilOutline { min, max, percent, metric } = outline.until.as_ref()?;
        let metric = *Metric::ALL.iter().find(|known| known.name() == metric)?;
        let mut report = UntilReport {
            metric,
            percent: *percent,
            pilot: *min,
            max: *max,
            sd_percent: None,
            needed: None,
            reached_percent: None,
        };
        let cells = all_values(outline, counted, metric);
        let pilot = |cell: &BTreeMap<u32, f64>| -> Option<f64> {
            let values: Option<Vec<f64>> = (1..=*min).map(|block| cell.get(&block).copied()).collect();
            standard_deviation(&values?)
        };
        // A cell whose pilot has gaps cannot say how many it takes, and the others would speak for it.
        let Some(deviations) = cells.iter().map(pilot).collect::<Option<Vec<f64>>>() else { return Some(report) };
        let Some(widest) = deviations.iter().copied().reduce(f64::max) else { return Some(report) };
        let half = |deviation: f64, n: f64| half_width(outline.confidence, f64::from(min - 1), deviation / n.sqrt());
        let blocks = (half(widest, 1.0) / (percent / 100.0).ln_1p()).powi(2).ceil();
        let reached = cells.iter().zip(deviations).map(|(cell, deviation)| half(deviation, cell.len() as f64));
        report.sd_percent = Some(100.0 * widest.exp_m1());
        report.needed = Some((blocks as u32).max(*min));
        report.reached_percent = reached.reduce(f64::max).map(|half| 100.0 * half.exp_m1());
        Some(report)
    }
}

/// What is averaged over blocks, cell by cell and on the logarithmic scale: the changes of variants, or without any the
/// values themselves.
fn all_values(outline: &Outline, counted: &Counted<'_>, metric: Metric) -> Vec<BTreeMap<u32, f64>> {
    let nobody = Blocks::new();
    let of = |variant: &str, profile: &str| logs(counted.get(&(variant, profile)).unwrap_or(&nobody), metric);
    let mut cells = Vec::new();
    for profile in outline.profiles.iter().map(|profile| profile.id.as_str()) {
        let base = of(&outline.baseline, profile);
        let others = outline.variants.iter().filter(|variant| **variant != outline.baseline);
        let ratios = |own: BTreeMap<u32, f64>| {
            own.into_iter().filter_map(|(block, value)| Some((block, value - base.get(&block)?))).collect()
        };
        let before = cells.len();
        cells.extend(others.map(|variant| ratios(of(variant, profile))));
        if cells.len() == before {
            cells.push(base);
        }
    }
    cells
}

/// By block, where there is a logarithm.
pub(super) fn logs(blocks: &Blocks<'_>, metric: Metric) -> BTreeMap<u32, f64> {
    let value = |run: &super::RunReport| run.metrics.get(metric).copied().filter(|value| *value > 0.0);
    blocks.iter().filter_map(|(block, run)| Some((*block, value(run)?.ln()))).collect()
}
