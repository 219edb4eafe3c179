//! TPROC-C: the order-entry workload that database engineers quote, after the public TPC-C specification 5.11 and with
//! the table and procedure names, types and parameters of HammerDB, so that the databases of either serve the other.
//!
//! Results are not TPC results and may not be called TPC-C.

use crate::sql::Protocol;

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
