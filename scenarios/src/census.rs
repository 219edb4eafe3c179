//! How many rows tables hold: what a study says of it, how they are counted, and what is wrong with a count after a reset.

use std::collections::BTreeMap;

use crate::session::Dialect;
use crate::sql::bracketed;

/// A table, and how many rows it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headcount {
    /// The table.
    pub table: String,
    /// Its rows.
    pub rows: Population,
}

/// How many rows a table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Population {
    /// So many, whatever has run.
    Fixed(u64),
    /// So many right after a build; transactions change that.
    Built(u64),
    /// As many as the seed has drawn; transactions change that too.
    Drawn,
}

/// Rows by table.
pub type Census = BTreeMap<String, u64>;

/// Whether what is counted comes from a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Just built: every count is known.
    Build,
    /// Copied or restored from wherever it was before: it may have been used.
    Elsewhere,
}

/// A query of the tables of a database, for workloads whose tables nobody has named: a name, or schema and name.
pub fn listing(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Mysql => {
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' \
             ORDER BY table_name"
        }
        Dialect::Sqlite => {
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite|_%' ESCAPE '|' ORDER BY name"
        }
        Dialect::Mssql => {
            "SELECT s.name, t.name FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE \
             t.is_ms_shipped = 0 ORDER BY s.name, t.name"
        }
    }
}

/// A table of that listing as SQL names it.
pub fn named(dialect: Dialect, parts: &[&str]) -> String {
    let quote = |part: &&str| match dialect {
        Dialect::Mysql => format!("`{}`", part.replace('`', "``")),
        Dialect::Sqlite => format!("\"{}\"", part.replace('"', "\"\"")),
        Dialect::Mssql => bracketed(part),
    };
    parts.iter().map(quote).collect::<Vec<_>>().join(".")
}

/// A query of the rows of a table.
pub fn count(dialect: Dialect, table: &str) -> String {
    match dialect {
        Dialect::Mysql | Dialect::Sqlite => format!("SELECT COUNT(*) FROM {table}"),
        Dialect::Mssql => format!("SELECT COUNT_BIG(*) FROM {table}"),
    }
}

/// What is wrong with the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The table.
    pub table: String,
    /// With both numbers, for people.
    pub sentence: String,
}

/// What is wrong with rows as they were counted after a reset; nothing of tables that were counted neither now nor at first.
/// `first` is what was counted after the first reset of the study.
pub fn differences(expected: &[Headcount], origin: Origin, found: &Census, first: Option<&Census>) -> Vec<Difference> {
    let mut wrong: Vec<Difference> = Vec::new();
    let mut tell = |table: &str, sentence: String| {
        if wrong.iter().all(|told| told.table != table) {
            wrong.push(Difference { table: table.to_owned(), sentence });
        }
    };
    for Headcount { table, rows } in expected {
        let wanted = match (rows, origin) {
            (Population::Fixed(rows), _) | (Population::Built(rows), Origin::Build) => *rows,
            (Population::Built(_), Origin::Elsewhere) | (Population::Drawn, _) => continue,
        };
        let is = found.get(table).copied();
        if is != Some(wanted) {
            tell(table, format!("{table} has {} instead of {wanted}", rows_of(is)));
        }
    }
    for (table, was) in first.into_iter().flatten() {
        let is = found.get(table).copied();
        if is != Some(*was) {
            tell(table, format!("{table} has {}, after the first reset of the study it had {was}", rows_of(is)));
        }
    }
    for table in found.keys().filter(|table| first.is_some_and(|first| !first.contains_key(*table))) {
        tell(table, format!("{table} was not there after the first reset of the study"));
    }
    wrong
}

/// Tables that hold more or fewer rows than right after a build: somebody has used them since.
pub fn used(expected: &[Headcount], found: &Census) -> Vec<String> {
    let used = expected.iter().filter(|headcount| match headcount.rows {
        Population::Built(rows) => found.get(&headcount.table).is_some_and(|found| *found != rows),
        Population::Fixed(_) | Population::Drawn => false,
    });
    used.map(|headcount| headcount.table.clone()).collect()
}

fn rows_of(count: Option<u64>) -> String {
    match count {
        Some(1) => "1 row".to_owned(),
        Some(count) => format!("{count} rows"),
        None => "no rows that could be counted".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn census(tables: &[(&str, u64)]) -> Census {
        tables.iter().map(|(table, rows)| ((*table).to_owned(), *rows)).collect()
    }

    fn expected() -> Vec<Headcount> {
        let of = |table: &str, rows| Headcount { table: table.to_owned(), rows };
        vec![of("stock", Population::Fixed(100)), of("orders", Population::Built(30)), of("lines", Population::Drawn)]
    }

    fn sentences(expected: &[Headcount], origin: Origin, found: &Census, first: Option<&Census>) -> Vec<String> {
        differences(expected, origin, found, first).into_iter().map(|difference| difference.sentence).collect()
    }

    #[test]
    fn a_count_that_differs_is_told_once_with_what_it_should_be() {
        use Origin::{Build, Elsewhere};
        let built = census(&[("stock", 100), ("orders", 30), ("lines", 301)]);
        let used = census(&[("stock", 100), ("orders", 31), ("lines", 311)]);
        let lost = census(&[("stock", 99), ("orders", 30)]);
        for (origin, found, first, wrong) in [
            (Build, &built, None, &[][..]),
            (Build, &built, Some(&built), &[]),
            (Build, &used, None, &["orders has 31 rows instead of 30"]),
            (Elsewhere, &used, None, &[]),
            (Elsewhere, &used, Some(&used), &[]),
            (
                Elsewhere,
                &used,
                Some(&built),
                &[
                    "lines has 311 rows, after the first reset of the study it had 301",
                    "orders has 31 rows, after the first reset of the study it had 30",
                ],
            ),
            (
                Elsewhere,
                &lost,
                Some(&built),
                &[
                    "stock has 99 rows instead of 100",
                    "lines has no rows that could be counted, after the first reset of the study it had 301",
                ],
            ),
            (
                Build,
                &census(&[]),
                None,
                &[
                    "stock has no rows that could be counted instead of 100",
                    "orders has no rows that could be counted instead of 30",
                ],
            ),
        ] {
            assert_eq!(sentences(&expected(), origin, found, first), wrong, "{origin:?} {found:?} {first:?}");
        }
        let (one, two) = (census(&[("a", 1)]), census(&[("a", 1), ("b", 1)]));
        let new = sentences(&[], Elsewhere, &two, Some(&one));
        assert_eq!(new, ["b was not there after the first reset of the study"]);
        assert_eq!(sentences(&[], Elsewhere, &two, None), [""; 0], "tables that nobody knows");
    }

    #[test]
    fn tables_that_were_used_are_named() {
        assert_eq!(used(&expected(), &census(&[("stock", 100), ("orders", 31), ("lines", 9)])), ["orders"]);
        assert_eq!(used(&expected(), &census(&[("stock", 99), ("orders", 30)])), [""; 0]);
    }

    #[test]
    fn names_stay_what_they_are() {
        assert_eq!(named(Dialect::Mysql, &["a`b"]), "`a``b`");
        assert_eq!(named(Dialect::Sqlite, &["a\"b"]), "\"a\"\"b\"");
        assert_eq!(named(Dialect::Mssql, &["dbo", "a]b"]), "[dbo].[a]]b]");
        assert_eq!(count(Dialect::Mssql, "[dbo].[t]"), "SELECT COUNT_BIG(*) FROM [dbo].[t]");
    }
}
