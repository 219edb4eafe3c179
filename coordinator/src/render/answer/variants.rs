//! The sentence of a study that compares variants.

use super::level;
use super::places::places;
use crate::analysis::{Cell, Change, Conclusion, Metric, Report};
use crate::render::labels;

/// More variants than this are told by the one that changes most.
const EACH: usize = 3;

/// A variant at one level.
type Compared<'r> = (&'r Cell, Option<&'r Change>);

/// Every variant but the baseline and those that equal it.
pub(super) fn sentence(report: &Report, metric: Metric) -> String {
    let asked = |variant: &&String| **variant != report.baseline && !report.controls.contains(variant);
    let mut variants: Vec<&String> = report.variants.iter().filter(asked).collect();
    if variants.is_empty() {
        variants = report.variants.iter().filter(|variant| **variant != report.baseline).collect();
    }
    let told = |variant: &String| clause(report, metric, variant);
    let words = match variants.as_slice() {
        few if few.len() <= EACH => few.iter().map(|variant| told(variant)).collect::<Vec<_>>().join("; "),
        many => of_many(report, metric, many),
    };
    // A variant's name stays as it is written, wherever it stands.
    match words.strip_prefix("no ") {
        Some(rest) => format!("No {rest}."),
        None => format!("{words}."),
    }
}

fn of_many(report: &Report, metric: Metric, variants: &[&String]) -> String {
    let size = |variant: &str| {
        let shown = cells_of(report, metric, variant).into_iter().filter_map(|(_, change)| change);
        let shown = shown.filter(|change| change.conclusion != Conclusion::NoDifferenceShown);
        shown.map(|change| change.change.percent.abs()).fold(0.0, f64::max)
    };
    let differing = variants.iter().filter(|variant| size(variant) > 0.0).count();
    let worst = variants.iter().max_by(|a, b| size(a).total_cmp(&size(b))).filter(|worst| size(worst) > 0.0);
    let name = labels::name(metric);
    let is_compared = |variant: &&&String| cells_of(report, metric, variant).iter().any(|(_, change)| change.is_some());
    let compared = variants.iter().filter(is_compared).count();
    let uncompared = variants.len() - compared;
    let limit = match uncompared {
        0 => String::new(),
        some => format!("; {some} of them cannot be compared: too few blocks count"),
    };
    match worst {
        None if compared == 0 => {
            let (all, baseline) = (variants.len(), &report.baseline);
            format!("None of {all} variants can be compared with {baseline}: too few blocks count")
        }
        None => {
            let (all, baseline) = (variants.len(), &report.baseline);
            format!("None of {all} variants shows a difference in {name} from {baseline}{limit}")
        }
        Some(worst) => format!(
            "{differing} of {} variants show a difference in {name} from {}, {worst} the largest: {}{limit}",
            variants.len(),
            report.baseline,
            clause(report, metric, worst)
        ),
    }
}

fn cells_of<'r>(report: &'r Report, metric: Metric, variant: &str) -> Vec<Compared<'r>> {
    let own = report.cells.iter().filter(|cell| cell.variant == variant);
    own.map(|cell| (cell, cell.change.get(metric))).collect()
}

/// What one variant does: where it is shown, where it is not, and where nothing can be said.
fn clause(report: &Report, metric: Metric, variant: &str) -> String {
    let cells = cells_of(report, metric, variant);
    let concluded = |wanted: Conclusion| -> Vec<(&Cell, &Change)> {
        let compared = cells.iter().filter_map(|(cell, change)| Some((*cell, (*change)?)));
        compared.filter(|(_, change)| change.conclusion == wanted).collect()
    };
    let uncompared: Vec<&str> =
        cells.iter().filter(|(_, change)| change.is_none()).map(|(cell, _)| cell.profile.as_str()).collect();
    let mut parts = Vec::new();
    for (conclusion, verb) in [(Conclusion::Lower, "lowers"), (Conclusion::Higher, "raises")] {
        let shown = concluded(conclusion);
        if !shown.is_empty() {
            let (name, amount, noise) = (labels::name(metric), amount(report, &shown), within_noise(report, &shown));
            parts.push(format!("{variant} {verb} {name} {amount}{noise}"));
        }
    }
    let anything = !parts.is_empty();
    let unshown = concluded(Conclusion::NoDifferenceShown);
    if !unshown.is_empty() {
        parts.push(match anything {
            true => not_shown(report, &unshown),
            false => {
                let whose = format!("between {variant} and {}", report.baseline);
                format!("no difference in {} is shown {whose} {}", labels::name(metric), with_limits(report, &unshown))
            }
        });
    }
    if !uncompared.is_empty() {
        let place = places(report, &uncompared);
        let whose = if anything || !unshown.is_empty() { String::new() } else { format!("{variant} and ") };
        parts.push(match whose.is_empty() {
            true => format!("{place} too few blocks count to compare"),
            false => format!("{variant} cannot be compared with {} {place}: too few blocks count", report.baseline),
        });
    }
    parts.join("; ")
}

/// By how much, and where: of several levels the range and the largest.
fn amount(report: &Report, shown: &[(&Cell, &Change)]) -> String {
    let size = |change: &Change| change.change.percent.abs();
    let by_size = |a: &&(&Cell, &Change), b: &&(&Cell, &Change)| size(a.1).total_cmp(&size(b.1));
    let (Some(least), Some(most)) = (shown.iter().min_by(by_size), shown.iter().max_by(by_size)) else {
        return String::new();
    };
    let profiles: Vec<&str> = shown.iter().map(|(cell, _)| cell.profile.as_str()).collect();
    let interval = format!("{} interval {} %", level(report), magnitudes(most.1.change.ci));
    match shown {
        [(cell, change)] => format!("by {:.1} % ({interval}) {}", size(change), places(report, &[&cell.profile])),
        _ => format!(
            "by {:.1} to {:.1} % {}, most {} ({interval})",
            size(least.1),
            size(most.1),
            places(report, &profiles),
            places(report, &[&most.0.profile])
        ),
    }
}

/// Where a change that is shown is no larger than what variants that do not differ may differ by.
fn within_noise(report: &Report, shown: &[(&Cell, &Change)]) -> String {
    let within: Vec<&str> =
        shown.iter().filter(|(_, change)| change.below_noise_floor).map(|(cell, _)| cell.profile.as_str()).collect();
    match within.len() {
        0 => String::new(),
        all if all == shown.len() => ", which is within the noise floor".to_owned(),
        _ => format!(", {} within the noise floor", places(report, &within)),
    }
}

/// An interval without the sign that the verb has said already.
fn magnitudes([low, high]: [f64; 2]) -> String {
    match (low < 0.0, high < 0.0) {
        (true, true) => format!("{:.1} to {:.1}", -high, -low),
        (false, false) => format!("{low:.1} to {high:.1}"),
        _ => format!("{low:+.1} to {high:+.1}"),
    }
}

fn not_shown(report: &Report, unshown: &[(&Cell, &Change)]) -> String {
    let profiles: Vec<&str> = unshown.iter().map(|(cell, _)| cell.profile.as_str()).collect();
    format!("{} no difference is shown{}", places(report, &profiles), limits(report, unshown))
}

fn with_limits(report: &Report, unshown: &[(&Cell, &Change)]) -> String {
    let profiles: Vec<&str> = unshown.iter().map(|(cell, _)| cell.profile.as_str()).collect();
    format!("{}{}", places(report, &profiles), limits(report, unshown))
}

/// What would have been seen, and what the correction took away.
fn limits(report: &Report, unshown: &[(&Cell, &Change)]) -> String {
    let sizes: Vec<f64> = unshown.iter().map(|(_, change)| change.detectable_percent).collect();
    let (least, most) =
        (sizes.iter().copied().fold(f64::INFINITY, f64::min), sizes.iter().copied().fold(0.0, f64::max));
    let seen = match format!("{least:.1}") == format!("{most:.1}") {
        true => format!("a change of {most:.1} %"),
        false => format!("a change of {least:.1} to {most:.1} %"),
    };
    // One metric's comparisons are as many for every level.
    let not_after = unshown.iter().find_map(|(_, change)| change.not_after_correction_for);
    let corrected = not_after.map_or_else(String::new, |comparisons| {
        let is_so = |(_, change): &&(&Cell, &Change)| change.not_after_correction_for.is_some();
        let profiles: Vec<&str> = unshown.iter().filter(is_so).map(|(cell, _)| cell.profile.as_str()).collect();
        format!(" ({} not after correction for {comparisons} comparisons)", places(report, &profiles))
    });
    format!("{corrected}, where {seen} would have been seen four times out of five")
}
