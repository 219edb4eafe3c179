//! The answer to a study's question in one sentence, and what limits it.
//!
//! The wording follows the conclusion, which follows the corrected p: what is not shown is not said to be nothing.

mod places;
mod variants;

use super::figures::{interval, listed, number};
use super::labels;
use crate::analysis::statistics::Summary;
use crate::analysis::verdict::Verdict;
use crate::analysis::{Cell, Change, Conclusion, Metric, Report, RunReport};
use places::places;

/// The sentence first, then what limits it.
pub(super) fn answer(report: &Report) -> Vec<String> {
    let metric = question(report);
    let mut sentences = vec![sentence(report, metric)];
    sentences.extend(controls(report, metric));
    sentences.extend(runs_that_count(report));
    sentences
}

/// The metric that the answer is about. Where load and database share a machine, throughput is what the load left over,
/// and CPU per transaction is the steadier figure.
pub(super) fn question(report: &Report) -> Metric {
    let headline = report.headline();
    let compared = |metric: &Metric| report.cells.iter().any(|cell| cell.change.get(*metric).is_some());
    let shared = report.target.shared_host.then_some(Metric::CpuMsPerTxn);
    [shared, Some(headline), Some(Metric::Tps), Some(Metric::CpuMsPerTxn)]
        .into_iter()
        .flatten()
        .find(compared)
        .unwrap_or(headline)
}

fn sentence(report: &Report, metric: Metric) -> String {
    let measured: Vec<&Cell> = report.cells.iter().filter(|cell| cell.n > 0).collect();
    if measured.is_empty() {
        return without_runs(report);
    }
    if report.variants.len() > 1 {
        return variants::sentence(report, metric);
    }
    let levels: Vec<(&Cell, &Summary)> =
        measured.iter().filter_map(|cell| Some((*cell, cell.metrics.get(metric)?))).collect();
    let name = labels::name(metric);
    let told = |(cell, summary): &(&Cell, &Summary)| {
        format!("{} {}", with_interval(report, metric, summary), places(report, &[&cell.profile]))
    };
    match levels.as_slice() {
        [] if report.withheld => {
            "Absolute figures are withheld and there is no variant to compare: only the verdicts are told.".to_owned()
        }
        [] => format!("No run has a figure of {name}."),
        levels if levels.len() <= 4 => {
            format!("{} was {}.", labels::capital(name), listed(&levels.iter().map(told).collect::<Vec<_>>()))
        }
        levels => {
            let by_mean = |a: &&(&Cell, &Summary), b: &&(&Cell, &Summary)| a.1.mean.total_cmp(&b.1.mean);
            let extremes = [levels.iter().min_by(by_mean), levels.iter().max_by(by_mean)].into_iter().flatten();
            let told = extremes.map(told).collect::<Vec<_>>().join(" to ");
            format!("{} went from {told}, over {} levels.", labels::capital(name), levels.len())
        }
    }
}

/// "99.10 transactions/s (95 % interval 97.90 to 100.3)".
fn with_interval(report: &Report, metric: Metric, summary: &Summary) -> String {
    let unit = match metric {
        Metric::Tps | Metric::Nopm | Metric::Tpm | Metric::Qps => "",
        other => labels::unit(other),
    };
    let figure = format!("{} {unit}", number(summary.mean));
    match summary.ci {
        None => format!("{} (one run, no interval)", figure.trim_end()),
        Some([low, high]) => {
            format!("{} ({} interval {} to {})", figure.trim_end(), level(report), number(low), number(high))
        }
    }
}

fn level(report: &Report) -> String {
    format!("{} %", 100.0 * report.confidence)
}

fn without_runs(report: &Report) -> String {
    let measured: Vec<&RunReport> = report.runs.iter().filter(|run| run.repetition > 0).collect();
    let Some(first) = measured.first() else { return "There is no answer: no run has ended.".to_owned() };
    let why = first.reasons.first().map_or_else(String::new, |reason| format!("; the first one: {reason}"));
    match measured.len() {
        1 => format!("There is no answer: the only run is invalid{}.", why.replace("; the first one:", ":")),
        all => format!("There is no answer: all {all} runs are invalid{why}."),
    }
}

/// What a variant differs by that does not differ: the size that noise alone can have.
fn controls(report: &Report, metric: Metric) -> Option<String> {
    let of_control = |cell: &&Cell| report.controls.contains(&cell.variant);
    let changes: Vec<(&Cell, &Change)> =
        report.cells.iter().filter(of_control).filter_map(|cell| Some((cell, cell.change.get(metric)?))).collect();
    let (cell, most) = changes.iter().max_by(|a, b| a.1.change.percent.abs().total_cmp(&b.1.change.percent.abs()))?;
    let follows = match changes.iter().any(|(_, change)| change.conclusion != Conclusion::NoDifferenceShown) {
        true => "a difference is shown where there is none, and the others may be as wrong",
        false => "a change no larger than that may be noise",
    };
    Some(format!(
        "{}, in which the database is as in {}, differs from it in {} by {:.1} % at most ({}, interval {} %): {follows}.",
        cell.variant,
        report.baseline,
        labels::name(metric),
        most.change.percent.abs(),
        places(report, &[&cell.profile]),
        interval(most.change.ci)
    ))
}

/// None where every run counts without a doubt.
fn runs_that_count(report: &Report) -> Option<String> {
    let runs: Vec<&RunReport> = report.runs.iter().filter(|run| run.repetition > 0).collect();
    let count = |holds: &dyn Fn(&RunReport) -> bool| runs.iter().filter(|run| holds(run)).count();
    let counting = count(&|run| run.counts());
    let parts: Vec<String> = [
        (count(&|run| run.verdict() == Verdict::Invalid), "invalid and left out"),
        (count(&|run| run.superseded), "superseded by a later attempt"),
        (count(&|run| run.counts() && run.verdict() == Verdict::Degraded), "counting with a doubt (degraded)"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    (counting > 0 && !parts.is_empty()).then(|| format!("{counting} of {} runs count: {}.", runs.len(), listed(&parts)))
}
