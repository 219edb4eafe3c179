//! What a variant changes in one study against what it changes in the other: the cost of an observer on two server versions.
//!
//! Each study's change is paired by block within itself, which takes out whatever differs between the studies but not between
//! their variants. These log-ratios are then compared without pairs.

use serde::Serialize;

use super::{CellName, Step, Subject, pairs, steps};
use crate::analysis::statistics::{LogChange, Percent};
use crate::analysis::{Metric, Metrics};

/// A variant at one load level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The variant, and the profile.
    #[serde(flatten)]
    pub cell: CellName,
    /// Blocks, of A and of B.
    pub n: [usize; 2],
    /// What it changes against its own baseline in A, and in B.
    pub own: Metrics<[Percent; 2]>,
    /// One against the other: +2 % where B's figure is 2 % higher than A's change would have made it.
    pub change: Metrics<Step>,
}

/// Of every variant that both studies hold against the same baseline, but for those that change nothing (A/A).
pub(super) fn effects(a: &Subject, b: &Subject, pairs: &[(CellName, CellName)], confidence: f64) -> Vec<Effect> {
    let baseline = &a.report.baseline;
    let comparable = |(one, other): &&(CellName, CellName)| {
        let is_control = [a, b].iter().any(|side| side.report.controls.contains(&one.variant));
        *baseline == b.report.baseline && one == other && one.variant != *baseline && !is_control
    };
    let cells: Vec<&CellName> = pairs.iter().filter(comparable).map(|(cell, _)| cell).collect();
    let headline = a.report.headline();
    let effect = |cell: &&CellName| Effect {
        cell: (*cell).clone(),
        n: [ratios(a, cell, headline).len(), ratios(b, cell, headline).len()],
        own: Metrics::new(),
        change: Metrics::new(),
    };
    let mut effects: Vec<Effect> = cells.iter().map(effect).collect();
    for metric in Metric::ALL {
        let both = cells.iter().map(|cell| (ratios(a, cell, *metric), ratios(b, cell, *metric)));
        let both: Vec<(Vec<f64>, Vec<f64>)> = both.collect();
        let changes: Vec<Option<LogChange>> =
            both.iter().map(|(of_a, of_b)| LogChange::welch(of_a, of_b, confidence)).collect();
        let steps = steps(&changes, "welch of paired", confidence);
        for ((effect, (of_a, of_b)), step) in effects.iter_mut().zip(&both).zip(steps) {
            let own = change(of_a, confidence).zip(change(of_b, confidence));
            effect.own.put(*metric, own.map(|(a, b)| [a, b]));
            effect.change.put(*metric, step);
        }
    }
    effects.retain(|effect| !effect.change.is_empty());
    effects
}

/// The variant over the baseline in each block that has both; none of a metric that was 0 in one of them.
fn ratios(subject: &Subject, cell: &CellName, metric: Metric) -> Vec<f64> {
    let base = CellName { variant: subject.report.baseline.clone(), profile: cell.profile.clone() };
    let pairs = pairs(&subject.runs(&base), &subject.runs(cell), metric);
    match pairs.iter().all(|(base, value)| *value > 0.0 && *base > 0.0) {
        true => pairs.into_iter().map(|(base, value)| value / base).collect(),
        false => Vec::new(),
    }
}

fn change(ratios: &[f64], confidence: f64) -> Option<Percent> {
    let pairs: Vec<(f64, f64)> = ratios.iter().map(|ratio| (1.0, *ratio)).collect();
    LogChange::paired(&pairs, confidence).map(|change| change.percent())
}
