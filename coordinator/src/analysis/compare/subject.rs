//! One of the two studies.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use vufleet_scenarios::study;

use super::CellName;
use crate::analysis::{Options, Report, RunReport, brief};
use crate::ledger::{Ledger, LedgerError};

/// A study with all its figures, withheld or not: for comparing, not for telling.
#[derive(Debug, Clone)]
pub struct Subject {
    pub(super) report: Report,
    /// Keys of its text.
    pub(super) keys: BTreeMap<String, String>,
    ledger: u64,
    begun_ns: u64,
    ended_ns: Option<u64>,
}

/// A study as a comparison names it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// What the user calls it.
    pub study: String,
    /// Its id in its ledger.
    pub study_id: String,
    /// Where it is in its life.
    pub state: &'static str,
    /// When it began, RFC 3339, UTC.
    pub begun: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Kind of database.
    pub target: String,
    /// Its version as it tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Load and database shared a machine, so that the host's CPU is of both.
    pub shared_host: bool,
}

impl Subject {
    /// A study of a ledger: its id, the beginning of it, or `last`.
    pub fn read(ledger: &Ledger, id: &str) -> Result<Subject, LedgerError> {
        let record = ledger.study(id)?;
        let report = brief(ledger, &record.id.0, Options { absolute: true })?;
        let (begun_ns, ended_ns) = (record.facts.begun_ns, record.ended_ns);
        Ok(Subject { report, keys: study::keys(&record.text), ledger: ledger.identity()?, begun_ns, ended_ns })
    }

    /// Whether both are the same study of the same ledger.
    pub fn is(&self, other: &Subject) -> bool {
        self.ledger == other.ledger && self.report.study_id == other.report.study_id
    }

    /// The runs of a cell that count, block by block.
    pub(super) fn runs(&self, cell: &CellName) -> Vec<&RunReport> {
        let of_cell = |run: &&RunReport| run.counts() && run.variant == cell.variant && run.profile == cell.profile;
        self.report.runs.iter().filter(of_cell).collect()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.report.state == crate::ledger::StudyState::Finished
    }
}

impl Side {
    pub(super) fn of(subject: &Subject) -> Side {
        let report = &subject.report;
        Side {
            study: report.study.clone(),
            study_id: report.study_id.clone(),
            state: report.state.name(),
            begun: instant(subject.begun_ns),
            ended: subject.ended_ns.map(instant),
            target: report.target.kind.clone(),
            version: report.target.version.clone(),
            shared_host: report.target.shared_host,
        }
    }
}

/// To the second.
fn instant(ns: u64) -> String {
    let second = i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
    Timestamp::from_second(second).map_or_else(|_| "unknown".to_owned(), |instant| instant.to_string())
}
