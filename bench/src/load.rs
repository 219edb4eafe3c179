//! What a program under test is asked to do.

use std::time::Duration;

/// Rows of each table.
pub const TABLE_SIZE: u32 = 25_000;
/// Tables that are built.
pub const TABLES: u32 = 10;

/// Where sessions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// MariaDB on this port of 127.0.0.1.
    MariaDb(u16),
    /// No database, but a service time; vufleet only.
    Simulated(Duration),
}

/// How statements travel; vufleet only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Each prepared after connecting.
    Prepared,
    /// None prepared.
    Text,
}

/// How TPROC-C is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// A stored procedure a transaction.
    Procedures,
    /// Prepared statements.
    Statements,
}

impl Calls {
    /// The study file's word.
    pub fn name(self) -> &'static str {
        match self {
            Calls::Procedures => "procedures",
            Calls::Statements => "statements",
        }
    }
}

/// What sessions send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// An OLTP script.
    Oltp {
        /// Its name without sysbench's prefix.
        script: &'static str,
        /// Tables in use.
        tables: u32,
        /// How statements travel; vufleet only.
        protocol: Protocol,
    },
    /// TPROC-C on so many warehouses; vufleet only.
    Tprocc {
        /// How it is sent.
        calls: Calls,
        /// Warehouses that were built.
        warehouses: u32,
    },
}

/// When a session sends its next transaction; all but the first are vufleet's only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// At once.
    None,
    /// After so long.
    Wait(Duration),
    /// After TPROC-C's keying and thinking times.
    KeyingThinking,
}

/// One load.
#[derive(Debug, Clone)]
pub struct Load {
    /// Where sessions go.
    pub target: Target,
    /// What they send.
    pub work: Work,
    /// Connections.
    pub sessions: u32,
    /// How many of them each virtual user has.
    pub sessions_per_vu: u32,
    /// Between transactions.
    pub pause: Pause,
    /// How long it lasts, once every session is connected.
    pub length: Duration,
}

impl Load {
    /// A load without pauses.
    pub fn on(target: Target, work: Work, sessions: u32, length: Duration) -> Load {
        Load { target, work, sessions, sessions_per_vu: 1, pause: Pause::None, length }
    }

    /// Whether sessions wait for longer than the load lasts.
    pub fn is_idle(&self) -> bool {
        matches!(self.pause, Pause::Wait(wait) if wait > self.length)
    }
}

impl Work {
    /// A script on all tables, as both programs send it by default.
    pub fn script(script: &'static str) -> Work {
        Work::Oltp { script, tables: TABLES, protocol: Protocol::Prepared }
    }
}
