//! The report of one run: what is told of it, whatever the form.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Metrics;
use super::counters::Counters;
use super::fold::{Fold, HostKey, KindTotal};
use super::footprint;
use super::host::HostUse;
use super::judge;
use super::requests::{RequestLook, SessionRequests};
use super::sample::Sample;
use super::steady::Steady;
use super::timeline::TimelinePoint;
use super::verdict::{Reason, Verdict, verdict};
use super::waits::Wait;
use super::window::Window;
use super::witness::Witness;
use crate::ledger::{DrivingAgent, Fact};

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// Its number in the ledger.
    pub run: u64,
    /// Variant.
    pub variant: String,
    /// Profile id.
    pub profile: String,
    /// Repetition, counted from 1.
    pub repetition: u32,
    /// 1, or more when it repeats an invalid run.
    pub attempt: u32,
    /// A later attempt counts instead.
    pub superseded: bool,
    /// What was found against it, the worst first.
    pub reasons: Vec<Reason>,
    /// What was measured of its time; none when its load never started.
    pub window: Option<Window>,
    /// Time that was measured.
    pub measured_s: Option<f64>,
    /// Sessions that were connected when the window began.
    pub sessions: u32,
    /// What was measured.
    pub metrics: Metrics,
    /// By transaction kind.
    pub transactions: BTreeMap<String, KindReport>,
    /// The database's counts beside the clients'.
    pub witness: Vec<Witness>,
    /// Why there is no witness where there could be one.
    pub witness_missing: Option<String>,
    /// First connection to last disconnect, by transaction kind.
    pub whole_run: BTreeMap<String, WholeRun>,
    /// Who drove, and how much of it.
    pub driving: Vec<DrivingAgent>,
    /// The coordinator served plaintext beyond loopback.
    pub plaintext: bool,
    /// Agents of another version than the coordinator's, with theirs.
    pub other_versions: BTreeMap<String, String>,
    /// How long it took to open every session.
    pub connect_s: Option<f64>,
    /// Open arrivals that nobody could take.
    pub not_started: Option<u64>,
    /// Connections opened again inside the window.
    pub reconnects: Option<u64>,
    /// Change of throughput from the first to the last third of the window.
    pub drift_percent: Option<f64>,
    /// Whether that is a trend.
    pub steady: Option<Steady>,
    /// Why nothing is told of the database process, where one was found.
    pub process_missing: Option<String>,
    /// What the variant's observer did from before the load until after it, by the name of the count.
    pub observer: BTreeMap<String, u64>,
    /// Every host over the window.
    pub hosts: Vec<HostReport>,
    /// The whole run in short, for charts.
    pub timeline: Vec<TimelinePoint>,
    /// Every interval of the run.
    pub samples: Vec<Sample>,
    /// Every host between its samples.
    pub host_series: Vec<HostReport>,
    /// Latencies inside the window, by transaction kind.
    pub latencies: Vec<KindLatencies>,
    /// Every reading of the database's own counters.
    pub counters: Counters,
    /// What the database's workers waited for inside the window, the longest first.
    pub waits: Vec<Wait>,
    /// What was seen of single sessions inside the window, where the study asks for it.
    pub requests: Vec<SessionRequests>,
    /// Every look at a session's request.
    pub looks: Vec<RequestLook>,
    /// The server's version.
    pub target_version: Option<String>,
    /// How the target was reached.
    pub connection: Option<String>,
    /// Load and database shared a machine.
    pub shared_host: bool,
    /// Variants that were turned on in mid-run.
    pub switches: Vec<SwitchReport>,
    /// How long the reset before it took, seconds.
    pub reset_s: Option<f64>,
    /// Of the driving agents the one whose load began farthest from the appointed time, where they told.
    pub start: Option<Start>,
    /// Length of the sums that are kept of it; none where everything is kept as it was received.
    pub sums_s: Option<f64>,
}

/// When an agent began its load.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// Which.
    pub agent: String,
    /// By how much later than it was told to; below 0 earlier.
    pub late_ms: f64,
}

/// A variant that was turned on in mid-run.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchReport {
    /// Which.
    pub variant: String,
    /// When its first statement was sent.
    pub from_ns: u64,
    /// When its last one was answered.
    pub to_ns: u64,
}

/// One transaction kind of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KindReport {
    /// Ended as intended; those rolled back on purpose among them where that cannot be seen.
    pub ok: u64,
    /// Rolled back on purpose; none where that cannot be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<u64>,
    /// Lost in mid-commit: they may have happened or not.
    pub unknown: u64,
    /// Given up.
    pub failed: u64,
    /// Faults, retried or not.
    pub errors: BTreeMap<&'static str, u64>,
    /// Sent again.
    pub retries: u64,
    /// Statements sent.
    pub statements: u64,
    /// Time spent waiting inside the agents for the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_s: Option<f64>,
    /// Percentiles of the response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// 95th.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
    /// 99th.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// 95th percentile of the service time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_p95_ms: Option<f64>,
}

/// Counts from first connection to last disconnect.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WholeRun {
    /// Committed, as the virtual users counted; none where they cannot tell a rolled-back call from another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<u64>,
    /// May have happened or not.
    pub unknown: u64,
    /// What the database counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<u64>,
}

/// What one host did.
#[derive(Debug, Clone, PartialEq)]
pub struct HostReport {
    /// Which host, and why it is sampled.
    pub key: HostKey,
    /// Between which instants, and what.
    pub usage: HostUse,
}

/// Histograms of one transaction kind, in the V2 serialisation: a report may hold thousands of them.
#[derive(Debug, Clone, PartialEq)]
pub struct KindLatencies {
    /// The kind.
    pub kind: String,
    /// From the due time.
    pub response: Vec<u8>,
    /// From the actual start.
    pub service: Vec<u8>,
}

impl RunReport {
    /// How far it may be believed.
    pub fn verdict(&self) -> Verdict {
        verdict(&self.reasons)
    }

    /// The same without what was recorded second by second.
    pub(super) fn without_series(self) -> RunReport {
        RunReport {
            samples: Vec::new(),
            host_series: Vec::new(),
            counters: Counters::default(),
            looks: Vec::new(),
            ..self
        }
    }

    /// Whether its cell counts it.
    pub fn counts(&self) -> bool {
        self.repetition > 0 && self.verdict() != Verdict::Invalid && !self.superseded
    }

    /// Whether an interval counts as lying inside the window.
    pub fn in_window(&self, start_ns: u64, end_ns: u64) -> bool {
        self.window.is_some_and(|window| window.holds(start_ns, end_ns))
    }

    /// When the load started; instants of the time series count from it.
    pub fn load_start_ns(&self) -> Option<u64> {
        self.window.map(|window| window.origin_ns)
    }

    /// The verdict's reasons, for people. `withhold`: without absolute figures.
    pub fn sentences(&self, withhold: bool) -> Vec<String> {
        let told = self.reasons.iter().cloned();
        told.map(|reason| if withhold { reason.withheld().to_string() } else { reason.to_string() }).collect()
    }

    pub(super) fn of(fold: Fold<'_>) -> RunReport {
        let mut report = RunReport::bare(&fold);
        let measured = fold.window.map(|window| fold.measured(window));
        if let Some(measured) = &measured {
            fold.tell(measured, &mut report);
            report.timeline = fold.timeline(measured);
        }
        match fold.judged_before() {
            None => report.reasons = judge::reasons(&fold, measured.as_ref()),
            Some(Ok(judged)) => {
                (report.reasons, report.drift_percent, report.steady) =
                    (judged.reasons, judged.drift_percent, judged.steady);
            }
            Some(Err(forgotten)) => report.reasons = vec![forgotten],
        }
        report.whole_run = fold.whole_run();
        report.host_series = fold.host_series();
        report.samples = fold.samples;
        report.counters = fold.counters;
        report.looks = fold.looks;
        report
    }

    fn bare(fold: &Fold<'_>) -> RunReport {
        let facts = fold.run.facts.as_ref();
        RunReport {
            run: fold.run.id.0,
            variant: fold.run.planned.variant.clone(),
            profile: fold.run.planned.profile.clone(),
            repetition: fold.run.planned.repetition,
            attempt: fold.run.attempt,
            superseded: false,
            reasons: Vec::new(),
            window: fold.window,
            measured_s: None,
            sessions: 0,
            metrics: Metrics::new(),
            transactions: BTreeMap::new(),
            witness: Vec::new(),
            witness_missing: None,
            whole_run: BTreeMap::new(),
            driving: facts.map_or_else(Vec::new, |facts| facts.driving.clone()),
            plaintext: facts.is_some_and(|facts| facts.plaintext),
            other_versions: facts.map_or_else(BTreeMap::new, |facts| facts.other_versions.clone()),
            connect_s: facts.and_then(|facts| facts.connect_ns).map(|ns| ns as f64 / 1e9),
            not_started: None,
            reconnects: None,
            drift_percent: None,
            steady: None,
            process_missing: None,
            observer: footprint::observer(&fold.facts),
            hosts: Vec::new(),
            timeline: Vec::new(),
            samples: Vec::new(),
            host_series: Vec::new(),
            latencies: Vec::new(),
            counters: Counters::default(),
            waits: Vec::new(),
            requests: Vec::new(),
            looks: Vec::new(),
            target_version: facts.and_then(|facts| facts.target_version.clone()),
            connection: facts.and_then(|facts| facts.connection.clone()),
            shared_host: facts.is_some_and(|facts| facts.shared_host),
            switches: switches(&fold.facts),
            reset_s: fold.facts.iter().find_map(reset_s),
            start: fold.farthest_start(),
            sums_s: fold.sums_ns().map(|ns| ns as f64 / 1e9),
        }
    }
}

fn switches(facts: &[Fact]) -> Vec<SwitchReport> {
    let switch = |fact: &Fact| match fact {
        Fact::Switched { variant, from_ns, to_ns } => {
            Some(SwitchReport { variant: variant.clone(), from_ns: *from_ns, to_ns: *to_ns })
        }
        _ => None,
    };
    facts.iter().filter_map(switch).collect()
}

fn reset_s(fact: &Fact) -> Option<f64> {
    match fact {
        Fact::Reset { took_ns, .. } => Some(*took_ns as f64 / 1e9),
        _ => None,
    }
}

impl KindReport {
    pub(super) fn of(total: &KindTotal) -> KindReport {
        let counts = &total.counts;
        KindReport {
            ok: counts.ok,
            rollback: Some(counts.rollback),
            unknown: counts.unknown,
            failed: counts.failed,
            errors: counts
                .faults
                .each()
                .filter(|(_, count)| *count > 0)
                .map(|(kind, count)| (kind.name(), count))
                .collect(),
            retries: counts.retries,
            statements: counts.statements,
            queued_s: (counts.queued_ns > 0).then_some(counts.queued_ns as f64 / 1e9),
            p50_ms: total.response.quantile_ms(0.50),
            p95_ms: total.response.quantile_ms(0.95),
            p99_ms: total.response.quantile_ms(0.99),
            service_p95_ms: total.service.quantile_ms(0.95),
        }
    }
}

impl KindLatencies {
    pub(super) fn of(kind: &str, total: &KindTotal) -> KindLatencies {
        KindLatencies { kind: kind.to_owned(), response: total.response.to_bytes(), service: total.service.to_bytes() }
    }
}
