//! Drivers: [`Session`](vufleet_scenarios::session::Session) for each kind of target.
//!
//! A driver turns one database client into the seam's verbs and that client's errors into
//! [`Fault`](vufleet_scenarios::session::Fault)s. Retries, deadlines, counting and reconnecting are the virtual
//! users' business, not a driver's.

pub(crate) mod calendar;
mod figures;
mod mssql;
mod mysql;
mod mysql_async;
mod simulated;
mod sqlite;
pub(crate) mod text;

pub use mssql::MssqlSession;
pub use mysql::MysqlSession;
pub use mysql_async::MysqlAsyncSession;
pub use simulated::SimulatedSession;
pub use sqlite::SqliteSession;

/// Makes aws-lc-rs the process's crypto provider, so that TLS does not panic when a second one is compiled in.
/// The first thing in every `main` and test that may use TLS; calling it again does nothing.
pub fn install_tls_provider() {
    // An error means that a provider is installed already, which is all that matters here.
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
}
