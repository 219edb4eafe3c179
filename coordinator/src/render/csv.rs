//! `runs.csv`, one row a run, and `samples.csv`, one row per run, agent and interval. An empty field is a figure that
//! does not apply; docs/results.md explains the columns.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::Series;
use super::json::rfc3339;
use crate::analysis::fold::HostKey;
use crate::analysis::host::HostUse;
use crate::analysis::requests::RequestLook;
use crate::analysis::sample::{KindSample, Sample};
use crate::analysis::{HostReport, Metric, Report, RunReport};

/// Columns of runs.csv before the metrics.
const RUN: [&str; 9] =
    ["run", "variant", "profile", "repetition", "attempt", "superseded", "verdict", "started", "measured_s"];
/// And after them.
const RUN_END: [&str; 8] =
    ["sessions", "not_started", "reconnects", "drift_percent", "steady_percent", "steady_p", "outlier_by", "reasons"];

/// What a row of samples.csv is about: virtual users, the database's host, the database's own counters, or a look at one
/// of its sessions.
const DRIVE: &str = "drive";
const OBSERVE: &str = "observe";
const COUNTERS: &str = "counters";
const REQUEST: &str = "request";

/// Columns of samples.csv before those of the transaction kinds.
const SAMPLE: [&str; 9] = ["run", "variant", "profile", "repetition", "agent", "role", "start_s", "end_s", "in_window"];
const SAMPLE_LOAD: [&str; 7] =
    ["sessions", "ended_early", "reconnects", "due", "not_started", "connect_faults", "clock_uncertainty_ms"];
const SAMPLE_HOST: [&str; 15] = [
    "host_cpu_percent",
    "user_percent",
    "system_percent",
    "steal_percent",
    "iowait_percent",
    "core_percent",
    "load1",
    "memory_total_bytes",
    "memory_available_bytes",
    "process_cpu_percent",
    "process_rss_bytes",
    "disk_read_bytes_per_s",
    "disk_write_bytes_per_s",
    "net_rx_bytes_per_s",
    "net_tx_bytes_per_s",
];
/// Of each kind, after its name and an underscore. The counters' columns follow, by the database's own names.
const SAMPLE_KIND: [&str; 9] =
    ["ok", "rollback", "unknown", "failed", "faults", "retries", "statements", "p95_ms", "service_p95_ms"];
/// Last, where sessions were looked at.
const SAMPLE_REQUEST: [&str; 4] = ["session_id", "request_cpu_ms", "request_elapsed_ms", "request_wait"];

pub(super) fn runs(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let metrics = Metric::ALL.iter().map(|metric| metric.name());
    let observers: BTreeSet<&str> =
        report.runs.iter().flat_map(|run| run.observer.keys()).map(String::as_str).collect();
    let header = RUN.into_iter().chain(metrics).chain(RUN_END).map(str::to_owned);
    writer.write_record(header.chain(observers.iter().map(|name| format!("observer_{name}"))))?;
    for run in &report.runs {
        let counts = observers.iter().map(|name| field(run.observer.get(*name)));
        writer.write_record(run_fields(report, run).into_iter().chain(counts))?;
    }
    writer.flush()
}

fn run_fields(report: &Report, run: &RunReport) -> Vec<String> {
    let mut fields = vec![
        run.run.to_string(),
        run.variant.clone(),
        run.profile.clone(),
        run.repetition.to_string(),
        run.attempt.to_string(),
        run.superseded.to_string(),
        run.verdict().name().to_owned(),
        run.window.and_then(|window| rfc3339(window.start_ns)).unwrap_or_default(),
        field(run.measured_s),
    ];
    fields.extend(Metric::ALL.iter().map(|metric| field(run.metrics.get(*metric))));
    let reasons: Vec<String> = run.reasons.iter().map(ToString::to_string).collect();
    let outlier_by =
        report.outliers.iter().filter(|outlier| outlier.run == run.run).map(|outlier| outlier.metric.name());
    fields.extend([
        run.sessions.to_string(),
        field(run.not_started),
        field(run.reconnects),
        field(run.drift_percent),
        field(run.steady.map(|steady| steady.percent)),
        field(run.steady.map(|steady| steady.p)),
        outlier_by.collect::<Vec<_>>().join(" "),
        reasons.join("; "),
    ]);
    fields
}

pub(super) fn samples(report: &Report, series: &mut Series<'_>, out: &mut dyn Write) -> io::Result<()> {
    let kinds: BTreeSet<&str> = report.columns.kinds.iter().map(String::as_str).collect();
    let mut writer = csv::Writer::from_writer(out);
    let header = SAMPLE.into_iter().chain(SAMPLE_LOAD).chain(SAMPLE_HOST).map(str::to_owned);
    let of_kinds = kinds.iter().flat_map(|kind| SAMPLE_KIND.into_iter().map(move |name| format!("{kind}_{name}")));
    let counters: BTreeSet<&str> = report.columns.counters.iter().map(String::as_str).collect();
    let of_requests: &[&str] = if report.columns.requests { &SAMPLE_REQUEST } else { &[] };
    let last = counters.iter().chain(of_requests).map(|name| (*name).to_owned());
    let header: Vec<String> = header.chain(of_kinds).chain(last).collect();
    writer.write_record(&header)?;
    for told in &report.runs {
        let run = series(told)?;
        let looks = run.looks.iter().map(|look| request_row(&run, look, header.len()));
        for mut row in rows(&run, &kinds, &counters).chain(looks) {
            row.resize(header.len(), String::new());
            writer.write_record(row)?;
        }
    }
    writer.flush()
}

/// Rows of one run: what virtual users did beside what their host did, then the hosts that drive nothing, then what the
/// database counted.
fn rows<'a>(
    run: &'a RunReport,
    kinds: &'a BTreeSet<&'a str>,
    counters: &'a BTreeSet<&'a str>,
) -> impl Iterator<Item = Vec<String>> + 'a {
    let before_kinds = SAMPLE.len() + SAMPLE_LOAD.len() + SAMPLE_HOST.len();
    let before_counters = before_kinds + kinds.len() * SAMPLE_KIND.len();
    let columns = before_counters + counters.len();
    let load = run.samples.iter().map(move |sample| {
        let mut row = place(run, &sample.agent, DRIVE, sample.start_ns, sample.end_ns);
        row.extend(load_fields(sample));
        row.extend(host_fields(driving_host(run, sample), DRIVE));
        for kind in kinds {
            row.extend(kind_fields(sample.kinds.iter().find(|counts| *counts.kind == **kind)));
        }
        row.resize(columns, String::new());
        row
    });
    // Without any sample of the load (withheld figures), a driving host's CPU still has its rows.
    let alone = run.samples.is_empty();
    let hosts = run.host_series.iter().filter(move |host| alone || !host.key.drives).map(move |host| {
        let role = if host.key.drives { DRIVE } else { OBSERVE };
        let mut row = place(run, &host.key.agent, role, host.usage.from_ns, host.usage.to_ns);
        row.resize(SAMPLE.len() + SAMPLE_LOAD.len(), String::new());
        row.extend(host_fields(Some(&host.usage), role));
        row.resize(columns, String::new());
        row
    });
    let read = run.counters.readings.iter().map(move |reading| {
        let mut row = place(run, &reading.agent, COUNTERS, reading.before_ns, reading.after_ns);
        row.resize(before_counters, String::new());
        row.extend(counters.iter().map(|name| field(run.counters.value(reading, name))));
        row
    });
    load.chain(hosts).chain(read)
}

fn request_row(run: &RunReport, look: &RequestLook, columns: usize) -> Vec<String> {
    let mut row = place(run, &look.agent, REQUEST, look.before_ns, look.after_ns);
    row.resize(columns - SAMPLE_REQUEST.len(), String::new());
    row.extend([look.session_id, look.cpu_ms, look.elapsed_ms].map(|number| number.to_string()));
    row.push(look.wait.clone());
    row
}

fn place(run: &RunReport, agent: &str, role: &str, start_ns: u64, end_ns: u64) -> Vec<String> {
    let seconds = |ns: u64| run.load_start_ns().map(|origin| (ns as i64 - origin as i64) as f64 / 1e9);
    vec![
        run.run.to_string(),
        run.variant.clone(),
        run.profile.clone(),
        run.repetition.to_string(),
        agent.to_owned(),
        role.to_owned(),
        field(seconds(start_ns)),
        field(seconds(end_ns)),
        run.in_window(start_ns, end_ns).to_string(),
    ]
}

fn load_fields(sample: &Sample) -> [String; 7] {
    [
        sample.sessions.to_string(),
        sample.ended.to_string(),
        sample.reconnects.to_string(),
        sample.due.to_string(),
        sample.not_started.to_string(),
        sample.connect_faults.total().to_string(),
        (sample.uncertainty_ns as f64 / 1e6).to_string(),
    ]
}

/// What the agent's own host did between those of its samples that lie nearest the interval.
fn driving_host<'a>(run: &'a RunReport, sample: &Sample) -> Option<&'a HostUse> {
    // An agent in both roles samples its host once, as an observer.
    [true, false]
        .into_iter()
        .find_map(|drives| host_beside(run, sample, &HostKey { agent: sample.agent.to_string(), drives }))
}

fn host_beside<'a>(run: &'a RunReport, sample: &Sample, key: &HostKey) -> Option<&'a HostUse> {
    let middle = |from: u64, to: u64| from + to.saturating_sub(from) / 2;
    let wanted = middle(sample.start_ns, sample.end_ns);
    let place = |host: &HostReport| (host.key.clone(), middle(host.usage.from_ns, host.usage.to_ns));
    // The series is in this order.
    let after = run.host_series.partition_point(|host| place(host) < (key.clone(), wanted));
    let neighbours = &run.host_series[after.saturating_sub(1)..(after + 1).min(run.host_series.len())];
    let distance = |host: &&HostReport| place(host).1.abs_diff(wanted);
    let nearest = neighbours.iter().filter(|host| host.key == *key).min_by_key(distance)?;
    (distance(&nearest) <= sample.length_ns()).then_some(&nearest.usage)
}

/// The process of interest is the agent beside its virtual users, and the database where it is observed.
fn host_fields(usage: Option<&HostUse>, role: &str) -> [String; SAMPLE_HOST.len()] {
    let of = |get: fn(&HostUse) -> Option<f64>| field(usage.and_then(get));
    let process = usage.and_then(|usage| if role == DRIVE { usage.agent.as_ref() } else { usage.database.as_ref() });
    let cores =
        usage.map_or_else(Vec::new, |usage| usage.core_percent.iter().map(|core| format!("{core:.1}")).collect());
    [
        of(|usage| usage.cpu_percent),
        of(|usage| usage.user_percent),
        of(|usage| usage.system_percent),
        of(|usage| usage.steal_percent),
        of(|usage| usage.iowait_percent),
        cores.join(" "),
        of(|usage| usage.load1),
        field(usage.and_then(|usage| usage.memory_total_bytes)),
        field(usage.and_then(|usage| usage.memory_available_bytes)),
        field(process.and_then(|process| process.cpu_percent)),
        field(process.and_then(|process| process.rss_bytes)),
        of(|usage| usage.disk_read_bytes_per_s),
        of(|usage| usage.disk_write_bytes_per_s),
        of(|usage| usage.net_rx_bytes_per_s),
        of(|usage| usage.net_tx_bytes_per_s),
    ]
}

fn kind_fields(kind: Option<&KindSample>) -> [String; 9] {
    let Some(kind) = kind else { return Default::default() };
    [
        kind.ok.to_string(),
        kind.rollback.to_string(),
        kind.unknown.to_string(),
        kind.failed.to_string(),
        kind.faults.total().to_string(),
        kind.retries.to_string(),
        kind.statements.to_string(),
        field(kind.p95_ms),
        field(kind.service_p95_ms),
    ]
}

fn field(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
