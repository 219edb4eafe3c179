//! What the variants change, level by level.

use super::page::Page;
use crate::analysis::{Cell, Change, Conclusion, Metric, Report};
use crate::render::answer::question;
use crate::render::changes;
use crate::render::chart::forest::{Entry, Forest, Panel, Row};
use crate::render::chart::style::{Fill, Style};
use crate::render::figures::signed;
use crate::render::labels;

/// Metrics side by side.
const PANELS: usize = 3;

pub(super) fn section(report: &Report, page: &mut Page) {
    let Some(columns) = changes::columns(report, &changes::shown(report)) else { return };
    page.heading("changes", "Change per level");
    let compared: Vec<&Cell> = report.cells.iter().filter(|cell| !cell.change.is_empty()).collect();
    let metrics = panels(report, &compared);
    let forest = Forest {
        rows: compared.iter().map(|cell| row(report, cell)).collect(),
        panels: metrics.iter().map(|metric| panel(report, &compared, *metric)).collect(),
    };
    let level = 100.0 * report.confidence;
    let against = format!("Change against {} with {level} % intervals", report.baseline);
    let floor = match forest.panels.iter().any(|panel| panel.noise.is_some()) {
        true => " The shaded band is the noise floor: as far as the intervals of variants that do not differ reach.",
        false => "",
    };
    let caption = format!(
        "{against}, from log-ratios paired by {}. A filled marker is a difference that is shown after Holm's correction, a \
         hollow one is not.{floor}",
        changes::pairing(report)
    );
    let description = description(report, &compared, &metrics);
    page.figure(|page| page.chart(forest.draw(), &against, &description), &caption, &columns);
}

/// What the answer is about first, then what people compare.
fn panels(report: &Report, compared: &[&Cell]) -> Vec<Metric> {
    let mut metrics = vec![question(report)];
    metrics.extend(changes::shown(report).into_iter().filter(|metric| *metric != question(report)));
    metrics.retain(|metric| compared.iter().any(|cell| cell.change.get(*metric).is_some()));
    metrics.truncate(PANELS);
    metrics
}

fn row(report: &Report, cell: &Cell) -> Row {
    let others = report.variants.iter().filter(|variant| **variant != report.baseline).count();
    let name = if others > 1 { cell.variant.clone() } else { String::new() };
    Row { group: cell.profile.clone(), name, style: Style::of_variant(report, &cell.variant) }
}

fn panel(report: &Report, compared: &[&Cell], metric: Metric) -> Panel {
    let floor = report.noise_floor.iter().find(|floor| floor.metric == metric);
    Panel {
        title: labels::capital(labels::name(metric)),
        noise: floor.map(|floor| floor.bound_percent.abs()),
        entries: compared.iter().map(|cell| cell.change.get(metric).map(entry)).collect(),
    }
}

fn entry(change: &Change) -> Entry {
    Entry {
        percent: change.change.percent,
        ci: change.change.ci,
        told: format!("{}%", signed(change.change.percent)),
        fill: match change.conclusion {
            Conclusion::NoDifferenceShown => Fill::Hollow,
            Conclusion::Higher | Conclusion::Lower => Fill::Solid,
        },
    }
}

fn description(report: &Report, compared: &[&Cell], metrics: &[Metric]) -> String {
    let mut words = Vec::new();
    for metric in metrics {
        for cell in compared {
            if let Some(change) = cell.change.get(*metric) {
                let (name, change) = (report.cell_name(cell), signed(change.change.percent));
                words.push(format!("{} {name} {change} %", labels::name(*metric)));
            }
        }
    }
    format!("{}.", words.join("; "))
}
