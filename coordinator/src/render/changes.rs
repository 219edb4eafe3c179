//! What the variants change, as a table.

use super::column::{Align, Column};
use super::figures::{interval, p_value, signed};
use crate::analysis::{Cell, Change, Conclusion, Metric, Report};

/// What people compare first.
const SHOWN: [Metric; 4] = [Metric::Tps, Metric::P95Ms, Metric::CpuMsPerTxn, Metric::DbHostCpuPercent];
/// The same of TPROC-C.
const SHOWN_OF_ORDERS: [Metric; 4] = [Metric::Nopm, Metric::P95Ms, Metric::CpuMsPerTxn, Metric::DbHostCpuPercent];
/// The same where the window is a number of transactions.
const SHOWN_OF_TRANSACTIONS: [Metric; 3] = [Metric::ServiceMeanMs, Metric::ServiceP95Ms, Metric::CpuMsPerTxn];

/// The metrics whose changes are shown before others. A host that the load shares with the database is as busy as the two make it:
/// a change of its CPU says nothing about the database.
pub(super) fn shown(report: &Report) -> Vec<Metric> {
    let shown: &[Metric] = match (report.by_transactions(), report.is_order_entry()) {
        (true, _) => &SHOWN_OF_TRANSACTIONS,
        (false, true) => &SHOWN_OF_ORDERS,
        (false, false) => &SHOWN,
    };
    let is_of_both = |metric: &Metric| report.target.shared_host && *metric == Metric::DbHostCpuPercent;
    shown.iter().copied().filter(|metric| !is_of_both(metric)).collect()
}

/// What a pair of runs has in common, for "paired by ..".
pub(super) fn pairing(report: &Report) -> &'static str {
    if report.is_grouped() { "number of the repetition" } else { "block" }
}

/// None where there is nothing to compare.
pub(super) fn columns(report: &Report, shown: &[Metric]) -> Option<Vec<Column>> {
    let rows: Vec<(&Cell, Metric, &Change)> = report
        .cells
        .iter()
        .flat_map(|cell| shown.iter().filter_map(move |metric| Some((cell, *metric, cell.change.get(*metric)?))))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let column = |title: &str, align, rank, of: &dyn Fn(&Cell, Metric, &Change) -> String| {
        Column::new(title, align, rank, rows.iter().map(|(cell, metric, change)| of(cell, *metric, change)))
    };
    Some(vec![
        column("profile", Align::Left, 0, &|cell, _, _| cell.profile.clone()),
        column("variant", Align::Left, 0, &|cell, _, _| cell.variant.clone()),
        column("metric", Align::Left, 0, &|_, metric, _| metric.name().to_owned()),
        column("change", Align::Right, 0, &|_, _, change| format!("{}%", signed(change.change.percent))),
        column("interval", Align::Right, 0, &|_, _, change| interval(change.change.ci)),
        column("unpaired", Align::Right, 7, &|_, _, change| {
            change.welch.as_ref().map_or_else(String::new, |welch| interval(welch.ci))
        }),
        column("p", Align::Right, 5, &|_, _, change| p_value(change.p)),
        column("p (Holm)", Align::Right, 4, &|_, _, change| p_value(change.p_holm)),
        column("detectable", Align::Right, 6, &|_, _, change| format!("{:.1}%", change.detectable_percent)),
        column("n", Align::Right, 2, &|_, _, change| change.n.to_string()),
        column("conclusion", Align::Left, 0, &|_, _, change| conclusion(change)),
    ])
}

/// The conclusion in words, with what stands against it.
fn conclusion(change: &Change) -> String {
    let words = conclusion_of(change.conclusion, change.not_after_correction_for);
    match change.below_noise_floor && change.conclusion != Conclusion::NoDifferenceShown {
        true => format!("{words}, within the noise floor"),
        false => words,
    }
}

/// What was shown, and what only without correction.
pub(super) fn conclusion_of(conclusion: Conclusion, not_after_correction_for: Option<usize>) -> String {
    let words = match conclusion {
        Conclusion::Higher => "higher",
        Conclusion::Lower => "lower",
        Conclusion::NoDifferenceShown => "no difference shown",
    };
    match not_after_correction_for {
        Some(comparisons) => format!("{words}, not after correction for {comparisons} comparisons"),
        None => words.to_owned(),
    }
}
