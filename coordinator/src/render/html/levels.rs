//! Throughput, CPU and latency against the load.

use super::families::{Family, families};
use super::page::{Fold, Page};
use crate::analysis::statistics::Summary;
use crate::analysis::{Cell, Metric, Report};
use crate::render::cells;
use crate::render::chart::style::{Fill, Style, legend};
use crate::render::chart::svg::polyline;
use crate::render::chart::{Axis, Canvas, Plot};
use crate::render::column::{Align, Column};
use crate::render::figures::plus_minus;
use crate::render::labels;

const WIDTH: f64 = 490.0;
const HEIGHT: f64 = 270.0;
const PLOT: Plot = Plot { left: 62.0, top: 36.0, right: 476.0, bottom: 226.0 };
/// Between the error bars of variants at one level.
const ASIDE: f64 = 7.0;

pub(super) fn section(report: &Report, page: &mut Page) {
    if report.cells.is_empty() {
        return;
    }
    page.heading("levels", "Load levels");
    let metrics = metrics(report);
    if !metrics.is_empty() {
        page.figure(
            |page| charts(report, &metrics, page),
            &format!(
                "Means over runs with their {} % intervals; without one, a single run.",
                100.0 * report.confidence
            ),
            &figures(report, &metrics),
        );
    }
    page.folded("What each cell measured", Fold::Open, |page| page.table(&cells::columns(report)));
}

fn charts(report: &Report, metrics: &[Metric], page: &mut Page) {
    if report.variants.len() > 1 {
        let variants = report.variants.iter();
        page.raw(&legend(variants.map(|name| (Style::of_variant(report, name), name.as_str()))));
    }
    let families = families(report);
    for family in &families {
        if families.len() > 1 {
            page.subheading(&family.called());
        }
        page.grid("two", |page| {
            for metric in metrics {
                chart(report, family, *metric, page);
            }
        });
    }
}

/// Those that some cell has, throughput and CPU first.
fn metrics(report: &Report) -> Vec<Metric> {
    let cpu = if report.target.shared_host { Metric::DbProcessCpuPercent } else { Metric::DbHostCpuPercent };
    let latency = if report.by_transactions() { Metric::ServiceP95Ms } else { Metric::P95Ms };
    let mut metrics = vec![report.headline(), cpu, Metric::CpuMsPerTxn, latency];
    metrics.retain(|metric| report.cells.iter().any(|cell| cell.metrics.get(*metric).is_some()));
    metrics
}

fn chart(report: &Report, family: &Family<'_>, metric: Metric, page: &mut Page) {
    let series: Vec<(&String, Vec<(usize, &Summary)>)> =
        report.variants.iter().map(|variant| (variant, points(report, family, variant, metric))).collect();
    let ends =
        series.iter().flat_map(|(_, points)| points).map(|(_, summary)| summary.ci.map_or(summary.mean, |ci| ci[1]));
    let Some(highest) = ends.reduce(f64::max) else { return };
    let (x, x_name) = family.axis(PLOT.across());
    let y = Axis::from_zero(highest, 5, PLOT.up());
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    PLOT.frame(&mut canvas, (&x, x_name), (&y, &labels::axis(metric)));
    let mut told = Vec::new();
    for (index, (variant, points)) in series.iter().enumerate() {
        let aside = (index as f64 - (series.len() - 1) as f64 / 2.0) * ASIDE;
        let style = Style::of_variant(report, variant);
        let place = |level: usize| x.px(family.place(level)) + aside;
        let line = points.iter().map(|(level, summary)| Some((place(*level), y.px(summary.mean))));
        canvas.path(&format!("line {}", style.class()), &polyline(line), None);
        for (level, summary) in points {
            let name = format!("{} {variant}: {}", family.profiles[*level].id, plus_minus(summary));
            let at = (place(*level), y.px(summary.mean));
            if let Some(ci) = summary.ci {
                error_bar(&mut canvas, style, at.0, ci.map(|end| y.px(end)));
            }
            style.mark(&mut canvas, at, if summary.ci.is_some() { Fill::Solid } else { Fill::Hollow }, &name);
            told.push(name);
        }
    }
    let title = format!("{} against load{}", labels::capital(labels::name(metric)), family.suffix());
    page.chart(canvas, &title, &format!("{}: {}.", labels::axis(metric), told.join("; ")));
}

fn error_bar(canvas: &mut Canvas, style: Style, x: f64, [low, high]: [f64; 2]) {
    let class = format!("bar {}", style.class());
    canvas.line(&class, (x, low), (x, high));
    for end in [low, high] {
        canvas.line(&class, (x - 3.0, end), (x + 3.0, end));
    }
}

/// A variant's means by the place of their level in the family.
fn points<'r>(report: &'r Report, family: &Family<'_>, variant: &str, metric: Metric) -> Vec<(usize, &'r Summary)> {
    let cell = |profile: &str| report.cells.iter().find(|cell| cell.profile == profile && cell.variant == variant);
    let levels = family.profiles.iter().enumerate();
    levels.filter_map(|(index, profile)| Some((index, cell(&profile.id)?.metrics.get(metric)?))).collect()
}

fn figures(report: &Report, metrics: &[Metric]) -> Vec<Column> {
    let words = |title: &str, of: fn(&Cell) -> String| Column::new(title, Align::Left, 0, report.cells.iter().map(of));
    let mut columns =
        vec![words("profile", |cell| cell.profile.clone()), words("variant", |cell| cell.variant.clone())];
    for metric in metrics {
        let mean = |cell: &Cell| cell.metrics.get(*metric).map_or_else(String::new, plus_minus);
        columns.push(Column::new(metric.name(), Align::Right, 0, report.cells.iter().map(mean)));
    }
    columns.push(Column::new("n", Align::Right, 0, report.cells.iter().map(|cell| cell.n.to_string())));
    columns
}
