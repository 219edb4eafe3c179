//! Who waits for what moment: the clock's book-keeping, without a clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// A place in [`Waiting::slots`]; the generation tells its present tenant from the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket {
    slot: u32,
    generation: u32,
}

/// Who waits, each known by what wakes it. Cancelled waits leave their entry in the heap until it is due: it is at most as old as a wait is long.
pub(crate) struct Waiting<W> {
    heap: BinaryHeap<Reverse<(Instant, Ticket)>>,
    slots: Vec<Slot<W>>,
    free: Vec<u32>,
}

struct Slot<W> {
    generation: u32,
    waker: Option<W>,
}

impl<W> Default for Waiting<W> {
    fn default() -> Self {
        Waiting { heap: BinaryHeap::new(), slots: Vec::new(), free: Vec::new() }
    }
}

impl<W> Waiting<W> {
    pub fn insert(&mut self, due: Instant, waker: W) -> Ticket {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, waker: None });
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 waits at a time")
        });
        let entry = &mut self.slots[slot as usize];
        entry.waker = Some(waker);
        let ticket = Ticket { slot, generation: entry.generation };
        self.heap.push(Reverse((due, ticket)));
        ticket
    }

    /// Ends a wait and returns its waker; none when it has ended before.
    pub fn remove(&mut self, ticket: Ticket) -> Option<W> {
        let entry = &mut self.slots[ticket.slot as usize];
        if entry.generation != ticket.generation {
            return None;
        }
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(ticket.slot);
        entry.waker.take()
    }

    /// What wakes whoever has this ticket, to be changed; none when the wait has ended.
    pub fn waker_mut(&mut self, ticket: Ticket) -> Option<&mut W> {
        let entry = &mut self.slots[ticket.slot as usize];
        entry.waker.as_mut().filter(|_| entry.generation == ticket.generation)
    }

    /// The earliest moment that somebody still waits for.
    pub fn earliest(&mut self) -> Option<Instant> {
        while let Some(&Reverse((due, ticket))) = self.heap.peek() {
            if self.slots[ticket.slot as usize].generation == ticket.generation {
                return Some(due);
            }
            self.heap.pop();
        }
        None
    }

    /// Ends the earliest wait that is due.
    pub fn take_due(&mut self, now: Instant) -> Option<W> {
        loop {
            let &Reverse((due, ticket)) = self.heap.peek()?;
            if due > now {
                return None;
            }
            self.heap.pop();
            if let Some(waker) = self.remove(ticket) {
                return Some(waker);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};
    use std::time::Duration;

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

        while let Some(waker) = waiting.take_due(start + Duration::from_millis(20)) {
            waker.wake();
        }
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
        assert!(waiting.waker_mut(first).is_none());
        assert!(waiting.remove(first).is_none());
        assert!(waiting.remove(second).is_some());
    }
}
