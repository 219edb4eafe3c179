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

    /// Another connection begins, to a ledger that has everything up to `recorded`: the rest goes out again. It is numbered
    /// from there on, which changes nothing unless the ledger is another one or has lost what it had acknowledged.
    pub fn rewind(&mut self, recorded: u64) {
        self.acknowledged(recorded);
        self.handed = 0;
        self.last_seq = recorded;
        for event in &mut self.events {
            self.last_seq += 1;
            event.seq = self.last_seq;
        }
    }

    /// Forgets everything: nobody may have it.
    pub fn clear(&mut self) {
        self.events.clear();
        self.handed = 0;
    }

    /// Events that are on their way, as far as the present connection took them, and not known to be recorded.
    pub fn unacknowledged(&self) -> usize {
        self.handed
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

    /// Else it would say of an event that the ledger has never seen that it follows the last one it has.
    #[test]
    fn what_goes_out_again_follows_what_is_recorded() {
        let mut outbox = filled(5);
        outbox.acknowledged(3);
        outbox.rewind(1);
        outbox.push(6, Body::Notice(Notice::default()));
        assert_eq!(drain(&mut outbox), [2, 3, 4], "the ledger has lost two of what it had acknowledged");
        outbox.rewind(9);
        outbox.push(7, Body::Notice(Notice::default()));
        assert_eq!(drain(&mut outbox), [10], "an earlier stream's last events had arrived after all");
        outbox.clear();
        outbox.rewind(0);
        outbox.push(8, Body::Notice(Notice::default()));
        assert_eq!(drain(&mut outbox), [1], "another ledger counts from its own beginning");
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
