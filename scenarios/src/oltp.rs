//! The OLTP workload that sysbench 1.0.20 made common: its tables, its eight scripts, its options.
//!
//! Tables prepared by either program serve the other, and the numbers compare. This module is what a study says about
//! the workload; how it is read from TOML is the study's business.

mod digits;
mod distribution;
mod rows;
mod schema;
mod script;
mod statements;
mod transaction;
mod zipf;

pub use distribution::Ids;
pub use transaction::Oltp;

use crate::session::Dialect;
use crate::sql::Protocol;

/// Everything that the study says about the workload, and what all its seats share.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// What a transaction consists of.
    pub script: Script,
    /// Number of tables, at least 1.
    pub tables: u32,
    /// Rows of each, 1 to 2,147,483,647.
    pub table_size: u32,
    /// Rows that a range statement spans.
    pub range_size: u32,
    /// Whether read scripts do their range statements.
    pub range_selects: bool,
    /// Autocommit, without BEGIN and COMMIT.
    pub skip_trx: bool,
    /// Whether the id column numbers itself.
    pub auto_inc: bool,
    /// A secondary index on id instead of the primary key.
    pub secondary: bool,
    /// Whether k has its index.
    pub create_secondary: bool,
    /// Storage engine of MySQL and compatibles.
    pub mysql_storage_engine: String,
    /// Statements of each kind in a transaction.
    pub counts: Counts,
    /// How ids and k are drawn.
    pub distribution: Distribution,
    /// How statements travel.
    pub protocol: Protocol,
    /// When statements are prepared.
    pub prepare: Prepare,
}

/// The eight scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// Point selects and ranges.
    ReadOnly,
    /// Point selects, ranges, updates, delete and insert.
    ReadWrite,
    /// Updates, delete and insert.
    WriteOnly,
    /// One point select.
    PointSelect,
    /// Updates of the indexed column.
    UpdateIndex,
    /// Updates of a column without an index.
    UpdateNonIndex,
    /// One insert.
    Insert,
    /// One delete.
    Delete,
}

/// Statements of each kind in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Default 10.
    pub point_selects: u32,
    /// Default 1.
    pub simple_ranges: u32,
    /// Default 1.
    pub sum_ranges: u32,
    /// Default 1.
    pub order_ranges: u32,
    /// Default 1.
    pub distinct_ranges: u32,
    /// Default 1.
    pub index_updates: u32,
    /// Default 1.
    pub non_index_updates: u32,
    /// Pairs, default 1.
    pub delete_inserts: u32,
}

/// How ids and k are drawn from 1..=table_size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// `res` per cent of the draws are uniform over a hot `pct` per cent of the range around its middle, the others the
    /// mean of `iter` uniform draws over the whole range.
    Special {
        /// Size of the hot region, per cent of the range. Default 1.
        pct: u32,
        /// Draws that are averaged, at least 1. Default 12.
        iter: u32,
        /// Draws that fall into the hot region, per cent. Default 75.
        res: u32,
    },
    /// Every value alike.
    Uniform,
    /// Mean of `iter` uniform draws.
    Gaussian {
        /// At least 1, default 12.
        iter: u32,
    },
    /// Self-similar: the smallest share `h` of the values gets the share `1 - h` of the draws, and so does the smallest
    /// share `h` of those, and so on.
    Pareto {
        /// Between 0 and 1, default 0.2: a fifth of the values gets four fifths of the draws.
        h: f64,
    },
    /// Zipf's law, the smallest value the most frequent.
    Zipfian {
        /// Not negative, default 0.8. At 0 every value is alike.
        exponent: f64,
    },
}

/// When statements are prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepare {
    /// All of them right after connecting.
    Eager,
    /// Each on its first use.
    Lazy,
}

impl Shape {
    /// More tables than this have more statements than [`crate::session::Stmt`] can number.
    pub const MAX_TABLES: u32 = 65_536 / 9;

    /// Largest table: ids are INTEGER columns.
    pub const MAX_TABLE_SIZE: u32 = i32::MAX as u32;

    /// A script with every option at its default.
    pub fn new(script: Script) -> Shape {
        Shape {
            script,
            tables: 1,
            table_size: 10_000,
            range_size: 100,
            range_selects: true,
            skip_trx: false,
            auto_inc: true,
            secondary: false,
            create_secondary: true,
            mysql_storage_engine: "innodb".to_owned(),
            counts: Counts::default(),
            distribution: Distribution::default(),
            protocol: script.default_protocol(),
            prepare: Prepare::Eager,
        }
    }

    /// Whether a transaction is enclosed in BEGIN and COMMIT. Where it is not, each statement commits itself.
    pub fn transactional(&self) -> bool {
        self.script.has_transaction() && !self.skip_trx
    }

    /// Statements that a transaction sends when it meets no fault, BEGIN and COMMIT included. None where it has none
    /// of its own: there is nothing to divide by.
    pub fn statements_per_transaction(&self) -> Option<u32> {
        let own: u32 = self.groups().iter().map(|group| group.times * group.action.statements()).sum();
        let enclosing = if self.transactional() { 2 } else { 0 };
        (own > 0).then_some(own + enclosing)
    }

    /// Whether the id of an inserted row may be left to the database. SQLite numbers rows by their primary key alone.
    pub fn numbers_ids(&self, dialect: Dialect) -> bool {
        self.auto_inc && !(self.secondary && dialect == Dialect::Sqlite)
    }
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
        }
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution::Special { pct: 1, iter: 12, res: 75 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_a_transaction_are_counted() {
        for (script, count, transactional) in [
            (Script::ReadOnly, 16, true),
            (Script::ReadWrite, 20, true),
            (Script::WriteOnly, 6, true),
            (Script::PointSelect, 1, false),
            (Script::UpdateIndex, 1, false),
            (Script::UpdateNonIndex, 1, false),
            (Script::Insert, 1, false),
            (Script::Delete, 1, false),
        ] {
            let shape = Shape::new(script);
            assert_eq!(shape.statements_per_transaction(), Some(count), "{}", script.name());
            assert_eq!(shape.transactional(), transactional, "{}", script.name());
        }
    }

    #[test]
    fn options_change_the_count() {
        let shape = Shape::new(Script::ReadWrite);
        assert_eq!(Shape { skip_trx: true, ..shape.clone() }.statements_per_transaction(), Some(18));
        assert!(!Shape { skip_trx: true, ..shape.clone() }.transactional());
        assert_eq!(Shape { range_selects: false, ..shape.clone() }.statements_per_transaction(), Some(16));
        let counts = Counts { point_selects: 0, delete_inserts: 3, ..Counts::default() };
        assert_eq!(Shape { counts, ..shape }.statements_per_transaction(), Some(14));

        let counts = Counts { index_updates: 0, ..Counts::default() };
        assert_eq!(Shape { counts, ..Shape::new(Script::UpdateIndex) }.statements_per_transaction(), None);
    }

    #[test]
    fn sqlite_cannot_number_rows_without_a_primary_key() {
        let shape = Shape { secondary: true, ..Shape::new(Script::Insert) };
        assert!(shape.numbers_ids(Dialect::Mysql));
        assert!(!shape.numbers_ids(Dialect::Sqlite));
        assert!(Shape::new(Script::Insert).numbers_ids(Dialect::Sqlite));
        assert!(!Shape { auto_inc: false, ..Shape::new(Script::Insert) }.numbers_ids(Dialect::Mysql));
    }
}
