//! From runs to cells: which runs count, and what they are worth together.

use std::collections::BTreeMap;

use super::change::{self, Change};
use super::statistics::Summary;
use super::until::UntilReport;
use super::waits::{self, Wait};
use super::{HostReport, Metric, Metrics, RunReport};
use crate::ledger::Outline;

/// The runs of one variant and profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Variant.
    pub variant: String,
    /// Profile id.
    pub profile: String,
    /// Runs that count.
    pub n: usize,
    /// Over the means of those runs.
    pub metrics: Metrics<Summary>,
    /// Against the baseline.
    pub change: Metrics<Change>,
    /// CPU of each database host, where there are several.
    pub hosts: BTreeMap<String, Summary>,
    /// What the database's workers waited for most, means over those runs.
    pub waits: Vec<Wait>,
}

/// The runs of a cell that count, by block.
pub(super) type Blocks<'a> = BTreeMap<u32, &'a RunReport>;

/// All runs that count, by variant and profile.
pub(super) type Counted<'a> = BTreeMap<(&'a str, &'a str), Blocks<'a>>;

/// Sorts out which runs count.
pub(super) fn counted(runs: &[RunReport]) -> Counted<'_> {
    let mut counted = Counted::new();
    for run in runs.iter().filter(|run| run.counts()) {
        counted.entry((&run.variant, &run.profile)).or_default().insert(run.repetition, run);
    }
    counted
}

/// Every cell, profile by profile in the order of the study.
pub(super) fn cells(outline: &Outline, counted: &Counted<'_>, until: Option<&UntilReport>) -> Vec<Cell> {
    let nobody = Blocks::new();
    let mut cells = Vec::new();
    for profile in &outline.profiles {
        for variant in &outline.variants {
            let runs = counted.get(&(variant.as_str(), profile.id.as_str())).unwrap_or(&nobody);
            let mut cell = Cell::of((variant, &profile.id), runs.values().copied(), outline);
            // With nothing to compare, it is the figure itself whose interval the pilot has made narrow.
            if let Some(until) = until.filter(|_| outline.variants.len() < 2) {
                cell.in_two_stages(runs, until, outline.confidence);
            }
            cells.push(cell);
        }
    }
    change::compare(&mut cells, counted, outline, until);
    cells
}

impl Cell {
    fn in_two_stages(&mut self, runs: &Blocks<'_>, until: &UntilReport, confidence: f64) {
        let values: Vec<f64> = runs.values().filter_map(|run| run.metrics.get(until.metric).copied()).collect();
        let summary = until.needed.and_then(|_| Summary::two_stage(&values, until.pilot as usize, confidence));
        self.metrics.put(until.metric, summary);
    }

    fn of<'r>(
        (variant, profile): (&str, &str),
        runs: impl Iterator<Item = &'r RunReport> + Clone,
        outline: &Outline,
    ) -> Cell {
        let confidence = outline.confidence;
        let mut metrics = Metrics::new();
        for metric in Metric::ALL {
            let values: Vec<f64> = runs.clone().filter_map(|run| run.metrics.get(*metric).copied()).collect();
            metrics.put(*metric, Summary::of(&values, confidence));
        }
        let mut by_host: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        // A SQL Server may run where no agent can, and be observed from elsewhere.
        let is_the_databases = |host: &&HostReport| !outline.is_mssql() || host.usage.database.is_some();
        let observed = runs.clone().flat_map(|run| &run.hosts).filter(|host| !host.key.drives);
        for host in observed.filter(is_the_databases) {
            by_host.entry(host.key.agent.clone()).or_default().extend(host.usage.cpu_percent);
        }
        let several = by_host.len() > 1;
        let hosts = by_host.into_iter().filter(|_| several);
        Cell {
            variant: variant.to_owned(),
            profile: profile.to_owned(),
            waits: waits::top(runs.clone()),
            n: runs.count(),
            metrics,
            change: Metrics::new(),
            hosts: hosts.filter_map(|(host, values)| Some((host, Summary::of(&values, confidence)?))).collect(),
        }
    }
}
