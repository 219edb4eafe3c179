//! From when until when a certificate holds.

use std::time::{Duration, SystemTime};

/// Clocks of a lab differ; a certificate made on one host is used on another at once.
const EARLIER: Duration = Duration::from_secs(3_600);

/// A day of certificates: 24 hours, whatever the calendar does.
pub const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A span of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// Its first instant.
    pub from: SystemTime,
    /// Its last.
    pub until: SystemTime,
}

impl Validity {
    /// That many days from now, and the hour before.
    pub fn days(days: u32) -> Validity {
        let now = SystemTime::now();
        Validity { from: now - EARLIER, until: now + DAY * days }
    }

    /// The same, ended no later than another.
    pub fn within(self, other: Validity) -> Validity {
        Validity { from: self.from, until: self.until.min(other.until) }
    }

    /// Whether an instant lies in it.
    pub fn holds_at(&self, instant: SystemTime) -> bool {
        (self.from..=self.until).contains(&instant)
    }
}
