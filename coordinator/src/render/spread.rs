//! How far equal runs are apart, in sentences: between variants that do not differ, from block to block, from run to run.

use super::figures::{interval, p_value, signed};
use super::labels;
use crate::analysis::{Metric, Outlier, Report, RunReport, UntilReport};

/// So many outliers are named one by one.
const NAMED: usize = 10;

/// What there is to say, in the order of its weight.
pub(super) fn spread(report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(noise_floor(report));
    sentences.extend(report.until.as_ref().map(until));
    sentences.extend(block_drift(report));
    sentences.extend(outliers(&report.outliers));
    sentences.extend(switches(report));
    sentences
}

fn noise_floor(report: &Report) -> Option<String> {
    let told: Vec<String> = report
        .noise_floor
        .iter()
        .filter(|floor| is_told(report, floor.metric))
        .map(|floor| {
            let name = labels::name(floor.metric);
            format!("{name} {:.1} % (interval up to {:.1} %)", floor.percent, floor.bound_percent)
        })
        .collect();
    let controls = report.controls.join(" and ");
    let verb = if report.controls.len() == 1 { "differs" } else { "differ" };
    (!told.is_empty()).then(|| {
        format!("noise floor: {controls} {verb} from {} though nothing does: {}", report.baseline, told.join(", "))
    })
}

/// What a reader looks at first; every other metric is in results.json.
fn is_told(report: &Report, metric: Metric) -> bool {
    super::changes::shown(report).contains(&metric)
}

fn until(until: &UntilReport) -> String {
    let asked = format!("repetitions for \u{b1} {} % of {}", until.percent, until.metric.name());
    let needed = match until.needed {
        None => "are not complete".to_owned(),
        Some(needed) if until.is_cut() => format!("ask for {needed}, more than the {} allowed", until.max),
        Some(needed) => format!("ask for {needed} of at most {}", until.max),
    };
    let reached = until.reached_percent.map_or_else(String::new, |half| format!("; reached is \u{b1} {half:.1} %"));
    format!("{asked}: {} pilot blocks {needed}{reached}", until.pilot)
}

fn block_drift(report: &Report) -> Option<String> {
    let told: Vec<String> = report
        .block_drift
        .iter()
        .filter(|drift| drift.p < 1.0 - report.confidence)
        .map(|drift| {
            format!(
                "{} {} % a block ({} %, p {})",
                labels::name(drift.metric),
                signed(drift.per_block.percent),
                interval(drift.per_block.ci),
                p_value(drift.p)
            )
        })
        .collect();
    let meaning = match report.is_grouped() {
        true => "in the grouped order it is in the changes, which cannot be told from it",
        false => "pairs within blocks are free of it",
    };
    (!told.is_empty()).then(|| format!("drift over the blocks: {}; {meaning}", told.join(", ")))
}

fn outliers(outliers: &[Outlier]) -> Option<String> {
    let mut told: Vec<String> = outliers.iter().take(NAMED).map(outlier).collect();
    if outliers.len() > NAMED {
        told.push(format!("{} more", outliers.len() - NAMED));
    }
    (!told.is_empty())
        .then(|| format!("far from the others of their cells, and counted all the same: {}", told.join(", ")))
}

/// One run that is far from the others.
pub(super) fn outlier(outlier: &Outlier) -> String {
    format!(
        "run {} ({} {}, block {}) in {} by {} %",
        outlier.run,
        outlier.profile,
        outlier.variant,
        outlier.repetition,
        labels::name(outlier.metric),
        signed(outlier.percent)
    )
}

fn switches(report: &Report) -> Option<String> {
    let told: Vec<String> = report.runs.iter().filter(|run| run.repetition == 0).map(switch).collect();
    (!told.is_empty()).then(|| format!("shown and in no cell: {}", told.join(", ")))
}

fn switch(run: &RunReport) -> String {
    let moments = run.switches.iter().map(|switch| {
        let at_s = run.window.map_or(0.0, |window| window.seconds(switch.from_ns));
        format!("{} on at {at_s:.1} s", switch.variant)
    });
    let moments: Vec<String> = moments.collect();
    let what = if moments.is_empty() { "nothing was turned on".to_owned() } else { moments.join(", ") };
    format!("run {} ({}; {what})", run.run, run.profile)
}
