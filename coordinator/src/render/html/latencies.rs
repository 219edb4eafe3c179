//! Latency percentiles: those that every cell has, and the whole distribution where histograms are told.

use std::io;

use super::families::families;
use super::page::Page;
use crate::analysis::latency::Latency;
use crate::analysis::statistics::Summary;
use crate::analysis::{Cell, Metric, Report};
use crate::render::chart::style::{Fill, Style, legend};
use crate::render::chart::svg::{LETTER, clipped, polyline};
use crate::render::chart::{Anchor, Axis, Canvas, Plot};
use crate::render::column::{Align, Column};
use crate::render::figures::plus_minus;

const WIDTH: f64 = 1000.0;
const ROW: f64 = 24.0;
const HEAD: f64 = 14.0;
const FOOT: f64 = 44.0;
const MOST: f64 = 320.0;

const CURVE: (f64, f64) = (490.0, 270.0);
const CURVE_PLOT: Plot = Plot { left: 62.0, top: 46.0, right: 476.0, bottom: 226.0 };
/// So many values beyond a percentile make it worth drawing.
const BEYOND: f64 = 10.0;
const QUANTILES: [f64; 14] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999];

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
    curves(report, &what.to_lowercase(), page)
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

/// The merged histograms of a cell's runs: for looking at, not for intervals.
fn curves(report: &Report, what: &str, page: &mut Page) -> io::Result<()> {
    let mut drawn = Vec::new();
    for cell in &report.cells {
        let merged = merged(report, cell)?;
        if merged.count() > 0 {
            drawn.push((cell, points(&merged)));
        }
    }
    if drawn.is_empty() {
        return Ok(());
    }
    page.subheading(&format!("Distribution of {what} times"));
    page.figure(
        |page| {
            if report.variants.len() > 1 {
                page.raw(&legend(report.variants.iter().map(|name| (Style::of_variant(report, name), name.as_str()))));
            }
            page.grid("two", |page| {
                for profile in families(report).iter().flat_map(|family| &family.profiles) {
                    let own: Vec<_> = drawn.iter().filter(|(cell, _)| cell.profile == profile.id).collect();
                    if !own.is_empty() {
                        let title = format!("Distribution of {what} times, {}", profile.id);
                        page.chart(curve(report, &profile.id, &own), &title, "Percentiles against milliseconds.");
                    }
                }
            });
        },
        "All runs of a cell together. The further right, the rarer; a curve ends where fewer than ten values lie beyond it.",
        &curve_figures(&drawn),
    );
    Ok(())
}

type Points = Vec<(f64, f64)>;

fn merged(report: &Report, cell: &Cell) -> io::Result<Latency> {
    let mut sum = Latency::default();
    let own =
        report.runs.iter().filter(|run| run.counts() && run.variant == cell.variant && run.profile == cell.profile);
    for kind in own.flat_map(|run| &run.latencies) {
        let bytes = if report.by_transactions() { &kind.service } else { &kind.response };
        sum.add(&Latency::read(bytes).map_err(io::Error::other)?);
    }
    Ok(sum)
}

/// Quantiles and milliseconds.
fn points(latency: &Latency) -> Points {
    let count = latency.count() as f64;
    let enough = |quantile: &&f64| count * (1.0 - **quantile) >= BEYOND;
    QUANTILES.iter().filter(enough).filter_map(|quantile| Some((*quantile, latency.quantile_ms(*quantile)?))).collect()
}

fn curve(report: &Report, profile: &str, cells: &[&(&Cell, Points)]) -> Canvas {
    let all = || cells.iter().flat_map(|(_, points)| points);
    let (low, high) =
        all().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), (_, ms)| (low.min(*ms), high.max(*ms)));
    let rarest = all().map(|(quantile, _)| 1.0 / (1.0 - quantile)).fold(10.0, f64::max);
    let mut x = Axis::decades(1.0, rarest, CURVE_PLOT.across());
    x.ticks = [(2.0, "50 %"), (10.0, "90 %"), (100.0, "99 %"), (1e3, "99.9 %"), (1e4, "99.99 %"), (1e5, "99.999 %")]
        .into_iter()
        .filter(|(value, _)| x.holds(*value))
        .map(|(value, label)| (value, label.to_owned()))
        .collect();
    let y = Axis::decades(low, high, CURVE_PLOT.up());
    let mut canvas = Canvas::new(CURVE.0, CURVE.1);
    canvas.text("title", Anchor::Start, (4.0, 15.0), profile);
    CURVE_PLOT.frame(&mut canvas, (&x, "transactions below"), (&y, "ms"));
    for (cell, points) in cells {
        let places = points.iter().map(|(quantile, ms)| Some((x.px(1.0 / (1.0 - quantile)), y.px(*ms))));
        let class = format!("line {}", Style::of_variant(report, &cell.variant).class());
        canvas.path(&class, &polyline(places), Some(&cell.variant));
    }
    canvas
}

fn curve_figures(drawn: &[(&Cell, Points)]) -> Vec<Column> {
    let words = |title: &str, of: fn(&Cell) -> String| {
        Column::new(title, Align::Left, 0, drawn.iter().map(|(cell, _)| of(cell)))
    };
    let mut columns =
        vec![words("profile", |cell| cell.profile.clone()), words("variant", |cell| cell.variant.clone())];
    for quantile in QUANTILES.iter().skip(3) {
        let of = |(_, points): &(&Cell, Points)| {
            let found = points.iter().find(|(other, _)| other == quantile);
            found.map_or_else(String::new, |(_, ms)| crate::render::figures::number(*ms))
        };
        columns.push(Column::new(
            &format!("{} %", (quantile * 1e5).round() / 1e3),
            Align::Right,
            0,
            drawn.iter().map(of),
        ));
    }
    columns.retain(|column| !column.is_empty());
    columns
}
