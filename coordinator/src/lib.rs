//! vufleet's coordinator: everything an operator types, the fleet's server, the ledger and what is told from it.

pub mod allocation;
pub mod analysis;
pub mod args;
pub mod autopilot;
pub mod difference;
pub mod dispatch;
pub mod embedded;
pub mod exit;
pub mod fleet;
pub mod follow;
pub mod interrupt;
pub mod ledger;
pub mod live;
pub mod operator;
pub mod render;
pub mod results;
pub mod secrets;
pub mod stdout;
pub mod study_file;
pub mod verbs;
