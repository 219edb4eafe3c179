//! Every figure with what it is worth: one table a metric.

use super::page::{Fold, Page};
use crate::analysis::statistics::Summary;
use crate::analysis::{Cell, Change, Metric, Report};
use crate::render::answer::question;
use crate::render::changes::{conclusion, shown};
use crate::render::column::{Align, Column};
use crate::render::figures::{interval, number, p_value, signed};
use crate::render::labels;

pub(super) fn section(report: &Report, page: &mut Page) {
    let told = |metric: Metric| {
        report.cells.iter().any(|cell| cell.metrics.get(metric).is_some() || cell.change.get(metric).is_some())
    };
    let mut metrics = vec![question(report)];
    metrics.extend(shown(report).iter().copied().chain(Metric::ALL.iter().copied()));
    let mut seen = Vec::new();
    metrics.retain(|metric| {
        let new = !seen.contains(metric);
        seen.push(*metric);
        new && told(*metric)
    });
    if metrics.is_empty() {
        return;
    }
    page.heading("statistics", "Statistics");
    page.paragraph(&format!(
        "n runs count. The interval of a mean is Student's over run means. A change is from log-ratios paired by block, its \
         unpaired interval is Welch's, p (Holm) is corrected over all cells of the metric, and detectable is the change \
         that would have been seen four times out of five. All intervals are of {} %.",
        100.0 * report.confidence
    ));
    for (index, metric) in metrics.iter().enumerate() {
        let fold = if index == 0 { Fold::Open } else { Fold::Closed };
        page.folded(&labels::axis(*metric), fold, |page| page.table(&columns(report, *metric)));
    }
}

fn columns(report: &Report, metric: Metric) -> Vec<Column> {
    let cells: Vec<&Cell> = report.cells.iter().collect();
    let words = |title: &str, align, of: &dyn Fn(&Cell) -> String| {
        Column::new(title, align, 0, cells.iter().map(|cell| of(cell)))
    };
    let mean = |title: &str, of: fn(&Summary) -> String| {
        Column::new(
            title,
            Align::Right,
            0,
            cells.iter().map(|cell| cell.metrics.get(metric).map(of).unwrap_or_default()),
        )
    };
    let change = |title: &str, align, of: fn(&Change) -> String| {
        Column::new(title, align, 0, cells.iter().map(|cell| cell.change.get(metric).map(of).unwrap_or_default()))
    };
    let mut columns = vec![
        words("profile", Align::Left, &|cell| cell.profile.clone()),
        words("variant", Align::Left, &|cell| cell.variant.clone()),
        words("n", Align::Right, &|cell| cell.n.to_string()),
        mean("mean", |summary| number(summary.mean)),
        mean("sd", |summary| summary.sd.map(number).unwrap_or_default()),
        mean("interval", |summary| {
            summary.ci.map(|[low, high]| format!("{} to {}", number(low), number(high))).unwrap_or_default()
        }),
        change("change", Align::Right, |change| format!("{}%", signed(change.change.percent))),
        change("interval of it, %", Align::Right, |change| interval(change.change.ci)),
        change("unpaired", Align::Right, |change| {
            change.welch.as_ref().map(|welch| interval(welch.ci)).unwrap_or_default()
        }),
        change("p", Align::Right, |change| p_value(change.p)),
        change("p (Holm)", Align::Right, |change| p_value(change.p_holm)),
        change("detectable", Align::Right, |change| format!("{:.1}%", change.detectable_percent)),
        change("pairs", Align::Right, |change| change.n.to_string()),
        change("conclusion", Align::Left, conclusion),
    ];
    columns.retain(|column| !column.is_empty());
    columns
}
