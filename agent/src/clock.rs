//! The common clock: the coordinator's, as well as this agent knows it.
//!
//! The coordinator's clock less this process's monotonic clock is estimated from exchanges on the stream: the one with
//! the smallest bound among the recent ones counts: half its round trip (Cristian, "Probabilistic clock synchronization",
//! 1989), and what the two clocks may have drifted apart since. The host's wall clock plays no part, so setting it changes
//! nothing.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Exchanges that an estimate is chosen from, one a second.
const REMEMBERED: usize = 16;

/// Two clocks drift apart by a nanosecond in so many, at most: 100 ppm, two quartzes of 50 ppm in opposite directions.
const DRIFTS_IN: u64 = 10_000;

/// Clocks that are further apart than their bounds and this have not drifted but jumped.
const JUMP_NS: u64 = 5_000_000;

/// Shared by every thread of the agent; reading it takes a lock that is written to once a second.
#[derive(Debug, Clone)]
pub struct CommonClock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    epoch: Instant,
    estimate: RwLock<Estimate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Estimate {
    /// Common clock less nanoseconds since the epoch.
    offset_ns: i64,
    /// Bound of its error when it was made.
    error_ns: u64,
    /// When that was, since the epoch.
    made_ns: u64,
}

impl Estimate {
    /// Bound of its error at another time.
    fn error_ns(&self, at_ns: u64) -> u64 {
        self.error_ns.saturating_add(at_ns.abs_diff(self.made_ns) / DRIFTS_IN)
    }
}

/// What the common clock is taken for at one moment. Instants that belong together are translated by the same one: between two
/// of them the clock may be corrected, and the time between those instants would be too.
#[derive(Debug, Clone, Copy)]
pub struct Translation {
    epoch: Instant,
    offset_ns: i64,
    /// Bound of its error. `u64::MAX` before the first exchange.
    pub uncertainty_ns: u64,
}

impl Translation {
    /// Common time of a local instant, nanoseconds since the Unix epoch.
    pub fn at(&self, instant: Instant) -> u64 {
        let local = instant.saturating_duration_since(self.epoch).as_nanos() as i64;
        (local + self.offset_ns).max(0) as u64
    }
}

impl Default for CommonClock {
    /// Until the first exchange: this host's wall clock, of unknown truth.
    fn default() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let estimate = Estimate { offset_ns: wall.as_nanos() as i64, error_ns: u64::MAX, made_ns: 0 };
        CommonClock { inner: Arc::new(Inner { epoch: Instant::now(), estimate: RwLock::new(estimate) }) }
    }
}

impl CommonClock {
    /// Nanoseconds of this process's monotonic clock at `instant`.
    pub fn monotonic_ns(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.inner.epoch).as_nanos() as u64
    }

    /// What is known of the common clock now.
    pub fn translation(&self) -> Translation {
        let (epoch, estimate) = (self.inner.epoch, self.estimate());
        let uncertainty_ns = estimate.error_ns(self.monotonic_ns(Instant::now()));
        Translation { epoch, offset_ns: estimate.offset_ns, uncertainty_ns }
    }

    /// Common time of a local instant, nanoseconds since the Unix epoch.
    pub fn at(&self, instant: Instant) -> u64 {
        self.translation().at(instant)
    }

    /// Common time now.
    pub fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    /// Local instant of a common time. Times before this process began become its beginning.
    pub fn instant(&self, common_ns: u64) -> Instant {
        let local = common_ns as i64 - self.estimate().offset_ns;
        self.inner.epoch + Duration::from_nanos(local.max(0) as u64)
    }

    /// Bound of the estimate's error. `u64::MAX` before the first exchange.
    pub fn uncertainty_ns(&self) -> u64 {
        self.translation().uncertainty_ns
    }

    /// Common clock less this host's wall clock.
    pub fn offset_from_wall_ns(&self) -> i64 {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.now() as i64 - wall.as_nanos() as i64
    }

    fn estimate(&self) -> Estimate {
        *self.inner.estimate.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, estimate: Estimate) {
        *self.inner.estimate.write().unwrap_or_else(PoisonError::into_inner) = estimate;
    }
}

/// Chooses the best of the recent exchanges.
#[derive(Debug, Default)]
pub struct Estimator {
    exchanges: VecDeque<Estimate>,
}

impl Estimator {
    /// Takes in one exchange, in nanoseconds: sent and received on this process's monotonic clock, echoed on the
    /// coordinator's. Updates `clock` with the best estimate.
    pub fn exchange(&mut self, clock: &CommonClock, sent: u64, echoed: u64, received: u64) {
        let error_ns = received.saturating_sub(sent) / 2;
        let made_ns = sent + error_ns;
        let exchange = Estimate { offset_ns: echoed as i64 - made_ns as i64, error_ns, made_ns };
        // Bounds that exclude each other: one of the two clocks has jumped, as when a virtual machine was moved.
        if self.best(received).is_some_and(|best| !best.allows(&exchange)) {
            self.exchanges.clear();
        }
        if self.exchanges.len() == REMEMBERED {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(exchange);
        if let Some(best) = self.best(received) {
            clock.set(best);
        }
    }

    fn best(&self, now_ns: u64) -> Option<Estimate> {
        self.exchanges.iter().min_by_key(|exchange| exchange.error_ns(now_ns)).copied()
    }

    /// Forgets everything: another coordinator has another clock.
    pub fn reset(&mut self) {
        self.exchanges.clear();
    }
}

impl Estimate {
    /// Whether both may be true of clocks that only drift.
    fn allows(&self, other: &Estimate) -> bool {
        self.offset_ns.abs_diff(other.offset_ns) <= self.error_ns(other.made_ns) + other.error_ns + JUMP_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(clock: &CommonClock) -> (i64, u64) {
        let Estimate { offset_ns, error_ns, .. } = clock.estimate();
        (offset_ns, error_ns)
    }

    #[test]
    fn the_shortest_round_trip_wins() {
        let clock = CommonClock::default();
        assert_eq!(clock.uncertainty_ns(), u64::MAX);
        let mut estimator = Estimator::default();
        estimator.exchange(&clock, 1_000, 5_000_000, 9_000);
        assert_eq!(estimate(&clock), (4_995_000, 4_000));
        estimator.exchange(&clock, 20_000, 1_020_500, 21_000);
        assert_eq!(estimate(&clock), (1_000_000, 500));
        estimator.exchange(&clock, 30_000, 1_080_000, 90_000);
        assert_eq!(estimate(&clock), (1_000_000, 500));
        let now = Instant::now();
        assert_eq!(clock.at(now) - clock.monotonic_ns(now), 1_000_000);
    }

    #[test]
    fn an_old_exchange_is_forgotten() {
        let clock = CommonClock::default();
        let mut estimator = Estimator::default();
        estimator.exchange(&clock, 0, 100, 10);
        for i in 0..REMEMBERED as u64 {
            estimator.exchange(&clock, i * 1_000, i * 1_000 + 7_020, i * 1_000 + 40);
        }
        assert_eq!(estimate(&clock), (7_000, 20));
    }

    /// Clocks that drifted apart were said to be known as well as when nobody could reach the coordinator any more.
    #[test]
    fn an_estimate_is_worth_less_as_it_ages() {
        const S: u64 = 1_000_000_000;
        let clock = CommonClock::default();
        let mut estimator = Estimator::default();
        estimator.exchange(&clock, S, 50 * S, S + 200_000);
        assert_eq!(clock.estimate().error_ns(31 * S + 100_000), 3_100_000, "100 ppm of half a minute");
        // A round trip that is longer by what ten seconds cost is as good.
        estimator.exchange(&clock, 10 * S, 59 * S, 10 * S + 2_200_000);
        assert_eq!(estimate(&clock).1, 100_000);
        estimator.exchange(&clock, 12 * S, 61 * S, 12 * S + 2_200_000);
        assert_eq!(estimate(&clock).1, 1_100_000, "the older one is known to 1.2 ms by now");
    }

    /// Instants that belong together are as far apart on the common clock as here, whatever becomes of it in between.
    #[test]
    fn a_translation_stays_as_it_is() {
        let (clock, mut estimator) = (CommonClock::default(), Estimator::default());
        estimator.exchange(&clock, 0, 90_000_000, 2_000_000);
        let (begun, before) = (Instant::now(), clock.translation());
        estimator.exchange(&clock, 2_000_000, 91_500_000, 3_000_000);
        let (after, second) = (clock.translation(), Duration::from_secs(1));
        assert_eq!(before.at(begun + second) - before.at(begun), 1_000_000_000);
        assert_eq!((before.offset_ns, after.offset_ns), (89_000_000, 89_000_000));
        assert!(before.uncertainty_ns >= 1_000_000 && after.uncertainty_ns < before.uncertainty_ns);
    }

    #[test]
    fn a_clock_that_jumps_is_believed_at_once() {
        let (clock, mut estimator) = (CommonClock::default(), Estimator::default());
        estimator.exchange(&clock, 1_000, 50_000_000_050, 1_100);
        assert_eq!(estimate(&clock), (49_999_999_000, 50));
        // Far behind, but so late that it may be nothing else.
        estimator.exchange(&clock, 2_000, 50_020_000_000, 40_002_000);
        assert_eq!(estimate(&clock), (49_999_999_000, 50), "the better one still holds");
        for jump_ns in [30_000_000_000, -30_000_000_000_i64] {
            let echoed = (50_000_000_000_i64 + jump_ns).cast_unsigned();
            estimator.exchange(&clock, 10_000, echoed, 90_000);
            assert_eq!(estimate(&clock), (echoed.cast_signed() - 50_000, 40_000), "{jump_ns}");
        }
    }

    #[test]
    fn instants_survive_the_round_trip() {
        let clock = CommonClock::default();
        let mut estimator = Estimator::default();
        estimator.exchange(&clock, 0, 1_700_000_000_000_000_000, 1_000);
        let now = Instant::now();
        assert_eq!(clock.instant(clock.at(now)), now);
    }
}
