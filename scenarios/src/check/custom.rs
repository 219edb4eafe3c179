//! Whether the target understands the user's own SQL, without executing any of it.

use super::{Answer, Answers, Finding, Login, Question, quoted};
use crate::custom;
use crate::sql::Protocol;
use crate::study::{Study, TargetKind, Workload};

const ID: &str = "statement ";

/// MySQL's code for what it does not prepare but executes.
const NOT_PREPARED: &str = "(1295)";

/// One statement of one transaction, in the first profile that sends it.
struct Sent<'a> {
    profile: &'a str,
    transaction: &'a str,
    number: usize,
    sql: &'a str,
    protocol: Protocol,
    /// The profile's setup, which has not run yet, may make what the statement needs.
    set_up: bool,
}

pub(super) fn questions(study: &Study) -> Vec<Question> {
    let ask: fn(&str) -> String = match study.target.kind {
        // Both leave the statement unexecuted; the prepared one goes with the connection.
        TargetKind::Mysql => |sql| format!("PREPARE vufleet_check FROM {}", quoted(&sql.replace('\\', "\\\\"))),
        // Parsed and bound, with no parameter declared: what fails for that reason alone is not told apart.
        TargetKind::Mssql => return Vec::new(),
        TargetKind::Sqlite => |sql| format!("EXPLAIN {sql}"),
        TargetKind::Simulated => return Vec::new(),
    };
    let question =
        |(index, sent): (usize, &Sent<'_>)| Question { id: id(index), sql: ask(sent.sql), login: Login::Target };
    sent(study).iter().enumerate().map(question).collect()
}

/// Whether a failed answer to the question is found here.
pub(super) fn is_own(question: &Question) -> bool {
    question.id.starts_with(ID)
}

pub(super) fn findings(study: &Study, answers: &Answers) -> Vec<Finding> {
    let sent = sent(study);
    sent.iter().enumerate().filter_map(|(index, sent)| sent.finding(answers.get(&id(index))?)).collect()
}

fn id(index: usize) -> String {
    format!("{ID}{}", index + 1)
}

/// Every statement once, however many profiles send it.
fn sent(study: &Study) -> Vec<Sent<'_>> {
    let mut all: Vec<Sent<'_>> = Vec::new();
    for profile in &study.profiles {
        let Workload::Custom(shape) = &profile.workload else { continue };
        for (transaction, number, step) in steps(shape) {
            let (sql, protocol) = (step.statement.sql.as_str(), step.statement.protocol);
            if all.iter().all(|other| other.sql != sql || other.transaction != transaction) {
                let set_up = !profile.setup.is_empty();
                all.push(Sent { profile: &profile.id, transaction, number, sql, protocol, set_up });
            }
        }
    }
    all
}

/// Each statement with the name of its transaction and its number in it.
fn steps(shape: &custom::Shape) -> impl Iterator<Item = (&str, usize, &custom::Step)> {
    shape.transactions.iter().flat_map(|transaction| {
        (1..).zip(&transaction.steps).map(move |(number, step)| (transaction.name.as_str(), number, step))
    })
}

impl Sent<'_> {
    fn finding(&self, answer: &Answer) -> Option<Finding> {
        let Answer::Failed(error) = answer else { return None };
        if self.protocol == Protocol::Text && error.contains(NOT_PREPARED) {
            return None;
        }
        let Sent { profile, transaction, number, .. } = self;
        let what = format!("statement {number} of transaction {transaction} does not prepare: {error}");
        Some(if self.set_up {
            Finding::warning(what, format!("it has to once the setup of profile {profile} has run"))
        } else {
            Finding::fatal(what, "correct it in [[workload.transactions]], or make what it names beforehand")
        })
    }
}
