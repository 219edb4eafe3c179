//! What a program under test is asked to do.

use std::path::PathBuf;
use std::time::Duration;

/// Rows of each table.
pub const TABLE_SIZE: u32 = 25_000;
/// Tables that are built.
pub const TABLES: u32 = 10;

/// How bytes get to the server on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// TCP over the loopback interface.
    Tcp,
    /// A unix socket.
    Unix,
}

impl Wire {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Wire::Tcp => "TCP",
            Wire::Unix => "unix socket",
        }
    }
}

/// Where sessions go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// MariaDB on this port of 127.0.0.1.
    MariaDb(u16),
    /// MariaDB by its unix socket.
    Socket(PathBuf),
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pause {
    /// At once.
    None,
    /// When one arrives: so many a second, whoever is idle.
    Rate(f64),
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
    /// When it ends, once every session is connected.
    pub length: Length,
}

/// When a load ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// After so long.
    Time(Duration),
    /// After that many transactions of each session; for a program that an emulator slows down by no known factor.
    Transactions(u32),
}

impl Load {
    /// A load without pauses.
    pub fn on(target: Target, work: Work, sessions: u32, length: Duration) -> Load {
        Load { target, work, sessions, sessions_per_vu: 1, pause: Pause::None, length: Length::Time(length) }
    }

    /// Whether vufleet will call its run invalid, rightly: no session comes to a transaction, or arrivals find none idle.
    pub fn is_invalid(&self) -> bool {
        match (self.pause, self.length, &self.target) {
            (Pause::Wait(wait), Length::Time(length), _) => wait > length,
            (Pause::Rate(rate), _, Target::Simulated(service)) => {
                rate * service.as_secs_f64() > f64::from(self.sessions)
            }
            _ => false,
        }
    }
}

impl Work {
    /// A script on all tables, as both programs send it by default.
    pub fn script(script: &'static str) -> Work {
        Work::Oltp { script, tables: TABLES, protocol: Protocol::Prepared }
    }
}
