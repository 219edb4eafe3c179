//! What the coordinator itself knows about a study and its runs, as it is written down.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use vufleet_scenarios::study::Measure;

use super::Undo;

/// What is known when a study begins and is not in its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyFacts {
    /// When it began, nanoseconds since the Unix epoch.
    pub begun_ns: u64,
    /// Version of the coordinator.
    pub vufleet: String,
}

/// The measured window as the study asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasureFacts {
    /// A time.
    DurationNs(u64),
    /// Until every session has done this many transactions.
    Transactions(u64),
}

impl From<Measure> for MeasureFacts {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Duration(time) => MeasureFacts::DurationNs(time.as_nanos() as u64),
            Measure::Transactions(count) => MeasureFacts::Transactions(count),
        }
    }
}

/// What a run was told to do, and by whom it was done. Instants are on the coordinator's clock, nanoseconds since the
/// Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// When the first command of the run was sent.
    pub begun_ns: u64,
    /// When the load started; none when it never did.
    pub start_at_ns: Option<u64>,
    /// Under load, not measured.
    pub ramp_up_ns: u64,
    /// What is measured.
    pub measure: MeasureFacts,
    /// Rest after the load.
    pub settle_ns: u64,
    /// Length of an interval and of a sample.
    pub interval_ns: u64,
    /// Sessions of the whole fleet.
    pub sessions: u32,
    /// Virtual users of the whole fleet.
    pub vus: u32,
    /// Who drives.
    pub driving: Vec<DrivingAgent>,
    /// Who samples the database hosts, by name.
    pub observing: Vec<String>,
    /// Which of the observing agents reads the database's counters.
    pub counters_agent: Option<String>,
    /// Load and database share a machine.
    pub shared_host: bool,
    /// The server's version as it tells it.
    pub target_version: Option<String>,
    /// How the target was reached: "tcp, no TLS".
    pub connection: Option<String>,
    /// From the order to open the sessions until all of them were open.
    pub connect_ns: Option<u64>,
    /// The coordinator served plaintext beyond loopback.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plaintext: bool,
    /// Agents of another version than the coordinator's, with theirs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_versions: BTreeMap<String, String>,
}

/// A driving agent's part of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrivingAgent {
    /// Its name.
    pub name: String,
    /// Its process.
    pub boot: u64,
    /// Its virtual users.
    pub vus: u32,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// As planned.
    Finished,
    /// The operator stopped it.
    Stopped,
    /// It could not go on.
    Failed(String),
    /// The coordinator was told to end.
    CoordinatorEnded,
}

/// Whose settings are the database's, where those of hosts have the names of agents.
pub const DATABASE: &str = "database";

/// When settings are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before the first run since the study began or went on, in no variant.
    First,
    /// Before the load of a run, in its variant.
    #[default]
    Load,
    /// After the last run, in no variant.
    Last,
}

/// Something that happened in a run and that no agent can tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// An agent that took part is gone.
    AgentLost {
        /// Which.
        agent: String,
        /// When it was last heard of.
        at_ns: u64,
        /// Why.
        reason: String,
    },
    /// The database was not in the variant's state.
    WrongState {
        /// The variant.
        variant: String,
        /// When that was seen.
        at_ns: u64,
        /// What was found instead.
        found: String,
    },
    /// A variant is about to be applied.
    Applied {
        /// Which.
        variant: String,
        /// When that was.
        at_ns: u64,
        /// How it is undone.
        undo: Undo,
        /// Agents that keep what undoes it, and do it without us.
        holders: BTreeSet<String>,
    },
    /// The variant is undone.
    Reverted {
        /// When that was known.
        at_ns: u64,
    },
    /// What an observer did, read before the load and after it.
    Footprint {
        /// What is counted.
        name: String,
        /// Whether the count only grows.
        cumulative: bool,
        /// Before the load; none where there was no number.
        before: Option<u64>,
        /// After it.
        after: Option<u64>,
    },
    /// The data was brought back to where it was, before the load.
    Reset {
        /// When that was done.
        at_ns: u64,
        /// How long it took.
        took_ns: u64,
        /// Rows of the workload's tables afterwards; none where nobody counts them.
        rows: Option<u64>,
    },
    /// A variant was turned on in mid-run.
    Switched {
        /// Which.
        variant: String,
        /// When its first statement was sent.
        from_ns: u64,
        /// When its last one was answered.
        to_ns: u64,
    },
    /// Settings of the database or of a host: those that are not as this study last wrote them down of the same source. An absent
    /// value is of a setting that is gone. A reading before a load that finds nothing new is not written down.
    Settings {
        /// Whose: [`DATABASE`], or the name of an agent for its host.
        source: String,
        /// When they were read.
        at_ns: u64,
        /// At which point of the study.
        #[serde(default)]
        moment: Moment,
        /// By name.
        values: BTreeMap<String, Option<String>>,
    },
    /// Settings that could not be read.
    SettingsUnread {
        /// Whose.
        source: String,
        /// When that was given up.
        at_ns: u64,
        /// At which point of the study.
        moment: Moment,
        /// Why.
        reason: String,
    },
    /// Of its events less is kept from now on: sums. What was found against the run is found no more, and stands here.
    Thinned {
        /// When that began.
        at_ns: u64,
        /// Length of a sum.
        interval_ns: u64,
        /// Where sums count from.
        origin_ns: u64,
        /// What no sum reaches across.
        edges_ns: Vec<u64>,
        /// Version of the coordinator that judged.
        vufleet: String,
        /// What it found, in the analysis' own words.
        judged: serde_json::Value,
    },
    /// Worth keeping, of no consequence.
    Note {
        /// When.
        at_ns: u64,
        /// What.
        text: String,
    },
}
