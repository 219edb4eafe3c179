//! `results.json`: keys that other programs rely on (docs/results.md). A key that does not apply is absent, never 0 and
//! never null.

use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::analysis::requests::SessionRequests;
use crate::analysis::statistics::Summary;
use crate::analysis::waits::Wait;
use crate::analysis::witness::Witness;
use crate::analysis::{
    BlockDrift, Cell, Change, KindReport, Metrics, NoiseFloor, Outlier, ProfileReport, Report, RunReport,
    SettingsReport, Steady, UntilReport, WholeRun,
};

/// Version of the keys. A new key does not change it.
const SCHEMA: u32 = 1;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Results::of(report))?;
    writeln!(out)
}

#[derive(Serialize)]
struct Results<'a> {
    schema: u32,
    study: &'a str,
    study_id: &'a str,
    state: &'static str,
    vufleet: &'a str,
    seed: u64,
    relative_only: bool,
    baseline: &'a str,
    confidence: f64,
    repetitions: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<&'a UntilReport>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    controls: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    noise_floor: BTreeMap<&'static str, &'a NoiseFloor>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    drift: BTreeMap<&'static str, &'a BlockDrift>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    outliers: &'a [Outlier],
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_s: Option<f64>,
    workload: &'a BTreeMap<String, Value>,
    target: Target<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<Fleet<'a>>,
    profiles: Vec<Profile<'a>>,
    cells: Vec<CellKeys<'a>>,
    runs: Vec<Run<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    settings: &'a [SettingsReport],
}

#[derive(Serialize)]
struct Target<'a> {
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<&'a str>,
    shared_host: bool,
}

#[derive(Serialize)]
struct Fleet<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    plaintext: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    other_versions: BTreeMap<&'a str, &'a str>,
}

impl<'a> Fleet<'a> {
    /// None where there is nothing to tell.
    fn of(report: &'a Report) -> Option<Fleet<'a>> {
        let fleet = Fleet {
            plaintext: report.runs.iter().any(|run| run.plaintext),
            other_versions: report
                .runs
                .iter()
                .flat_map(|run| &run.other_versions)
                .map(|(agent, version)| (agent.as_str(), version.as_str()))
                .collect(),
        };
        (fleet.plaintext || !fleet.other_versions.is_empty()).then_some(fleet)
    }
}

#[derive(Serialize)]
struct Profile<'a> {
    id: &'a str,
    vus: u32,
    sessions_per_vu: u32,
    pacing: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    workload: &'a BTreeMap<String, Value>,
}

#[derive(Serialize)]
struct CellKeys<'a> {
    variant: &'a str,
    profile: &'a str,
    n: usize,
    metrics: &'a Metrics<Summary>,
    #[serde(skip_serializing_if = "Metrics::is_empty")]
    change: &'a Metrics<Change>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<Host<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    waits: &'a [Wait],
}

#[derive(Serialize)]
struct Host<'a> {
    name: &'a str,
    role: &'static str,
    db_host_cpu_percent: &'a Summary,
}

#[derive(Serialize)]
struct Run<'a> {
    run: u64,
    variant: &'a str,
    profile: &'a str,
    repetition: u32,
    attempt: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    superseded: bool,
    verdict: &'static str,
    reasons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_s: Option<f64>,
    sessions: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    driving: Vec<Driving<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reset_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_late_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_s: Option<f64>,
    #[serde(skip_serializing_if = "Metrics::is_empty")]
    metrics: &'a Metrics,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    transactions: &'a BTreeMap<String, KindReport>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    witness: &'a [Witness],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    whole_run: &'a BTreeMap<String, WholeRun>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_started: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reconnects: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drift_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steady: Option<Steady>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process_missing: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    observer: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    requests: &'a [SessionRequests],
}

#[derive(Serialize)]
struct Driving<'a> {
    agent: &'a str,
    vus: u32,
}

impl<'a> Results<'a> {
    fn of(report: &'a Report) -> Results<'a> {
        Results {
            schema: SCHEMA,
            study: &report.study,
            study_id: &report.study_id,
            state: report.state.name(),
            vufleet: &report.vufleet,
            seed: report.seed,
            relative_only: report.relative_only,
            baseline: &report.baseline,
            confidence: report.confidence,
            repetitions: report.repetitions,
            until: report.until.as_ref(),
            controls: &report.controls,
            noise_floor: report.noise_floor.iter().map(|it| (it.metric.name(), it)).collect(),
            drift: report.block_drift.iter().map(|it| (it.metric.name(), it)).collect(),
            outliers: &report.outliers,
            interval_s: report.interval_s,
            workload: &report.workload,
            target: Target {
                kind: &report.target.kind,
                version: report.target.version.as_deref(),
                connection: report.target.connection.as_deref(),
                shared_host: report.target.shared_host,
            },
            fleet: Fleet::of(report),
            profiles: report.profiles.iter().map(Profile::of).collect(),
            cells: report.cells.iter().map(CellKeys::of).collect(),
            runs: report.runs.iter().map(Run::of).collect(),
            settings: &report.settings,
        }
    }
}

impl<'a> Profile<'a> {
    fn of(profile: &'a ProfileReport) -> Profile<'a> {
        Profile {
            id: &profile.id,
            vus: profile.vus,
            sessions_per_vu: profile.sessions_per_vu,
            pacing: &profile.pacing,
            workload: &profile.workload,
        }
    }
}

impl<'a> CellKeys<'a> {
    fn of(cell: &'a Cell) -> CellKeys<'a> {
        let host = |(name, cpu): (&'a String, &'a Summary)| Host { name, role: "observe", db_host_cpu_percent: cpu };
        CellKeys {
            variant: &cell.variant,
            profile: &cell.profile,
            n: cell.n,
            metrics: &cell.metrics,
            change: &cell.change,
            hosts: cell.hosts.iter().map(host).collect(),
            waits: &cell.waits,
        }
    }
}

impl<'a> Run<'a> {
    fn of(run: &'a RunReport) -> Run<'a> {
        Run {
            run: run.run,
            variant: &run.variant,
            profile: &run.profile,
            repetition: run.repetition,
            attempt: run.attempt,
            superseded: run.superseded,
            verdict: run.verdict().name(),
            reasons: run.reasons.iter().map(ToString::to_string).collect(),
            started: run.window.and_then(|window| rfc3339(window.start_ns)),
            measured_s: run.measured_s,
            sessions: run.sessions,
            driving: run.driving.iter().map(|it| Driving { agent: &it.name, vus: it.vus }).collect(),
            reset_s: run.reset_s,
            start_late_ms: run.start.as_ref().map(|start| start.late_ms),
            interval_s: run.sums_s,
            connect_s: run.connect_s,
            metrics: &run.metrics,
            transactions: &run.transactions,
            witness: &run.witness,
            whole_run: &run.whole_run,
            not_started: run.not_started,
            reconnects: run.reconnects,
            drift_percent: run.drift_percent,
            steady: run.steady,
            process_missing: run.process_missing.as_deref(),
            observer: &run.observer,
            requests: &run.requests,
        }
    }
}

/// An instant as RFC 3339, UTC, to the millisecond.
pub(in crate::render) fn rfc3339(ns: u64) -> Option<String> {
    Timestamp::from_nanosecond(i128::from(ns)).ok().map(|instant| format!("{instant:.3}"))
}
