//! The OLTP workload that sysbench 1.0.20 made common: its tables, its eight scripts, its options.
//!
//! Tables prepared by either program serve the other, and the numbers compare.

use crate::session::{Dialect, Source};
use crate::sql::Protocol;
use crate::workload::{Chunk, Expectation, Schema};

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
        /// Draws that are averaged. Default 12.
        iter: u32,
        /// Draws that fall into the hot region, per cent. Default 75.
        res: u32,
    },
    /// Every value alike.
    Uniform,
    /// Mean of `iter` uniform draws.
    Gaussian {
        /// Default 12.
        iter: u32,
    },
    /// Self-similar: `h` of the draws' weight as in sysbench's --rand-pareto-h.
    Pareto {
        /// Default 0.2.
        h: f64,
    },
    /// Zipf's law, the smallest value the most frequent.
    Zipfian {
        /// Default 0.8.
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

impl Schema for Shape {
    fn tables(&self) -> Vec<String> {
        Vec::new()
    }
    fn create(&self, _dialect: Dialect) -> Vec<String> {
        Vec::new()
    }
    fn drop(&self, _dialect: Dialect) -> Vec<String> {
        Vec::new()
    }
    fn chunks(&self) -> Vec<Chunk> {
        Vec::new()
    }
    fn destination(&self, _chunk: Chunk) -> (String, Vec<&'static str>) {
        (String::new(), Vec::new())
    }
    fn source(&self, _seed: u64, _chunk: Chunk) -> Box<dyn Source> {
        unreachable!("no chunks")
    }
    fn finish(&self, _dialect: Dialect) -> Vec<String> {
        Vec::new()
    }
    fn expectations(&self, _dialect: Dialect) -> Vec<Expectation> {
        Vec::new()
    }
}
