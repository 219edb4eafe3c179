//! Where MySQL writes its general and slow query logs: one setting, `log_output`, for both.

use super::{remember, require, sql};
use crate::sql::literal;
use crate::study::{Action, Remember, Require};

/// Where a log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogOutput {
    /// A file on the database's host; none: the one that the server is set to.
    File(Option<String>),
    /// The table of that log in the database `mysql`.
    Table,
}

impl LogOutput {
    fn word(&self) -> &'static str {
        match self {
            LogOutput::File(_) => "FILE",
            LogOutput::Table => "TABLE",
        }
    }
}

/// One of the two logs by the names of its settings.
pub(super) struct Log<'a> {
    /// Switches it on: `general_log`, `slow_query_log`.
    pub switch: &'a str,
    /// Where it goes.
    pub output: &'a LogOutput,
}

impl Log<'_> {
    fn file_setting(&self) -> Option<(String, &str)> {
        match self.output {
            LogOutput::File(Some(file)) => Some((format!("{}_file", self.switch), file)),
            _ => None,
        }
    }

    pub(super) fn remember(&self) -> Vec<Remember> {
        let mut all = vec![
            remember(self.switch, format!("SELECT @@global.{}", self.switch)),
            remember("log_output", "SELECT QUOTE(@@global.log_output)"),
        ];
        if let Some((setting, _)) = self.file_setting() {
            all.push(remember(&setting, format!("SELECT QUOTE(@@global.{setting})")));
        }
        all
    }

    /// What has to be set before the log is switched on, and that.
    pub(super) fn apply(&self) -> Vec<Action> {
        let mut all = vec![sql(format!("SET GLOBAL log_output = '{}'", self.output.word()))];
        if let Some((setting, file)) = self.file_setting() {
            all.push(sql(format!("SET GLOBAL {setting} = {}", literal(file))));
        }
        all.push(sql(format!("SET GLOBAL {} = ON", self.switch)));
        all
    }

    pub(super) fn verify(&self) -> Vec<Require> {
        let mut all = vec![
            require(format!("SELECT @@global.{}", self.switch), "1"),
            require("SELECT @@global.log_output", self.output.word()),
        ];
        if let Some((setting, file)) = self.file_setting() {
            all.push(require(format!("SELECT @@global.{setting} = {}", literal(file)), "1"));
        }
        all
    }

    pub(super) fn revert(&self) -> Vec<Action> {
        let mut all = vec![sql(format!("SET GLOBAL {0} = {{remembered:{0}}}", self.switch))];
        if let Some((setting, _)) = self.file_setting() {
            all.push(sql(format!("SET GLOBAL {setting} = {{remembered:{setting}}}")));
        }
        all.push(sql("SET GLOBAL log_output = {remembered:log_output}"));
        all
    }

    pub(super) fn undone(&self) -> Vec<Require> {
        let mut all = vec![
            require(format!("SELECT @@global.{}", self.switch), format!("{{remembered:{}}}", self.switch)),
            require("SELECT @@global.log_output = {remembered:log_output}", "1"),
        ];
        if let Some((setting, _)) = self.file_setting() {
            all.push(require(format!("SELECT @@global.{setting} = {{remembered:{setting}}}"), "1"));
        }
        all
    }
}
