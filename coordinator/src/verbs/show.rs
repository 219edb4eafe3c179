//! `vufleet show`: a study of the ledger and each of its runs, with what was found against them.

use comfy_table::{Table, presets};

use crate::analysis::{self, Metric, Options, Report, RunReport};
use crate::args::Show;
use crate::exit::Exit;
use crate::ledger::{Ledger, StudyRecord};
use crate::stdout;

use super::studies::instant;

/// Shows.
pub fn run(args: &Show) -> anyhow::Result<Exit> {
    let ledger = Ledger::read_only(&args.ledger.data)?;
    let study = ledger.study(&args.id)?;
    let report = analysis::brief(&ledger, &args.id, Options { absolute: args.absolute })?;
    stdout::put(heading(&study, &report))?;
    if !report.runs.is_empty() {
        stdout::line(runs(&report).trim_fmt())?;
    }
    for run in report.runs.iter().filter(|run| !run.reasons.is_empty()) {
        let reasons: Vec<_> = run.reasons.iter().map(ToString::to_string).collect();
        stdout::line(format_args!("run {}: {}", run.run, reasons.join("; ")))?;
    }
    for standing in ledger.standing()?.iter().filter(|standing| standing.study == study.id) {
        stdout::line(standing.sentence())?;
    }
    Ok(Exit::Done)
}

fn heading(study: &StudyRecord, report: &Report) -> String {
    let ended = study.ended_ns.map_or(String::new(), |ns| format!(", ended {}", instant(ns)));
    let why = if study.message.is_empty() { String::new() } else { format!(": {}", study.message) };
    format!(
        "study {} ({}), {}{why}\nbegun {}{ended}\nseed {}, digest {}\n\n",
        study.name,
        study.id,
        study.state.name(),
        instant(study.facts.begun_ns),
        report.seed,
        study.digest
    )
}

/// One run a line. A column of which nothing is known or told is left out.
fn runs(report: &Report) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let metric =
        |run: &RunReport, metric| run.metrics.get(metric).map(|value| format!("{value:.2}")).unwrap_or_default();
    type Column<'a> = (&'a str, Box<dyn Fn(&RunReport) -> String + 'a>);
    let columns: Vec<Column<'_>> = vec![
        ("run", Box::new(|run| run.run.to_string())),
        ("block", Box::new(|run| if run.repetition == 0 { "-".to_owned() } else { run.repetition.to_string() })),
        ("variant", Box::new(|run| run.variant.clone())),
        ("profile", Box::new(|run| run.profile.clone())),
        ("attempt", Box::new(|run| run.attempt.to_string())),
        (headline(report), Box::new(move |run| metric(run, report.headline()))),
        ("p95 ms", Box::new(move |run| metric(run, Metric::P95Ms))),
        ("verdict", Box::new(verdict)),
    ];
    let filled = |(_, of): &Column<'_>| report.runs.iter().any(|run| !of(run).is_empty());
    let columns: Vec<_> = columns.into_iter().filter(|column| filled(column)).collect();
    table.set_header(columns.iter().map(|(title, _)| *title));
    for run in &report.runs {
        table.add_row(columns.iter().map(|(_, of)| of(run)));
    }
    table
}

/// Title of the column that the study is about first of all.
fn headline(report: &Report) -> &'static str {
    match report.headline() {
        Metric::Nopm => "NOPM",
        Metric::ServiceMeanMs => "service ms",
        _ => "TPS",
    }
}

fn verdict(run: &RunReport) -> String {
    let name = run.verdict().name();
    if run.superseded { format!("{name}, repeated") } else { name.to_owned() }
}
