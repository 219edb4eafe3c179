//! What is asked of a database and a fleet before a study starts, and what follows from the answers.
//!
//! Pure: questions are SQL text, answers are text, findings are sentences that name the thing, the cause and the fix.
//! Who asks, over which agent and connection, is the coordinator's business. Whether the tables hold the right rows is
//! `schema verify`'s, and why a target cannot be reached the driver's fault says best.

mod commands;
mod control;
mod custom;
mod demand;
mod fleet;
mod mssql;
mod remembered;
mod reset;
mod room;
mod schema;
mod server;
mod terminals;

use std::collections::BTreeMap;
use std::time::Duration;

pub use reset::snapshot_agent;

use crate::study::{Study, TargetKind};

/// Which login has to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// The virtual users' own: the answer depends on who asks.
    Target,
    /// The `[control]` login.
    Control,
}

/// One statement to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Key of its answer.
    pub id: String,
    /// The statement.
    pub sql: String,
    /// Who has to send it.
    pub login: Login,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Rows of text; none is NULL.
    Rows(Vec<Vec<Option<String>>>),
    /// The database's own words, why not.
    Failed(String),
}

/// Answers by the question's id.
pub type Answers = BTreeMap<String, Answer>;

/// What an agent told about its host, and its part in the largest profile.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentFacts {
    /// The agent's name.
    pub name: String,
    /// Equal for agents on one machine.
    pub machine: String,
    /// The name of its host.
    pub hostname: String,
    /// The data directory that it copies and puts back when asked to.
    pub snapshot: Option<String>,
    /// Of vufleet.
    pub version: String,
    /// What studies choose it by.
    pub labels: BTreeMap<String, String>,
    /// Whether its configuration allows control.
    pub allow_control: bool,
    /// Names of the commands of its host that it runs when asked to.
    pub commands: Vec<String>,
    /// Whether it observes the database's host.
    pub observes: bool,
    /// Open files that its process may have.
    pub open_files: u64,
    /// Its host's bound on a listener's queue.
    pub somaxconn: u64,
    /// Its host's range of local ports, both ends included.
    pub ports: (u32, u32),
    /// `net.ipv4.tcp_tw_reuse` of its host.
    pub tw_reuse: u32,
    /// Connections to one listener of its host that may be half open; none: any number.
    pub syn_backlog: Option<u64>,
    /// Threads that its process could still start; none: unknown.
    pub tasks: Option<u64>,
    /// Memory of its host.
    pub memory_bytes: u64,
    /// Memory that its container or unit is held to.
    pub memory_limit_bytes: Option<u64>,
    /// Cores of its host; 0: unknown.
    pub host_cores: u32,
    /// Cores that it may run on; 0: unknown.
    pub affinity_cores: u32,
    /// CPU time a second that its container or unit is held to, in cores.
    pub quota_cores: Option<f64>,
    /// Sessions it has to open in the largest profile; 0 when it drives none.
    pub sessions_wanted: u64,
    /// How well its clock is known on the coordinator's; none while nobody knows.
    pub clock_uncertainty: Option<Duration>,
}

/// How well clocks must be known for a window: none is one of counted transactions, whose service times are each agent's
/// own.
pub fn clock_bound(window: Option<Duration>) -> Duration {
    const MOST: Duration = Duration::from_millis(50);
    const WINDOWS_PART: u32 = 200;
    window.map_or(MOST, |window| MOST.min(window / WINDOWS_PART))
}

/// How bad it is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The study cannot run.
    Fatal,
    /// It may fail or mislead.
    Warning,
    /// Worth knowing.
    Note,
}

/// One conclusion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The thing and the cause.
    pub what: String,
    /// The fix.
    pub remedy: String,
}

impl Finding {
    fn fatal(what: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { severity: Severity::Fatal, what: what.into(), remedy: remedy.into() }
    }

    fn warning(what: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, ..Finding::fatal(what, remedy) }
    }

    fn note(what: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { severity: Severity::Note, ..Finding::fatal(what, remedy) }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

/// Everything to ask about a study's target, in the order of asking. A failed question does not stop the others.
pub fn questions(study: &Study) -> Vec<Question> {
    let mut questions = match study.target.kind {
        TargetKind::Mysql => server::questions(),
        TargetKind::Mssql => mssql::questions(),
        TargetKind::Sqlite | TargetKind::Simulated => Vec::new(),
    };
    questions.extend(custom::questions(study));
    questions.extend(schema::questions(study));
    questions.extend(remembered::questions(study));
    questions.extend(reset::questions(study));
    questions
}

/// The questions whether the target understands the user's own statements: they hold those, and execute none.
pub fn of_statements(study: &Study) -> Vec<Question> {
    custom::questions(study)
}

/// The questions of `[[require]]`, which have to be asked before each run too.
pub fn requirements(study: &Study) -> Vec<Question> {
    schema::requirements(study)
}

/// What of `[[require]]` does not hold by these answers. Nothing that was not asked.
pub fn unmet(study: &Study, answers: &Answers) -> Vec<Finding> {
    schema::unmet_requirements(study, answers).collect()
}

/// What agents have to allow and do not, before anything is asked.
pub fn not_allowed(study: &Study, agents: &[AgentFacts]) -> Vec<Finding> {
    control::findings(study, agents)
}

/// What the answers mean for this study on these agents, the worst first.
pub fn findings(study: &Study, answers: &Answers, agents: &[AgentFacts]) -> Vec<Finding> {
    let mut findings = unanswered(&questions(study), answers);
    match study.target.kind {
        TargetKind::Mysql => findings.extend(server::findings(study, answers, agents)),
        TargetKind::Mssql => findings.extend(mssql::findings(study, answers, agents)),
        TargetKind::Sqlite | TargetKind::Simulated => {}
    }
    findings.extend(custom::findings(study, answers));
    findings.extend(schema::findings(study, answers));
    findings.extend(fleet::findings(study, agents));
    findings.extend(room::findings(study, agents));
    findings.extend(commands::findings(study, agents));
    findings.extend(control::findings(study, agents));
    findings.extend(remembered::findings(study, answers));
    findings.extend(reset::findings(study, answers, agents));
    findings.extend(terminals::findings(study));
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// A check that did not take place is not one that found nothing. Tables, requirements and the
/// user's own statements tell of themselves.
fn unanswered(questions: &[Question], answers: &Answers) -> Vec<Finding> {
    let unchecked = questions.iter().filter_map(|question| {
        let reason = match answers.get(&question.id) {
            Some(Answer::Rows(_)) => return None,
            Some(Answer::Failed(_))
                if schema::is_own(question)
                    || custom::is_own(question)
                    || mssql::is_own(question)
                    || remembered::is_own(question)
                    || reset::is_own(question) =>
            {
                return None;
            }
            Some(Answer::Failed(error)) => error.clone(),
            None => "nobody asked".to_owned(),
        };
        let what = format!("{} could not be checked: {reason}", question.id);
        Some(Finding::warning(what, format!("let this login send it: {}", question.sql)))
    });
    unchecked.collect()
}

fn rows<'a>(answers: &'a Answers, id: &str) -> &'a [Vec<Option<String>>] {
    match answers.get(id) {
        Some(Answer::Rows(rows)) => rows,
        Some(Answer::Failed(_)) | None => &[],
    }
}

/// A quoted SQL string.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(quoted).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
