//! Whether the tables are there and fit the study, and the required settings hold.

use super::{Answer, Answers, Finding, Login, Question, quoted_list, reset};
use crate::sql::bracketed;
use crate::study::{Require, ResetMethod, Study, TargetKind, Workload};
use crate::tprocc;
use crate::workload::Expectation;

const TABLES: &str = "tables";
const ORDERS: &str = "orders counter";

/// Most missing tables that are named one by one.
const NAMED_TABLES: usize = 5;

pub(super) fn questions(study: &Study) -> Vec<Question> {
    let tables = study.workload.schema().tables();
    let names = quoted_list(tables.iter().map(String::as_str));
    let sql = match study.target.kind {
        TargetKind::Mysql => format!(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({names})"
        ),
        TargetKind::Mssql => format!("SELECT name FROM sys.tables WHERE name IN ({names})"),
        TargetKind::Sqlite => format!("SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ({names})"),
        TargetKind::Simulated => return Vec::new(),
    };
    let mut questions = Vec::new();
    if !tables.is_empty() {
        questions.push(Question { id: TABLES.to_owned(), sql, login: Login::Target });
    }
    questions.extend(ready(study).into_iter().enumerate().map(|(index, expectation)| Question {
        id: readiness(index),
        sql: expectation.sql,
        login: Login::Target,
    }));
    if let (Workload::Tprocc(_), Some(dialect)) = (&study.workload, study.target.kind.dialect()) {
        let sql = tprocc::orders_query(dialect, study.target.database.as_deref());
        questions.push(Question { id: ORDERS.to_owned(), sql, login: Login::Control });
    }
    questions.extend(requirements(study));
    questions
}

/// The questions of `[[require]]`.
pub(super) fn requirements(study: &Study) -> Vec<Question> {
    let required = study.require.iter().enumerate();
    required
        .map(|(index, require)| Question { id: requirement(index), sql: require.sql.clone(), login: Login::Control })
        .collect()
}

/// Whether a failed answer to the question is found here.
pub(super) fn is_own(question: &Question) -> bool {
    question.id == TABLES
        || question.id == ORDERS
        || question.id.starts_with("requirement ")
        || question.id.starts_with("readiness ")
}

/// What must hold of the tables for every profile's workload, each once.
fn ready(study: &Study) -> Vec<Expectation> {
    let Some(dialect) = study.target.kind.dialect() else { return Vec::new() };
    let mut out: Vec<Expectation> = Vec::new();
    for expectation in study.profiles.iter().flat_map(|profile| profile.workload.schema().ready(dialect)) {
        if !out.contains(&expectation) {
            out.push(expectation);
        }
    }
    out
}

fn readiness(index: usize) -> String {
    format!("readiness {}", index + 1)
}

fn requirement(index: usize) -> String {
    format!("requirement {}", index + 1)
}

pub(super) fn findings(study: &Study, answers: &Answers) -> Vec<Finding> {
    let required = unmet_requirements(study, answers);
    match missing(study, answers) {
        // The first reset has to bring them; what it brings is looked at when it has.
        Some(_) if reset::makes_anew(study) => required.collect(),
        None if reset::makes_anew(study) => {
            doomed(study, answers).into_iter().chain(uncounted(study, answers)).chain(required).collect()
        }
        // Nothing can be asked of tables that are not there.
        Some(missing) => std::iter::once(missing).chain(required).collect(),
        None => unready(study, answers).chain(uncounted(study, answers)).chain(required).collect(),
    }
}

/// The control login reads how many orders the database has taken.
fn uncounted(study: &Study, answers: &Answers) -> Option<Finding> {
    let Answer::Failed(error) = answers.get(ORDERS)? else { return None };
    let district = tprocc::district(study.target.kind.dialect()?, study.target.database.as_deref());
    let grant = match (study.target.kind, &study.target.database) {
        (TargetKind::Mssql, Some(database)) => format!(
            "USE {}; CREATE USER for that login, unless it has one; GRANT SELECT ON dbo.district to it",
            bracketed(database)
        ),
        _ => format!("GRANT SELECT ON {district} to it"),
    };
    Some(Finding::warning(
        format!("the control login cannot count orders, so that no run will have a NOPM: {error}"),
        format!("{grant}, or give [control] another login"),
    ))
}

/// What the database says otherwise than `[[require]]` has it.
pub(super) fn unmet_requirements(study: &Study, answers: &Answers) -> impl Iterator<Item = Finding> {
    let required = study.require.iter().enumerate();
    required.filter_map(|(index, require)| unmet(require, answers.get(&requirement(index))?))
}

/// Tables of these names that are not the study's own, and are about to be dropped.
fn doomed(study: &Study, answers: &Answers) -> Option<Finding> {
    let builds = study.reset.as_ref().is_some_and(|reset| reset.method == ResetMethod::Rebuild);
    let found = unready(study, answers).next().filter(|_| builds)?;
    let what = format!(
        "the first reset drops the workload's tables, and those that are there are not the study's: {}",
        found.what
    );
    Some(Finding::warning(what, "choose another target.database if they are somebody else's"))
}

fn unready(study: &Study, answers: &Answers) -> impl Iterator<Item = Finding> {
    ready(study).into_iter().enumerate().filter_map(|(index, expectation)| {
        let unmet = match answers.get(&readiness(index))? {
            Answer::Rows(rows) => expectation.unmet(Ok(rows)),
            Answer::Failed(error) => expectation.unmet(Err(error)),
        };
        unmet.map(|what| Finding::fatal(what, expectation.remedy))
    })
}

fn missing(study: &Study, answers: &Answers) -> Option<Finding> {
    let key = if study.target.kind == TargetKind::Sqlite { "path" } else { "database" };
    let build = format!(
        "build them with vufleet schema build STUDY (with --replace where some of them are there), or correct [target] {key}"
    );
    let there = match answers.get(TABLES)? {
        Answer::Rows(rows) => rows,
        Answer::Failed(error) => {
            return Some(Finding::fatal(format!("the tables cannot be looked up: {error}"), build));
        }
    };
    let is_there = |table: &String| {
        there.iter().flatten().flatten().any(|name| name.eq_ignore_ascii_case(table)) // lower_case_table_names
    };
    let wanted = study.workload.schema().tables();
    let missing: Vec<&str> = wanted.iter().filter(|table| !is_there(table)).map(String::as_str).collect();
    if missing.is_empty() {
        return None;
    }
    let named = missing[..missing.len().min(NAMED_TABLES)].join(", ");
    let more = if missing.len() > NAMED_TABLES { ", ..." } else { "" };
    let place = match (&study.target.database, &study.target.path) {
        (Some(name), None) => format!(" from database {name}"),
        (_, Some(path)) => format!(" from {}", path.display()),
        (None, None) => String::new(),
    };
    let what = format!("{} of {} tables are missing{place}: {named}{more}", missing.len(), wanted.len());
    Some(Finding::fatal(what, build))
}

fn unmet(require: &Require, answer: &Answer) -> Option<Finding> {
    let Require { sql, equals } = require;
    let what = match answer {
        Answer::Failed(error) => {
            let what = format!("the required setting {sql:?} cannot be read: {error}");
            return Some(Finding::fatal(what, "correct the query in [[require]], or what the control login may read"));
        }
        Answer::Rows(rows) => match rows.first().and_then(|row| row.first()) {
            Some(Some(value)) if value.trim() == equals.trim() => return None,
            Some(Some(value)) => format!("{sql:?} returns {value:?}, but the study requires {equals:?}"),
            Some(None) => format!("{sql:?} returns NULL, but the study requires {equals:?}"),
            None => format!("{sql:?} returns no row, but the study requires {equals:?}"),
        },
    };
    Some(Finding::fatal(what, how_to_set(sql, equals)))
}

/// A query of one global variable names what to set.
fn how_to_set(sql: &str, equals: &str) -> String {
    let words: Vec<&str> = sql.trim().trim_end_matches(';').split_whitespace().collect();
    let variable = match words.as_slice() {
        [select, variable] if select.eq_ignore_ascii_case("select") => variable.strip_prefix("@@"),
        _ => None,
    };
    let strip = |name: &str| name.to_ascii_lowercase().strip_prefix("global.").unwrap_or(name).to_owned();
    let is_name = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match variable.map(strip).filter(is_name) {
        Some(name) => {
            let value = if equals.parse::<f64>().is_ok() { equals.to_owned() } else { super::quoted(equals) };
            format!("SET GLOBAL {name} = {value}, or in the server's configuration where it cannot be set at run time")
        }
        None => "change the database's setting, or the study's [[require]]".to_owned(),
    }
}
