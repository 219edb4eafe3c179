//! What a server's own counters are asked for: statements whose rows have one of three forms, whatever the dialect.
//!
//! An observing agent sends them once an interval; what their numbers mean is the report's business.

pub mod mssql;
pub mod mysql;

/// One statement of a reading. Its rows are a name and a value; or a wait with its time, the part of it spent on the
/// processors' queue and its count; or a session, the start of its request, CPU time, elapsed time and wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it reads, for people.
    pub what: &'static str,
    /// The statement.
    pub sql: String,
    /// What to do where the server refuses it.
    pub remedy: &'static str,
}
