//! A clock finer than the runtime's, for waits below a tenth of a second.
//!
//! tokio counts time in whole milliseconds and is a millisecond late at the median. That is too coarse for arrivals, short pauses
//! and simulated service times. A thread with a loop of its own ([`crate::event_loop`]) waits by that loop's timers, however
//! long. For everybody else one thread of the process sleeps until the earliest moment that anybody waits for and wakes exactly
//! those who are due; their longer waits go to tokio's timers, which cost less. Either clock is real time: a runtime's
//! paused time does not pause it.

mod waiting;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::event_loop::Core;

use self::waiting::Ticket;
pub(crate) use self::waiting::Waiting;

/// From here on tokio's timers are fine enough.
pub const COARSE_FROM: Duration = Duration::from_millis(100);

/// Waits for `duration`.
pub async fn sleep(duration: Duration) {
    if duration < COARSE_FROM || Core::here().is_some() {
        FineSleep::until(Instant::now() + duration).await;
    } else {
        tokio::time::sleep(duration).await;
    }
}

/// Waits until `due`; returns at once when that is past.
pub async fn sleep_until(due: Instant) {
    if due.saturating_duration_since(Instant::now()) < COARSE_FROM || Core::here().is_some() {
        FineSleep::until(due).await;
    } else {
        tokio::time::sleep_until(due.into()).await;
    }
}

/// Does something for `limit` at most; none if that was not enough.
pub async fn timeout<T>(limit: Duration, what: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = what => Some(done),
        () = FineSleep::until(Instant::now() + limit) => None,
    }
}

/// One wait on the fine clock, whatever its length. Dropping it cancels it.
#[derive(Debug)]
pub struct FineSleep {
    due: Instant,
    place: Place,
}

/// Where a wait is known.
#[derive(Debug, Clone, Copy)]
enum Place {
    Nowhere,
    /// With this thread's loop.
    Here(Ticket),
    /// With the clock of the process.
    Shared(Ticket),
}

impl FineSleep {
    /// A wait that ends at `due`.
    pub fn until(due: Instant) -> Self {
        FineSleep { due, place: Place::Nowhere }
    }

    fn wait(&mut self, context: &Context<'_>) {
        if let Some(core) = Core::here() {
            self.wait_here(&core, context);
            return;
        }
        let clock = Clock::shared();
        match self.place {
            Place::Shared(ticket) if clock.renew(ticket, context.waker()) => {}
            _ => self.place = Place::Shared(clock.register(self.due, context.waker())),
        }
    }

    fn wait_here(&mut self, core: &Core, context: &Context<'_>) {
        let mut timers = core.timers.borrow_mut();
        let watch = core.watch(context);
        let mut before = None;
        match self.place {
            Place::Here(ticket) if let Some(known) = timers.waker_mut(ticket) => {
                before = Some(std::mem::replace(known, watch));
            }
            _ => self.place = Place::Here(timers.insert(self.due, watch)),
        }
        // In this order: it may be the last that is left of whatever it would have woken.
        drop(timers);
        drop(before);
    }

    fn cancel(&mut self) {
        match std::mem::replace(&mut self.place, Place::Nowhere) {
            Place::Nowhere => {}
            Place::Here(ticket) => {
                let watch = Core::here().and_then(|core| core.timers.borrow_mut().remove(ticket));
                drop(watch);
            }
            Place::Shared(ticket) => Clock::shared().cancel(ticket),
        }
    }
}

impl Future for FineSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.due {
            self.cancel();
            return Poll::Ready(());
        }
        self.wait(context);
        Poll::Pending
    }
}

impl Drop for FineSleep {
    fn drop(&mut self) {
        self.cancel();
    }
}

struct Clock {
    waiting: Mutex<Waiting<Waker>>,
    earlier: Condvar,
}

impl Clock {
    /// The process's clock; its thread starts with the first wait.
    fn shared() -> &'static Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        static THREAD: OnceLock<()> = OnceLock::new();
        let clock = CLOCK.get_or_init(|| Clock { waiting: Mutex::default(), earlier: Condvar::new() });
        THREAD.get_or_init(|| {
            thread::Builder::new()
                .name("fine-clock".into())
                .spawn(move || clock.run())
                .expect("a process that cannot start one thread cannot drive load either");
        });
        clock
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<Waker>> {
        // Nothing panics with the lock held, except for running out of slots.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self, due: Instant, waker: &Waker) -> Ticket {
        let waker = waker.clone();
        let mut waiting = self.lock();
        let earliest = waiting.earliest();
        let ticket = waiting.insert(due, waker);
        drop(waiting);
        // Whoever is not the earliest need not disturb the thread: it will look again in time.
        if earliest.is_none_or(|earliest| due < earliest) {
            self.earlier.notify_one();
        }
        ticket
    }

    fn renew(&self, ticket: Ticket, waker: &Waker) -> bool {
        let mut waiting = self.lock();
        let Some(known) = waiting.waker_mut(ticket) else { return false };
        known.clone_from(waker);
        true
    }

    fn cancel(&self, ticket: Ticket) {
        let waker = self.lock().remove(ticket);
        // Outside the lock: dropping the last waker of a task runs that task's destructor.
        drop(waker);
    }

    fn run(&self) {
        // The kernel may be late by this much to save wake-ups; 50 us unless told. A refusal costs accuracy only.
        if let Err(errno) = nix::sys::prctl::set_timerslack(1) {
            tracing::debug!(%errno, "the fine clock keeps the kernel's timer slack");
        }
        let mut woken = Vec::new();
        let mut waiting = self.lock();
        loop {
            let now = Instant::now();
            woken.extend(std::iter::from_fn(|| waiting.take_due(now)));
            if !woken.is_empty() {
                drop(waiting);
                woken.drain(..).for_each(Waker::wake);
                waiting = self.lock();
                continue;
            }
            waiting = match waiting.earliest() {
                Some(due) => {
                    let wait = due.saturating_duration_since(now);
                    self.earlier.wait_timeout(waiting, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.earlier.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_is_never_short_and_many_end_together() {
        let start = Instant::now();
        let waits: Vec<_> =
            (1..=2_000).map(|i| tokio::spawn(sleep_until(start + Duration::from_micros(i * 10)))).collect();
        for (i, wait) in (1..).zip(waits) {
            wait.await.unwrap();
            assert!(start.elapsed() >= Duration::from_micros(i * 10));
        }
    }

    #[tokio::test]
    async fn a_dropped_wait_frees_its_slot_and_leaves_the_others_alone() {
        let long = Duration::from_secs(3_600);
        let mut cancelled = Box::pin(FineSleep::until(Instant::now() + long));
        assert!(tokio::time::timeout(Duration::from_millis(1), &mut cancelled).await.is_err());
        let Place::Shared(ticket) = cancelled.place else { panic!("there is no loop here") };
        drop(cancelled);
        assert!(!Clock::shared().renew(ticket, Waker::noop()));
        sleep(Duration::from_millis(2)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn long_waits_belong_to_the_runtime() {
        let start = tokio::time::Instant::now();
        sleep(Duration::from_secs(3_600)).await;
        assert!(start.elapsed() >= Duration::from_secs(3_600));
    }
}
