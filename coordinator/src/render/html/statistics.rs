//! Every figure with what it is worth: one table a metric.

use super::page::{Fold, Page};
use crate::analysis::statistics::Summary;
use crate::analysis::{Cell, Metric, Report};
use crate::render::answer::question;
use crate::render::changes;
use crate::render::column::{Align, Column};
use crate::render::figures::number;
use crate::render::labels;

pub(super) fn section(report: &Report, page: &mut Page) {
    let told = |metric: Metric| {
        report.cells.iter().any(|cell| cell.metrics.get(metric).is_some() || cell.change.get(metric).is_some())
    };
    let mut metrics = vec![question(report)];
    metrics.extend(changes::shown(report).into_iter().chain(Metric::ALL.iter().copied()));
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
        "n runs count. The interval of a mean is Student's over run means. A change is from log-ratios paired by {}, its \
         unpaired interval is Welch's, p (Holm) is corrected over all cells of the metric, and detectable is the change \
         that would have been seen four times out of five. All intervals are of {} %.",
        changes::pairing(report),
        100.0 * report.confidence
    ));
    for (index, metric) in metrics.iter().enumerate() {
        let fold = if index == 0 { Fold::Open } else { Fold::Closed };
        page.folded(&title(report, *metric), fold, |page| {
            page.table(&means(report, *metric));
            if let Some(columns) = changes::columns(report, &[*metric]) {
                page.table(&columns);
            }
        });
    }
}

/// With the unit, unless only changes of it are told.
fn title(report: &Report, metric: Metric) -> String {
    match report.cells.iter().any(|cell| cell.metrics.get(metric).is_some()) {
        true => labels::axis(metric),
        false => labels::capital(labels::name(metric)),
    }
}

fn means(report: &Report, metric: Metric) -> Vec<Column> {
    let cells: Vec<&Cell> = report.cells.iter().collect();
    let words = |title: &str, align, of: &dyn Fn(&Cell) -> String| {
        Column::new(title, align, 0, cells.iter().map(|cell| of(cell)))
    };
    let mean = |title: &str, of: fn(&Summary) -> String| {
        let told = |cell: &&Cell| cell.metrics.get(metric).map(of).unwrap_or_default();
        Column::new(title, Align::Right, 0, cells.iter().map(told))
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
    ];
    columns.retain(|column| !column.is_empty());
    columns
}
