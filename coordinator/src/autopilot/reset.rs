//! Bringing the data back to where it was, before runs that ask for it: with no variant applied and nobody connected.
//!
//! A reset that fails is tried once more; one that fails twice, or that brings back other rows than it should, ends the study:
//! whatever came after it would be measured on data that nobody knows. Statements that take longer than they may are not tried
//! again: they may go on, and two resets beside each other are none. What is under way when the operator stops is seen through, so
//! that no database is left half restored.

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
use crate::fleet::registry::Presence;
use crate::ledger::StudyId;

pub(super) use snapshot::{Copied, Ending};

/// How long a database that was stopped, or restored, may take to answer again.
const ANSWER_PATIENCE: Duration = Duration::from_secs(300);
/// How many leases agents that are away are waited for between two attempts.
const RETURN_LEASES: u32 = 3;
/// Attempts at a reset.
const ATTEMPTS: u32 = 2;
/// Attempts at having a database to oneself: whoever connects between two statements takes the only place in it.
const ACCESS_ATTEMPTS: u32 = 5;
const ACCESS_PAUSE: Duration = Duration::from_millis(500);
/// Errors of SQL Server that say so: in use, closed by somebody else, in transition, opened by one who is the only one, and a
/// deadlock with who is in it.
const IN_USE: [&str; 5] = ["(3101)", "(5064)", "(5061)", "(924)", "(1205)"];

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
    /// Whose copy it is: the study's id and the number of its ledger, as ids are drawn by each ledger for itself. Empty before a
    /// study has begun.
    maker: String,
}

/// From now on copies are this study's.
pub(super) async fn belong_to(pilot: &mut Pilot, study: &StudyId) -> Result<(), Halt> {
    let ledger = pilot.core.record.with(|ledger| ledger.identity()).await?;
    pilot.resets.maker = format!("{study}.{:08x}", ledger as u32);
    Ok(())
}

/// Why a reset was not done.
#[derive(Debug)]
enum Undone {
    /// It is over.
    Halt(Halt),
    /// It took longer than it may, and may go on.
    Late(String),
}

impl From<Halt> for Undone {
    fn from(halt: Halt) -> Self {
        Undone::Halt(halt)
    }
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
    while let Err(undone) = attempt(pilot, reset, live).await {
        match undone {
            Undone::Late(why) => {
                return Err(Halt::Refused(format!(
                    "the reset ({reset}) was not done in time and is not tried again: {why}; raise [reset] timeout, and look at what \
                     the database is still doing"
                )));
            }
            Undone::Halt(Halt::Refused(why)) if attempts >= ATTEMPTS => {
                return Err(Halt::Refused(format!("the reset ({reset}) failed twice: {why}")));
            }
            Undone::Halt(Halt::Refused(why)) => {
                pilot.teller.warn(format!("the reset ({reset}) failed and is tried once more: {why}")).await;
            }
            Undone::Halt(halt) => return Err(halt),
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
        // Where there was no table, one that is there later is a difference too.
        pilot.resets.first = Some(found.unwrap_or_default());
    }
    Ok(total)
}

async fn attempt(pilot: &mut Pilot, reset: &Reset, live: &v1::Live) -> Result<(), Undone> {
    pilot.show(v1::Live { phase: "reset".to_owned(), ..live.clone() });
    if reset.method == ResetMethod::Rebuild {
        return Ok(build::rebuild(pilot).await?);
    }
    let words = format!(
        "the reset that is under way ({reset}) is waited for, {} at most, so that the data is not left half restored",
        minutes(reset.timeout)
    );
    let _words = pilot.see_through(words);
    let done = match &reset.method {
        ResetMethod::Rebuild => Ok(()),
        ResetMethod::Actions(actions) => act(pilot, actions, reset.timeout).await,
        ResetMethod::Snapshot => snapshot::put_back(pilot, reset.timeout, live).await.map_err(Undone::Halt),
        ResetMethod::Backup(backup) => restore(pilot, backup, reset.timeout).await,
    };
    pilot.heed_stop_again();
    if !pilot.is_stopped() {
        return done;
    }
    // Nobody tries it again: what is to be done about it has to be told now.
    if let Err(Undone::Late(why) | Undone::Halt(Halt::Refused(why))) = done {
        pilot.teller.warn(format!("the reset that was under way ({reset}) failed: {why}")).await;
    }
    Err(Undone::Halt(Halt::Stopped))
}

async fn act(pilot: &mut Pilot, actions: &[Action], timeout: Duration) -> Result<(), Undone> {
    let Some(failure) = actions::perform_within(pilot, actions, OnFailure::Stop, timeout).await? else { return Ok(()) };
    let why = match failure.agent.as_str() {
        "" => failure.message,
        agent => format!("agent {agent}: {}", failure.message),
    };
    Err(if failure.late { Undone::Late(why) } else { Undone::Halt(Halt::Refused(why)) })
}

/// RESTORE DATABASE on a connection in `master`; whatever becomes of it, others are let in again.
async fn restore(pilot: &mut Pilot, backup: &Backup, timeout: Duration) -> Result<(), Undone> {
    let database = pilot.study.target.database.clone().unwrap_or_default();
    let [close, replace, open] = backup.restore(&database);
    let statements = vec![close, replace, open.clone()];
    let mut attempts = 1;
    let (agent, result) = loop {
        let agent = pilot.changer()?;
        let ask = Ask::control(statements.clone()).database(backup::FROM).keep_going().changes().limit(timeout);
        let result = pilot.ask(&agent, ask).await?;
        if !is_in_use(&result.error) || attempts >= ACCESS_ATTEMPTS {
            break (agent, result);
        }
        attempts += 1;
        pilot.rest(ACCESS_PAUSE).await?;
    };
    if result.error.is_empty() {
        return Ok(());
    }
    let late = result.fault() == v1::FaultKind::FaultDeadline;
    let refused = |why| Err(if late { Undone::Late(why) } else { Undone::Halt(Halt::Refused(why)) });
    if result.tables.is_empty() {
        return refused(format!("agent {agent}: {}", result.error));
    }
    let statement = statements.get(result.failed as usize).map(|sql| actions::brief(sql)).unwrap_or_default();
    let mut left = state(pilot, &database).await?;
    if left == Some(State::Closed) {
        // The connection that was to open it again may have been lost with the restore.
        let ask = Ask::control(vec![open.clone()]).database(backup::FROM).changes();
        if pilot.ask(&agent, ask).await.is_ok_and(|result| result.error.is_empty()) {
            left = Some(State::Usable);
        }
    }
    let left = match left {
        Some(State::Usable) => "the database is usable".to_owned(),
        Some(State::Closed) => format!("the database is left closed to others; {open} opens it"),
        Some(State::Restoring) => format!(
            "the database is left half restored; the next `vufleet run` of this study restores it before anything else, or by \
             hand, in master: {}",
            backup.statement(&database)
        ),
        Some(State::Unusable) => {
            format!("the database is not there, or not online; by hand, in master: {}", backup.statement(&database))
        }
        None => "what state the database is left in is not known".to_owned(),
    };
    let tries = if attempts > 1 { format!(" (tried {attempts} times)") } else { String::new() };
    refused(format!("{statement}: {}{tries}; {left}", result.error))
}

/// Whether a database could not be had alone because somebody is in it.
fn is_in_use(error: &str) -> bool {
    IN_USE.iter().any(|number| error.contains(number))
}

/// How a database of SQL Server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Usable,
    /// Online, and only one connection may be in it, or those of few.
    Closed,
    /// As a restore leaves it that broke off.
    Restoring,
    /// Not online for another reason, or not there.
    Unusable,
}

impl State {
    /// Of a row of `state` and `user_access` of sys.databases:
    /// <https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-databases-transact-sql>.
    fn of(row: Option<&v1::TableRow>) -> State {
        let cells: Vec<&str> = row.into_iter().flat_map(|row| &row.cells).map(|cell| cell.text.as_str()).collect();
        match cells.as_slice() {
            ["0", "0"] => State::Usable,
            ["0", _] => State::Closed,
            ["1", _] => State::Restoring,
            _ => State::Unusable,
        }
    }
}

async fn state(pilot: &mut Pilot, database: &str) -> Result<Option<State>, Halt> {
    let agent = pilot.spokesman()?;
    let ask = Ask::control(vec![backup::state(database)]).database(backup::FROM);
    match pilot.ask(&agent, ask).await {
        Ok(result) if result.error.is_empty() => {
            Ok(Some(State::of(result.tables.first().and_then(|table| table.rows.first()))))
        }
        Ok(_) | Err(Halt::Refused(_)) => Ok(None),
        Err(halt) => Err(halt),
    }
}

/// Before anything is checked, as nobody can connect to it: a database that a restore has left half there is restored, from a
/// backup that the server can read. A database in any other state is somebody's own affair.
pub(super) async fn mend(pilot: &mut Pilot) -> Result<(), Halt> {
    let Some(Reset { method: ResetMethod::Backup(backup), timeout, .. }) = pilot.study.reset.clone() else {
        return Ok(());
    };
    let database = pilot.study.target.database.clone().unwrap_or_default();
    if state(pilot, &database).await? != Some(State::Restoring) {
        return Ok(());
    }
    let statement = backup.statement(&database);
    if pilot.job.kind() == v1::job::Kind::Smoke {
        return Err(Halt::Refused(format!(
            "database {database} is only half restored; `vufleet run` without --smoke restores it before anything else, or by hand, \
             in master: {statement}"
        )));
    }
    let agent = pilot.changer()?;
    let looked = pilot.ask(&agent, Ask::control(backup.look()).database(backup::FROM)).await?;
    if !looked.error.is_empty() {
        return Err(Halt::Refused(format!(
            "database {database} is only half restored, and its backup cannot be read: {}; write the path as the server's own host \
             has it, and let the server's account read it",
            looked.error
        )));
    }
    pilot.teller.note(format!("database {database} is only half restored: it is restored before anything else")).await;
    let words = format!("the restore that is under way is waited for, {} at most", minutes(timeout));
    let _words = pilot.see_through(words);
    let restored = restore(pilot, &backup, timeout).await;
    pilot.heed_stop_again();
    match restored {
        Ok(()) => Ok(()),
        Err(Undone::Halt(halt)) => Err(halt),
        Err(Undone::Late(why)) => Err(Halt::Refused(format!("{why}; raise [reset] timeout"))),
    }
}

/// Whether the data can be copied, where it is to be: an agent on the spot looks, and nothing is touched.
pub(super) async fn look(pilot: &mut Pilot, answers: &Answers, agents: &[AgentFacts]) -> Result<Vec<Finding>, Halt> {
    match pilot.study.reset.as_ref().map(|reset| &reset.method) {
        Some(ResetMethod::Snapshot) => snapshot::look(pilot, answers, agents).await,
        _ => Ok(Vec::new()),
    }
}

/// The end of a job, and of its copy if it has one. Returns whether the data is where it is to be in the end.
pub(super) async fn end(pilot: &mut Pilot, ending: Ending) -> bool {
    match pilot.study.reset.clone() {
        Some(reset) => snapshot::end(pilot, reset.timeout, ending).await,
        None => true,
    }
}

/// An agent that was lost in a reset may be about to come back.
async fn regroup(pilot: &mut Pilot) -> Result<(), Halt> {
    let deadline = Instant::now() + pilot.core.options.lease * RETURN_LEASES;
    while pilot.core.registry.agents().iter().any(|agent| agent.presence() == Presence::Silent)
        && Instant::now() < deadline
    {
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
    fn what_is_in_use_is_told_by_its_number_and_states_by_theirs() {
        assert!(is_in_use("Exclusive access could not be obtained because the database is in use. (3101)"));
        assert!(!is_in_use("Cannot open backup device. (3201)") && !is_in_use(""));
        let row = |cells: &[&str]| v1::TableRow {
            cells: cells.iter().map(|text| v1::Cell { text: (*text).to_owned(), null: false }).collect(),
        };
        for (cells, state) in [
            (["0", "0"], State::Usable),
            (["0", "1"], State::Closed),
            (["1", "0"], State::Restoring),
            (["6", "0"], State::Unusable),
        ] {
            assert_eq!(State::of(Some(&row(&cells))), state);
        }
        assert_eq!(State::of(None), State::Unusable, "it is not there");
    }

    #[test]
    fn waiting_is_told_in_whole_units() {
        assert_eq!(minutes(Duration::from_secs(90)), "90 s");
        assert_eq!(minutes(Duration::from_secs(3600)), "60 min");
    }
}
