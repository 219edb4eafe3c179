//! `relative_only`: what remains of a report when every absolute figure is withheld.
//!
//! Each structure is built anew with every field named, so that a new field does not compile until somebody has
//! decided about it.

use std::collections::BTreeMap;

use super::counters::Counters;
use super::host::{HostUse, ProcessUse};
use super::verdict::Reason;
use super::window::Window;
use super::{Cell, HostReport, ProfileReport, Report, RunReport, SampleColumns, TimelinePoint};
use crate::ledger::{MeasureFacts, Pace};

impl Report {
    /// Changes, CPU percentages and verdicts; no throughput, count, latency or rate.
    pub(super) fn withheld(self) -> Report {
        let by_transactions = matches!(self.measure, MeasureFacts::Transactions(_));
        Report {
            study: self.study,
            study_id: self.study_id,
            state: self.state,
            vufleet: self.vufleet,
            seed: self.seed,
            relative_only: self.relative_only,
            withheld: true,
            baseline: self.baseline,
            confidence: self.confidence,
            measure: self.measure,
            repetitions: self.repetitions,
            until: self.until,
            schedule: self.schedule,
            controls: self.controls,
            noise_floor: self.noise_floor,
            block_drift: self.block_drift,
            outliers: self.outliers,
            settings: self.settings,
            interval_s: self.interval_s,
            variants: self.variants,
            workload: self.workload,
            target: self.target,
            profiles: self.profiles.into_iter().map(ProfileReport::withheld).collect(),
            cells: self.cells.into_iter().map(Cell::withheld).collect(),
            runs: self.runs.into_iter().map(|run| run.withheld(by_transactions)).collect(),
            columns: SampleColumns::default(),
        }
    }
}

impl ProfileReport {
    /// An open arrival rate is a throughput.
    fn withheld(self) -> ProfileReport {
        let pacing = if self.pace == Pace::Open { "rate".to_owned() } else { self.pacing };
        ProfileReport {
            id: self.id,
            vus: self.vus,
            sessions_per_vu: self.sessions_per_vu,
            pacing,
            pace: self.pace,
            workload: self.workload,
        }
    }
}

impl Cell {
    fn withheld(self) -> Cell {
        Cell {
            variant: self.variant,
            profile: self.profile,
            n: self.n,
            metrics: self.metrics.cpu_percent_only(),
            change: self.change,
            hosts: self.hosts,
            waits: Vec::new(),
        }
    }
}

impl RunReport {
    /// How long a fixed number of transactions took is a throughput too.
    pub(super) fn withheld(self, by_transactions: bool) -> RunReport {
        RunReport {
            run: self.run,
            variant: self.variant,
            profile: self.profile,
            repetition: self.repetition,
            attempt: self.attempt,
            superseded: self.superseded,
            reasons: self.reasons.into_iter().map(Reason::withheld).collect(),
            window: self.window.map(|window| Window { end_ns: window.end_ns.filter(|_| !by_transactions), ..window }),
            measured_s: self.measured_s.filter(|_| !by_transactions),
            sessions: self.sessions,
            metrics: self.metrics.cpu_percent_only(),
            transactions: BTreeMap::new(),
            witness: Vec::new(),
            witness_missing: self.witness_missing,
            whole_run: BTreeMap::new(),
            driving: self.driving,
            plaintext: self.plaintext,
            other_versions: self.other_versions,
            connect_s: None,
            not_started: None,
            reconnects: None,
            drift_percent: self.drift_percent,
            steady: self.steady,
            process_missing: self.process_missing,
            observer: BTreeMap::new(),
            hosts: self.hosts.into_iter().map(HostReport::withheld).collect(),
            timeline: match by_transactions {
                true => Vec::new(),
                false => self.timeline.into_iter().map(TimelinePoint::withheld).collect(),
            },
            samples: Vec::new(),
            host_series: match by_transactions {
                true => Vec::new(),
                false => self.host_series.into_iter().map(HostReport::withheld).collect(),
            },
            latencies: Vec::new(),
            counters: Counters::default(),
            waits: Vec::new(),
            requests: Vec::new(),
            looks: Vec::new(),
            target_version: self.target_version,
            connection: self.connection,
            shared_host: self.shared_host,
            switches: self.switches,
            reset_s: self.reset_s,
            start: self.start,
            sums_s: self.sums_s,
        }
    }
}

impl HostReport {
    fn withheld(self) -> HostReport {
        let usage = self.usage;
        HostReport {
            key: self.key,
            usage: HostUse {
                from_ns: usage.from_ns,
                to_ns: usage.to_ns,
                cpu_percent: usage.cpu_percent,
                user_percent: usage.user_percent,
                system_percent: usage.system_percent,
                steal_percent: usage.steal_percent,
                iowait_percent: usage.iowait_percent,
                core_percent: usage.core_percent,
                load1: None,
                memory_total_bytes: None,
                memory_available_bytes: None,
                database: usage.database.map(ProcessUse::withheld),
                agent: usage.agent.map(ProcessUse::withheld),
                allowed: usage.allowed,
                disk_read_bytes_per_s: None,
                disk_write_bytes_per_s: None,
                net_rx_bytes_per_s: None,
                net_tx_bytes_per_s: None,
            },
        }
    }
}

impl ProcessUse {
    fn withheld(self) -> ProcessUse {
        ProcessUse { cpu_percent: self.cpu_percent, cpu_ms: None, rss_bytes: None }
    }
}
