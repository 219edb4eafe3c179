//! Instruments and consumers of the Performance Schema of MySQL and MariaDB.
//!
//! The schema as a whole is on or off from the server's start to its end: where it is off there is nothing to switch, and
//! `verify` says so. What was enabled before is remembered as a JSON list of names, because it may be any set of them.

use super::{growing, remember, require, sql};
use crate::sql::literal;
use crate::study::{Action, Change, Remember, Require, When};

/// Parameters of the preset `performance-schema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerformanceSchema {
    /// Whether they are switched on or off.
    pub on: bool,
    /// Patterns of LIKE for instruments.
    pub instruments: Vec<String>,
    /// Patterns of LIKE for consumers.
    pub consumers: Vec<String>,
}

/// A table of names and switches.
struct Switches<'a> {
    table: &'static str,
    /// What is remembered of each column that switches.
    columns: &'static [(&'static str, &'static str)],
    patterns: &'a [String],
}

impl PerformanceSchema {
    /// What switches them, and puts every single one back as it was.
    pub fn change(&self) -> Change {
        let mut change = Change {
            when: When::default(),
            remember: Vec::new(),
            apply: Vec::new(),
            verify: vec![require("SELECT @@global.performance_schema", "1")],
            revert: Vec::new(),
            undone: Vec::new(),
            footprint: vec![growing(
                "events_dropped",
                "SELECT SUM(VARIABLE_VALUE) FROM performance_schema.global_status WHERE VARIABLE_NAME LIKE \
                 'Performance_schema_%_lost'",
            )],
        };
        for switches in self.tables().iter().filter(|switches| !switches.patterns.is_empty()) {
            change.remember.extend(switches.remember());
            change.apply.push(switches.set(self.on));
            change.verify.extend(switches.verify(self.on));
            change.revert.push(switches.restore());
            change.undone.extend(switches.undone());
        }
        change
    }

    fn tables(&self) -> [Switches<'_>; 2] {
        [
            Switches {
                table: "setup_instruments",
                columns: &[("ENABLED", "instruments"), ("TIMED", "timed")],
                patterns: &self.instruments,
            },
            Switches { table: "setup_consumers", columns: &[("ENABLED", "consumers")], patterns: &self.consumers },
        ]
    }
}

impl Switches<'_> {
    fn matching(&self) -> String {
        let patterns: Vec<_> = self.patterns.iter().map(|pattern| format!("NAME LIKE {}", literal(pattern))).collect();
        format!("({})", patterns.join(" OR "))
    }

    fn list(&self, column: &str) -> (String, String) {
        let list = "CAST(COALESCE(JSON_ARRAYAGG(NAME), JSON_ARRAY()) AS CHAR)";
        let from = format!("FROM performance_schema.{} WHERE {column} = 'YES' AND {}", self.table, self.matching());
        (list.to_owned(), from)
    }

    fn remember(&self) -> Vec<Remember> {
        let one = |&(column, name): &(&str, &str)| {
            let (list, from) = self.list(column);
            remember(name, format!("SELECT QUOTE({list}) {from}"))
        };
        self.columns.iter().map(one).collect()
    }

    fn set(&self, on: bool) -> Action {
        let word = if on { "YES" } else { "NO" };
        let columns: Vec<_> = self.columns.iter().map(|(column, _)| format!("{column} = '{word}'")).collect();
        sql(format!("UPDATE performance_schema.{} SET {} WHERE {}", self.table, columns.join(", "), self.matching()))
    }

    fn restore(&self) -> Action {
        let one = |(column, name): &(&str, &str)| {
            format!("{column} = IF(JSON_CONTAINS({{remembered:{name}}}, JSON_QUOTE(NAME)), 'YES', 'NO')")
        };
        let columns: Vec<_> = self.columns.iter().map(one).collect();
        sql(format!("UPDATE performance_schema.{} SET {} WHERE {}", self.table, columns.join(", "), self.matching()))
    }

    /// The memory of the schema itself is counted always. Not everything can be timed, so that is not looked at.
    fn verify(&self, on: bool) -> [Require; 2] {
        let other = if on { "NO" } else { "YES" };
        let from = format!("FROM performance_schema.{} WHERE {}", self.table, self.matching());
        [
            require(format!("SELECT COUNT(*) > 0 {from}"), "1"),
            require(
                format!(
                    "SELECT COUNT(*) {from} AND ENABLED = '{other}' AND LEFT(NAME, 26) <> 'memory/performance_schema/'"
                ),
                "0",
            ),
        ]
    }

    fn undone(&self) -> Vec<Require> {
        let one = |&(column, name): &(&str, &str)| {
            let (list, from) = self.list(column);
            require(format!("SELECT {list} = {{remembered:{name}}} {from}"), "1")
        };
        self.columns.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_touched() {
        let change = PerformanceSchema {
            on: true,
            instruments: Vec::new(),
            consumers: vec!["events_%".to_owned(), "x'".to_owned()],
        }
        .change();
        let sets = "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE (NAME LIKE 'events_%' OR NAME LIKE \
                    'x''')";
        assert_eq!(change.apply, [sql(sets)]);
        assert_eq!(change.remember.len(), 1);
        let restores = "UPDATE performance_schema.setup_consumers SET ENABLED = IF(JSON_CONTAINS({remembered:consumers}, \
                        JSON_QUOTE(NAME)), 'YES', 'NO') WHERE (NAME LIKE 'events_%' OR NAME LIKE 'x''')";
        assert_eq!(change.revert, [sql(restores)]);
    }

    #[test]
    fn instruments_are_timed_as_well() {
        let change = PerformanceSchema { on: false, instruments: vec!["%".to_owned()], consumers: Vec::new() }.change();
        let Action::Sql(apply) = &change.apply[0] else { panic!("SQL") };
        assert!(apply.contains("SET ENABLED = 'NO', TIMED = 'NO' WHERE"));
        assert_eq!(change.remember.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["instruments", "timed"]);
        assert!(change.verify[2].sql.contains("ENABLED = 'YES'"));
    }
}
