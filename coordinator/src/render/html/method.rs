//! How it was measured.

use super::page::Page;
use crate::analysis::{ProfileReport, Report, RunReport};
use crate::ledger::{MeasureFacts, ScheduleOutline};
use crate::render::workload;

pub(super) fn section(report: &Report, page: &mut Page) {
    page.heading("method", "How it was measured");
    let target = [&report.target.version, &report.target.connection].into_iter().flatten();
    let mut target: Vec<&str> = target.map(String::as_str).collect();
    target.insert(0, &report.target.kind);
    target.dedup();
    let mut terms = vec![("target", target.join(", ")), ("workload", workload::words(&report.workload))];
    if report.variants.len() > 1 {
        terms.push(("variants", variants(report)));
    }
    terms.push(("levels", report.profiles.iter().map(level).collect::<Vec<_>>().join("; ")));
    terms.extend(fleet(report).map(|words| ("driven by", words)));
    terms.push(("window", window(report)));
    if let Some(schedule) = &report.schedule {
        terms.push(("order", order(report, schedule)));
        terms.extend(schedule.reset.clone().map(|words| ("reset", words)));
        terms.push(("invalid runs", repeats(schedule)));
    }
    terms.push((
        "intervals",
        format!("{} %, over run means; samples within a run are correlated and give none", 100.0 * report.confidence),
    ));
    terms.push(("seed", format!("{}, where every random stream started", report.seed)));
    page.terms(&terms);
}

fn variants(report: &Report) -> String {
    let named = report.variants.iter().map(|variant| match variant {
        variant if *variant == report.baseline => format!("{variant} (baseline)"),
        variant if report.controls.contains(variant) => format!("{variant} (as the baseline, to see the noise)"),
        variant => variant.clone(),
    });
    named.collect::<Vec<_>>().join(", ")
}

fn level(profile: &ProfileReport) -> String {
    let sessions = match profile.sessions_per_vu {
        1 => String::new(),
        each => format!(" with {each} sessions each"),
    };
    let users = if profile.vus == 1 { "virtual user" } else { "virtual users" };
    let own = match profile.workload.is_empty() {
        true => String::new(),
        false => format!(", {}", workload::words(&profile.workload)),
    };
    format!("{}: {} {users}{sessions}, pacing {}{own}", profile.id, profile.vus, profile.pacing)
}

/// The fleet of the first run that has one; another fleet in a later run is another generator.
fn fleet(report: &Report) -> Option<String> {
    let names = |run: &RunReport| run.driving.iter().map(|agent| agent.name.clone()).collect::<Vec<_>>();
    let first = report.runs.iter().map(names).find(|names| !names.is_empty())?;
    let same = report.runs.iter().map(names).all(|other| other.is_empty() || other == first);
    let shared = if report.target.shared_host { ", on the database's own machine" } else { "" };
    let words = format!("{}{shared}", first.join(", "));
    Some(if same { words } else { format!("{words}; other agents in some runs, as results.json tells") })
}

fn window(report: &Report) -> String {
    let measured = match report.measure {
        MeasureFacts::DurationNs(ns) => seconds(ns),
        MeasureFacts::Transactions(count) => format!("{count} transactions of each session"),
    };
    let Some(schedule) = &report.schedule else { return measured };
    let ramp_up = match report.by_transactions() {
        true => String::new(),
        false => format!(" after {} of ramp-up", seconds(schedule.ramp_up_ns)),
    };
    let rolled_up = report.runs.iter().any(|run| run.sums_s.is_some());
    let kept = if rolled_up { "kept as sums of" } else { "in intervals of" };
    let interval = report.interval_s.map_or_else(String::new, |length| format!(", {kept} {length} s"));
    let checkpoint = if schedule.checkpoint { ", then a checkpoint" } else { "" };
    format!("{measured}{ramp_up}{interval}{checkpoint}, then {} of rest", seconds(schedule.settle_ns))
}

fn seconds(ns: u64) -> String {
    format!("{} s", ns as f64 / 1e9)
}

fn order(report: &Report, schedule: &ScheduleOutline) -> String {
    if report.variants.len() < 2 && report.profiles.len() < 2 {
        return format!("{} repetitions, one after the other", report.repetitions);
    }
    match schedule.order.as_str() {
        "grouped" => format!(
            "grouped: variant after variant, {} repetitions of each level; whatever drifts meanwhile counts as a difference",
            report.repetitions
        ),
        _ => format!(
            "{} blocks, each a pass over every variant and level, {} after {} in an order drawn from the seed: what drifts \
             meanwhile meets all of them, and pairs within a block are free of it",
            report.repetitions, schedule.nest, schedule.nest
        ),
    }
}

fn repeats(schedule: &ScheduleOutline) -> String {
    match schedule.max_repeats {
        0 => "are left out and not repeated".to_owned(),
        most => format!("are left out, and repeated with their group {most} times at most"),
    }
}
