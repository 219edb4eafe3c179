//! How long the coordinator may be silent before the load that it ordered ends.
//!
//! Only silence that this process could hear counts. One that was stopped, or had no CPU, finds on its return that its
//! clock has moved on while what the coordinator said meanwhile is still unread, or was never said because nothing asked
//! for it; it has the rest of its lease to hear that it is still wanted.

use std::time::{Duration, Instant};

/// The most that one look counts: this process did not run for whatever is beyond it.
const MOST: Duration = Duration::from_millis(600);

/// A lease, looked at several times a second.
#[derive(Debug)]
pub struct Lease {
    length: Duration,
    silent: Duration,
    looked: Instant,
}

impl Lease {
    /// A lease that begins at `now`.
    pub fn new(length: Duration, now: Instant) -> Self {
        Lease { length, silent: Duration::ZERO, looked: now }
    }

    /// How long the coordinator may be silent.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// Another length, from the coordinator.
    pub fn set_length(&mut self, length: Duration) {
        self.length = length;
    }

    /// The coordinator has said something.
    pub fn renew(&mut self) {
        self.silent = Duration::ZERO;
    }

    /// What is left of it, as far as anybody looked.
    pub fn left(&self) -> Duration {
        self.length.saturating_sub(self.silent)
    }

    /// Whether the coordinator has been silent for too long.
    pub fn has_run_out(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(std::mem::replace(&mut self.looked, now));
        self.silent += passed.min(MOST);
        self.silent > self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(10);
    const ROUND: Duration = Duration::from_millis(200);

    /// Looks every [`ROUND`] for as long, and says whether the lease ran out.
    fn looked_for(lease: &mut Lease, now: &mut Instant, time: Duration) -> bool {
        let end = *now + time;
        let mut over = false;
        while *now < end {
            *now += ROUND;
            over |= lease.has_run_out(*now);
        }
        over
    }

    #[test]
    fn it_runs_out_after_its_length_of_silence() {
        let mut now = Instant::now();
        let mut lease = Lease::new(LENGTH, now);
        assert!(!looked_for(&mut lease, &mut now, LENGTH));
        assert!(looked_for(&mut lease, &mut now, ROUND));
        lease.renew();
        assert!(!looked_for(&mut lease, &mut now, LENGTH));
    }

    /// A process that was stopped for an hour gave up its load before it had read what the coordinator had said.
    #[test]
    fn a_process_that_was_stopped_has_the_rest_of_its_lease() {
        let mut now = Instant::now();
        let mut lease = Lease::new(LENGTH, now);
        assert!(!looked_for(&mut lease, &mut now, Duration::from_secs(3)));
        now += Duration::from_secs(3600);
        assert!(!lease.has_run_out(now));
        assert!(!looked_for(&mut lease, &mut now, Duration::from_secs(6)));
        assert!(looked_for(&mut lease, &mut now, Duration::from_secs(1)), "but no more than that");
    }
}
