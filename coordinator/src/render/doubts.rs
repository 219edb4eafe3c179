//! What this tool doubts about a report as a whole, each with a remedy. What speaks against a single run is a reason of
//! its verdict and not repeated here.

use std::collections::{BTreeMap, BTreeSet};

use vufleet_scenarios::study::TargetKind;

use crate::analysis::verdict::Verdict;
use crate::analysis::{Report, RunReport, SettingsReport};
use crate::ledger::StudyState;

/// Said wherever absolute figures would be.
pub(super) const WITHHELD: &str =
    "absolute figures are withheld, as the study asks (report.relative_only); --absolute shows them";

/// An interval wider than this share of its mean.
const WIDE: f64 = 0.05;
/// So many transactions leave ten values beyond the 99th percentile.
const ENOUGH_FOR_P99: u64 = 1_000;

/// In the order of their weight.
pub(super) fn doubts(report: &Report) -> Vec<String> {
    let mut doubts = Vec::new();
    if report.withheld {
        doubts.push(WITHHELD.to_owned());
    }
    doubts.extend(unfinished(report));
    doubts.extend(too_few_runs(report));
    doubts.extend(confounded(report));
    if report.target.shared_host {
        let words = "load and database share a machine and compete for its CPU; put the agents on other hosts";
        doubts.push(words.to_owned());
    }
    doubts.extend(in_the_clear(report));
    doubts.extend(several_versions(report));
    doubts.extend(rolled_up(report));
    doubts.extend(several_fleets(report));
    doubts.extend(moved_settings(report));
    doubts.extend(without_witness(report));
    doubts.extend(without_process(report));
    doubts.extend(wide_intervals(report));
    doubts.extend(thin_tails(report));
    doubts
}

fn unfinished(report: &Report) -> Option<String> {
    match report.state {
        StudyState::Finished => None,
        state => Some(format!("the study is {}; this is what there is of it", state.name())),
    }
}

/// Whoever was on the wire could read and change what was sent.
fn in_the_clear(report: &Report) -> Option<String> {
    report.runs.iter().any(|run| run.plaintext).then(|| {
        "coordinator and agents spoke plaintext beyond loopback (--insecure): whoever was on that network could read the passwords \
         and change what was ordered and measured; use certificates (vufleet certs)"
            .to_owned()
    })
}

fn several_versions(report: &Report) -> Option<String> {
    let others: BTreeMap<&String, &String> = report.runs.iter().flat_map(|run| &run.other_versions).collect();
    let words: Vec<String> = others.iter().map(|(agent, version)| format!("{agent} {version}")).collect();
    (!others.is_empty()).then(|| {
        format!(
            "agents were of another version of vufleet than the coordinator: {}; measure with one version",
            words.join(", ")
        )
    })
}

/// Runs of which the ledger has no seconds any more.
fn rolled_up(report: &Report) -> Option<String> {
    let sums_s = report.runs.iter().find_map(|run| run.sums_s)?;
    let rolled_up = report.runs.iter().filter(|run| run.sums_s.is_some()).count();
    Some(format!(
        "{rolled_up} of {} runs are kept as {sums_s:.0}-second sums, as they are older than --keep: charts and samples.csv are \
         coarser, their figures and verdicts are those of their seconds",
        report.runs.len()
    ))
}

/// Load that was shared out otherwise in some runs: those of a study that went on elsewhere, or without an agent.
fn several_fleets(report: &Report) -> Option<String> {
    let shares = |run: &RunReport| -> Vec<(String, u32)> {
        let mut shares: Vec<_> = run.driving.iter().map(|agent| (agent.name.clone(), agent.vus)).collect();
        shares.sort();
        shares
    };
    let mut fleets: BTreeMap<&str, BTreeSet<Vec<(String, u32)>>> = BTreeMap::new();
    for run in report.runs.iter().filter(|run| run.counts()) {
        fleets.entry(&run.profile).or_default().insert(shares(run));
    }
    let mixed: Vec<&str> = fleets.iter().filter(|(_, fleets)| fleets.len() > 1).map(|(profile, _)| *profile).collect();
    (!mixed.is_empty()).then(|| {
        format!(
            "runs of {} were driven by different fleets or shares of one (runs[].driving in results.json says by which): a \
             difference between blocks may be theirs; run the whole study on one fleet",
            mixed.join(", ")
        )
    })
}

fn confounded(report: &Report) -> Option<String> {
    (report.is_grouped() && report.variants.len() > 1).then(|| {
        "the order is grouped: what drifted from variant to variant looks like a difference between them; \
         schedule.order = \"blocks\" tells them apart"
            .to_owned()
    })
}

fn too_few_runs(report: &Report) -> Option<String> {
    let wanted = report.repetitions as usize;
    let cells = |few: &dyn Fn(usize) -> bool| {
        let short = report.cells.iter().filter(|cell| few(cell.n));
        short.map(|cell| report.cell_name(cell)).collect::<Vec<_>>().join(", ")
    };
    let short = cells(&|n| n < wanted);
    if !short.is_empty() {
        return Some(format!("fewer runs count than the {wanted} asked for: {short}"));
    }
    let single = cells(&|n| n < 2);
    let words = "one run has no interval; ask for more with schedule.repetitions";
    (!single.is_empty()).then(|| words.to_owned())
}

/// Runs under different settings are not repetitions of each other.
fn moved_settings(report: &Report) -> Option<String> {
    let moved: Vec<String> = report.settings.iter().filter_map(SettingsReport::unasked_words).collect();
    let words = "settings changed while the study was under way, and not by its variants";
    (!moved.is_empty()).then(|| format!("{words}: {}; find out who did it, and repeat the study", moved.join("; ")))
}

fn without_witness(report: &Report) -> Option<String> {
    if report.withheld {
        return None;
    }
    let measured: Vec<&RunReport> = report.runs.iter().filter(|run| run.verdict() != Verdict::Invalid).collect();
    if let Some(why) = measured.iter().find_map(|run| run.witness_missing.as_ref()) {
        return Some(format!("the database's own count is missing: {why}"));
    }
    let alone = !measured.is_empty() && measured.iter().all(|run| run.witness.is_empty());
    let why = match report.target.kind == TargetKind::Mssql.name() {
        true => "no counter of SQL Server grows by a known number with each transaction".to_owned(),
        false => format!("{} keeps no count of its own", report.target.kind),
    };
    alone.then(|| format!("nobody but the virtual users counted: {why}"))
}

fn without_process(report: &Report) -> Option<String> {
    let why = report.runs.iter().filter(|run| run.counts()).find_map(|run| run.process_missing.as_ref())?;
    Some(format!("there is no CPU of the database process, and none per transaction: {why}"))
}

fn wide_intervals(report: &Report) -> Option<String> {
    let metric = report.headline();
    let mut wide = Vec::new();
    for cell in &report.cells {
        if let Some(summary) = cell.metrics.get(metric)
            && let Some(half) = summary.plus_minus().filter(|half| *half > WIDE * summary.mean)
        {
            wide.push(format!("{} \u{b1} {:.0} %", report.cell_name(cell), 100.0 * half / summary.mean));
        }
    }
    (!wide.is_empty())
        .then(|| format!("wide intervals of {}: {}; more or longer runs narrow them", metric.name(), wide.join(", ")))
}

fn thin_tails(report: &Report) -> Option<String> {
    let count =
        |run: &RunReport| -> u64 { run.transactions.values().map(|kind| kind.ok + kind.rollback.unwrap_or(0)).sum() };
    let thin: BTreeSet<(u64, &str)> = report
        .runs
        .iter()
        .filter(|run| run.verdict() != Verdict::Invalid && !run.superseded && !run.transactions.is_empty())
        .map(|run| (count(run), run.profile.as_str()))
        .filter(|(count, _)| *count < ENOUGH_FOR_P99)
        .collect();
    let (count, profile) = thin.first()?;
    Some(format!(
        "p99 rests on as few as {count} transactions a run ({profile}); measure for longer before reading much into it"
    ))
}
