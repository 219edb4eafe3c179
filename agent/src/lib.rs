//! vufleet's agent: virtual users, observers and the uplink to the coordinator.

pub mod agent;
pub mod allow;
pub mod arrivals;
pub mod clock;
pub mod command;
pub mod config;
pub mod crew;
pub mod desk;
pub mod event_loop;
pub mod fine;
pub mod hold;
pub mod lease;
pub mod limits;
pub mod measured;
pub mod observe;
pub mod outbox;
pub mod pace;
pub mod populate;
pub mod recorder;
pub mod session;
pub mod snapshot;
pub mod uplink;
pub mod user;
pub mod vitals;
pub mod watch;
pub mod watchdog;
