//! The general query log of MySQL and MariaDB: every statement as it arrives.

use super::growing;
use super::log_output::{Log, LogOutput};
use crate::study::{Change, Footprint, When};

/// Parameters of the preset `general-log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneralLog {
    /// Where it goes.
    pub output: LogOutput,
}

impl GeneralLog {
    /// What switches it on and puts its settings back as they were.
    pub fn change(&self) -> Change {
        let log = Log { switch: "general_log", output: &self.output };
        Change {
            when: When::default(),
            remember: log.remember(),
            apply: log.apply(),
            verify: log.verify(),
            revert: log.revert(),
            undone: log.undone(),
            footprint: self.footprint(),
        }
    }

    /// A server counts neither lines nor bytes of its log files; rows of a table can be counted.
    fn footprint(&self) -> Vec<Footprint> {
        match self.output {
            LogOutput::File(_) => Vec::new(),
            LogOutput::Table => vec![growing("events_recorded", "SELECT COUNT(*) FROM mysql.general_log")],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::study::{Action, Require};

    #[test]
    fn settings_are_put_back_to_what_they_were() {
        let change = GeneralLog { output: LogOutput::File(Some("it's.log".to_owned())) }.change();
        let sql = |text: &str| Action::Sql(text.to_owned());
        assert_eq!(
            change.apply,
            [
                sql("SET GLOBAL log_output = 'FILE'"),
                sql("SET GLOBAL general_log_file = 'it''s.log'"),
                sql("SET GLOBAL general_log = ON")
            ]
        );
        let answers = [("general_log", "0"), ("log_output", "'TABLE'"), ("general_log_file", "'x.log'")];
        assert_eq!(
            change.remember.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
            answers.map(|(name, _)| name)
        );
        let answers: BTreeMap<_, _> = answers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let change = change.remembering(&answers);
        assert_eq!(
            change.revert,
            [
                sql("SET GLOBAL general_log = 0"),
                sql("SET GLOBAL general_log_file = 'x.log'"),
                sql("SET GLOBAL log_output = 'TABLE'")
            ]
        );
        let expected = Require { sql: "SELECT @@global.general_log".to_owned(), equals: "0".to_owned() };
        assert_eq!(change.undone[0], expected);
    }

    #[test]
    fn a_table_can_be_counted_and_has_no_file() {
        let change = GeneralLog { output: LogOutput::Table }.change();
        assert_eq!((change.apply.len(), change.revert.len(), change.footprint.len()), (2, 2, 1));
        assert!(GeneralLog { output: LogOutput::File(None) }.change().footprint.is_empty());
    }
}
