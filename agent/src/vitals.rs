//! How the agent is, for whoever looks at it while it works: what the uplink wrote down last, read by the page's thread. The
//! threads of virtual users have no part in it.

mod figures;

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use vufleet_telemetry::process;
use vufleet_telemetry::sheet::{Label, Sheet, Source};
use vufleet_trust::address::Security;
use vufleet_trust::credentials::Credentials;
use vufleet_trust::identity::Role;

pub use figures::Figures;

/// What the uplink knows, at most a second old.
#[derive(Debug, Clone, Default)]
pub struct Vitals {
    /// The agent's name.
    pub name: String,
    /// Its roles, separated by commas.
    pub roles: String,
    /// Whether a coordinator has welcomed it.
    pub connected: bool,
    /// Why it cannot do its work; empty when it can.
    pub ailment: String,
    /// How often a coordinator has welcomed it.
    pub joins: u64,
    /// How long the coordinator may be silent.
    pub lease: Duration,
    /// What is left of that.
    pub lease_left: Duration,
    /// Events that the present connection has not taken.
    pub unsent: usize,
    /// Events that are sent and not known to be recorded.
    pub unacknowledged: usize,
    /// Bound of the clock's error; none before the first exchange.
    pub uncertainty: Option<Duration>,
    /// Coordinator's clock less the host's wall clock.
    pub offset_ns: i64,
    /// The run at hand, 0 when idle.
    pub run: u64,
    /// Jobs under way.
    pub jobs: usize,
    /// Variants that it would undo, or is undoing.
    pub holds: usize,
    /// Sessions connected.
    pub sessions: u32,
    /// Virtual users of the run at hand.
    pub vus: u32,
    /// Whether the figures of the run at hand are nobody's to see.
    pub withheld: bool,
    /// What virtual users did.
    pub figures: Figures,
}

/// The agent's page.
#[derive(Debug)]
pub struct Shown {
    vitals: watch::Receiver<Vitals>,
    security: Security,
}

impl Shown {
    /// Shows what is written down, and how long this agent's certificate is good for.
    pub fn new(vitals: watch::Receiver<Vitals>, security: Security) -> Shown {
        Shown { vitals, security }
    }

    fn tell_of_certificate(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let Security::Certificates(directory) = &self.security else { return Ok(()) };
        let expires = Credentials::load(directory, Role::Agent).ok().map(|credentials| credentials.expires());
        let help = "When the certificate of this agent expires, since the Unix epoch";
        sheet.gauge_if_known("vufleet_agent_certificate_expiry_timestamp_seconds", help, expires.and_then(since_epoch))
    }
}

impl Source for Shown {
    fn tell(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        // Copied, so that the uplink does not wait for the writing.
        let vitals = self.vitals.borrow().clone();
        vitals.tell_of_itself(sheet)?;
        vitals.tell_of_uplink(sheet)?;
        vitals.tell_of_work(sheet)?;
        vitals.figures.tell(sheet)?;
        self.tell_of_certificate(sheet)?;
        process::tell(sheet)
    }

    fn ailment(&self) -> Option<String> {
        Some(self.vitals.borrow().ailment.clone()).filter(|ailment| !ailment.is_empty())
    }
}

fn since_epoch(time: SystemTime) -> Option<f64> {
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}

impl Vitals {
    fn tell_of_itself(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let protocol = vufleet_proto::PROTOCOL.to_string();
        let labels: [Label<'_>; 4] = [
            ("agent", &self.name),
            ("roles", &self.roles),
            ("version", env!("CARGO_PKG_VERSION")),
            ("protocol", &protocol),
        ];
        let help = "Always 1; the labels say which agent this is and which version it has";
        sheet.gauges("vufleet_agent_build_info", help, [(labels.as_slice(), 1.0)])
    }

    fn tell_of_uplink(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let connected = f64::from(u8::from(self.connected));
        sheet.gauge("vufleet_agent_connected", "Whether a coordinator has this agent, 1 or 0", connected)?;
        let help = "Times that a coordinator has welcomed this agent; more than 1 are reconnects";
        sheet.counter("vufleet_agent_joins", help, self.joins as f64)?;
        let help = "Silence of the coordinator after which the load stops";
        sheet.gauge("vufleet_agent_lease_seconds", help, self.lease.as_secs_f64())?;
        let help = "What is left of the lease; the load stops at 0";
        sheet.gauge("vufleet_agent_lease_left_seconds", help, self.lease_left.as_secs_f64())?;
        let states =
            [([("state", "unsent")], self.unsent as f64), ([("state", "unacknowledged")], self.unacknowledged as f64)];
        let states = states.iter().map(|(labels, count)| (labels.as_slice(), *count));
        sheet.gauges("vufleet_agent_outbox_events", "Events that are not known to be recorded", states)?;
        let help = "Coordinator's clock less this host's wall clock";
        let offset = self.uncertainty.map(|_| self.offset_ns as f64 / 1e9);
        sheet.gauge_if_known("vufleet_agent_clock_offset_seconds", help, offset)?;
        let help = "Bound of the error of what this agent takes for the coordinator's clock";
        sheet.gauge_if_known(
            "vufleet_agent_clock_uncertainty_seconds",
            help,
            self.uncertainty.map(|uncertainty| uncertainty.as_secs_f64()),
        )
    }

    fn tell_of_work(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        sheet.gauge("vufleet_agent_run", "Number of the run at hand, 0 when idle", self.run as f64)?;
        let help = "Jobs under way: tables that are filled, data that is copied";
        sheet.gauge("vufleet_agent_jobs", help, self.jobs as f64)?;
        let help = "Variants that this agent would undo without a coordinator, or is undoing";
        sheet.gauge("vufleet_agent_held_variants", help, self.holds as f64)?;
        sheet.gauge("vufleet_agent_virtual_users", "Virtual users of the run at hand", f64::from(self.vus))?;
        sheet.gauge("vufleet_agent_sessions", "Database sessions connected", f64::from(self.sessions))?;
        let help = "Whether the run at hand is of a relative_only study, whose transactions and faults are not counted here, 1 or 0";
        sheet.gauge("vufleet_agent_figures_withheld", help, f64::from(u8::from(self.withheld)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vufleet_telemetry::sheet;
    use vufleet_trust::address::Plaintext;

    use super::*;

    #[test]
    fn what_was_written_down_last_is_shown() {
        let (written, vitals) = watch::channel(Vitals::default());
        let shown: Arc<dyn Source> = Arc::new(Shown::new(vitals, Security::Plaintext(Plaintext::Loopback)));
        let ailment = "no coordinator".to_owned();
        written.send_replace(Vitals { name: "load-1".to_owned(), ailment, unsent: 3, ..Vitals::default() });
        assert_eq!(shown.ailment().as_deref(), Some("no coordinator"));
        let text = sheet::write(&shown).unwrap();
        for line in
            ["agent=\"load-1\"", "vufleet_agent_outbox_events{state=\"unsent\"} 3.0\n", "process_cpu_seconds_total "]
        {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("clock_offset"), "before the first exchange nobody knows: {text}");
        written.send_replace(Vitals::default());
        assert_eq!(shown.ailment(), None);
    }
}
