//! Two studies beside each other, for a terminal.

use super::{item, table};
use crate::analysis::Metric;
use crate::analysis::compare::{CellName, Comparison, Difference, Side, Step};
use crate::analysis::statistics::Percent;
use crate::render::changes::conclusion_of;
use crate::render::column::{Align, Column};
use crate::render::figures::{p_value, plus_minus, signed};

/// What people compare first, beside the headline.
const SHOWN: [Metric; 4] = [Metric::P95Ms, Metric::CpuMsPerTxn, Metric::DbHostCpuPercent, Metric::DbProcessCpuPercent];
/// Settings of one source that are printed; two server versions differ in hundreds.
const PRINTED: usize = 25;

/// The comparison for a terminal of `width` columns.
pub fn comparison(comparison: &Comparison, width: u16) -> String {
    let width = usize::from(width).max(40);
    let mut out = String::new();
    for (letter, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        item("", &format!("{letter}: {}", of(side)), width, &mut out);
    }
    let how = match comparison.same_study {
        true => "B against A, paired by block:",
        false => "B against A, not paired:",
    };
    out.push_str(&format!("\n{how}\n"));
    out.push_str(&table::fit(cells(comparison), width));
    let level = 100.0 * comparison.confidence;
    let words = format!(
        "\u{b1} and interval at {level} %; the conclusion follows p after Holm's correction over all cells of a metric; a change as large as the \
         detectable one would have been found four times out of five."
    );
    item("", &words, width, &mut out);
    if !comparison.effects.is_empty() {
        out.push_str("\nWhat a variant changes against its own baseline, in B against in A:\n");
        out.push_str(&table::fit(effects(comparison), width));
    }
    for (words, cells) in [("Only in A", &comparison.only_a), ("Only in B", &comparison.only_b)] {
        if !cells.is_empty() {
            let names = cells.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            out.push('\n');
            item("", &format!("{words}: {names}"), width, &mut out);
        }
    }
    differences(comparison, width, &mut out);
    if !comparison.doubts.is_empty() {
        out.push_str("\nDoubts:\n");
        comparison.doubts.iter().for_each(|doubt| item("- ", doubt, width, &mut out));
    }
    out
}

fn of(side: &Side) -> String {
    let version = side.version.as_ref().filter(|version| **version != side.target);
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    format!("{} ({}, {}), {}{version}", side.study, side.study_id, side.state, side.target)
}

fn shown(comparison: &Comparison) -> impl Iterator<Item = Metric> {
    let headline = comparison.headline;
    let shared = comparison.a.shared_host || comparison.b.shared_host;
    let told = move |metric: &Metric| *metric != headline && !(shared && *metric == Metric::DbHostCpuPercent);
    [headline].into_iter().chain(SHOWN.into_iter().filter(told))
}

/// Two names where they are not the same.
fn name(a: &CellName, b: &CellName, of: impl Fn(&CellName) -> &String) -> String {
    if of(a) == of(b) { of(a).clone() } else { format!("{} \u{2192} {}", of(a), of(b)) }
}

fn cells(comparison: &Comparison) -> Vec<Column> {
    let rows: Vec<_> = comparison
        .cells
        .iter()
        .flat_map(|cell| shown(comparison).map(move |metric| (cell, metric)))
        .filter(|(cell, metric)| *metric == comparison.headline || cell.change.get(*metric).is_some())
        .collect();
    let column = |title: &str, align, rank, of: &dyn Fn(usize) -> String| {
        Column::new(title, align, rank, (0..rows.len()).map(of))
    };
    let means = |row: usize| {
        let (cell, metric) = rows[row];
        let told = cell.metrics.get(metric);
        told.map_or_else(String::new, |[a, b]| format!("{}, {}", plus_minus(a), plus_minus(b)))
    };
    let step = |row: usize, of: fn(&Step) -> String| {
        let (cell, metric) = rows[row];
        cell.change.get(metric).map_or_else(String::new, of)
    };
    let mut columns = vec![
        column("profile", Align::Left, 0, &|row| name(&rows[row].0.a, &rows[row].0.b, |cell| &cell.profile)),
        column("variant", Align::Left, 0, &|row| name(&rows[row].0.a, &rows[row].0.b, |cell| &cell.variant)),
        column("metric", Align::Left, 0, &|row| rows[row].1.name().to_owned()),
        column("A, B", Align::Right, 3, &means),
        column("change", Align::Right, 0, &|row| step(row, |step| percent(&step.change))),
        column("interval", Align::Right, 0, &|row| step(row, |step| interval(&step.change))),
        column("p (Holm)", Align::Right, 4, &|row| step(row, |step| p_value(step.p_holm))),
        column("detectable", Align::Right, 5, &|row| step(row, |step| format!("{:.1}%", step.detectable_percent))),
        column("n", Align::Right, 2, &|row| format!("{}, {}", rows[row].0.n[0], rows[row].0.n[1])),
        column("conclusion", Align::Left, 0, &|row| {
            step(row, |step| conclusion_of(step.conclusion, step.not_after_correction_for))
        }),
    ];
    columns.retain(|column| !column.is_empty());
    columns
}

fn effects(comparison: &Comparison) -> Vec<Column> {
    let rows: Vec<_> = comparison
        .effects
        .iter()
        .flat_map(|effect| {
            shown(comparison).filter_map(move |metric| Some((effect, metric, effect.change.get(metric)?)))
        })
        .collect();
    let column = |title: &str, align, rank, of: &dyn Fn(usize) -> String| {
        Column::new(title, align, rank, (0..rows.len()).map(of))
    };
    let own = |row: usize, side: usize| {
        let (effect, metric, _) = rows[row];
        effect.own.get(metric).map_or_else(String::new, |both| percent(&both[side]))
    };
    vec![
        column("profile", Align::Left, 0, &|row| rows[row].0.cell.profile.clone()),
        column("variant", Align::Left, 0, &|row| rows[row].0.cell.variant.clone()),
        column("metric", Align::Left, 0, &|row| rows[row].1.name().to_owned()),
        column("in A", Align::Right, 0, &|row| own(row, 0)),
        column("in B", Align::Right, 0, &|row| own(row, 1)),
        column("B against A", Align::Right, 0, &|row| percent(&rows[row].2.change)),
        column("interval", Align::Right, 0, &|row| interval(&rows[row].2.change)),
        column("p (Holm)", Align::Right, 4, &|row| p_value(rows[row].2.p_holm)),
        column("n", Align::Right, 2, &|row| format!("{}, {}", rows[row].0.n[0], rows[row].0.n[1])),
        column("conclusion", Align::Left, 0, &|row| {
            conclusion_of(rows[row].2.conclusion, rows[row].2.not_after_correction_for)
        }),
    ]
}

fn percent(change: &Percent) -> String {
    format!("{}%", signed(change.percent))
}

fn interval(change: &Percent) -> String {
    format!("{} to {}", signed(change.ci[0]), signed(change.ci[1]))
}

fn differences(comparison: &Comparison, width: usize, out: &mut String) {
    if comparison.differences.is_empty() {
        return;
    }
    out.push_str("\nWhat else differs, A and B:\n");
    for of_one in comparison.differences.chunk_by(|one, other| one.of == other.of) {
        for difference in of_one.iter().take(PRINTED) {
            item("- ", &words(difference), width, out);
        }
        if of_one.len() > PRINTED {
            let more = format!("{}: {} more; --json has all of them", of_one[0].of, of_one.len() - PRINTED);
            item("- ", &more, width, out);
        }
    }
}

/// What fits beside another of its kind.
fn brief(value: &str) -> String {
    const LONGEST: usize = 100;
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", &value[..end]),
        None => value.to_owned(),
    }
}

fn words(difference: &Difference) -> String {
    let value = |value: &Option<String>| brief(value.as_deref().unwrap_or("(not there)"));
    format!("{} {}: {}, {}", difference.of, difference.name, value(&difference.a), value(&difference.b))
}
