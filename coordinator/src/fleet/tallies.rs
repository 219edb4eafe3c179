//! What the agents' streams brought, counted as it is recorded; and whether the ledger takes it.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

use super::Core;

/// How often a ledger that nobody writes to is written to.
const LOOK: Duration = Duration::from_secs(5);
/// How long the ledger's thread may be busy, with a report for example, before it is told of.
const BUSY: Duration = Duration::from_secs(30);

/// Sums since the coordinator began.
pub struct Tallies {
    /// Events recorded.
    pub recorded: AtomicU64,
    /// Events that were recorded already when they came once more.
    pub duplicates: AtomicU64,
    /// Events that came ahead of one before them, and have to come again.
    pub refused: AtomicU64,
    /// Attempts at recording that failed.
    pub failures: AtomicU64,
    waiting: Arc<AtomicI64>,
    /// How long recording a batch took, the wait for the ledger's thread included, in seconds.
    pub write_s: Histogram,
    ledger: Mutex<State>,
}

#[derive(Debug)]
struct State {
    failure: Option<String>,
    answered: Instant,
}

impl Default for Tallies {
    fn default() -> Self {
        Tallies {
            recorded: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            waiting: Arc::default(),
            write_s: Histogram::new(exponential_buckets(0.001, 4.0, 8)),
            ledger: Mutex::new(State { failure: None, answered: Instant::now() }),
        }
    }
}

impl fmt::Debug for Tallies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tallies").field("recorded", &self.recorded).finish_non_exhaustive()
    }
}

/// An event that has come in, until it is dropped: it is recorded then, or its agent has to send it again.
#[derive(Debug)]
pub struct Waiting(Arc<AtomicI64>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Tallies {
    /// An event has come in.
    pub fn came(&self) -> Waiting {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(Arc::clone(&self.waiting))
    }

    /// Events that have come in and wait to be recorded.
    pub fn waiting(&self) -> i64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// A batch has been recorded, or has not.
    pub fn wrote(&self, events: usize, took: Duration, failure: Option<String>) {
        match &failure {
            None => {
                self.recorded.fetch_add(events as u64, Ordering::Relaxed);
                self.write_s.observe(took.as_secs_f64());
            }
            Some(_) => drop(self.failures.fetch_add(1, Ordering::Relaxed)),
        }
        self.looked(failure);
    }

    fn looked(&self, failure: Option<String>) {
        *self.ledger.lock().unwrap_or_else(PoisonError::into_inner) = State { failure, answered: Instant::now() };
    }

    /// Why nothing can be recorded now, as far as is known.
    pub fn ailment(&self) -> Option<String> {
        let state = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = state.answered.elapsed();
        let busy = || format!("the ledger has not answered for {} s", silent.as_secs());
        state.failure.clone().or_else(|| (silent > BUSY).then(busy))
    }
}

/// Looks whether the ledger can be written while nobody writes to it, as long as the coordinator is there.
pub async fn watch(core: Arc<Core>) {
    let mut recorded = 0;
    loop {
        let now = core.tallies.recorded.load(Ordering::Relaxed);
        if now == recorded {
            let written = core.record.with(|ledger| ledger.write_nothing_new()).await;
            core.tallies.looked(written.err().map(|error| error.to_string()));
        }
        recorded = now;
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_holds_until_the_next_success() {
        let tallies = Tallies::default();
        tallies.wrote(3, Duration::from_millis(2), None);
        assert_eq!((tallies.ailment(), tallies.recorded.load(Ordering::Relaxed)), (None, 3));
        tallies.wrote(3, Duration::ZERO, Some("the disk is full".to_owned()));
        assert_eq!(tallies.ailment().as_deref(), Some("the disk is full"));
        assert_eq!(tallies.recorded.load(Ordering::Relaxed), 3);
        tallies.looked(None);
        assert_eq!(tallies.ailment(), None);
    }
}
