//! The common clock: the coordinator's, as well as this agent knows it.
//!
//! The coordinator's clock less this process's monotonic clock is estimated from exchanges on the stream: the one with
//! the smallest round trip among the recent ones counts, and half that round trip bounds its error (Cristian,
//! "Probabilistic clock synchronization", 1989). The host's wall clock plays no part, so setting it changes nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Exchanges that an estimate is chosen from. At one a second, two clocks that drift apart by 50 ppm move 0.8 ms
/// while one ages out.
const REMEMBERED: usize = 16;

/// What two clocks may drift apart while an exchange is remembered, with room to spare.
const DRIFT_NS: u64 = 5_000_000;

/// Shared by every thread of the agent; reading it costs two atomic loads.
#[derive(Debug, Clone)]
pub struct CommonClock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    epoch: Instant,
    /// Common clock less nanoseconds since `epoch`.
    offset_ns: AtomicI64,
    uncertainty_ns: AtomicU64,
}

impl Default for CommonClock {
    /// Until the first exchange: this host's wall clock, of unknown truth.
    fn default() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        CommonClock {
            inner: Arc::new(Inner {
                epoch: Instant::now(),
                offset_ns: AtomicI64::new(wall.as_nanos() as i64),
                uncertainty_ns: AtomicU64::new(u64::MAX),
            }),
        }
    }
}

impl CommonClock {
    /// Nanoseconds of this process's monotonic clock at `instant`.
    pub fn monotonic_ns(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.inner.epoch).as_nanos() as u64
    }

    /// Common time of a local instant, nanoseconds since the Unix epoch.
    pub fn at(&self, instant: Instant) -> u64 {
        let local = self.monotonic_ns(instant) as i64;
        (local + self.inner.offset_ns.load(Ordering::Relaxed)).max(0) as u64
    }

    /// Common time now.
    pub fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    /// Local instant of a common time. Times before this process began become its beginning.
    pub fn instant(&self, common_ns: u64) -> Instant {
        let local = common_ns as i64 - self.inner.offset_ns.load(Ordering::Relaxed);
        self.inner.epoch + Duration::from_nanos(local.max(0) as u64)
    }

    /// Bound of the estimate's error. `u64::MAX` before the first exchange.
    pub fn uncertainty_ns(&self) -> u64 {
        self.inner.uncertainty_ns.load(Ordering::Relaxed)
    }

    /// Common clock less this host's wall clock.
    pub fn offset_from_wall_ns(&self) -> i64 {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.now() as i64 - wall.as_nanos() as i64
    }

    fn set(&self, offset_ns: i64, uncertainty_ns: u64) {
        self.inner.offset_ns.store(offset_ns, Ordering::Relaxed);
        self.inner.uncertainty_ns.store(uncertainty_ns, Ordering::Relaxed);
    }
}

/// Chooses the best of the recent exchanges.
#[derive(Debug, Default)]
pub struct Estimator {
    exchanges: VecDeque<Exchange>,
}

#[derive(Debug, Clone, Copy)]
struct Exchange {
    offset_ns: i64,
    round_trip_ns: u64,
}

impl Estimator {
    /// Takes in one exchange, in nanoseconds: sent and received on this process's monotonic clock, echoed on the
    /// coordinator's. Updates `clock` with the best estimate.
    pub fn exchange(&mut self, clock: &CommonClock, sent: u64, echoed: u64, received: u64) {
        let round_trip_ns = received.saturating_sub(sent);
        let midpoint = sent + round_trip_ns / 2;
        let exchange = Exchange { offset_ns: echoed as i64 - midpoint as i64, round_trip_ns };
        // Bounds that exclude each other: one of the two clocks has jumped, as when a virtual machine was moved.
        if self.best().is_some_and(|best| !best.allows(&exchange)) {
            self.exchanges.clear();
        }
        if self.exchanges.len() == REMEMBERED {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(exchange);
        if let Some(best) = self.best() {
            clock.set(best.offset_ns, best.round_trip_ns / 2);
        }
    }

    fn best(&self) -> Option<Exchange> {
        self.exchanges.iter().min_by_key(|exchange| exchange.round_trip_ns).copied()
    }

    /// Forgets everything: another coordinator has another clock.
    pub fn reset(&mut self) {
        self.exchanges.clear();
    }
}

impl Exchange {
    /// Whether both may be true of clocks that only drift.
    fn allows(&self, other: &Exchange) -> bool {
        let bounds = self.round_trip_ns / 2 + other.round_trip_ns / 2 + DRIFT_NS;
        self.offset_ns.abs_diff(other.offset_ns) <= bounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_wins() {
        let clock = CommonClock::default();
        let mut estimator = Estimator::default();
        estimator.exchange(&clock, 1_000, 5_000_000, 9_000);
        assert_eq!(clock.uncertainty_ns(), 4_000);
        estimator.exchange(&clock, 20_000, 1_020_500, 21_000);
        assert_eq!(clock.uncertainty_ns(), 500);
        estimator.exchange(&clock, 30_000, 1_080_000, 90_000);
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
        let now = Instant::now();
        assert_eq!(clock.at(now) - clock.monotonic_ns(now), 7_000);
        assert_eq!(clock.uncertainty_ns(), 20);
    }

    #[test]
    fn a_clock_that_jumps_is_believed_at_once() {
        let (clock, mut estimator) = (CommonClock::default(), Estimator::default());
        let offset_ns = || {
            let now = Instant::now();
            clock.at(now).cast_signed() - clock.monotonic_ns(now).cast_signed()
        };
        estimator.exchange(&clock, 1_000, 50_000_000_050, 1_100);
        assert_eq!((offset_ns(), clock.uncertainty_ns()), (49_999_999_000, 50));
        // Far behind, but so late that it may be nothing else.
        estimator.exchange(&clock, 2_000, 50_020_000_000, 40_002_000);
        assert_eq!((offset_ns(), clock.uncertainty_ns()), (49_999_999_000, 50), "the better one still holds");
        for jump_ns in [30_000_000_000, -30_000_000_000_i64] {
            let echoed = (50_000_000_000_i64 + jump_ns).cast_unsigned();
            estimator.exchange(&clock, 10_000, echoed, 90_000);
            assert_eq!((offset_ns(), clock.uncertainty_ns()), (echoed.cast_signed() - 50_000, 40_000), "{jump_ns}");
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
