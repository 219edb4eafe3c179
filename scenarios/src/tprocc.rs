//! TPROC-C: the order-entry workload that database engineers quote, after the public TPC-C specification 5.11 and with
//! the table and procedure names, types and parameters of HammerDB, so that the databases of either serve the other.
//!
//! Results are not TPC results and may not be called TPC-C.

mod consistency;
mod draw;
mod names;
mod procedures;
mod rows;
mod schema;
mod statements;
mod transaction;

pub use transaction::TprocC;

use crate::session::Dialect;
use crate::sql::{Protocol, bracketed};

/// Everything that the study says about the workload, and what all its seats share.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Size of the database, 1 to 100,000.
    pub warehouses: u32,
    /// Who draws items, quantities and rollbacks: the client or the stored procedure.
    pub calls: Calls,
    /// A virtual user picks among several warehouses, one per transaction, instead of having one.
    pub all_warehouses: bool,
    /// How often each transaction is chosen.
    pub mix: Mix,
    /// How statements travel. Procedure calls are prepared too.
    pub protocol: Protocol,
}

/// The two spellings; their numbers are never mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// One stored procedure a transaction, one round trip. Comparable with HammerDB.
    Procedures,
    /// Prepared statements, every input drawn by the client. Comparable with sysbench-tpcc and BenchBase.
    Statements,
}

/// Weights of the transactions; 0 leaves one out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    /// Default 10.
    pub new_order: u32,
    /// Default 10.
    pub payment: u32,
    /// Default 1.
    pub order_status: u32,
    /// Default 1.
    pub delivery: u32,
    /// Default 1.
    pub stock_level: u32,
}

impl Default for Mix {
    /// 23 in all, as HammerDB's.
    fn default() -> Self {
        Mix { new_order: 10, payment: 10, order_status: 1, delivery: 1, stock_level: 1 }
    }
}

impl Shape {
    /// More warehouses than this no machine at hand holds; the identifiers would have room for them.
    pub const MAX_WAREHOUSES: u32 = 100_000;

    /// The first of each row of neighbours, among so many virtual users, that share a warehouse.
    pub fn neighbourhoods(&self, vus: u32) -> Vec<u32> {
        draw::Home::neighbourhoods(self, vus)
    }

    /// A database of so many warehouses with every option at its default.
    pub fn new(warehouses: u32, calls: Calls) -> Shape {
        Shape { warehouses, calls, all_warehouses: false, mix: Mix::default(), protocol: Protocol::Prepared }
    }
}

/// Name of the orders counter among a database's counters.
pub const ORDERS: &str = "sum(d_next_o_id)";

/// The query behind it: its growth is the number of new orders that were committed. The sum needs 64 bits.
pub fn orders_query(dialect: Dialect, database: Option<&str>) -> String {
    let number = match dialect {
        Dialect::Mssql => "CAST(d_next_o_id AS bigint)",
        Dialect::Mysql | Dialect::Sqlite => "d_next_o_id",
    };
    format!("SELECT SUM({number}) FROM {}", district(dialect, database))
}

/// The table that it is in; quoted, as a name may hold a hyphen.
pub(crate) fn district(dialect: Dialect, database: Option<&str>) -> String {
    let place = database.map(|name| match dialect {
        Dialect::Mssql => format!("{}.dbo.", bracketed(name)),
        Dialect::Mysql | Dialect::Sqlite => format!("`{}`.", name.replace('`', "``")),
    });
    match (place, dialect) {
        (Some(place), _) => format!("{place}district"),
        (None, Dialect::Mssql) => "dbo.district".to_owned(),
        (None, Dialect::Mysql | Dialect::Sqlite) => "district".to_owned(),
    }
}

impl Calls {
    /// Name in studies and results.
    pub fn name(self) -> &'static str {
        match self {
            Calls::Procedures => "procedures",
            Calls::Statements => "statements",
        }
    }
}

impl Mix {
    /// A mix without any transaction, to build another one on.
    pub const NOTHING: Mix = Mix { new_order: 0, payment: 0, order_status: 0, delivery: 0, stock_level: 0 };

    /// Largest weight: decks of cards are dealt from it, one a session.
    pub const MAX_WEIGHT: u32 = 1_000;

    /// The weights, in the order of the transaction kinds.
    pub fn weights(&self) -> [u32; 5] {
        [self.new_order, self.payment, self.order_status, self.delivery, self.stock_level]
    }

    /// Cards of the smallest deck with these weights; 0 for a mix of nothing.
    pub fn deck_size(&self) -> u32 {
        crate::deck::size(&self.weights())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_summed_where_they_are() {
        for (dialect, database, sql) in [
            (Dialect::Mysql, None, "SELECT SUM(d_next_o_id) FROM district"),
            (Dialect::Mysql, Some("a`b"), "SELECT SUM(d_next_o_id) FROM `a``b`.district"),
            (Dialect::Mssql, None, "SELECT SUM(CAST(d_next_o_id AS bigint)) FROM dbo.district"),
            (Dialect::Mssql, Some("a]b"), "SELECT SUM(CAST(d_next_o_id AS bigint)) FROM [a]]b].dbo.district"),
        ] {
            assert_eq!(orders_query(dialect, database), sql);
        }
    }
}
