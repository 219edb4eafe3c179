//! Every run, and what speaks against it.

use super::page::{Fold, Page};
use crate::analysis::verdict::Verdict;
use crate::analysis::{Cell, Report, RunReport};
use crate::render::column::{Align, Column};
use crate::render::figures::signed;
use crate::render::json::rfc3339;
use crate::render::labels;

/// A study of more runs than this shows those without a flaw when somebody asks.
const ALL_SHOWN: usize = 40;

pub(super) fn section(report: &Report, page: &mut Page) {
    if report.runs.is_empty() {
        return;
    }
    page.heading("validity", "Validity");
    page.table(&counts(report));
    let doubtful: Vec<&RunReport> = report.runs.iter().filter(|run| !run.reasons.is_empty()).collect();
    if !doubtful.is_empty() && report.runs.len() > ALL_SHOWN {
        page.folded(&format!("{} runs with something against them", doubtful.len()), Fold::Open, |page| {
            page.table(&runs(report, &doubtful));
        });
    }
    let fold = if report.runs.len() > ALL_SHOWN { Fold::Closed } else { Fold::Open };
    for profile in &report.profiles {
        let own: Vec<&RunReport> = report.runs.iter().filter(|run| run.profile == profile.id).collect();
        if !own.is_empty() {
            let words = format!("{}: {}", profile.id, told(own.len(), "run"));
            page.folded(&words, fold, |page| page.table(&runs(report, &own)));
        }
    }
}

fn told(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Verdicts by cell.
fn counts(report: &Report) -> Vec<Column> {
    let count = |title: &str, holds: fn(&RunReport) -> bool| {
        let of = |cell: &Cell| {
            let own = report.runs.iter().filter(|run| run.repetition > 0);
            let own = own.filter(|run| run.variant == cell.variant && run.profile == cell.profile);
            own.filter(|run| holds(run)).count().to_string()
        };
        Column::new(title, Align::Right, 0, report.cells.iter().map(of))
    };
    let words = |title: &str, of: fn(&Cell) -> String| Column::new(title, Align::Left, 0, report.cells.iter().map(of));
    let mut columns = vec![
        words("profile", |cell| cell.profile.clone()),
        words("variant", |cell| cell.variant.clone()),
        count("count", RunReport::counts),
        count("valid", |run| run.verdict() == Verdict::Valid),
        count("degraded", |run| run.verdict() == Verdict::Degraded),
        count("invalid", |run| run.verdict() == Verdict::Invalid),
        count("superseded", |run| run.superseded),
    ];
    columns.retain(|column| column.entries.iter().any(|entry| entry != "0"));
    columns
}

fn runs(report: &Report, runs: &[&RunReport]) -> Vec<Column> {
    let column = |title: &str, align, of: &dyn Fn(&RunReport) -> String| {
        Column::new(title, align, 0, runs.iter().map(|run| of(run)))
    };
    let mut columns = vec![
        column("run", Align::Right, &|run| run.run.to_string()),
        column("profile", Align::Left, &|run| run.profile.clone()),
        column("variant", Align::Left, &|run| run.variant.clone()),
        column("block", Align::Right, &|run| match run.repetition {
            0 => "switch".to_owned(),
            block => block.to_string(),
        }),
        column("attempt", Align::Right, &|run| run.attempt.to_string()),
        column("window began", Align::Left, &|run| {
            run.window.and_then(|window| rfc3339(window.start_ns)).unwrap_or_default()
        }),
        column("verdict", Align::Left, &|run| verdict(run)),
        column("why", Align::Left, &|run| run.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        column("far from its cell", Align::Left, &|run| outliers(report, run)),
    ];
    columns.retain(|column| !column.is_empty());
    columns
}

fn verdict(run: &RunReport) -> String {
    let name = run.verdict().name();
    match (run.superseded, run.repetition) {
        (true, _) => format!("{name}, superseded"),
        (false, 0) => format!("{name}, in no cell"),
        (false, _) if run.verdict() == Verdict::Invalid => format!("{name}, left out"),
        (false, _) => name.to_owned(),
    }
}

fn outliers(report: &Report, run: &RunReport) -> String {
    let own = report.outliers.iter().filter(|outlier| outlier.run == run.run);
    let told = own.map(|outlier| format!("{} {}%", labels::name(outlier.metric), signed(outlier.percent)));
    told.collect::<Vec<_>>().join(", ")
}
