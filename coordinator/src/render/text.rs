//! The terminal's form: a table that a sysbench user understands, what speaks against single runs, and what the tool
//! doubts about the whole.

mod compare;
mod table;

pub use compare::comparison;

use super::answer::answer;
use super::doubts::doubts;
use super::figures::number;
use super::spread::spread;
use super::{cells, changes, workload};
use crate::analysis::Report;
use crate::analysis::verdict::Verdict;

/// The report for a terminal of `width` columns.
pub fn text(report: &Report, width: u16) -> String {
    let width = usize::from(width).max(40);
    let mut out = String::new();
    answer(report).iter().for_each(|sentence| item("", sentence, width, &mut out));
    out.push('\n');
    head(report, width, &mut out);
    out.push('\n');
    out.push_str(&table::fit(cells::columns(report), width));
    if report.cells.iter().any(|cell| cell.metrics.iter().any(|(_, summary)| summary.ci.is_some())) {
        let level = 100.0 * report.confidence;
        item("", &format!("\u{b1} is half of the {level} % interval of the mean over n runs."), width, &mut out);
    }
    if let Some(changes) = changes::columns(report, &changes::shown(report)) {
        out.push_str(&format!("\nAgainst {}, paired by {}:\n", report.baseline, changes::pairing(report)));
        out.push_str(&table::fit(changes, width));
    }
    waits(report, width, &mut out);
    doubtful_runs(report, width, &mut out);
    list("How far equal runs are apart", &spread(report), width, &mut out);
    list("Doubts", &doubts(report), width, &mut out);
    out
}

fn list(title: &str, sentences: &[String], width: usize, out: &mut String) {
    if !sentences.is_empty() {
        out.push_str(&format!("\n{title}:\n"));
        sentences.iter().for_each(|sentence| item("- ", sentence, width, out));
    }
}

fn head(report: &Report, width: usize, out: &mut String) {
    item("", &format!("{} ({}, {})", report.study, report.study_id, report.state.name()), width, out);
    // A simulated database has nothing but its kind to tell as version and connection.
    let mut target = vec![report.target.kind.as_str()];
    let details = [&report.target.version, &report.target.connection].into_iter().flatten();
    target.extend(details.map(String::as_str).filter(|detail| *detail != report.target.kind));
    item("", &format!("target: {}", target.join(", ")), width, out);
    item("", &format!("workload: {}", workload::words(&report.workload)), width, out);
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
