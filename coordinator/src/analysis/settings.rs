//! Settings of the database and of the hosts: as they were when a study began, what its variants change, and what changed by
//! itself.
//!
//! A setting whose value depends on nothing but the variant is the variant's doing. Any other change is one that nobody
//! asked for: runs before it and after it were made under different conditions. What a variant brings with it, the
//! settings of a plugin that it loads, may stay for a while after it, and no longer matters then.

mod track;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use track::Tracks;

use crate::ledger::{Fact, RunRecord};

/// Changes that a sentence lists.
const TOLD: usize = 4;

/// Settings of one source.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SettingsReport {
    /// [`DATABASE`](crate::ledger::DATABASE), or the name of an agent for its host.
    pub source: String,
    /// As they were before the first run, in no variant, by name.
    pub before: BTreeMap<String, String>,
    /// Those that were otherwise later, in the order of the runs. What a variant changes is here once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<SettingChange>,
    /// Whether they were read after the last run too.
    pub read_after: bool,
    /// Readings that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
}

/// A reading that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// Run at which it was.
    pub run: u64,
    /// Why.
    pub reason: String,
}

/// A setting that changed between two runs, or that a variant changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingChange {
    /// Its name.
    pub name: String,
    /// Run before whose load it was seen; of [`SettingCause::Left`] the last run.
    pub run: u64,
    /// That run's variant.
    pub variant: String,
    /// That run's profile.
    pub profile: String,
    /// What it was; none: it was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What it is then; none: it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whose doing it is.
    #[serde(flatten)]
    pub cause: SettingCause,
}

/// Why a setting is not what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum SettingCause {
    /// The variant: it is so in every run of it, and the same as before in the runs of others.
    Variant,
    /// The profile's set-up: it is so in every run of the profile, and not in all runs of others.
    Profile,
    /// Nobody's that is known: it changed while the study was under way.
    Meanwhile {
        /// The last run that found it as it was; none: it was seen before the first run.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<u64>,
    },
    /// Nobody's that is known, and seen after the last run only.
    Left,
}

impl SettingsReport {
    /// The changes that nobody asked for.
    pub fn unasked(&self) -> impl Iterator<Item = &SettingChange> {
        self.changes.iter().filter(|change| !matches!(change.cause, SettingCause::Variant | SettingCause::Profile))
    }

    /// The first of them with their source, for people; none where there is none.
    pub fn unasked_words(&self) -> Option<String> {
        let mut words: Vec<String> = self.unasked().take(TOLD).map(ToString::to_string).collect();
        let more = self.unasked().count() - words.len();
        if more > 0 {
            words.push(format!("{more} more (results.json has them)"));
        }
        (!words.is_empty()).then(|| format!("{}: {}", self.source, words.join(", ")))
    }
}

/// "innodb_buffer_pool_size was 1 until run 7 and 2 from run 8 on".
impl fmt::Display for SettingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &Option<String>| match value.as_deref() {
            None => "absent".to_owned(),
            Some("") => "empty".to_owned(),
            Some(value) => value.to_owned(),
        };
        let (name, from, to) = (&self.name, value(&self.from), value(&self.to));
        match self.cause {
            SettingCause::Variant => write!(f, "{name} is {to} in {} instead of {from}", self.variant),
            SettingCause::Profile => write!(f, "{name} is {to} in profile {} instead of {from}", self.profile),
            SettingCause::Meanwhile { since: Some(since) } => {
                write!(f, "{name} was {from} until run {since} and {to} from run {} on", self.run)
            }
            SettingCause::Meanwhile { since: None } => {
                write!(f, "{name} was {from} before the first run and {to} from run {} on", self.run)
            }
            SettingCause::Left => write!(f, "{name} was {from} until run {} and {to} after it", self.run),
        }
    }
}

/// Of every source, the database first. `runs`: all of a study with their facts, in the order they were made.
pub(super) fn settings(runs: &[(&RunRecord, Vec<Fact>)]) -> Vec<SettingsReport> {
    let mut tracks = Tracks::default();
    for (run, facts) in runs {
        tracks.follow(run, facts);
    }
    tracks.reports()
}
