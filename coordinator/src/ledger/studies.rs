//! Studies: what was asked, and how it ended.

use std::fmt;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use vufleet_scenarios::study::Study;

use super::error::Doing;
use super::{Ledger, LedgerError, Outline, StudyFacts};

/// Names a study in commands and results.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StudyId(pub String);

impl fmt::Display for StudyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Where a study is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudyState {
    /// A coordinator works on it.
    Running,
    /// Every run was made.
    Finished,
    /// Stopped by the operator, or its coordinator ended before it.
    Interrupted,
    /// It could not go on.
    Failed,
}

impl StudyState {
    const ALL: [StudyState; 4] =
        [StudyState::Running, StudyState::Finished, StudyState::Interrupted, StudyState::Failed];

    /// Name in lists.
    pub fn name(self) -> &'static str {
        match self {
            StudyState::Running => "running",
            StudyState::Finished => "finished",
            StudyState::Interrupted => "interrupted",
            StudyState::Failed => "failed",
        }
    }
}

/// A study in the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRecord {
    /// Its id.
    pub id: StudyId,
    /// What the user calls it.
    pub name: String,
    /// SHA-256 of the text.
    pub digest: String,
    /// The study, overrides applied and seed written down.
    pub text: String,
    /// Absolute figures are withheld unless asked for by name.
    pub relative_only: bool,
    /// What its report needs to know.
    pub outline: Outline,
    /// What was known when it began.
    pub facts: StudyFacts,
    /// Where it is in its life.
    pub state: StudyState,
    /// When it ended.
    pub ended_ns: Option<u64>,
    /// Why it ended, where there is more to say.
    pub message: String,
}

const COLUMNS: &str = "id, name, digest, text, relative_only, outline, facts, state, ended_ns, message";

const ANY: &str = "?1 = ?1";
const NEWEST: &str = "?1 = ?1 AND id = (SELECT id FROM studies ORDER BY begun_ns DESC, rowid DESC LIMIT 1)";
const PREFIX: &str = "substr(id, 1, length(?1)) = ?1";

impl Ledger {
    /// Enters a study, running from now on. Its id tells when it began (UTC) and what it is called.
    pub fn begin_study(&mut self, study: &Study, facts: &StudyFacts) -> Result<StudyId, LedgerError> {
        let outline = serde_json::to_string(&Outline::of(study)).expect("outlines have text keys only");
        let facts_text = serde_json::to_string(facts).expect("facts have text keys only");
        let transaction = self.connection.transaction().doing(&self.path, "write to")?;
        let wanted = readable_id(facts.begun_ns, &study.name);
        let mut id = wanted.clone();
        let mut copies = 1;
        while transaction
            .query_row("SELECT 1 FROM studies WHERE id = ?1", [&id], |_| Ok(()))
            .optional()
            .doing(&self.path, "read")?
            .is_some()
        {
            copies += 1;
            id = format!("{wanted}-{copies}");
        }
        let row = params![
            id,
            facts.begun_ns as i64,
            study.name,
            study.digest,
            study.text,
            study.report.relative_only,
            outline,
            facts_text,
            StudyState::Running.name()
        ];
        transaction
            .execute(
                "INSERT INTO studies (id, begun_ns, name, digest, text, relative_only, outline, facts, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                row,
            )
            .doing(&self.path, "write to")?;
        transaction.commit().doing(&self.path, "write to")?;
        Ok(StudyId(id))
    }

    /// Writes down how a study ended; `Running` takes it up again.
    pub fn set_study_state(
        &mut self,
        id: &StudyId,
        state: StudyState,
        at_ns: u64,
        message: &str,
    ) -> Result<(), LedgerError> {
        let ended_ns = (state != StudyState::Running).then_some(at_ns as i64);
        let changed = self
            .connection
            .execute(
                "UPDATE studies SET state = ?2, ended_ns = ?3, message = ?4 WHERE id = ?1",
                params![id.0, state.name(), ended_ns, message],
            )
            .doing(&self.path, "write to")?;
        if changed == 0 {
            return Err(LedgerError::NoStudy { wanted: id.0.clone() });
        }
        Ok(())
    }

    /// All studies, the oldest first.
    pub fn studies(&self) -> Result<Vec<StudyRecord>, LedgerError> {
        self.studies_where(ANY, "")
    }

    /// One study by its id, by a prefix that no other has, or the `last` one.
    pub fn study(&self, wanted: &str) -> Result<StudyRecord, LedgerError> {
        let mut found = self.studies_where(if wanted == "last" { NEWEST } else { PREFIX }, wanted)?;
        if let Some(exact) = found.iter().position(|study| study.id.0 == wanted) {
            return Ok(found.swap_remove(exact));
        }
        match found.len() {
            1 if !wanted.is_empty() => Ok(found.remove(0)),
            0 | 1 => Err(LedgerError::NoStudy { wanted: wanted.to_owned() }),
            _ => Err(LedgerError::Ambiguous {
                wanted: wanted.to_owned(),
                matches: found.into_iter().map(|study| study.id.0).collect(),
            }),
        }
    }

    /// What a dead writer left running.
    pub(super) fn interrupt_leftovers(&mut self) -> Result<(), LedgerError> {
        self.connection
            .execute(
                "UPDATE studies SET state = 'interrupted', message = 'its coordinator ended before it'
                 WHERE state = 'running'",
                [],
            )
            .doing(&self.path, "write to")?;
        Ok(())
    }

    fn studies_where(&self, condition: &'static str, value: &str) -> Result<Vec<StudyRecord>, LedgerError> {
        let sql = format!("SELECT {COLUMNS} FROM studies WHERE {condition} ORDER BY begun_ns, rowid");
        let mut statement = self.connection.prepare_cached(&sql).doing(&self.path, "read")?;
        let rows = statement.query_map([value], |row| Ok(read(row))).doing(&self.path, "read")?;
        let mut studies = Vec::new();
        for row in rows {
            let study = row.and_then(|study| study).doing(&self.path, "read")?;
            studies.push(
                study.ok_or_else(|| LedgerError::Damaged { path: self.path.clone(), what: "a study".to_owned() })?,
            );
        }
        Ok(studies)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Option<StudyRecord>> {
    let state: String = row.get(7)?;
    let outline = serde_json::from_str(row.get_ref(5)?.as_str()?);
    let facts = serde_json::from_str(row.get_ref(6)?.as_str()?);
    let state = StudyState::ALL.into_iter().find(|known| known.name() == state);
    let (Ok(outline), Ok(facts), Some(state)) = (outline, facts, state) else {
        return Ok(None);
    };
    Ok(Some(StudyRecord {
        id: StudyId(row.get(0)?),
        name: row.get(1)?,
        digest: row.get(2)?,
        text: row.get(3)?,
        relative_only: row.get(4)?,
        outline,
        facts,
        state,
        ended_ns: row.get::<_, Option<i64>>(8)?.map(|ns| ns as u64),
        message: row.get(9)?,
    }))
}

/// "20261130-2107-mariadb-audit": sorts by time, needs no quotes in a shell.
fn readable_id(begun_ns: u64, name: &str) -> String {
    let begun = Timestamp::from_nanosecond(i128::from(begun_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    let time = begun.strftime("%Y%m%d-%H%M").to_string();
    let words = name.to_lowercase();
    let words: Vec<_> = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    match words.join("-") {
        words if words.is_empty() => time,
        words => format!("{time}-{words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_readable_and_need_no_quotes() {
        let begun = "2026-11-30T21:07:59Z".parse::<Timestamp>().unwrap().as_nanosecond() as u64;
        for (name, id) in [
            ("mariadb-audit", "20261130-2107-mariadb-audit"),
            ("  Größe & $(rm -rf) ", "20261130-2107-gr-e-rm-rf"),
            ("../../etc", "20261130-2107-etc"),
            ("", "20261130-2107"),
        ] {
            assert_eq!(readable_id(begun, name), id, "{name}");
        }
    }
}
