//! Where the intervals of a crew begin and end: one follows the other, whatever its threads do.

use std::time::{Duration, Instant};

use super::Part;
use crate::recorder::Tally;

/// One tick of all threads. Its instants are the means of theirs: they lie within a millisecond of each other, unless a thread
/// is held up.
pub(super) struct Merged {
    pub(super) tally: Tally,
    pub(super) parts: usize,
    /// Sums over the parts, since the crew's epoch.
    from: Duration,
    to: Duration,
    /// End of the part that ended last, since the crew's epoch.
    latest: Duration,
    pub(super) connected: u32,
    pub(super) ended: u32,
}

impl Merged {
    pub(super) fn new(tally: Tally) -> Self {
        let none = Duration::ZERO;
        Merged { tally, parts: 0, from: none, to: none, latest: none, connected: 0, ended: 0 }
    }

    pub(super) fn add(&mut self, part: &Part, epoch: Instant) {
        self.tally.add(&part.tally);
        self.parts += 1;
        self.from += part.from.saturating_duration_since(epoch);
        let to = part.to.saturating_duration_since(epoch);
        self.to += to;
        self.latest = self.latest.max(to);
        self.connected += part.connected;
        self.ended += part.ended;
    }
}

/// The edges so far, since the crew's epoch.
pub(super) struct Edges {
    threads: usize,
    /// Where the last interval ended.
    last: Option<Duration>,
    /// When every session had reached its limit.
    finished: Option<Duration>,
}

impl Edges {
    pub(super) fn new(threads: usize) -> Self {
        Edges { threads, last: None, finished: None }
    }

    /// Every session has reached its limit by now.
    pub(super) fn finish(&mut self, at: Duration) {
        self.finished = Some(at);
    }

    /// Where the next tick begins and ends. A thread that has ended says nothing of it any more, and the mean of the others would
    /// leave out time or count it twice: a tick begins where the last one ended, and then ends with the last thread that is there.
    pub(super) fn of(&mut self, merged: &Merged) -> (Duration, Duration) {
        let is_whole = merged.parts == self.threads;
        let from = self.last.unwrap_or_else(|| mean(merged.from, merged.parts));
        let to = if is_whole { mean(merged.to, merged.parts) } else { merged.latest };
        // A thread that is held up cuts late, and the last transaction would seem to have ended with that; so it would where the cut at
        // the end is the first of a tick to one thread and the second to another.
        let finished = self.finished.filter(|finished| *finished > from);
        let to = finished.map_or(to, |finished| to.min(finished)).max(from);
        self.last = Some(to);
        (from, to)
    }
}

fn mean(sum: Duration, parts: usize) -> Duration {
    sum / u32::try_from(parts).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use tokio::sync::mpsc;
    use vufleet_proto::v1::{Interval, event::Body};

    use super::super::{Foreman, Order, Report};
    use super::*;
    use crate::clock::{CommonClock, Estimator};
    use crate::outbox::Outlet;
    use crate::recorder::{End, Finished};
    use crate::watchdog::Watchdog;

    /// Two threads under a foreman.
    struct Lab {
        epoch: Instant,
        clock: CommonClock,
        reports: mpsc::UnboundedSender<Report>,
        events: mpsc::UnboundedReceiver<(u64, Body)>,
        orders: [mpsc::UnboundedReceiver<Order>; 2],
        foreman: tokio::task::JoinHandle<()>,
        _crew: (mpsc::UnboundedSender<Instant>, mpsc::UnboundedSender<()>),
    }

    impl Lab {
        fn start() -> Lab {
            let clock = CommonClock::default();
            Estimator::default().exchange(&clock, 0, 1_000_000_000_000, 100_000);
            let (outlet, events) = Outlet::new();
            let epoch = Instant::now();
            let (reports, inbox) = mpsc::unbounded_channel();
            let [(first, one), (second, other)] = [mpsc::unbounded_channel(), mpsc::unbounded_channel()];
            let foreman = Foreman {
                names: vec!["kind".to_owned()],
                separate_response: false,
                threads: 2,
                orders: vec![first, second],
                epoch,
                waiting: BTreeMap::new(),
                edges: Edges::new(2),
                arrivals: None,
                told: (0, 0),
                remarked: HashSet::new(),
                clock: clock.clone(),
                outlet,
                run: 1,
                watchdog: Watchdog::new(epoch, Duration::from_secs(1)),
            };
            let (start, starts) = mpsc::unbounded_channel();
            let (stop, stops) = mpsc::unbounded_channel();
            let foreman = tokio::spawn(foreman.oversee(inbox, starts, stops));
            Lab { epoch, clock, reports, events, orders: [one, other], foreman, _crew: (start, stop) }
        }

        /// A thread's part of a tick, from and to so many milliseconds after the epoch, with a transaction in it.
        fn part(&self, tick: u64, from_ms: u64, to_ms: u64) {
            let mut tally = Tally::new(1, false);
            let took = Duration::from_millis(1);
            let end = End::Ok;
            tally.finish(&Finished { kind: 0, end, service: took, response: None, statements: 1, queued: took });
            let at = |ms| self.epoch + Duration::from_millis(ms);
            let (from, to, remarks) = (at(from_ms), at(to_ms), Vec::new());
            self.say(Report::Part(Part { tick, tally, from, to, connected: 1, ended: 0, remarks }));
        }

        fn say(&self, report: Report) {
            self.reports.send(report).unwrap_or_else(|_| panic!("the foreman has ended"));
        }

        async fn interval(&mut self) -> Interval {
            loop {
                match self.events.recv().await.unwrap() {
                    (_, Body::Interval(interval)) => return interval,
                    (_, other) => assert!(matches!(other, Body::Phase(_)), "{other:?}"),
                }
            }
        }

        /// What is told of so many intervals until everybody has ended: from, to, and transactions in them, milliseconds after the epoch.
        async fn told(mut self, intervals: usize) -> Vec<(u64, u64, u64)> {
            let origin_ns = self.clock.at(self.epoch);
            (0..2).for_each(|_| self.say(Report::Done { connected: 0 }));
            let mut told = Vec::new();
            for _ in 0..intervals {
                let interval = self.interval().await;
                let ms = |instant_ns: u64| (instant_ns - origin_ns) / 1_000_000;
                told.push((ms(interval.start_ns), ms(interval.end_ns), interval.kinds[0].ok));
            }
            self.foreman.await.unwrap();
            told
        }
    }

    /// The mean of the thread that was left began half a second after that of both had ended.
    #[tokio::test]
    async fn an_interval_follows_the_last_one_when_a_thread_has_ended() {
        let lab = Lab::start();
        for (tick, from_ms, to_ms) in [(1, 0, 1000), (1, 0, 1002), (2, 1000, 1100), (2, 1002, 2000), (3, 2000, 2600)] {
            lab.part(tick, from_ms, to_ms);
        }
        assert_eq!(lab.told(3).await, [(0, 1001, 2), (1001, 1550, 2), (1550, 2600, 1)]);
    }

    /// Two transactions short of its tick, the thread that is left ends before the mean of the tick before.
    #[tokio::test]
    async fn an_interval_does_not_end_before_it_begins() {
        let lab = Lab::start();
        for (tick, from_ms, to_ms) in [(1, 0, 1000), (1, 0, 1300), (2, 1000, 1100), (3, 1100, 1400)] {
            lab.part(tick, from_ms, to_ms);
        }
        assert_eq!(lab.told(3).await, [(0, 1150, 2), (1150, 1150, 1), (1150, 1400, 1)]);
    }

    /// A window of counted transactions ended half an interval late where one thread's tick came just before everybody's end.
    #[tokio::test]
    async fn the_last_interval_of_counted_transactions_ends_with_them() {
        let mut lab = Lab::start();
        lab.part(1, 0, 10);
        tokio::time::sleep(Duration::from_millis(12)).await;
        (0..2).for_each(|_| lab.say(Report::Idle));
        for orders in &mut lab.orders {
            assert!(matches!(orders.recv().await, Some(Order::Cut)));
        }
        let finished_ms = lab.epoch.elapsed().as_millis() as u64;
        lab.part(1, 0, finished_ms);
        lab.part(2, 10, finished_ms);
        lab.part(2, finished_ms, 5_000);
        let told = lab.told(2).await;
        assert!(told[0].1 <= finished_ms && told[1].0 == told[0].1, "{told:?}");
        assert!((12..=finished_ms).contains(&told[1].1), "{told:?}, {finished_ms}");
        assert_eq!((told[0].2, told[1].2), (2, 2));
    }

    /// Its length is what its transactions had, not what the clock was corrected by.
    #[tokio::test]
    async fn a_corrected_clock_moves_an_interval_and_leaves_its_length() {
        let mut lab = Lab::start();
        lab.part(1, 0, 1000);
        lab.part(1, 0, 1000);
        let first = lab.interval().await;
        Estimator::default().exchange(&lab.clock, 1_000_000, 1_000_051_040_000, 1_080_000);
        lab.part(2, 1000, 2000);
        lab.part(2, 1000, 2000);
        let second = lab.interval().await;
        assert_eq!(second.end_ns - second.start_ns, 1_000_000_000);
        assert_eq!(second.start_ns.abs_diff(first.end_ns), 50_050_000);
        assert!(first.uncertainty_ns >= 50_000 && second.uncertainty_ns < first.uncertainty_ns, "{first:?}");
    }
}
