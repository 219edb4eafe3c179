//! A clock finer than the runtime's, for waits below a tenth of a second.
//!
//! The runtime counts time in whole milliseconds and is a millisecond late at the median. That is too coarse for
//! arrivals, short pauses and simulated service times. One thread of the process sleeps until the earliest moment that
//! anybody waits for and wakes exactly those who are due. Longer waits go to the runtime's own timers, which cost less.
//! This clock is real time: a runtime's paused time does not pause it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// From here on the runtime's timers are fine enough.
pub const COARSE_FROM: Duration = Duration::from_millis(100);

/// Waits for `duration`.
pub async fn sleep(duration: Duration) {
    if duration < COARSE_FROM {
        FineSleep::until(Instant::now() + duration).await;
    } else {
        tokio::time::sleep(duration).await;
    }
}

/// Waits until `due`; returns at once when that is past.
pub async fn sleep_until(due: Instant) {
    if due.saturating_duration_since(Instant::now()) < COARSE_FROM {
        FineSleep::until(due).await;
    } else {
        tokio::time::sleep_until(due.into()).await;
    }
}

/// One wait on the fine clock, whatever its length. Dropping it cancels it.
#[derive(Debug)]
pub struct FineSleep {
    due: Instant,
    ticket: Option<Ticket>,
}

impl FineSleep {
    /// A wait that ends at `due`.
    pub fn until(due: Instant) -> Self {
        FineSleep { due, ticket: None }
    }
}

impl Future for FineSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.due {
            self.cancel();
            return Poll::Ready(());
        }
        let clock = Clock::shared();
        match self.ticket {
            Some(ticket) if clock.renew(ticket, context.waker()) => {}
            _ => self.ticket = Some(clock.register(self.due, context.waker())),
        }
        Poll::Pending
    }
}

impl FineSleep {
    fn cancel(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            Clock::shared().cancel(ticket);
        }
    }
}

impl Drop for FineSleep {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// A place in [`Waiting::slots`]; the generation tells its present tenant from the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ticket {
    slot: u32,
    generation: u32,
}

/// Who waits. Cancelled waits leave their entry in the heap until it is due: it is at most as old as a wait is long.
#[derive(Default)]
struct Waiting {
    heap: BinaryHeap<Reverse<(Instant, Ticket)>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    waker: Option<Waker>,
}

impl Waiting {
    fn insert(&mut self, due: Instant, waker: Waker) -> Ticket {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 waits at a time")
        });
        let entry = &mut self.slots[slot as usize];
        entry.waker = Some(waker);
        let ticket = Ticket { slot, generation: entry.generation };
        self.heap.push(Reverse((due, ticket)));
        ticket
    }

    /// Ends a wait and returns its waker; none when it has ended before.
    fn remove(&mut self, ticket: Ticket) -> Option<Waker> {
        let entry = &mut self.slots[ticket.slot as usize];
        if entry.generation != ticket.generation {
            return None;
        }
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(ticket.slot);
        entry.waker.take()
    }

    fn replace(&mut self, ticket: Ticket, waker: &Waker) -> bool {
        let entry = &mut self.slots[ticket.slot as usize];
        if entry.generation != ticket.generation {
            return false;
        }
        match &mut entry.waker {
            Some(old) => old.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        true
    }

    fn earliest(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((due, _))| *due)
    }

    /// Moves the wakers of all waits that are due into `woken`.
    fn take_due(&mut self, now: Instant, woken: &mut Vec<Waker>) {
        while let Some(&Reverse((due, ticket))) = self.heap.peek()
            && due <= now
        {
            self.heap.pop();
            woken.extend(self.remove(ticket));
        }
    }
}

struct Clock {
    waiting: Mutex<Waiting>,
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

    fn lock(&self) -> MutexGuard<'_, Waiting> {
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
        self.lock().replace(ticket, waker)
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
            waiting.take_due(now, &mut woken);
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn counting() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count::default());
        (Arc::clone(&count), Waker::from(count))
    }

    #[test]
    fn only_those_who_are_due_are_woken() {
        let start = Instant::now();
        let mut waiting = Waiting::default();
        let wakers: Vec<_> = (0..4).map(|_| counting()).collect();
        let tickets: Vec<_> = [30, 10, 20, 10]
            .into_iter()
            .zip(&wakers)
            .map(|(ms, (_, waker))| waiting.insert(start + Duration::from_millis(ms), waker.clone()))
            .collect();
        assert!(waiting.remove(tickets[3]).is_some(), "a wait is cancelled once");
        assert!(waiting.remove(tickets[3]).is_none());

        let mut woken = Vec::new();
        waiting.take_due(start + Duration::from_millis(20), &mut woken);
        woken.drain(..).for_each(Waker::wake);
        let counts: Vec<_> = wakers.iter().map(|(count, _)| count.0.load(Ordering::SeqCst)).collect();
        assert_eq!(counts, [0, 1, 1, 0]);
        assert_eq!(waiting.earliest(), Some(start + Duration::from_millis(30)));
    }

    #[test]
    fn an_old_ticket_does_not_touch_the_next_tenant_of_its_slot() {
        let due = Instant::now() + Duration::from_secs(1);
        let (_, waker) = counting();
        let mut waiting = Waiting::default();
        let first = waiting.insert(due, waker.clone());
        waiting.remove(first);
        let second = waiting.insert(due, waker.clone());
        assert_eq!(first.slot, second.slot);
        assert!(!waiting.replace(first, &waker));
        assert!(waiting.remove(first).is_none());
        assert!(waiting.remove(second).is_some());
    }

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
        let ticket = cancelled.ticket.unwrap();
        drop(cancelled);
        let waiting = Clock::shared().lock();
        assert!(waiting.slots[ticket.slot as usize].generation != ticket.generation);
        drop(waiting);
        sleep(Duration::from_millis(2)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn long_waits_belong_to_the_runtime() {
        let start = tokio::time::Instant::now();
        sleep(Duration::from_secs(3_600)).await;
        assert!(start.elapsed() >= Duration::from_secs(3_600));
    }
}
