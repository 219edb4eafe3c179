//! How the coordinator is, for whoever looks at it: its agents, its ledger, its job. Read on the page's thread from what the
//! service keeps anyway.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::UNIX_EPOCH;

use vufleet_telemetry::process;
use vufleet_telemetry::sheet::{Label, Sheet, Source};
use vufleet_trust::address::Security;
use vufleet_trust::credentials::Credentials;
use vufleet_trust::identity::Role;

use super::Core;
use super::registry::{Agent, Presence};

/// Kinds of jobs.
const KINDS: [&str; 6] = ["run", "smoke", "check", "build", "verify", "drop"];

/// The coordinator's page.
#[derive(Debug)]
pub struct Shown(Arc<Core>);

impl Shown {
    /// Shows this coordinator.
    pub fn new(core: Arc<Core>) -> Shown {
        Shown(core)
    }
}

impl Source for Shown {
    fn tell(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let protocol = vufleet_proto::PROTOCOL.to_string();
        let labels: [Label<'_>; 2] = [("version", env!("CARGO_PKG_VERSION")), ("protocol", &protocol)];
        let help = "Always 1; the labels say which version this is";
        sheet.gauges("vufleet_coordinator_build_info", help, [(labels.as_slice(), 1.0)])?;
        self.tell_of_agents(sheet)?;
        self.tell_of_events(sheet)?;
        self.tell_of_the_job(sheet)?;
        self.tell_of_certificate(sheet)?;
        process::tell(sheet)
    }

    fn ailment(&self) -> Option<String> {
        if self.0.is_closing() {
            return Some("it was told to end".to_owned());
        }
        self.0.tallies.ailment()
    }
}

impl Shown {
    fn tell_of_agents(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let agents = self.0.registry.agents();
        let mut counts = Vec::new();
        for role in ["drive", "observe"] {
            for presence in Presence::ALL {
                let count = agents.iter().filter(|agent| agent.has_role(role) && agent.presence() == presence).count();
                counts.push(([("role", role), ("state", presence.name())], count as f64));
            }
        }
        let help =
            "Agents that have joined since this coordinator began; silent ones are lost when the lease has run out";
        let counts = counts.iter().map(|(labels, count)| (labels.as_slice(), *count));
        sheet.gauges("vufleet_coordinator_agents", help, counts)?;
        let help = "Since an agent was last heard of";
        each(sheet, "vufleet_coordinator_agent_silence_seconds", help, &agents, |agent| {
            self.0.registry.silence(agent.hello.boot).map(|silence| silence.as_secs_f64())
        })?;
        let help = "Bound of the error of what an agent takes for this coordinator's clock";
        each(sheet, "vufleet_coordinator_agent_clock_uncertainty_seconds", help, &agents, |agent| {
            Some(agent.heartbeat.uncertainty_ns).filter(|ns| *ns != u64::MAX).map(|ns| ns as f64 / 1e9)
        })?;
        let help = "This coordinator's clock less the wall clock of an agent's host";
        each(sheet, "vufleet_coordinator_agent_clock_offset_seconds", help, &agents, |agent| {
            (agent.heartbeat.uncertainty_ns != u64::MAX).then(|| agent.heartbeat.offset_ns as f64 / 1e9)
        })?;
        let help = "Database sessions that an agent has connected, as it last said";
        each(sheet, "vufleet_coordinator_agent_sessions", help, &agents, |agent| {
            Some(f64::from(agent.heartbeat.sessions))
        })
    }

    fn tell_of_certificate(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let Security::Certificates(directory) = &self.0.options.security else { return Ok(()) };
        let expires = Credentials::load(directory, Role::Coordinator).ok().map(|credentials| credentials.expires());
        let help = "When the certificate of this coordinator expires, since the Unix epoch";
        let since_epoch = expires.and_then(|expires| expires.duration_since(UNIX_EPOCH).ok());
        let seconds = since_epoch.map(|since| since.as_secs_f64());
        sheet.gauge_if_known("vufleet_coordinator_certificate_expiry_timestamp_seconds", help, seconds)
    }

    fn tell_of_events(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let tallies = &self.0.tallies;
        let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed) as f64;
        let help = "Events of agents that are in the ledger";
        sheet.counter("vufleet_coordinator_events_recorded", help, count(&tallies.recorded))?;
        let help = "Events that came once more, as they do after a reconnect, and are in the ledger once";
        sheet.counter("vufleet_coordinator_events_duplicate", help, count(&tallies.duplicates))?;
        let help = "Events that came ahead of one before them; their agent sends them again";
        sheet.counter("vufleet_coordinator_events_refused", help, count(&tallies.refused))?;
        let help = "Events that have come in and are not recorded yet";
        sheet.gauge("vufleet_coordinator_events_waiting", help, tallies.waiting() as f64)?;
        let help = "What waits for the ledger's thread, the work at hand included";
        sheet.gauge("vufleet_coordinator_ledger_queue", help, self.0.record.queue() as f64)?;
        let help = "Attempts at recording events that failed";
        sheet.counter("vufleet_coordinator_ledger_failures", help, count(&tallies.failures))?;
        let help = "How long recording a batch of events took, the wait for the ledger's thread included";
        sheet.histogram("vufleet_coordinator_ledger_write_seconds", help, &tallies.write_s)?;
        let help = "Size of the ledger's file and of its log";
        let ledger = self.0.options.data.join(crate::ledger::FILE_NAME);
        sheet.gauge("vufleet_coordinator_ledger_bytes", help, (size(&ledger) + size(&log_of(&ledger))) as f64)
    }

    fn tell_of_the_job(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let kind = self.0.job_kind();
        let busy = KINDS.map(|one| ([("kind", one)], f64::from(u8::from(kind.as_deref() == Some(one)))));
        let busy = busy.iter().map(|(labels, value)| (labels.as_slice(), *value));
        sheet.gauges("vufleet_coordinator_job", "Whether a job of a kind is at hand, 1 or 0", busy)?;
        let taken = self.0.jobs.load(Ordering::Relaxed) as f64;
        sheet.counter("vufleet_coordinator_jobs", "Jobs taken", taken)?;
        let now = self.0.progress.now();
        if kind.is_none() || now.phase.is_empty() {
            return Ok(());
        }
        let labels = [("phase", now.phase.as_str())];
        sheet.gauges("vufleet_coordinator_phase", "1 for what is done now", [(labels.as_slice(), 1.0)])?;
        sheet.gauge_if_known("vufleet_coordinator_phase_left_seconds", "What is left of the phase", now.left_s)?;
        if now.planned == 0 {
            return Ok(());
        }
        sheet.gauge("vufleet_coordinator_run", "Number of the run at hand in its plan", f64::from(now.run))?;
        let states = [
            ([("state", "planned")], now.planned),
            ([("state", "left")], now.left),
            ([("state", "valid")], now.valid),
            ([("state", "degraded")], now.degraded),
            ([("state", "invalid")], now.invalid),
        ];
        let help = "Runs of the study at hand: of its plan, left of it with repeats, and made by this job, by verdict";
        let states = states.iter().map(|(labels, count)| (labels.as_slice(), f64::from(*count)));
        sheet.gauges("vufleet_coordinator_runs", help, states)
    }
}

fn each(
    sheet: &mut Sheet<'_>,
    name: &str,
    help: &str,
    agents: &[Agent],
    value: impl Fn(&Agent) -> Option<f64>,
) -> fmt::Result {
    let told: Vec<_> =
        agents.iter().filter_map(|agent| Some(([("agent", agent.hello.name.as_str())], value(agent)?))).collect();
    sheet.gauges(name, help, told.iter().map(|(labels, value)| (labels.as_slice(), *value)))
}

/// 0 where there is none.
fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

fn log_of(ledger: &Path) -> PathBuf {
    let mut log = ledger.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}
