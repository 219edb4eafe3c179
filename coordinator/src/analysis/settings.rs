//! Settings of the database and of the hosts: as they were when a study began, and what became of them.

use std::collections::BTreeMap;

/// Settings of one source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsReport {
    /// "database", or the name of an agent for its host.
    pub source: String,
    /// As they were before the first run, by name.
    pub before: BTreeMap<String, String>,
    /// Those that were otherwise in a later run, in the order of the runs.
    pub changes: Vec<SettingChange>,
}

/// A setting that changed between two runs, or that a variant changes.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
    /// Its name.
    pub name: String,
    /// Run before whose load it was seen.
    pub run: u64,
    /// That run's variant.
    pub variant: String,
    /// What it was; none: it was not there.
    pub from: Option<String>,
    /// What it is then; none: it is gone.
    pub to: Option<String>,
}
