//! Observers that a study switches on and off: audits, traces and logs of the database itself.
//!
//! Each preset is a checked set of parameters and the SQL that comes of them. Names and texts of the user's are quoted,
//! never pasted; what a preset reads back is the server's own catalogue, because several of these observers say yes and
//! then stay off. Which keys a study has for them is `study::variants`'s business.
//!
//! T-SQL follows Microsoft's syntax pages, which `tests/tsql_grammar` holds it against; it was not run on SQL Server.

mod general_log;
mod log_output;
mod mssql_audit;
mod mssql_xe;
mod performance_schema;
mod server_audit;
mod slow_log;
mod userstat;

pub use general_log::GeneralLog;
pub use log_output::LogOutput;
pub use mssql_audit::{AuditAction, AuditFailure, AuditObject, MssqlAudit};
pub use mssql_xe::{Event, EventTarget, MemoryPartition, MssqlXe, Retention, Sessions};
pub use performance_schema::PerformanceSchema;
pub use server_audit::{AuditEvent, ServerAudit};
pub use slow_log::SlowLog;
pub use userstat::Userstat;

use crate::study::{Action, Footprint, Remember, Require};

fn sql(text: impl Into<String>) -> Action {
    Action::Sql(text.into())
}

fn remember(name: &str, sql: impl Into<String>) -> Remember {
    Remember { name: name.to_owned(), sql: sql.into() }
}

fn require(sql: impl Into<String>, equals: impl Into<String>) -> Require {
    Require { sql: sql.into(), equals: equals.into() }
}

/// A number that only grows while the observer is on.
fn growing(name: &str, sql: impl Into<String>) -> Footprint {
    Footprint { name: name.to_owned(), sql: sql.into(), cumulative: true }
}
