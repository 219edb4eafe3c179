//! Latency percentiles of the cells.

use std::io;

use super::distributions;
use super::page::Page;
use crate::analysis::statistics::Summary;
use crate::analysis::{Cell, Metric, Report};
use crate::render::chart::style::{Fill, Style, legend};
use crate::render::chart::svg::{LETTER, clipped};
use crate::render::chart::{Anchor, Axis, Canvas};
use crate::render::column::{Align, Column};
use crate::render::figures::plus_minus;

const WIDTH: f64 = 1000.0;
const ROW: f64 = 24.0;
const HEAD: f64 = 14.0;
const FOOT: f64 = 44.0;
const MOST: f64 = 320.0;

pub(super) fn section(report: &Report, page: &mut Page) -> io::Result<()> {
    let (what, metrics) = match report.by_transactions() {
        true => ("Service", [Metric::ServiceP50Ms, Metric::ServiceP95Ms, Metric::ServiceP99Ms]),
        false => ("Response", [Metric::P50Ms, Metric::P95Ms, Metric::P99Ms]),
    };
    let cells: Vec<&Cell> = report.cells.iter().filter(|cell| cell.metrics.get(metrics[0]).is_some()).collect();
    if cells.is_empty() {
        return Ok(());
    }
    page.heading("latencies", "Latency percentiles");
    let names = ["p50", "p95", "p99"];
    let marks = (0..3).map(|index| (Style::nth(index), names[index]));
    let title = format!("{what} times of each cell");
    let told: Vec<String> = cells.iter().map(|cell| row_words(report, cell, metrics)).collect();
    page.figure(
        |page| {
            page.raw(&legend(marks));
            page.chart(ranges(report, &cells, metrics), &title, &format!("{}.", told.join("; ")));
        },
        &format!(
            "{what} times, means over the runs of their percentiles with {} % intervals.",
            100.0 * report.confidence
        ),
        &figures(&cells, metrics),
    );
    distributions::section(report, &what.to_lowercase(), page)
}

fn row_words(report: &Report, cell: &Cell, metrics: [Metric; 3]) -> String {
    let told = metrics.iter().filter_map(|metric| cell.metrics.get(*metric)).map(plus_minus);
    format!("{} {} ms", report.cell_name(cell), told.collect::<Vec<_>>().join(", "))
}

/// A row for each cell, from its median to its 99th percentile.
fn ranges(report: &Report, cells: &[&Cell], metrics: [Metric; 3]) -> Canvas {
    let longest = cells.iter().map(|cell| report.cell_name(cell).chars().count()).max().unwrap_or(0);
    let names = (longest as f64 * LETTER + 20.0).min(MOST);
    let bottom = HEAD + cells.len() as f64 * ROW;
    let mut canvas = Canvas::new(WIDTH, bottom + FOOT);
    let means = || cells.iter().flat_map(|cell| metrics.iter().filter_map(|metric| cell.metrics.get(*metric)));
    let (low, high) =
        means().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), it| (low.min(it.mean), high.max(it.mean)));
    let axis = Axis::decades(low, high, (names, WIDTH - 16.0));
    for (index, _) in cells.iter().enumerate().filter(|(index, _)| index % 2 == 0) {
        let top = HEAD + index as f64 * ROW;
        canvas.rect("stripe", (0.0, top), (WIDTH, top + ROW));
    }
    for (value, label) in &axis.ticks {
        canvas.line("grid", (axis.px(*value), HEAD), (axis.px(*value), bottom));
        canvas.text("tick", Anchor::Middle, (axis.px(*value), bottom + 16.0), label);
    }
    canvas.text("unit", Anchor::End, (WIDTH - 16.0, bottom + 34.0), "ms");
    for (index, cell) in cells.iter().enumerate() {
        let middle = HEAD + (index as f64 + 0.5) * ROW;
        canvas.text("label", Anchor::Start, (6.0, middle + 4.5), &clipped(&report.cell_name(cell), MOST - 20.0));
        let places: Vec<f64> =
            metrics.iter().filter_map(|metric| cell.metrics.get(*metric)).map(|it| axis.px(it.mean)).collect();
        if let (Some(first), Some(last)) = (places.first(), places.last()) {
            canvas.line("range", (*first, middle), (*last, middle));
        }
        for (place, metric) in metrics.iter().enumerate() {
            if let Some(summary) = cell.metrics.get(*metric) {
                percentile(&mut canvas, &axis, middle, Style::nth(place), summary);
            }
        }
    }
    canvas
}

fn percentile(canvas: &mut Canvas, axis: &Axis, middle: f64, style: Style, summary: &Summary) {
    if let Some([low, high]) = summary.ci {
        let class = format!("bar {}", style.class());
        canvas.line(&class, (axis.px(low), middle), (axis.px(high), middle));
    }
    style.mark(canvas, (axis.px(summary.mean), middle), Fill::Solid, &plus_minus(summary));
}

fn figures(cells: &[&Cell], metrics: [Metric; 3]) -> Vec<Column> {
    let words =
        |title: &str, of: fn(&Cell) -> String| Column::new(title, Align::Left, 0, cells.iter().map(|cell| of(cell)));
    let mut columns =
        vec![words("profile", |cell| cell.profile.clone()), words("variant", |cell| cell.variant.clone())];
    for metric in metrics {
        let mean = |cell: &&Cell| cell.metrics.get(metric).map_or_else(String::new, plus_minus);
        columns.push(Column::new(metric.name(), Align::Right, 0, cells.iter().map(mean)));
    }
    columns
}
