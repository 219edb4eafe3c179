//! Latencies as whole distributions, where histograms are told.

use std::io;

use super::families::families;
use super::page::Page;
use crate::analysis::latency::Latency;
use crate::analysis::{Cell, Report};
use crate::render::chart::style::{Style, legend};
use crate::render::chart::svg::polyline;
use crate::render::chart::{Anchor, Axis, Canvas, Plot};
use crate::render::column::{Align, Column};
use crate::render::figures::number;

const CURVE: (f64, f64) = (490.0, 270.0);
const CURVE_PLOT: Plot = Plot { left: 62.0, top: 46.0, right: 476.0, bottom: 226.0 };
/// So many values beyond a percentile make it worth drawing.
const BEYOND: f64 = 10.0;
const QUANTILES: [f64; 14] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999];

/// The merged histograms of a cell's runs: for looking at, not for intervals.
pub(super) fn section(report: &Report, what: &str, page: &mut Page) -> io::Result<()> {
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
        &figures(&drawn),
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

fn figures(drawn: &[(&Cell, Points)]) -> Vec<Column> {
    let words = |title: &str, of: fn(&Cell) -> String| {
        Column::new(title, Align::Left, 0, drawn.iter().map(|(cell, _)| of(cell)))
    };
    let mut columns =
        vec![words("profile", |cell| cell.profile.clone()), words("variant", |cell| cell.variant.clone())];
    for quantile in QUANTILES.iter().skip(3) {
        let of = |(_, points): &(&Cell, Points)| {
            let found = points.iter().find(|(other, _)| other == quantile);
            found.map_or_else(String::new, |(_, ms)| number(*ms))
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
