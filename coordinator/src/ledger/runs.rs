//! Runs: what was planned, what it was told, how it ended.

use std::fmt;

use rusqlite::{Row, ToSql, params};
use vufleet_scenarios::plan::PlannedRun;

use super::error::Doing;
use super::{Ledger, LedgerError, RunEnd, RunFacts, StudyId};

/// Number of a run, unique in its ledger and increasing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A run in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Its number.
    pub id: RunId,
    /// The study it belongs to.
    pub study: StudyId,
    /// What was planned.
    pub planned: PlannedRun,
    /// 1, or more when it repeats an invalid run.
    pub attempt: u32,
    /// What it was told; none when it ended before that.
    pub facts: Option<RunFacts>,
    /// When and how it ended; none while it goes on, or when the coordinator ended first.
    pub end: Option<(u64, RunEnd)>,
}

const COLUMNS: &str = "id, study, number, variant, profile, repetition, attempt, facts, ended_ns, ending";

impl Ledger {
    /// Enters a run that is about to be made.
    pub fn begin_run(&mut self, study: &StudyId, planned: &PlannedRun, attempt: u32) -> Result<RunId, LedgerError> {
        let row = params![study.0, planned.number, planned.variant, planned.profile, planned.repetition, attempt];
        self.connection
            .execute(
                "INSERT INTO runs (study, number, variant, profile, repetition, attempt)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                row,
            )
            .doing(&self.path, "write to")?;
        Ok(RunId(self.connection.last_insert_rowid() as u64))
    }

    /// Writes down what a run was told, over whatever was written before.
    pub fn set_run_facts(&mut self, run: RunId, facts: &RunFacts) -> Result<(), LedgerError> {
        let text = serde_json::to_string(facts).expect("facts have text keys only");
        let changed = self
            .connection
            .execute("UPDATE runs SET facts = ?2 WHERE id = ?1", params![run.0 as i64, text])
            .doing(&self.path, "write to")?;
        known(run, changed)
    }

    /// Writes down how a run ended.
    pub fn end_run(&mut self, run: RunId, ended_ns: u64, end: &RunEnd) -> Result<(), LedgerError> {
        let text = serde_json::to_string(end).expect("endings have text keys only");
        let changed = self
            .connection
            .execute(
                "UPDATE runs SET ended_ns = ?2, ending = ?3 WHERE id = ?1",
                params![run.0 as i64, ended_ns as i64, text],
            )
            .doing(&self.path, "write to")?;
        known(run, changed)
    }

    /// One run.
    pub fn run(&self, run: RunId) -> Result<RunRecord, LedgerError> {
        let found = self.runs_where("id = ?1", &(run.0 as i64))?;
        found.into_iter().next().ok_or(LedgerError::NoRun { run: run.0 })
    }

    /// The runs of a study in the order they were made.
    pub fn runs(&self, study: &StudyId) -> Result<Vec<RunRecord>, LedgerError> {
        self.runs_where("study = ?1", &study.0)
    }

    /// How many runs of a study's plan were made to their end, however often each.
    pub fn runs_made(&self, study: &StudyId) -> Result<u32, LedgerError> {
        let finished = serde_json::to_string(&RunEnd::Finished).expect("endings have text keys only");
        self.connection
            .query_row(
                "SELECT count(DISTINCT number) FROM runs WHERE study = ?1 AND ending = ?2",
                params![study.0, finished],
                |row| row.get(0),
            )
            .doing(&self.path, "read")
    }

    fn runs_where(&self, condition: &str, wanted: &dyn ToSql) -> Result<Vec<RunRecord>, LedgerError> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE {condition} ORDER BY id");
        let mut statement = self.connection.prepare_cached(&sql).doing(&self.path, "read")?;
        let rows = statement.query_map([wanted], |row| Ok(read(row))).doing(&self.path, "read")?;
        let mut runs = Vec::new();
        for row in rows {
            let run = row.and_then(|run| run).doing(&self.path, "read")?;
            runs.push(run.ok_or_else(|| LedgerError::Damaged { path: self.path.clone(), what: "a run".to_owned() })?);
        }
        Ok(runs)
    }
}

fn known(run: RunId, changed: usize) -> Result<(), LedgerError> {
    if changed == 0 { Err(LedgerError::NoRun { run: run.0 }) } else { Ok(()) }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Option<RunRecord>> {
    let facts = row.get_ref(7)?.as_str_or_null()?.map(serde_json::from_str).transpose();
    let end = row.get_ref(9)?.as_str_or_null()?.map(serde_json::from_str).transpose();
    let ended_ns: Option<i64> = row.get(8)?;
    let (Ok(facts), Ok(end)) = (facts, end) else {
        return Ok(None);
    };
    Ok(Some(RunRecord {
        id: RunId(row.get::<_, i64>(0)? as u64),
        study: StudyId(row.get(1)?),
        planned: PlannedRun {
            number: row.get(2)?,
            variant: row.get(3)?,
            profile: row.get(4)?,
            repetition: row.get(5)?,
        },
        attempt: row.get(6)?,
        facts,
        end: ended_ns.map(|ns| ns as u64).zip(end),
    }))
}
