//! Open arrivals: one thread decides when transactions are due and hands the instants to whichever session is idle.
//!
//! Exponential gaps make a Poisson process; the independent processes of several agents add up to one of the summed
//! rate. An arrival that finds the queue full is dropped and counted; one still queued at the end is counted too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rand::RngExt;
use vufleet_scenarios::random::Stream;

/// Arrivals that may queue: ten seconds of them, at least and at most this many. The room is taken up at once.
const LEAST_QUEUE: usize = 1_000;
const MOST_QUEUE: usize = 1 << 20;
const QUEUE_SECONDS: f64 = 10.0;
/// An arrival that the host came to so late is not started any more: a thread that is behind has to catch up.
const TOO_LATE: Duration = Duration::from_secs(1);

/// Counts that an interval reports, growing since the start.
#[derive(Debug, Default)]
pub struct ArrivalCounts {
    due: AtomicU64,
    dropped: AtomicU64,
}

/// The pacer of one agent.
pub struct Arrivals {
    /// Where idle sessions wait for the next due time.
    pub queue: async_channel::Receiver<Instant>,
    counts: Arc<ArrivalCounts>,
    over: Arc<AtomicBool>,
    sender: async_channel::Sender<Instant>,
    rate_per_s: f64,
    thread: Option<JoinHandle<()>>,
    stream: Option<Stream>,
}

impl Arrivals {
    /// A pacer that has not begun. `rate_per_s`: this agent's part.
    pub fn new(rate_per_s: f64, stream: Stream) -> Self {
        let room = ((rate_per_s * QUEUE_SECONDS) as usize).clamp(LEAST_QUEUE, MOST_QUEUE);
        let (sender, queue) = async_channel::bounded(room);
        Arrivals {
            queue,
            counts: Arc::default(),
            over: Arc::default(),
            sender,
            rate_per_s,
            thread: None,
            stream: Some(stream),
        }
    }

    /// Begins at `start`.
    pub fn begin(&mut self, start: Instant) -> std::io::Result<()> {
        let Some(stream) = self.stream.take() else { return Ok(()) };
        let (counts, over, sender) = (Arc::clone(&self.counts), Arc::clone(&self.over), self.sender.clone());
        let rate_per_s = self.rate_per_s;
        let pacer = move || pace(start, rate_per_s, stream, &sender, &counts, &over);
        self.thread = Some(thread::Builder::new().name("arrivals".to_owned()).spawn(pacer)?);
        Ok(())
    }

    /// Ends the arrivals. Sessions that wait for one are let go; everything that was due by now has been counted afterwards.
    pub fn end(&mut self) {
        if self.over.swap(true, Ordering::Relaxed) {
            return;
        }
        self.sender.close();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("the thread of arrivals died: the load had fewer of them than its rate");
            }
        }
        // What is still queued was due and will not start.
        while self.queue.try_recv().is_ok() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Transactions that became due, and those of them that could not start, since the beginning.
    pub fn counts(&self) -> (u64, u64) {
        (self.counts.due.load(Ordering::Relaxed), self.counts.dropped.load(Ordering::Relaxed))
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        self.end();
    }
}

fn pace(
    start: Instant,
    rate_per_s: f64,
    mut stream: Stream,
    queue: &async_channel::Sender<Instant>,
    counts: &ArrivalCounts,
    over: &AtomicBool,
) {
    if let Err(errno) = nix::sys::prctl::set_timerslack(1) {
        tracing::debug!(%errno, "arrivals keep the kernel's timer slack of 50 microseconds");
    }
    let mut due = start;
    loop {
        due += exponential(1.0 / rate_per_s, &mut stream);
        let mut now = Instant::now();
        while due > now && !over.load(Ordering::Relaxed) {
            thread::park_timeout(due - now);
            now = Instant::now();
        }
        if over.load(Ordering::Relaxed) {
            break;
        }
        counts.due.fetch_add(1, Ordering::Relaxed);
        if now.saturating_duration_since(due) > TOO_LATE || queue.try_send(due).is_err() {
            counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
    // A thread that the host kept from running is behind: what became due meanwhile was due all the same.
    let end = Instant::now();
    let mut missed = 0;
    while due <= end {
        missed += 1;
        due += exponential(1.0 / rate_per_s, &mut stream);
    }
    counts.due.fetch_add(missed, Ordering::Relaxed);
    counts.dropped.fetch_add(missed, Ordering::Relaxed);
}

/// A negative exponential time of the given mean.
fn exponential(mean_s: f64, stream: &mut Stream) -> Duration {
    let uniform: f64 = stream.random();
    Duration::from_secs_f64(-mean_s * (1.0 - uniform).ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vufleet_scenarios::random::stream;

    #[test]
    fn gaps_have_the_mean_and_spread_of_an_exponential() {
        let mut stream = stream(1, &[2]);
        let gaps: Vec<f64> = (0..100_000).map(|_| exponential(0.01, &mut stream).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 0.01).abs() < 0.0002, "{mean}");
        assert!((variance.sqrt() - 0.01).abs() < 0.0003, "{}", variance.sqrt());
    }

    #[test]
    fn what_nobody_takes_is_counted_as_not_started() {
        let mut arrivals = Arrivals::new(20_000.0, stream(1, &[3]));
        arrivals.begin(Instant::now()).unwrap();
        let waited = Instant::now();
        while arrivals.counts().0 < 50 && waited.elapsed() < Duration::from_secs(10) {
            thread::yield_now();
        }
        arrivals.end();
        let (due, not_started) = arrivals.counts();
        assert!(due >= 50, "{due}");
        assert_eq!(due, not_started);
    }

    /// Nobody can make a hundred million arrivals a second.
    #[test]
    fn what_the_host_did_not_come_to_was_due_all_the_same() {
        let mut arrivals = Arrivals::new(1e8, stream(1, &[5]));
        let start = Instant::now();
        arrivals.begin(start).unwrap();
        thread::sleep(Duration::from_millis(20));
        arrivals.end();
        let (least, most) = (0.02 * 1e8, start.elapsed().as_secs_f64() * 1e8);
        let (due, not_started) = arrivals.counts();
        assert!((least * 0.98..most * 1.02).contains(&(due as f64)), "{least} to {most}: {due}");
        assert_eq!(due, not_started);
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let mut arrivals = Arrivals::new(1.0, stream(1, &[4]));
        for _ in 0..LEAST_QUEUE {
            arrivals.sender.try_send(Instant::now()).unwrap();
        }
        arrivals.rate_per_s = 1e6;
        arrivals.begin(Instant::now()).unwrap();
        while arrivals.counts().1 == 0 {
            thread::yield_now();
        }
        assert_eq!(arrivals.queue.len(), LEAST_QUEUE);
    }
}
