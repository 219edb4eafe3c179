//! Events of one agent between its stream and the ledger, within a budget of bytes: beyond it the stream is not read, so that an agent
//! which sends faster than the disk writes fills its own memory and not the coordinator's.

use std::sync::Arc;

use prost::Message;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use vufleet_proto::v1::Event;

use super::tallies::{Tallies, Waiting};

/// Events recorded in one go, at most, and as many that wait meanwhile.
const BATCH: usize = 256;
/// Bytes of both together, as they came.
const BUDGET: usize = 64 << 20;

/// The end at the stream.
#[derive(Debug)]
pub struct Inflow {
    events: mpsc::Sender<Queued>,
    budget: Arc<Semaphore>,
}

/// The end at the ledger.
#[derive(Debug)]
pub struct Outflow(mpsc::Receiver<Queued>);

/// What an event takes up until it is recorded.
#[derive(Debug)]
pub struct Held {
    _room: OwnedSemaphorePermit,
    _waiting: Waiting,
}

#[derive(Debug)]
struct Queued {
    event: Event,
    held: Held,
}

/// A way for the events of one stream.
pub fn inflow() -> (Inflow, Outflow) {
    let (events, batch) = mpsc::channel(BATCH);
    (Inflow { events, budget: Arc::new(Semaphore::new(BUDGET)) }, Outflow(batch))
}

impl Inflow {
    /// Waits for room. False when nobody records any more.
    pub async fn push(&self, event: Event, tallies: &Tallies) -> bool {
        let bytes = event.encoded_len().clamp(1, BUDGET) as u32;
        let waiting = tallies.came();
        let room = tokio::select! {
            room = Arc::clone(&self.budget).acquire_many_owned(bytes) => room,
            () = self.events.closed() => return false,
        };
        let Ok(room) = room else { return false };
        self.events.send(Queued { event, held: Held { _room: room, _waiting: waiting } }).await.is_ok()
    }

    /// Ends when nobody records any more.
    pub async fn closed(&self) {
        self.events.closed().await;
    }
}

impl Outflow {
    /// What has come, and what is to be dropped once it is recorded. None after the last.
    pub async fn next(&mut self) -> Option<(Vec<Event>, Vec<Held>)> {
        let mut batch = Vec::with_capacity(BATCH);
        if self.0.recv_many(&mut batch, BATCH).await == 0 {
            return None;
        }
        Some(batch.into_iter().map(|queued| (queued.event, queued.held)).unzip())
    }

    /// Whether nothing more will come.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vufleet_proto::v1::{Notice, event::Body};

    use super::*;

    fn event(bytes: usize) -> Event {
        let notice = Notice { text: "x".repeat(bytes), ..Default::default() };
        Event { seq: 1, run: 1, body: Some(Body::Notice(notice)) }
    }

    /// How many events of a size are taken before one has to wait.
    async fn taken(inflow: &Inflow, tallies: &Tallies, bytes: usize) -> usize {
        let mut taken = 0;
        while tokio::time::timeout(Duration::from_secs(1), inflow.push(event(bytes), tallies)).await.is_ok() {
            taken += 1;
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn large_events_are_bounded_by_their_bytes_until_they_are_recorded() {
        let (tallies, (inflow, mut outflow)) = (Tallies::default(), inflow());
        assert_eq!(taken(&inflow, &tallies, 15 << 20).await, 4);
        let (events, held) = outflow.next().await.unwrap();
        assert_eq!((events.len(), held.len()), (4, 4));
        assert_eq!(taken(&inflow, &tallies, 15 << 20).await, 0, "they are not recorded yet");
        drop(held);
        assert_eq!(taken(&inflow, &tallies, 15 << 20).await, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn small_ones_by_their_number() {
        let (tallies, (inflow, _outflow)) = (Tallies::default(), inflow());
        assert_eq!(taken(&inflow, &tallies, 1_000).await, BATCH);
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_becomes_of_an_event_it_waits_no_longer() {
        let (tallies, (inflow, mut outflow)) = (Tallies::default(), inflow());
        for _ in 0..3 {
            assert!(inflow.push(event(10), &tallies).await);
        }
        assert_eq!(tallies.waiting(), 3);
        let (_, held) = outflow.next().await.unwrap();
        assert_eq!(tallies.waiting(), 3, "taken from the queue is not recorded");
        drop(held);
        assert_eq!(tallies.waiting(), 0);
        assert!(inflow.push(event(10), &tallies).await);
        drop(outflow);
        assert!(!inflow.push(event(10), &tallies).await);
        assert_eq!(tallies.waiting(), 0, "neither those that nobody takes out nor those that nobody takes in");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_room_is_told_of_the_end() {
        let (tallies, (inflow, mut outflow)) = (Tallies::default(), inflow());
        assert_eq!(taken(&inflow, &tallies, 15 << 20).await, 4);
        let _held = outflow.next().await.unwrap();
        let (pushed, ()) = tokio::join!(inflow.push(event(15 << 20), &tallies), async {
            tokio::task::yield_now().await;
            drop(outflow);
        });
        assert!(!pushed);
    }
}
