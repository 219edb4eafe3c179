//! The terminal's form: a table that a sysbench user understands, what speaks against single runs, and what the tool
//! doubts about the whole.

mod changes;
mod compare;
mod figures;
mod table;

use serde_json::Value;

pub use compare::comparison;

use super::doubts::doubts;
use crate::analysis::verdict::Verdict;
use crate::analysis::{Cell, Metric, Report, RunReport};
use figures::{number, plus_minus};
use table::{Align, Column};

/// The report for a terminal of `width` columns.
pub fn text(report: &Report, width: u16) -> String {
    let width = usize::from(width).max(40);
    let mut out = String::new();
    head(report, width, &mut out);
    out.push('\n');
    out.push_str(&table::fit(cells(report), width));
    if report.cells.iter().any(|cell| cell.metrics.iter().any(|(_, summary)| summary.ci.is_some())) {
        let level = 100.0 * report.confidence;
        item("", &format!("\u{b1} is half of the {level} % interval of the mean over n runs."), width, &mut out);
    }
    if let Some(changes) = changes::columns(report) {
        out.push_str(&format!("\nAgainst {}, paired by block:\n", report.baseline));
        out.push_str(&table::fit(changes, width));
    }
    waits(report, width, &mut out);
    doubtful_runs(report, width, &mut out);
    let doubts = doubts(report);
    if !doubts.is_empty() {
        out.push_str("\nDoubts:\n");
        doubts.iter().for_each(|doubt| item("- ", doubt, width, &mut out));
    }
    out
}

fn head(report: &Report, width: usize, out: &mut String) {
    item("", &format!("{} ({}, {})", report.study, report.study_id, report.state.name()), width, out);
    // A simulated database has nothing but its kind to tell as version and connection.
    let mut target = vec![report.target.kind.as_str()];
    let details = [&report.target.version, &report.target.connection].into_iter().flatten();
    target.extend(details.map(String::as_str).filter(|detail| *detail != report.target.kind));
    item("", &format!("target: {}", target.join(", ")), width, out);
    item("", &format!("workload: {}", workload(report)), width, out);
}

/// Kind and script as they are, other options with their names.
fn workload(report: &Report) -> String {
    const SELF_EVIDENT: [&str; 3] = ["kind", "script", "calls"];
    let own = SELF_EVIDENT.iter().filter_map(|key| report.workload.get(*key).map(plain)).collect::<Vec<_>>().join(" ");
    let others = report.workload.iter().filter(|(key, _)| !SELF_EVIDENT.contains(&key.as_str()));
    let named = others.map(|(key, value)| format!("{key} {}", plain(value)));
    [own].into_iter().chain(named).collect::<Vec<_>>().join(", ")
}

/// Of tables by name, the names.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(tables) if tables.values().all(Value::is_object) => {
            tables.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// The columns of the main table; the rank says which go first where the terminal is narrow.
fn cells(report: &Report) -> Vec<Column> {
    let service = report.by_transactions();
    let several_variants = report.variants.len() > 1;
    let figure = |title: &str, rank: u8, metric: Metric| {
        let of = |cell: &Cell| cell.metrics.get(metric).map_or_else(String::new, |summary| number(summary.mean));
        Column::new(title, Align::Right, rank, report.cells.iter().map(of))
    };
    let spread = |title: &str, metric: Metric| {
        let of = |cell: &Cell| cell.metrics.get(metric).map_or_else(String::new, plus_minus);
        Column::new(title, Align::Right, 0, report.cells.iter().map(of))
    };
    let percent = |title: &str, rank: u8, metric: Metric| {
        let of = |cell: &Cell| cell.metrics.get(metric).map_or_else(String::new, |it| format!("{:.0}%", it.mean));
        Column::new(title, Align::Right, rank, report.cells.iter().map(of))
    };
    let vus = |cell: &Cell| match report.profile(&cell.profile) {
        Some(profile) if profile.sessions_per_vu > 1 => format!("{}x{}", profile.vus, profile.sessions_per_vu),
        Some(profile) => profile.vus.to_string(),
        None => String::new(),
    };
    let mut columns = vec![Column::new("profile", Align::Left, 0, report.cells.iter().map(|it| it.profile.clone()))];
    if several_variants {
        columns.push(Column::new("variant", Align::Left, 0, report.cells.iter().map(|it| it.variant.clone())));
    }
    columns.push(Column::new("VUs", Align::Right, 8, report.cells.iter().map(vus)));
    if service {
        columns.push(spread("service ms", Metric::ServiceMeanMs));
        columns.push(figure("p50", 3, Metric::ServiceP50Ms));
        columns.push(figure("p95", 0, Metric::ServiceP95Ms));
        columns.push(figure("p99", 4, Metric::ServiceP99Ms));
    } else {
        if report.is_order_entry() {
            columns.push(spread("NOPM", Metric::Nopm));
            columns.push(figure("TPM", 1, Metric::Tpm));
        } else {
            columns.push(spread("TPS", Metric::Tps));
            columns.push(figure("QPS", 5, Metric::Qps));
        }
        columns.push(figure("p50 ms", 9, Metric::P50Ms));
        columns.push(figure("p95 ms", 0, Metric::P95Ms));
        columns.push(figure("p99 ms", 4, Metric::P99Ms));
    }
    columns.push(figure("err/s", 3, Metric::ErrorsPerS));
    // On a shared machine the host's CPU is the load's as well and says little about the database.
    match report.target.shared_host {
        true => columns.push(percent("DB proc CPU", 6, Metric::DbProcessCpuPercent)),
        false => columns.push(percent("DB CPU", 6, Metric::DbHostCpuPercent)),
    }
    columns.push(percent("driver CPU", 7, Metric::DriverHostCpuPercent));
    columns.push(Column::new("n", Align::Right, 0, report.cells.iter().map(|cell| cell.n.to_string())));
    columns.push(Column::new("verdict", Align::Left, 0, report.cells.iter().map(|cell| judgement(report, cell))));
    columns.retain(|column| !column.is_empty());
    columns
}

/// "valid", or what is not: "1 degraded, 2 invalid".
fn judgement(report: &Report, cell: &Cell) -> String {
    let count = |verdict: Verdict| of_cell(report, cell).filter(|run| run.verdict() == verdict).count();
    let parts: Vec<String> = [Verdict::Degraded, Verdict::Invalid]
        .into_iter()
        .map(|verdict| (count(verdict), verdict.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    match (parts.is_empty(), cell.n) {
        (true, 0) => "no run".to_owned(),
        (true, _) => Verdict::Valid.name().to_owned(),
        (false, _) => parts.join(", "),
    }
}

fn of_cell<'r>(report: &'r Report, cell: &'r Cell) -> impl Iterator<Item = &'r RunReport> {
    report.runs.iter().filter(|run| run.variant == cell.variant && run.profile == cell.profile && !run.superseded)
}

/// The longest waits of each cell.
fn waits(report: &Report, width: usize, out: &mut String) {
    const TOLD: usize = 5;
    if report.cells.iter().any(|cell| !cell.waits.is_empty()) {
        out.push_str("\nWaits of the database's workers, ms a second:\n");
    }
    for cell in report.cells.iter().filter(|cell| !cell.waits.is_empty()) {
        let told = cell.waits.iter().take(TOLD).map(|wait| format!("{} {}", wait.name, number(wait.ms_per_s)));
        item("- ", &format!("{}: {}", report.cell_name(cell), told.collect::<Vec<_>>().join(", ")), width, out);
    }
}

/// Runs with the same reasons share a paragraph.
fn doubtful_runs(report: &Report, width: usize, out: &mut String) {
    let mut paragraphs: Vec<(String, Vec<String>)> = Vec::new();
    for run in report.runs.iter().filter(|run| !run.reasons.is_empty()) {
        let variant = if report.variants.len() > 1 { format!(" {}", run.variant) } else { String::new() };
        let place = format!("run {} ({}{variant}, repetition {})", run.run, run.profile, run.repetition);
        let left_out = if run.verdict() == Verdict::Invalid { ", left out" } else { "" };
        let reasons: Vec<String> = run.reasons.iter().map(ToString::to_string).collect();
        let words = format!("{}{left_out}: {}", run.verdict().name(), reasons.join("; "));
        match paragraphs.iter_mut().find(|(known, _)| *known == words) {
            Some((_, places)) => places.push(place),
            None => paragraphs.push((words, vec![place])),
        }
    }
    if !paragraphs.is_empty() {
        out.push_str("\nRuns with something against them:\n");
    }
    for (words, places) in paragraphs {
        item("- ", &format!("{}: {words}", places.join(", ")), width, out);
    }
}

/// Text after a bullet, broken between words, later lines indented.
fn item(bullet: &str, text: &str, width: usize, out: &mut String) {
    let indent = bullet.chars().count();
    let mut used = indent;
    out.push_str(bullet);
    for (index, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 && used + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if index > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out.push('\n');
}
