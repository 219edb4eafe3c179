//! The common clock: the wall clock as it was when the coordinator started, moved on by the monotonic one. Setting the
//! wall clock during a study changes nothing.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Reads the common clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall_ns: u64,
    started: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { wall_ns: wall.as_nanos() as u64, started: Instant::now() }
    }
}

impl Clock {
    /// Nanoseconds since the Unix epoch.
    pub fn now(&self) -> u64 {
        self.wall_ns + self.started.elapsed().as_nanos() as u64
    }
}
