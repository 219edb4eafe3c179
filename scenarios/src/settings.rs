//! What a database is asked for its settings, so that a report can say under which ones its figures were made and whether they
//! changed in mid-study.
//!
//! Left out: what moves by itself (replication positions, times), and whatever may be a secret: such settings are not even
//! asked for.

mod mssql;
mod mysql;
mod sqlite;

use std::collections::BTreeMap;

use crate::check::Answer;
use crate::study::{Target, TargetKind};

/// A statement, and what its rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What it reads, for people.
    pub what: &'static str,
    /// The statement, for the control login.
    pub sql: String,
    /// How its rows are read.
    pub rows: Form,
}

/// What the rows of an answer are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A name and a value each; the name gets this before it.
    Named(&'static str),
    /// Values of the setting of this name.
    Of(&'static str),
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Settings by name.
    pub values: BTreeMap<String, String>,
    /// What was refused, and the database's own words why.
    pub refused: Vec<String>,
}

/// The questions for a target; none where there is no database.
pub fn questions(target: &Target) -> Vec<Question> {
    match target.kind {
        TargetKind::Mysql => mysql::questions(),
        TargetKind::Mssql => mssql::questions(target.database.as_deref()),
        TargetKind::Sqlite => sqlite::questions(),
        TargetKind::Simulated => Vec::new(),
    }
}

/// The settings in the answers to [`questions`], in their order.
pub fn read<'a>(questions: &[Question], answers: impl IntoIterator<Item = &'a Answer>) -> Reading {
    let mut reading = Reading::default();
    for (question, answer) in questions.iter().zip(answers) {
        match answer {
            Answer::Failed(why) => reading.refused.push(format!("{}: {why}", question.what)),
            Answer::Rows(rows) => take(&mut reading.values, question.rows, rows),
        }
    }
    reading
}

fn take(values: &mut BTreeMap<String, String>, form: Form, rows: &[Vec<Option<String>>]) {
    // NULL is a value that a setting may have.
    let text = |cell: Option<&Option<String>>| one_line(cell.and_then(|cell| cell.as_deref()).unwrap_or("NULL"));
    match form {
        Form::Named(prefix) => {
            for row in rows.iter().filter(|row| row.len() > 1) {
                values.insert(format!("{prefix}{}", text(row.first())), text(row.get(1)));
            }
        }
        Form::Of(name) if !rows.is_empty() => {
            let all: Vec<String> = rows.iter().map(|row| text(row.last())).collect();
            values.insert(name.to_owned(), all.join(", "));
        }
        Form::Of(_) => {}
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{self, Edits};

    fn question(rows: Form) -> Question {
        Question { what: "it", sql: String::new(), rows }
    }

    fn rows(rows: &[&[Option<&str>]]) -> Answer {
        Answer::Rows(rows.iter().map(|row| row.iter().map(|cell| cell.map(str::to_owned)).collect()).collect())
    }

    #[test]
    fn answers_become_settings_and_refusals_are_told() {
        let questions = [question(Form::Named("")), question(Form::Of("options")), question(Form::Named("flag "))];
        let questions = [&questions[..], &[question(Form::Of("nothing"))]].concat();
        let answers = [
            rows(&[&[Some("a"), Some("1\n  2")], &[Some("b"), None], &[Some("short")]]),
            rows(&[&[Some("X")], &[Some("Y")]]),
            Answer::Failed("no".to_owned()),
            rows(&[]),
        ];
        let reading = read(&questions, &answers);
        let known = [("a", "1 2"), ("b", "NULL"), ("options", "X, Y")];
        assert_eq!(reading.values, known.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(reading.refused, ["it: no"]);
    }

    #[test]
    fn every_kind_of_database_has_its_own_questions() {
        for (target, words) in [
            ("kind = 'mysql'\ndatabase = 'd'\nuser = 'u'\npassword = { env = 'P' }", Some("SHOW GLOBAL VARIABLES")),
            (
                "kind = 'mssql'\nhost = 'h'\ndatabase = 'd'\nuser = 'u'\npassword = { env = 'P' }",
                Some("sys.configurations"),
            ),
            ("kind = 'sqlite'\npath = 'x.db'", Some("PRAGMA journal_mode")),
            ("kind = 'simulated'", None),
        ] {
            let text = format!(
                "name = 'a'\nseed = 1\n[target]\n{target}\n[workload]\nkind = 'oltp'\nscript = 'read_only'\n[[profiles]]\nvus = 1\n"
            );
            let study = study::read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"));
            let questions = questions(&study.target);
            let found = words.is_none_or(|words| questions.iter().any(|question| question.sql.contains(words)));
            assert!(found && (words.is_none() == questions.is_empty()), "{target}: {questions:?}");
        }
    }
}
