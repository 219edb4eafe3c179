//! Variants that may still be on: applied, and nobody has said that they are undone.
//!
//! A coordinator that was killed leaves them behind. What undoes each was written down before it was applied, with the values
//! that were there before it, so that it can be undone, or told, by whoever comes next.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use vufleet_proto::v1::event::Body;
use vufleet_scenarios::study::{Action, Change, Require};

use super::error::Doing;
use super::events::{COORDINATOR_BOOT, FACT};
use super::{Fact, Ledger, LedgerError, RunId, StudyId};

/// How a variant is undone, everything filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// What to do, in order.
    pub steps: Vec<UndoStep>,
    /// What holds afterwards.
    pub must_hold: Vec<UndoCheck>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoStep {
    /// A statement of the control login.
    Sql(String),
    /// A command of an agent's host.
    Command {
        /// Its name there.
        name: String,
        /// Labels of the agent.
        agent: BTreeMap<String, String>,
    },
}

/// One thing that shows that it worked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoCheck {
    /// Query of one value.
    pub sql: String,
    /// What it must return.
    pub equals: String,
}

/// A variant that may still be on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The run that it was applied for.
    pub run: RunId,
    /// That run's study.
    pub study: StudyId,
    /// The study as it was run: its target tells where the variant is on.
    pub text: String,
    /// Its name.
    pub variant: String,
    /// How it is undone.
    pub undo: Undo,
}

impl Undo {
    /// What undoes a change whose placeholders are filled in.
    pub fn of(change: &Change) -> Undo {
        let check = |Require { sql, equals }: &Require| UndoCheck { sql: sql.clone(), equals: equals.clone() };
        Undo {
            steps: change.revert.iter().map(UndoStep::from).collect(),
            must_hold: change.undone.iter().map(check).collect(),
        }
    }

    /// The steps as a study has them.
    pub fn actions(&self) -> Vec<Action> {
        let action = |step: &UndoStep| match step {
            UndoStep::Sql(sql) => Action::Sql(sql.clone()),
            UndoStep::Command { name, agent } => Action::Command { name: name.clone(), agent: agent.clone() },
        };
        self.steps.iter().map(action).collect()
    }

    /// What must hold afterwards, as a study has it.
    pub fn requirements(&self) -> Vec<Require> {
        let require = |check: &UndoCheck| Require { sql: check.sql.clone(), equals: check.equals.clone() };
        self.must_hold.iter().map(require).collect()
    }
}

impl From<&Action> for UndoStep {
    fn from(action: &Action) -> Self {
        match action {
            Action::Sql(sql) => UndoStep::Sql(sql.clone()),
            Action::Command { name, agent } => UndoStep::Command { name: name.clone(), agent: agent.clone() },
        }
    }
}

impl fmt::Display for Undo {
    /// A line a step, for people who do it by hand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            match step {
                UndoStep::Sql(sql) => write!(f, "\n  {};", sql.trim().trim_end_matches(';'))?,
                UndoStep::Command { name, agent } => {
                    let labels: Vec<String> = agent.iter().map(|(key, value)| format!("{key}={value}")).collect();
                    write!(f, "\n  (command {name} of the agent with the labels {})", labels.join(", "))?;
                }
            }
        }
        Ok(())
    }
}

impl Standing {
    /// What is wrong and how it is put right by hand, for people.
    pub fn sentence(&self) -> String {
        let Standing { run, study, variant, undo, .. } = self;
        format!(
            "variant {variant} of study {study} was applied for run {run} and may still be on; what undoes it, with the \
             control login:{undo}"
        )
    }
}

impl Ledger {
    /// Variants that may still be on, in the order they were applied.
    pub fn standing(&self) -> Result<Vec<Standing>, LedgerError> {
        self.standing_where(|holders, undone_by| holders.is_empty() || !undone_by.is_superset(holders))
    }

    /// Variants that agents say they have undone by themselves, where what must hold then can be asked and was not yet.
    pub fn unconfirmed(&self) -> Result<Vec<Standing>, LedgerError> {
        let told = self.standing_where(|holders, undone_by| !holders.is_empty() && undone_by.is_superset(holders))?;
        Ok(told.into_iter().filter(|standing| !standing.undo.must_hold.is_empty()).collect())
    }

    /// Those that the coordinator applied and did not undo itself, chosen by the agents that keep what undoes them and those that
    /// have done it.
    fn standing_where(
        &self,
        wanted: impl Fn(&BTreeSet<String>, &BTreeSet<String>) -> bool,
    ) -> Result<Vec<Standing>, LedgerError> {
        let mut standing = Vec::new();
        for (run, variant, undo, holders) in self.applied()? {
            if wanted(&holders, &self.undone_by(run)?) {
                let study = self.run(run)?.study;
                let text = self.study(&study.0)?.text;
                standing.push(Standing { run, study, text, variant, undo });
            }
        }
        Ok(standing)
    }

    /// What the coordinator applied and did not undo itself, with the agents that keep what undoes it.
    fn applied(&self) -> Result<Vec<Applied>, LedgerError> {
        let mut applied: Vec<Applied> = Vec::new();
        let sql = "SELECT run, payload FROM events WHERE boot = ?1 AND kind = ?2 ORDER BY seq";
        let mut statement = self.connection.prepare_cached(sql).doing(&self.path, "read")?;
        let mut rows = statement.query(rusqlite::params![COORDINATOR_BOOT, FACT]).doing(&self.path, "read")?;
        while let Some(row) = rows.next().doing(&self.path, "read")? {
            let run = RunId(row.get::<_, i64>(0).doing(&self.path, "read")?.cast_unsigned());
            let payload = row.get_ref(1).doing(&self.path, "read")?;
            let fact = payload.as_blob().ok().and_then(|bytes| serde_json::from_slice(bytes).ok());
            match fact {
                Some(Fact::Applied { variant, undo, holders, .. }) => applied.push((run, variant, undo, holders)),
                Some(Fact::Reverted { .. }) => applied.retain(|(other, ..)| *other != run),
                Some(_) => {}
                None => {
                    let what = format!("what the coordinator saw of run {run}");
                    return Err(LedgerError::Damaged { path: self.path.clone(), what });
                }
            }
        }
        Ok(applied)
    }

    /// Agents that have undone the variant of a run by themselves.
    fn undone_by(&self, run: RunId) -> Result<BTreeSet<String>, LedgerError> {
        let mut agents = BTreeSet::new();
        self.each_event_of(run, "kind = 'undone'", &mut |recorded| {
            if matches!(&recorded.event.body, Some(Body::Undone(undone)) if undone.error.is_empty()) {
                agents.insert(recorded.agent);
            }
        })?;
        Ok(agents)
    }
}

type Applied = (RunId, String, Undo, BTreeSet<String>);
