//! Events on their way to the coordinator: numbered, kept until acknowledged, sent again after a reconnect.

use std::collections::VecDeque;

use tokio::sync::mpsc;
use vufleet_proto::v1::{Event, event::Body};

/// Where every part of the agent drops its events; never blocks.
#[derive(Debug, Clone)]
pub struct Outlet {
    sender: mpsc::UnboundedSender<(u64, Body)>,
}

impl Outlet {
    /// An outlet and the end that the uplink empties.
    pub fn new() -> (Outlet, mpsc::UnboundedReceiver<(u64, Body)>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Outlet { sender }, receiver)
    }

    /// Hands over an event of a run (0 for none).
    pub fn send(&self, run: u64, body: Body) {
        if self.sender.send((run, body)).is_err() {
            tracing::debug!("an event came after the uplink had ended");
        }
    }
}

/// Numbers events and remembers those that the coordinator has not recorded yet.
///
/// Its size is bounded by the lease: a coordinator that is silent for that long ends the load, and with it the events.
#[derive(Debug, Default)]
pub struct Outbox {
    events: VecDeque<Event>,
    last_seq: u64,
    /// How many of `events` have been handed to the present connection.
    handed: usize,
}

impl Outbox {
    /// Takes in an event.
    pub fn push(&mut self, run: u64, body: Body) {
        self.last_seq += 1;
        self.events.push_back(Event { seq: self.last_seq, run, body: Some(body) });
    }

    /// The next event for the present connection.
    pub fn next(&self) -> Option<&Event> {
        self.events.get(self.handed)
    }

    /// The event that [`next`](Outbox::next) showed is on its way.
    pub fn handed_over(&mut self) {
        self.handed += 1;
    }

    /// Everything up to `seq` is recorded.
    pub fn acknowledged(&mut self, seq: u64) {
        while self.events.front().is_some_and(|event| event.seq <= seq) {
            self.events.pop_front();
            self.handed = self.handed.saturating_sub(1);
        }
    }

    /// Another connection begins: what is not recorded goes out again.
    pub fn rewind(&mut self, recorded: u64) {
        self.acknowledged(recorded);
        self.handed = 0;
    }

    /// Events that are not known to be recorded.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether everything is recorded.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vufleet_proto::v1::Notice;

    fn filled(count: u64) -> Outbox {
        let mut outbox = Outbox::default();
        for run in 1..=count {
            outbox.push(run, Body::Notice(Notice::default()));
        }
        outbox
    }

    fn drain(outbox: &mut Outbox) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(event) = outbox.next() {
            sent.push(event.seq);
            outbox.handed_over();
        }
        sent
    }

    #[test]
    fn what_was_not_recorded_goes_out_again() {
        let mut outbox = filled(5);
        assert_eq!(drain(&mut outbox), [1, 2, 3, 4, 5]);
        outbox.acknowledged(2);
        outbox.rewind(3);
        assert_eq!(drain(&mut outbox), [4, 5]);
    }

    #[test]
    fn acknowledgements_in_the_middle_keep_the_place() {
        let mut outbox = filled(3);
        outbox.handed_over();
        outbox.handed_over();
        outbox.acknowledged(1);
        assert_eq!(outbox.next().map(|event| event.seq), Some(3));
        outbox.acknowledged(3);
        assert!(outbox.is_empty() && outbox.next().is_none());
        outbox.push(9, Body::Notice(Notice::default()));
        assert_eq!(drain(&mut outbox), [4]);
    }
}
