//! Real databases for vufleet's own tests and benchmarks; never a dependency of the programs.

mod guardian;
mod mariadb;
mod mssql;
mod program;

pub use mariadb::{Builder, Login, MariaDb, create_certificates};
pub use mssql::MssqlServer;
