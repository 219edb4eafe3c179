//! What changes a database, or asks whether it has changed: the steps of variants, done through agents.

use std::collections::BTreeMap;
use std::time::Duration;

use vufleet_proto::v1;
use vufleet_scenarios::check::Answer;
pub(super) use vufleet_scenarios::permit::brief;
use vufleet_scenarios::study::{Action, Require};

use super::Halt;
use super::pilot::{Ask, Pilot};
use super::preflight::answer;

/// How long a step may take: an index may be built by it, or a plugin loaded.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a failed step means for those after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// They are not done.
    Stop,
    /// They are done all the same.
    GoOn,
}

/// Why steps were not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// Whose part it was.
    pub(super) agent: String,
    /// For people.
    pub(super) message: String,
    /// It was refused by whoever had to do it, and will be again; else nobody was reached.
    pub(super) refused: bool,
    /// Statements that took longer than they may: the last of them may go on.
    pub(super) late: bool,
}

impl Failure {
    /// Of a step that was done in time, if it was done at all.
    pub(super) fn new(agent: String, message: String, refused: bool) -> Failure {
        Failure { agent, message, refused, late: false }
    }
}

/// Does steps in order, the statements among them that follow each other on one connection of the control login.
/// Returns the first failure.
///
/// # Errors
/// When the operator stops the job.
pub(super) async fn perform(
    pilot: &mut Pilot,
    actions: &[Action],
    on_failure: OnFailure,
) -> Result<Option<Failure>, Halt> {
    perform_all(pilot, actions, on_failure, Time::Patience(PATIENCE)).await
}

/// The same with a time that each command, and each row of statements, may take; then it is ended.
///
/// # Errors
/// When the operator stops the job.
pub(super) async fn perform_within(
    pilot: &mut Pilot,
    actions: &[Action],
    on_failure: OnFailure,
    limit: Duration,
) -> Result<Option<Failure>, Halt> {
    perform_all(pilot, actions, on_failure, Time::Limit(limit)).await
}

/// How long each command, and each row of statements, may take.
#[derive(Debug, Clone, Copy)]
enum Time {
    /// Until nobody waits for the statements any more.
    Patience(Duration),
    /// Until the agent ends them.
    Limit(Duration),
}

async fn perform_all(
    pilot: &mut Pilot,
    actions: &[Action],
    on_failure: OnFailure,
    time: Time,
) -> Result<Option<Failure>, Halt> {
    let mut first = None;
    for chunk in actions.chunk_by(|one, next| sql(one).is_some() && sql(next).is_some()) {
        let failure = match &chunk[0] {
            Action::Sql(_) => send(pilot, chunk, on_failure, time).await?,
            Action::Command { name, agent } => command(pilot, name, agent, time).await?,
        };
        first = first.or(failure);
        if first.is_some() && on_failure == OnFailure::Stop {
            break;
        }
    }
    Ok(first)
}

fn sql(action: &Action) -> Option<&String> {
    match action {
        Action::Sql(sql) => Some(sql),
        Action::Command { .. } => None,
    }
}

async fn send(
    pilot: &mut Pilot,
    actions: &[Action],
    on_failure: OnFailure,
    time: Time,
) -> Result<Option<Failure>, Halt> {
    let statements: Vec<String> = actions.iter().filter_map(sql).cloned().collect();
    let ask = Ask::control(statements.clone()).changes();
    let mut ask = match time {
        Time::Patience(patience) => ask.patience(patience),
        Time::Limit(limit) => ask.limit(limit),
    };
    if on_failure == OnFailure::GoOn {
        ask = ask.keep_going();
    }
    let agent = match pilot.changer() {
        Ok(agent) => agent,
        Err(halt) => return Ok(Some(Failure::new(String::new(), halt.message(), false))),
    };
    let result = match pilot.ask(&agent, ask).await {
        Ok(result) => result,
        Err(Halt::Stopped) => return Err(Halt::Stopped),
        Err(halt) => return Ok(Some(Failure::new(agent, halt.message(), false))),
    };
    if result.error.is_empty() {
        return Ok(None);
    }
    // A result without tables is of a connection that could not be opened.
    let statement = (!result.tables.is_empty()).then(|| statements.get(result.failed as usize)).flatten();
    let late = result.fault() == v1::FaultKind::FaultDeadline;
    let message = match statement {
        Some(statement) => format!("{}: {}", brief(statement), result.error),
        None => result.error,
    };
    Ok(Some(Failure { agent, message, refused: statement.is_some(), late }))
}

async fn command(
    pilot: &mut Pilot,
    name: &str,
    labels: &BTreeMap<String, String>,
    time: Time,
) -> Result<Option<Failure>, Halt> {
    let Some(agent) = pilot.who_has(name, labels) else {
        return Ok(Some(Failure::new(String::new(), nobody_has(name, labels), false)));
    };
    let (Time::Patience(limit) | Time::Limit(limit)) = time;
    let failure = match pilot.run_command(&agent, name, limit).await {
        Ok(result) => failure_of(&result),
        Err(Halt::Stopped) => return Err(Halt::Stopped),
        Err(halt) => Some((halt.message(), false)),
    };
    Ok(failure.map(|(message, refused)| Failure::new(agent, format!("command {name}: {message}"), refused)))
}

fn failure_of(result: &v1::CommandResult) -> Option<(String, bool)> {
    let cause = match (result.error.as_str(), result.exit_code) {
        ("", 0) => return None,
        ("", code) => format!("it ended with exit code {code}"),
        (error, _) => error.to_owned(),
    };
    let words = result.output.trim();
    Some((if words.is_empty() { cause } else { format!("{cause}: {words}") }, true))
}

/// What of these does not hold, in words that fit behind a colon.
///
/// # Errors
/// When the operator stops the job, or nobody can be asked.
pub(super) async fn unmet(pilot: &mut Pilot, requirements: &[Require]) -> Result<Vec<String>, Halt> {
    if requirements.is_empty() {
        return Ok(Vec::new());
    }
    let statements: Vec<String> = requirements.iter().map(|require| require.sql.clone()).collect();
    let agent = pilot.spokesman_for(&statements)?;
    let result = pilot.ask(&agent, Ask::control(statements).keep_going()).await?;
    if result.tables.is_empty() {
        return Err(Halt::Refused(format!("agent {agent}: {}", result.error)));
    }
    let answers = result.tables.iter().map(answer);
    Ok(requirements.iter().zip(answers).filter_map(|(require, answer)| difference(require, &answer)).collect())
}

fn difference(require: &Require, answer: &Answer) -> Option<String> {
    let Require { sql, equals } = require;
    let sql = brief(sql);
    match answer {
        Answer::Failed(error) => Some(format!("{sql} failed: {error}")),
        Answer::Rows(_) => match single(answer) {
            Some(value) if value.trim() == equals.trim() => None,
            Some(value) => Some(format!("{sql} returned {value:?}, expected {equals:?}")),
            None => Some(format!("{sql} returned nothing, expected {equals:?}")),
        },
    }
}

/// The one value of an answer, in the last column of its first row, so that SHOW has one too; none of no row and of NULL.
pub(super) fn single(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Rows(rows) => rows.first()?.last()?.as_deref(),
        Answer::Failed(_) => None,
    }
}

/// Why a command cannot be run.
pub(super) fn nobody_has(command: &str, labels: &BTreeMap<String, String>) -> String {
    let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let who = if labels.is_empty() { String::new() } else { format!(" with the labels {}", labels.join(", ")) };
    format!("no agent{who} is here whose configuration names command {command}, with allow_control = true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn require(equals: &str) -> Require {
        Require { sql: "SELECT\n  @@logging".to_owned(), equals: equals.to_owned() }
    }

    fn rows(values: &[Option<&str>]) -> Answer {
        Answer::Rows(values.iter().map(|value| vec![value.map(str::to_owned)]).collect())
    }

    #[test]
    fn a_state_that_differs_is_told_with_both_values() {
        assert_eq!(difference(&require("1"), &rows(&[Some(" 1\n")])), None);
        let shown = Answer::Rows(vec![vec![Some("logging".to_owned()), Some("1".to_owned())]]);
        assert_eq!(difference(&require("1"), &shown), None);
        for (answer, words) in [
            (rows(&[Some("0")]), "SELECT @@logging returned \"0\", expected \"1\""),
            (rows(&[None]), "SELECT @@logging returned nothing, expected \"1\""),
            (rows(&[]), "SELECT @@logging returned nothing, expected \"1\""),
            (Answer::Failed("no such variable".to_owned()), "SELECT @@logging failed: no such variable"),
        ] {
            assert_eq!(difference(&require("1"), &answer).as_deref(), Some(words));
        }
    }

    #[test]
    fn a_long_statement_is_told_in_part() {
        assert_eq!(brief("SET GLOBAL\n\tx = 1"), "SET GLOBAL x = 1");
        let long = brief(&"ä".repeat(500));
        assert!(long.ends_with(" ...") && long.chars().count() == 164, "{long}");
    }

    #[test]
    fn a_command_failed_unless_it_ended_with_0() {
        let result = |exit_code, output: &str, error: &str| v1::CommandResult {
            exit_code,
            output: output.to_owned(),
            error: error.to_owned(),
            ..Default::default()
        };
        assert_eq!(failure_of(&result(0, "restored\n", "")), None);
        let (message, _) = failure_of(&result(2, "no backup\n", "")).unwrap();
        assert_eq!(message, "it ended with exit code 2: no backup");
        assert_eq!(failure_of(&result(-1, "", "it was killed")).unwrap().0, "it was killed");
    }
}
