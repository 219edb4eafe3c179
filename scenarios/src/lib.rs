//! Studies, plans, workloads and the seam between workloads and databases.
//!
//! Pure: nothing in this crate opens a socket, reads a clock, a file or the environment, or knows a database client
//! or the fleet's contract.

pub mod backup;
pub mod census;
pub mod check;
pub mod counters;
pub mod custom;
mod deck;
pub mod observers;
pub mod oltp;
pub mod permit;
pub mod plan;
pub mod question;
pub mod random;
#[cfg(test)]
mod ready;
pub mod session;
pub mod settings;
pub mod sql;
pub mod study;
pub mod tprocc;
pub mod workload;
