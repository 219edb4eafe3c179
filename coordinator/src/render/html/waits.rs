//! What the database's workers waited for.

use super::page::Page;
use crate::analysis::waits::Wait;
use crate::analysis::{Cell, Report};
use crate::render::chart::style::{Style, legend};
use crate::render::chart::{Anchor, Axis, Canvas};
use crate::render::column::{Align, Column};
use crate::render::figures::number;

const WIDTH: f64 = 490.0;
const NAMES: f64 = 190.0;
const HEAD: f64 = 26.0;
const FOOT: f64 = 44.0;
const BAR: f64 = 9.0;
const GAP: f64 = 8.0;
/// Waits of each level.
const SHOWN: usize = 6;

pub(super) fn section(report: &Report, page: &mut Page) {
    let cells: Vec<&Cell> = report.cells.iter().filter(|cell| !cell.waits.is_empty()).collect();
    if cells.is_empty() {
        return;
    }
    page.heading("waits", "Waits");
    page.figure(
        |page| {
            if report.variants.len() > 1 {
                page.raw(&legend(report.variants.iter().map(|name| (Style::of_variant(report, name), name.as_str()))));
            }
            page.grid("two", |page| {
                for profile in &report.profiles {
                    let own: Vec<&Cell> = cells.iter().copied().filter(|cell| cell.profile == profile.id).collect();
                    if !own.is_empty() {
                        let title = format!("Waits of the database's workers, {}", profile.id);
                        page.chart(bars(report, &profile.id, &own), &title, &described(report, &own));
                    }
                }
            });
        },
        "Time that the database's workers waited, all of them together, by what for; the longest of each level.",
        &figures(&cells),
    );
}

fn described(report: &Report, cells: &[&Cell]) -> String {
    let longest = |cell: &&Cell| {
        let wait = cell.waits.first()?;
        Some(format!("{}: {} {} ms a second", report.cell_name(cell), wait.name, number(wait.ms_per_s)))
    };
    format!("{}.", cells.iter().filter_map(longest).collect::<Vec<_>>().join("; "))
}

fn bars(report: &Report, profile: &str, cells: &[&Cell]) -> Canvas {
    let names = longest(cells);
    let row = cells.len() as f64 * BAR + GAP;
    let bottom = HEAD + names.len() as f64 * row;
    let highest = cells.iter().flat_map(|cell| &cell.waits).map(|wait| wait.ms_per_s).fold(0.0, f64::max);
    let axis = Axis::from_zero(highest, 4, (NAMES, WIDTH - 16.0));
    let mut canvas = Canvas::new(WIDTH, bottom + FOOT);
    canvas.text("title", Anchor::Start, (4.0, 15.0), profile);
    for (value, label) in &axis.ticks {
        canvas.line("grid", (axis.px(*value), HEAD), (axis.px(*value), bottom));
        canvas.text("tick", Anchor::Middle, (axis.px(*value), bottom + 16.0), label);
    }
    canvas.text("unit", Anchor::End, (WIDTH - 16.0, bottom + 34.0), "ms waited a second");
    for (index, name) in names.iter().enumerate() {
        let top = HEAD + index as f64 * row + GAP / 2.0;
        canvas.text("label", Anchor::Start, (4.0, top + (row - GAP) / 2.0 + 4.5), name);
        for (place, cell) in cells.iter().enumerate() {
            let Some(wait) = find(cell, name) else { continue };
            let class = format!("fill {}", Style::of_variant(report, &cell.variant).class());
            let (from, to) = (top + place as f64 * BAR, top + (place + 1) as f64 * BAR - 1.0);
            canvas.rect(&class, (axis.px(0.0), from), (axis.px(wait.ms_per_s), to));
        }
    }
    canvas
}

fn find<'c>(cell: &'c Cell, name: &str) -> Option<&'c Wait> {
    cell.waits.iter().find(|wait| wait.name == name)
}

/// The names of the longest waits of some cells.
fn longest<'c>(cells: &[&'c Cell]) -> Vec<&'c str> {
    let mut waits: Vec<&Wait> = cells.iter().flat_map(|cell| &cell.waits).collect();
    waits.sort_by(|a, b| b.ms_per_s.total_cmp(&a.ms_per_s));
    let mut names: Vec<&str> = Vec::new();
    for wait in waits {
        if !names.contains(&wait.name.as_str()) && names.len() < SHOWN {
            names.push(&wait.name);
        }
    }
    names
}

fn figures(cells: &[&Cell]) -> Vec<Column> {
    let rows: Vec<(&Cell, &Wait)> = cells.iter().flat_map(|cell| cell.waits.iter().map(|wait| (*cell, wait))).collect();
    let column = |title: &str, align, of: fn(&Cell, &Wait) -> String| {
        Column::new(title, align, 0, rows.iter().map(|(cell, wait)| of(cell, wait)))
    };
    vec![
        column("profile", Align::Left, |cell, _| cell.profile.clone()),
        column("variant", Align::Left, |cell, _| cell.variant.clone()),
        column("wait", Align::Left, |_, wait| wait.name.clone()),
        column("ms/s", Align::Right, |_, wait| number(wait.ms_per_s)),
        column("for a processor, ms/s", Align::Right, |_, wait| number(wait.signal_ms_per_s)),
        column("waits/s", Align::Right, |_, wait| number(wait.waits_per_s)),
    ]
}
