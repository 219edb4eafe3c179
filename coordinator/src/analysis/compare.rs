//! Two studies, or two cells, held against each other: yesterday's build and today's, one server version and the next.
//!
//! Runs of different studies were made at different times and share no block. They are compared without pairs (Welch, on
//! logarithms), and what drifted between them is in the result: no interval knows of it, so it is said. Two cells of one study
//! are paired by block as ever.

mod differences;
mod doubts;
mod effects;
mod pairing;
mod subject;

use std::collections::BTreeMap;

use serde::Serialize;

use super::change::Conclusion;
use super::statistics::{LogChange, Percent, Summary, holm};
use super::{Metric, Metrics, Options, RunReport};

pub use differences::Difference;
pub use effects::Effect;
pub use pairing::{CellName, Mismatch, Pairing};
pub use subject::{Side, Subject};

/// Fewest runs of a side that have an interval.
const ENOUGH: usize = 2;

/// All that is told of two studies beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What changes are counted from.
    pub a: Side,
    /// What is compared with it.
    pub b: Side,
    /// Both are one study: its cells are paired by block.
    pub same_study: bool,
    /// Of the intervals: the larger of the two studies'.
    pub confidence: f64,
    /// Whether absolute figures are withheld: because one of the two studies asks for it.
    pub withheld: bool,
    /// What it is about first of all.
    #[serde(serialize_with = "name_of")]
    pub headline: Metric,
    /// Cell by cell.
    pub cells: Vec<ComparedCell>,
    /// What each variant changes in B, against what it changes in A.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Cells that B does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_a: Vec<CellName>,
    /// Cells that A does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_b: Vec<CellName>,
    /// What else is not the same.
    pub differences: Vec<Difference>,
    /// What speaks against reading too much into it.
    pub doubts: Vec<String>,
}

/// A cell of each side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCell {
    /// A's.
    pub a: CellName,
    /// B's.
    pub b: CellName,
    /// Runs that count, of A and of B.
    pub n: [usize; 2],
    /// Means, of A and of B.
    #[serde(skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics<[Summary; 2]>,
    /// B against A.
    pub change: Metrics<Step>,
}

/// A metric in B against the same in A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The change.
    #[serde(flatten)]
    pub change: Percent,
    /// Two-sided.
    pub p: f64,
    /// The same after Holm's correction over all comparisons of the metric.
    pub p_holm: f64,
    /// What follows from that.
    pub conclusion: Conclusion,
    /// How it was compared: "welch", "paired" or "paired, two-stage".
    pub method: &'static str,
    /// The smallest change that would have been seen four times out of five.
    pub detectable_percent: f64,
    /// The uncorrected interval leaves zero out, but the corrected p does not: over how many comparisons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after_correction_for: Option<usize>,
}

/// Compares B with A.
///
/// # Errors
/// When there is nothing to compare: says which cells there are.
pub fn compare(a: &Subject, b: &Subject, pairing: &Pairing, options: Options) -> Result<Comparison, Mismatch> {
    let matched = pairing::matched(a, b, pairing)?;
    let confidence = a.report.confidence.max(b.report.confidence);
    let withheld = (a.report.relative_only || b.report.relative_only) && !options.absolute;
    let same_study = a.is(b);
    let mut cells: Vec<ComparedCell> = matched.pairs.iter().map(|(of_a, of_b)| cell(a, b, of_a, of_b)).collect();
    for metric in Metric::ALL {
        let pilot = a.report.until.as_ref().filter(|until| until.metric == *metric && until.needed.is_some());
        let pilot = pilot.map(|until| until.pilot as usize);
        let changes = matched.pairs.iter().map(|(of_a, of_b)| {
            let (runs_a, runs_b) = (a.runs(of_a), b.runs(of_b));
            match same_study {
                true => paired(&pairs(&runs_a, &runs_b, *metric), pilot, confidence),
                false => welch(&runs_a, &runs_b, *metric, confidence),
            }
        });
        let changes: Vec<Option<LogChange>> = changes.collect();
        let method = match (same_study, pilot) {
            (false, _) => "welch",
            (true, None) => "paired",
            (true, Some(_)) => "paired, two-stage",
        };
        for (cell, step) in cells.iter_mut().zip(steps(&changes, method, confidence)) {
            cell.change.put(*metric, step);
        }
    }
    let effects = if same_study { Vec::new() } else { effects::effects(a, b, &matched.pairs, confidence) };
    let mut comparison = Comparison {
        a: Side::of(a),
        b: Side::of(b),
        same_study,
        confidence,
        withheld,
        headline: a.report.headline(),
        cells,
        effects,
        only_a: matched.only_a,
        only_b: matched.only_b,
        differences: differences::differences(a, b, withheld),
        doubts: Vec::new(),
    };
    comparison.doubts = doubts::doubts(&comparison, a, b);
    Ok(if withheld { comparison.withheld() } else { comparison })
}

impl Comparison {
    /// Compared cells with too few runs for an interval.
    pub fn short_cells(&self) -> Vec<&ComparedCell> {
        self.cells.iter().filter(|cell| cell.n.iter().any(|n| *n < ENOUGH)).collect()
    }

    /// Changes and CPU percentages; no throughput, count, latency or rate.
    fn withheld(self) -> Comparison {
        let cells = self.cells.into_iter();
        let cells = cells.map(|cell| ComparedCell { metrics: cell.metrics.cpu_percent_only(), ..cell }).collect();
        Comparison { cells, ..self }
    }
}

fn cell(a: &Subject, b: &Subject, of_a: &CellName, of_b: &CellName) -> ComparedCell {
    let (runs_a, runs_b) = (a.runs(of_a), b.runs(of_b));
    let mut metrics = Metrics::new();
    for metric in Metric::ALL {
        let summary = |runs: &[&RunReport], confidence| Summary::of(&values(runs, *metric), confidence);
        let both = summary(&runs_a, a.report.confidence).zip(summary(&runs_b, b.report.confidence));
        metrics.put(*metric, both.map(|(a, b)| [a, b]));
    }
    let n = [runs_a.len(), runs_b.len()];
    ComparedCell { a: of_a.clone(), b: of_b.clone(), n, metrics, change: Metrics::new() }
}

fn values(runs: &[&RunReport], metric: Metric) -> Vec<f64> {
    runs.iter().filter_map(|run| run.metrics.get(metric).copied()).collect()
}

fn welch(a: &[&RunReport], b: &[&RunReport], metric: Metric, confidence: f64) -> Option<LogChange> {
    LogChange::welch(&values(a, metric), &values(b, metric), confidence)
}

/// The values of both sides in every block that has both, block by block.
fn pairs(a: &[&RunReport], b: &[&RunReport], metric: Metric) -> Vec<(f64, f64)> {
    let by_block = |runs: &[&RunReport]| -> BTreeMap<u32, f64> {
        runs.iter().filter_map(|run| Some((run.repetition, *run.metrics.get(metric)?))).collect()
    };
    let b = by_block(b);
    by_block(a).into_iter().filter_map(|(block, value)| Some((value, *b.get(&block)?))).collect()
}

/// Of pairs of one study, the first `pilot` of which may have decided how many follow.
fn paired(pairs: &[(f64, f64)], pilot: Option<usize>, confidence: f64) -> Option<LogChange> {
    match pilot {
        Some(pilot) => LogChange::paired_in_two_stages(pairs, pilot, confidence),
        None => LogChange::paired(pairs, confidence),
    }
}

/// What comparisons of one metric show together. None stays none, and counts for nothing in the correction.
fn steps(changes: &[Option<LogChange>], method: &'static str, confidence: f64) -> Vec<Option<Step>> {
    let found: Vec<f64> = changes.iter().flatten().map(|change| change.p).collect();
    let mut corrected = holm(&found).into_iter();
    let alpha = 1.0 - confidence;
    let step = |change: &LogChange, p_holm: f64| {
        let percent = change.percent();
        let conclusion = Conclusion::of(&percent, p_holm, confidence);
        Step {
            change: percent,
            p: change.p,
            p_holm,
            conclusion,
            method,
            detectable_percent: change.detectable_percent(confidence),
            not_after_correction_for: (change.p < alpha && p_holm >= alpha).then_some(found.len()),
        }
    };
    changes.iter().map(|change| Some(step(change.as_ref()?, corrected.next()?))).collect()
}

fn name_of<S: serde::Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.name())
}
