//! vufleet's agent: virtual users, observers and the uplink to the coordinator.

pub mod fine;
pub mod limits;
pub mod observe;
pub mod session;
