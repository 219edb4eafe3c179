//! vufleet's coordinator: everything an operator types, the fleet's server, the ledger and what is told from it.

pub mod analysis;
pub mod ledger;
pub mod render;
