//! What vufleet's long-lived processes tell about themselves: log lines, metrics, health. What is worth telling is decided
//! where it happens.

pub mod logs;
