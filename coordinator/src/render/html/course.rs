//! Runs over time: the database's CPU in every run, and both CPU and throughput where a variant goes live in mid-run.

use super::page::Page;
use crate::analysis::{Cell, Metric, Report, RunReport, TimelinePoint, window_s};
use crate::render::chart::style::Style;
use crate::render::chart::svg::{clipped, polyline};
use crate::render::chart::{Anchor, Axis, Canvas, Plot, escape};
use crate::render::column::{Align, Column};
use crate::render::figures::number;
use crate::render::labels;

/// A cell's chart: as high as any other, and as wide as the columns are.
const SMALL_HEIGHT: f64 = 190.0;
const SMALL_PLOT: Plot = Plot { left: 38.0, top: 46.0, right: 0.0, bottom: 150.0 };
/// A switch run's two.
const LARGE: (f64, f64) = (1000.0, 430.0);
const UPPER_PLOT: Plot = Plot { left: 62.0, top: 56.0, right: 985.0, bottom: 186.0 };
const LOWER_PLOT: Plot = Plot { left: 62.0, top: 254.0, right: 985.0, bottom: 384.0 };
/// A switch that was over at once is still to be seen.
const THINNEST: f64 = 2.0;

type Of = fn(&TimelinePoint) -> Option<f64>;

pub(super) fn section(report: &Report, page: &mut Page) {
    let cpu = cpu(report);
    let switched: Vec<&RunReport> = report.runs.iter().filter(|run| run.repetition == 0).collect();
    let drawn = |run: &&RunReport| run.timeline.len() > 1;
    if cpu.is_none() && !switched.iter().any(drawn) {
        return;
    }
    page.heading("course", "Over time");
    if let Some((metric, of)) = cpu {
        of_cells(report, metric, of, page);
    }
    for run in switched.into_iter().filter(drawn) {
        of_switch(run, cpu, page);
    }
}

/// Which CPU is drawn: on a shared machine the host's is the load's as well.
fn cpu(report: &Report) -> Option<(Metric, Of)> {
    let host: (Metric, Of) = (Metric::DbHostCpuPercent, |point| point.host_cpu_percent);
    let process: (Metric, Of) = (Metric::DbProcessCpuPercent, |point| point.process_cpu_percent);
    let order = if report.target.shared_host { [process, host] } else { [host, process] };
    let is_there =
        |(_, of): &(Metric, Of)| report.runs.iter().flat_map(|run| &run.timeline).any(|point| of(point).is_some());
    order.into_iter().find(is_there)
}

fn of_cells(report: &Report, metric: Metric, of: Of, page: &mut Page) {
    let runs = |cell: &Cell| -> Vec<&RunReport> {
        let own = |run: &&RunReport| run.variant == cell.variant && run.profile == cell.profile && run.repetition > 0;
        report.runs.iter().filter(own).filter(|run| run.timeline.iter().any(|point| of(point).is_some())).collect()
    };
    let cells: Vec<(&Cell, Vec<&RunReport>)> =
        report.cells.iter().map(|cell| (cell, runs(cell))).filter(|(_, runs)| !runs.is_empty()).collect();
    let all = || cells.iter().flat_map(|(_, runs)| runs.iter().copied());
    let highest = all().flat_map(|run| &run.timeline).filter_map(of).fold(0.0, f64::max);
    let longest = all().map(end_s).fold(0.0, f64::max);
    let (class, width) = columns(report.variants.len());
    let plot = Plot { right: width - 8.0, ..SMALL_PLOT };
    let (x, y) = (Axis::until(longest, 4, plot.across()), Axis::from_zero(highest, 3, plot.up()));
    let caption = format!(
        "{} in every run, one line each; the measured window is shaded, and dashed lines are runs that do not count.",
        labels::capital(labels::name(metric))
    );
    page.figure(
        |page| {
            page.grid(class, |page| {
                for (cell, runs) in &cells {
                    let canvas = small(report, cell, runs, (&plot, &x, &y), of);
                    let title =
                        format!("{} over time, {}", labels::capital(labels::name(metric)), report.cell_name(cell));
                    page.chart(canvas, &title, &described(cell, metric, runs));
                }
            });
        },
        &caption,
        &figures(&all().collect::<Vec<_>>(), metric, of),
    );
}

/// Columns that put the variants of one level beside each other, and how wide each is.
fn columns(variants: usize) -> (&'static str, f64) {
    match variants {
        2 => ("two", 495.0),
        1 | 3 => ("three", 325.0),
        _ => ("four", 240.0),
    }
}

fn end_s(run: &RunReport) -> f64 {
    let window = run.window.map_or(0.0, |window| window_s(window).1);
    run.timeline.last().map_or(window, |point| point.at_s.max(window))
}

fn small(report: &Report, cell: &Cell, runs: &[&RunReport], (plot, x, y): (&Plot, &Axis, &Axis), of: Of) -> Canvas {
    let mut canvas = Canvas::new(plot.right + 8.0, SMALL_HEIGHT);
    canvas.text("title", Anchor::Start, (4.0, 15.0), &clipped(&report.cell_name(cell), plot.right));
    shade(&mut canvas, x, plot, runs.iter().copied().find(|run| run.counts()).or(runs.first().copied()));
    plot.frame(&mut canvas, (x, "s since the load began"), (y, "CPU, % of all cores"));
    let style = Style::of_variant(report, &cell.variant);
    for run in runs {
        let class = if run.counts() { format!("run {}", style.class()) } else { "run out".to_owned() };
        let name = format!("run {}, block {}, {}", run.run, run.repetition, run.verdict().name());
        canvas.path(&class, &course(run, x, y, of), Some(&name));
    }
    canvas
}

fn course(run: &RunReport, x: &Axis, y: &Axis, of: Of) -> String {
    polyline(run.timeline.iter().map(|point| of(point).map(|value| (x.px(point.at_s), y.px(value)))))
}

fn shade(canvas: &mut Canvas, x: &Axis, plot: &Plot, run: Option<&RunReport>) {
    if let Some(window) = run.and_then(|run| run.window) {
        let (from, to) = window_s(window);
        canvas.rect("window", (x.px(from), plot.top), (x.px(to), plot.bottom));
    }
}

fn described(cell: &Cell, metric: Metric, runs: &[&RunReport]) -> String {
    let counting = runs.iter().filter(|run| run.counts()).count();
    let mean = cell
        .metrics
        .get(metric)
        .map_or_else(String::new, |summary| format!("; mean inside the window {} %", number(summary.mean)));
    format!("{} runs, {counting} of which count{mean}.", runs.len())
}

fn figures(runs: &[&RunReport], metric: Metric, of: Of) -> Vec<Column> {
    let column = |title: &str, align, tell: &dyn Fn(&RunReport) -> String| {
        Column::new(title, align, 0, runs.iter().map(|run| tell(run)))
    };
    let highest = |run: &RunReport| {
        let values = run.timeline.iter().filter_map(of);
        values.reduce(f64::max).map_or_else(String::new, number)
    };
    vec![
        column("run", Align::Right, &|run| run.run.to_string()),
        column("profile", Align::Left, &|run| run.profile.clone()),
        column("variant", Align::Left, &|run| run.variant.clone()),
        column("block", Align::Right, &|run| run.repetition.to_string()),
        column("mean inside the window, %", Align::Right, &|run| {
            run.metrics.get(metric).map_or_else(String::new, |mean| number(*mean))
        }),
        column("highest at any time, %", Align::Right, &highest),
    ]
}

/// A run in which a variant is turned on: for the eye, and in no interval.
fn of_switch(run: &RunReport, cpu: Option<(Metric, Of)>, page: &mut Page) {
    let mut panels: Vec<(String, Of)> = Vec::new();
    if run.timeline.iter().any(|point| point.tps.is_some()) {
        panels.push((labels::axis(Metric::Tps), |point| point.tps));
    }
    panels.extend(cpu.map(|(metric, of)| (labels::axis(metric), of)));
    let places = match panels.len() {
        1 => vec![UPPER_PLOT],
        _ => vec![UPPER_PLOT, LOWER_PLOT],
    };
    let height = if panels.len() == 1 { LARGE.1 - (LOWER_PLOT.top - UPPER_PLOT.top) } else { LARGE.1 };
    let mut canvas = Canvas::new(LARGE.0, height);
    let names: Vec<&str> = run.switches.iter().map(|switch| switch.variant.as_str()).collect();
    let title = format!("Run {}, {}: {} turned on under load", run.run, run.profile, names.join(" and "));
    canvas.text("title", Anchor::Start, (4.0, 16.0), &title);
    for ((name, of), plot) in panels.iter().zip(places) {
        let highest = run.timeline.iter().filter_map(of).fold(0.0, f64::max);
        let (x, y) = (Axis::until(end_s(run), 10, plot.across()), Axis::from_zero(highest, 4, plot.up()));
        shade(&mut canvas, &x, &plot, Some(run));
        switches(&mut canvas, run, &x, &plot);
        plot.frame(&mut canvas, (&x, "s since the load began"), (&y, name));
        canvas.path("line s1", &course(run, &x, &y, *of), None);
    }
    let moments = run.switches.iter().map(|switch| {
        let (from, to) = moments(run, switch.from_ns, switch.to_ns);
        format!("{} from {from:.1} to {to:.1} s", switch.variant)
    });
    let moments: Vec<String> = moments.collect();
    page.raw("<figure>\n");
    page.chart(canvas, &title, &format!("Turned on: {}.", moments.join(", ")));
    let caption = "One run for the eye, in no cell and no interval. The narrow band is the time in which the variant was turned on.";
    page.raw(&format!("<figcaption>{}</figcaption>\n</figure>\n", escape(caption)));
}

fn moments(run: &RunReport, from_ns: u64, to_ns: u64) -> (f64, f64) {
    run.window.map_or((0.0, 0.0), |window| (window.seconds(from_ns), window.seconds(to_ns)))
}

fn switches(canvas: &mut Canvas, run: &RunReport, x: &Axis, plot: &Plot) {
    for switch in &run.switches {
        let (from, to) = moments(run, switch.from_ns, switch.to_ns);
        let (from, to) = (x.px(from), x.px(to));
        canvas.rect("switch", (from, plot.top), (to.max(from + THINNEST), plot.bottom));
        canvas.text("tick", Anchor::Start, (to + 5.0, plot.top + 11.0), &switch.variant);
    }
}
