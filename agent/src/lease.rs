//! How long the coordinator may be silent before the load that it ordered ends.
//!
//! An answer counts from the moment of its question: it may have been under way for as long as a network holds it, and whoever
//! gave it may be gone since. And only silence that this process could hear counts. One that was stopped, or had no CPU, finds
//! on its return that its clock has moved on while what the coordinator said meanwhile is still unread, or was never said
//! because nothing asked for it; it has the rest of its lease to hear that it is still wanted.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The most that one look counts: this process did not run for whatever is beyond it.
const MOST: Duration = Duration::from_millis(600);

/// A lease, looked at several times a second.
#[derive(Debug)]
pub struct Lease {
    length: Duration,
    looked: Instant,
    /// All that was counted.
    counted: Duration,
    /// What of it was before the last question that was answered.
    renewed: Duration,
    /// Questions of the present connection that are not answered: their marks, and what was counted before each.
    asked: VecDeque<(u64, Duration)>,
    /// What was counted before the present connection was dialled.
    dialled: Duration,
}

impl Lease {
    /// A lease that begins at `now`.
    pub fn new(length: Duration, now: Instant) -> Self {
        let none = Duration::ZERO;
        Lease { length, looked: now, counted: none, renewed: none, asked: VecDeque::new(), dialled: none }
    }

    /// How long the coordinator may be silent.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// Another length, from the coordinator.
    pub fn set_length(&mut self, length: Duration) {
        self.length = length;
    }

    /// A connection is dialled: what was asked on the last one is answered by nobody.
    pub fn dial(&mut self, now: Instant) {
        self.count(now);
        self.dialled = self.counted;
        self.asked.clear();
    }

    /// The coordinator has welcomed the present connection.
    pub fn welcomed(&mut self) {
        self.renewed = self.renewed.max(self.dialled);
    }

    /// The coordinator is asked something; marks grow.
    pub fn ask(&mut self, mark: u64, now: Instant) {
        self.count(now);
        self.asked.push_back((mark, self.counted));
    }

    /// It has answered.
    pub fn answered(&mut self, mark: u64) {
        while let Some((_, counted)) = self.asked.front().filter(|(asked, _)| *asked <= mark) {
            self.renewed = self.renewed.max(*counted);
            self.asked.pop_front();
        }
    }

    /// What is left of it, as far as anybody looked.
    pub fn left(&self) -> Duration {
        self.length.saturating_sub(self.silent())
    }

    /// Whether the coordinator has been silent for too long.
    pub fn has_run_out(&mut self, now: Instant) -> bool {
        self.count(now);
        self.silent() > self.length
    }

    fn silent(&self) -> Duration {
        self.counted - self.renewed
    }

    fn count(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(std::mem::replace(&mut self.looked, now));
        self.counted += passed.min(MOST);
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
        lease.ask(1, now);
        lease.answered(1);
        assert!(!looked_for(&mut lease, &mut now, LENGTH));
    }

    /// A network that had held an answer back let the load go on for as long again without anybody there.
    #[test]
    fn an_answer_counts_from_its_question() {
        let mut now = Instant::now();
        let mut lease = Lease::new(LENGTH, now);
        lease.dial(now);
        lease.ask(1, now);
        assert!(!looked_for(&mut lease, &mut now, Duration::from_secs(4)));
        lease.ask(2, now);
        assert!(!looked_for(&mut lease, &mut now, Duration::from_secs(5)));
        lease.answered(1);
        lease.welcomed();
        assert_eq!(lease.left(), Duration::from_secs(1), "nothing was asked since that is answered");
        lease.answered(2);
        assert_eq!(lease.left(), Duration::from_secs(5));
        assert!(looked_for(&mut lease, &mut now, Duration::from_secs(6)));
        lease.dial(now);
        assert!(!lease.has_run_out(now) || lease.left().is_zero());
        now += ROUND;
        lease.answered(2);
        assert!(lease.has_run_out(now), "an old answer changes nothing");
        lease.welcomed();
        assert_eq!(lease.left(), LENGTH - ROUND, "a welcome counts from the dialling");
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
