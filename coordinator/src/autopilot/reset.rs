//! Bringing the data back to where it was, before runs that ask for it: with no variant applied and nobody connected.
//!
//! A reset that fails is tried once more; one that fails twice, or that brings back other rows than it should, ends the study:
//! whatever came after it would be measured on data that nobody knows. What is under way when the operator stops is seen
//! through, so that no database is left half restored.

mod count;
mod snapshot;

use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1;
use vufleet_scenarios::backup;
use vufleet_scenarios::census::{Census, Origin};
use vufleet_scenarios::check::{AgentFacts, Answers, Finding};
use vufleet_scenarios::study::{Action, Backup, Reset, ResetBefore, ResetMethod};

use super::actions::{self, OnFailure};
use super::pilot::{Ask, Pilot};
use super::preflight::answer;
use super::{Halt, build};
use crate::ledger::StudyState;

pub(super) use snapshot::Copied;

/// How long a database that was stopped, or restored, may take to answer again.
const ANSWER_PATIENCE: Duration = Duration::from_secs(300);
/// How many leases agents that are away are waited for between two attempts.
const RETURN_LEASES: u32 = 3;
/// Attempts at a reset.
const ATTEMPTS: u32 = 2;

/// What is known of the data between the runs of a job.
#[derive(Debug, Default)]
pub(super) struct Resets {
    /// The variant of the last run, where it ended as it should have.
    last: Option<String>,
    /// What was counted after the first reset.
    first: Option<Census>,
    /// Resets so far.
    done: u32,
    /// The copy that a snapshot goes back to.
    copied: Copied,
}

/// What a run wants with its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To measure it.
    Measure,
    /// To see whether everything works, the reset once.
    Try,
}

impl Resets {
    /// Whether the data has to be brought back before a run of this variant.
    pub(super) fn is_due(&self, reset: &Reset, variant: &str, purpose: Purpose) -> bool {
        match (purpose, reset.before) {
            (Purpose::Try, _) => self.done == 0,
            (Purpose::Measure, ResetBefore::Run) => true,
            (Purpose::Measure, ResetBefore::Variant) => self.last.as_deref() != Some(variant),
        }
    }

    /// A run has been made. After one that did not go well nobody knows what became of the data.
    pub(super) fn note_run(&mut self, variant: &str, went_well: bool) {
        self.last = went_well.then(|| variant.to_owned());
    }
}

/// Brings the data back and counts it. Returns the rows of all tables, where anybody can count them. `rows` is what was counted
/// after the first reset of the study, by an earlier coordinator.
pub(super) async fn perform(
    pilot: &mut Pilot,
    reset: &Reset,
    live: &v1::Live,
    rows: Option<u64>,
) -> Result<Option<u64>, Halt> {
    let mut attempts = 1;
    while let Err(halt) = attempt(pilot, reset, live).await {
        match halt {
            Halt::Refused(why) if attempts >= ATTEMPTS => {
                return Err(Halt::Refused(format!("the reset ({reset}) failed twice: {why}")));
            }
            Halt::Refused(why) => {
                pilot.teller.warn(format!("the reset ({reset}) failed and is tried once more: {why}")).await;
            }
            halt => return Err(halt),
        }
        attempts += 1;
        regroup(pilot).await?;
    }
    pilot.show(v1::Live { phase: "reset, counting rows".to_owned(), ..live.clone() });
    await_answer(pilot).await?;
    let origin = if reset.method == ResetMethod::Rebuild { Origin::Build } else { Origin::Elsewhere };
    let found = count::verify(pilot, reset, origin, rows).await?;
    let total = found.as_ref().map(|census| census.values().sum());
    pilot.resets.done += 1;
    if pilot.resets.first.is_none() {
        pilot.resets.first = found;
    }
    Ok(total)
}

async fn attempt(pilot: &mut Pilot, reset: &Reset, live: &v1::Live) -> Result<(), Halt> {
    pilot.show(v1::Live { phase: "reset".to_owned(), ..live.clone() });
    if reset.method == ResetMethod::Rebuild {
        return build::rebuild(pilot).await;
    }
    let words = format!(
        "the reset that is under way ({reset}) is waited for, {} at most, so that the data is not left half restored",
        minutes(reset.timeout)
    );
    let _words = pilot.see_through(words);
    let done = match &reset.method {
        ResetMethod::Rebuild => Ok(()),
        ResetMethod::Actions(actions) => act(pilot, actions, reset.timeout).await,
        ResetMethod::Snapshot => snapshot::put_back(pilot, reset.timeout, live).await,
        ResetMethod::Backup(backup) => restore(pilot, backup, reset.timeout).await,
    };
    pilot.heed_stop_again();
    if pilot.is_stopped() {
        return Err(Halt::Stopped);
    }
    done
}

async fn act(pilot: &mut Pilot, actions: &[Action], timeout: Duration) -> Result<(), Halt> {
    match actions::perform_within(pilot, actions, OnFailure::Stop, timeout).await? {
        None => Ok(()),
        Some(failure) if failure.agent.is_empty() => Err(Halt::Refused(failure.message)),
        Some(failure) => Err(Halt::Refused(format!("agent {}: {}", failure.agent, failure.message))),
    }
}

/// RESTORE DATABASE on a connection in `master`; whatever becomes of it, others are let in again.
async fn restore(pilot: &mut Pilot, backup: &Backup, timeout: Duration) -> Result<(), Halt> {
    let database = pilot.study.target.database.clone().unwrap_or_default();
    let statements = backup.restore(&database).to_vec();
    let agent = pilot.spokesman()?;
    let ask = Ask::control(statements.clone()).database(backup::FROM).keep_going().changes().patience(timeout);
    let result = pilot.ask(&agent, ask).await?;
    if result.error.is_empty() {
        return Ok(());
    }
    if result.tables.is_empty() {
        return Err(Halt::Refused(format!("agent {agent}: {}", result.error)));
    }
    let statement = statements.get(result.failed as usize).map(|sql| actions::brief(sql)).unwrap_or_default();
    let left = match state(pilot, &database).await? {
        Some(State::Usable) => "the database is usable".to_owned(),
        Some(State::Closed) => {
            "the database is left closed to others; the next `vufleet run` of this study restores it before anything else".to_owned()
        }
        Some(State::Unusable) => format!(
            "the database is left half restored; the next `vufleet run` of this study restores it before anything else, or by \
             hand, in master: {}",
            backup.statement(&database)
        ),
        None => "what state the database is left in is not known".to_owned(),
    };
    Err(Halt::Refused(format!("{statement}: {}; {left}", result.error)))
}

/// How a database of SQL Server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Usable,
    /// Online, and only one connection may be in it, or those of few.
    Closed,
    /// Not online, or not there.
    Unusable,
}

async fn state(pilot: &mut Pilot, database: &str) -> Result<Option<State>, Halt> {
    let agent = pilot.spokesman()?;
    let ask = Ask::control(vec![backup::state(database)]).database(backup::FROM);
    let result = match pilot.ask(&agent, ask).await {
        Ok(result) if result.error.is_empty() => result,
        Ok(_) | Err(Halt::Refused(_)) => return Ok(None),
        Err(halt) => return Err(halt),
    };
    let cells = result.tables.first().and_then(|table| table.rows.first()).map(|row| row.cells.as_slice());
    Ok(Some(match cells {
        Some([state, access]) if state.text == "0" && access.text == "0" => State::Usable,
        Some([state, _]) if state.text == "0" => State::Closed,
        _ => State::Unusable,
    }))
}

/// Before anything is checked: a database that a restore has left half there is restored.
pub(super) async fn mend(pilot: &mut Pilot) -> Result<(), Halt> {
    let Some(Reset { method: ResetMethod::Backup(backup), timeout, .. }) = pilot.study.reset.clone() else {
        return Ok(());
    };
    let database = pilot.study.target.database.clone().unwrap_or_default();
    let why = match state(pilot, &database).await? {
        None | Some(State::Usable) => return Ok(()),
        Some(State::Closed) => "is closed to others",
        Some(State::Unusable) => "is not there, or only half restored",
    };
    pilot.teller.note(format!("database {database} {why}: it is restored before anything else")).await;
    restore(pilot, &backup, timeout).await
}

/// Whether the data can be copied, where it is to be: an agent on the spot looks, and nothing is touched.
pub(super) async fn look(pilot: &mut Pilot, answers: &Answers, agents: &[AgentFacts]) -> Result<Vec<Finding>, Halt> {
    match pilot.study.reset.as_ref().map(|reset| &reset.method) {
        Some(ResetMethod::Snapshot) => snapshot::look(pilot, answers, agents).await,
        _ => Ok(Vec::new()),
    }
}

/// The end of a job: a copy is put back for good where the study is complete, and told of where it is not.
pub(super) async fn end(pilot: &mut Pilot, state: StudyState) {
    if let Some(reset) = pilot.study.reset.clone() {
        snapshot::end(pilot, reset.timeout, state).await;
    }
}

/// An agent that was lost in a reset may be about to come back.
async fn regroup(pilot: &mut Pilot) -> Result<(), Halt> {
    let deadline = Instant::now() + pilot.core.options.lease * RETURN_LEASES;
    while pilot.core.registry.agents().iter().any(|agent| !agent.connected) && Instant::now() < deadline {
        pilot.rest(Duration::from_millis(200)).await?;
    }
    Ok(())
}

async fn await_answer(pilot: &mut Pilot) -> Result<(), Halt> {
    let deadline = Instant::now() + ANSWER_PATIENCE;
    loop {
        let agent = pilot.spokesman()?;
        let why = match pilot.ask(&agent, Ask::target(vec!["SELECT 1".to_owned()])).await {
            Ok(result) if result.error.is_empty() => return Ok(()),
            Ok(result) => result.error,
            Err(Halt::Refused(why)) => why,
            Err(halt) => return Err(halt),
        };
        if Instant::now() >= deadline {
            let waited = minutes(ANSWER_PATIENCE);
            return Err(Halt::Refused(format!("the database did not answer within {waited} after its reset: {why}")));
        }
        pilot.rest(Duration::from_millis(500)).await?;
    }
}

/// The first value of the first row of an answer as a number.
fn number(table: &v1::Table) -> Option<u64> {
    actions::single(&answer(table))?.trim().parse().ok()
}

fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reset(before: ResetBefore) -> Reset {
        Reset::new(before, ResetMethod::Rebuild)
    }

    /// Which of these runs the data is brought back before.
    fn due(before: ResetBefore, purpose: Purpose, runs: &[(&str, bool)]) -> Vec<bool> {
        let mut resets = Resets::default();
        let of_run = |(variant, went_well): &(&str, bool)| {
            let due = resets.is_due(&reset(before), variant, purpose);
            resets.done += u32::from(due);
            resets.note_run(variant, *went_well);
            due
        };
        runs.iter().map(of_run).collect()
    }

    #[test]
    fn data_is_brought_back_before_runs_or_variants_and_after_what_nobody_knows() {
        use Purpose::{Measure, Try};
        let runs = [("a", true), ("a", true), ("b", true), ("b", false), ("b", true), ("b", true), ("a", true)];
        assert_eq!(due(ResetBefore::Run, Measure, &runs), [true; 7]);
        assert_eq!(due(ResetBefore::Variant, Measure, &runs), [true, false, true, false, true, false, true]);
        assert_eq!(due(ResetBefore::Run, Try, &runs), [true, false, false, false, false, false, false]);
    }

    #[test]
    fn waiting_is_told_in_whole_units() {
        assert_eq!(minutes(Duration::from_secs(90)), "90 s");
        assert_eq!(minutes(Duration::from_secs(3600)), "60 min");
    }
}
