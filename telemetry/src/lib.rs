//! What vufleet's long-lived processes tell about themselves: log lines, metrics, health, and to systemd when they are ready
//! and when they end. What is worth telling is decided where it happens.

pub mod logs;
pub mod page;
pub mod port;
pub mod process;
pub mod service;
pub mod sheet;
