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
    /// No database; vufleet only.
    Simulated,
}

/// How statements travel; vufleet only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Each prepared after connecting.
    Prepared,
    /// None prepared.
    Text,
}

/// One load.
#[derive(Debug, Clone)]
pub struct Load {
    /// Where sessions go.
    pub target: Target,
    /// A script's name without its prefix.
    pub script: &'static str,
    /// Connections.
    pub sessions: u32,
    /// Tables in use.
    pub tables: u32,
    /// How statements travel.
    pub protocol: Protocol,
    /// Pause after each transaction; vufleet only.
    pub wait: Option<Duration>,
    /// How long it lasts, once every session is connected.
    pub length: Duration,
}

impl Load {
    /// A load on all tables of a MariaDB, without pauses.
    pub fn on(port: u16, script: &'static str, sessions: u32, length: Duration) -> Load {
        Load {
            target: Target::MariaDb(port),
            script,
            sessions,
            tables: TABLES,
            protocol: Protocol::Prepared,
            wait: None,
            length,
        }
    }
}
