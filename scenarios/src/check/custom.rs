//! Whether the target understands the user's own SQL, without executing any of it.

use super::{Answer, Answers, Finding, Login, Question, quoted};
use crate::custom;
use crate::session::Dialect;
use crate::sql::Protocol;
use crate::study::{Study, TargetKind, Workload};

const ID: &str = "statement ";

/// MySQL's code for what it does not prepare but executes.
const NOT_PREPARED: &str = "(1295)";

/// The first and the last of SQL Server's codes for what it cannot describe although it may well execute it: a temporary
/// table, a type that nothing tells, a batch whose result depends on what happens.
const NOT_DESCRIBED: std::ops::RangeInclusive<i32> = 11_501..=11_549;

/// One statement of one transaction, in the first profile that sends it.
struct Sent<'a> {
    profile: &'a str,
    transaction: &'a str,
    number: usize,
    sql: &'a str,
    /// Its parameters' declarations for SQL Server.
    declarations: String,
    protocol: Protocol,
    /// The profile's setup, which has not run yet, may make what the statement needs.
    set_up: bool,
}

pub(super) fn questions(study: &Study) -> Vec<Question> {
    let ask: fn(&Sent<'_>) -> String = match study.target.kind {
        // All leave the statement unexecuted; the prepared one goes with the connection.
        TargetKind::Mysql => |sent| format!("PREPARE vufleet_check FROM {}", quoted(&sent.sql.replace('\\', "\\\\"))),
        TargetKind::Mssql => describe,
        TargetKind::Sqlite => |sent| format!("EXPLAIN {}", sent.sql),
        TargetKind::Simulated => return Vec::new(),
    };
    let question = |(index, sent): (usize, &Sent<'_>)| Question { id: id(index), sql: ask(sent), login: Login::Target };
    sent(study).iter().enumerate().map(question).collect()
}

/// SQL Server compiles a batch in order to look for parameters that nobody declared, of which there are none. Babelfish does
/// so for a few kinds of statements only: there the question is not asked.
fn describe(sent: &Sent<'_>) -> String {
    let batch = quoted(sent.sql);
    let declared = match sent.declarations.as_str() {
        "" => String::new(),
        declarations => format!(", @params = N{}", quoted(declarations)),
    };
    format!(
        "IF SERVERPROPERTY('babelfish') IS NULL BEGIN \
         EXEC sys.sp_describe_undeclared_parameters @tsql = N{batch}{declared} END"
    )
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
            if all.iter().all(|other| other.sql != sql || other.transaction != transaction.name) {
                let declarations = match shape.dialect {
                    Dialect::Mssql => step.declarations(&transaction.parameters),
                    Dialect::Mysql | Dialect::Sqlite => String::new(),
                };
                let (transaction, set_up) = (transaction.name.as_str(), !profile.setup.is_empty());
                all.push(Sent { profile: &profile.id, transaction, number, sql, declarations, protocol, set_up });
            }
        }
    }
    all
}

/// Each statement with its transaction and its number in it.
fn steps(shape: &custom::Shape) -> impl Iterator<Item = (&custom::Transaction, usize, &custom::Step)> {
    shape
        .transactions
        .iter()
        .flat_map(|transaction| (1..).zip(&transaction.steps).map(move |(number, step)| (transaction, number, step)))
}

/// The code that a database's error ends with.
fn code(error: &str) -> Option<i32> {
    error.strip_suffix(')')?.rsplit_once('(')?.1.parse().ok()
}

impl Sent<'_> {
    fn finding(&self, answer: &Answer) -> Option<Finding> {
        let Answer::Failed(error) = answer else { return None };
        if self.protocol == Protocol::Text && error.contains(NOT_PREPARED) {
            return None;
        }
        if code(error).is_some_and(|code| NOT_DESCRIBED.contains(&code)) {
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
