//! Commands on their way to one agent, within a bound: an agent that does not take them is cut off, and takes up what it missed when
//! it joins again. Without it, whoever asks for the time and reads no answer would fill the coordinator's memory.

use tokio::sync::mpsc;
use vufleet_proto::v1::{Command, command};
use vufleet_trust::server::Peer;

/// Commands that may wait for one agent. A run has a dozen, a busy second some acknowledgements.
const WAITING: usize = 1_024;

/// The near end of the way to an agent.
#[derive(Debug, Clone)]
pub struct Queue {
    commands: mpsc::Sender<Command>,
    peer: Peer,
}

impl Queue {
    /// A way to a peer, and its far end.
    pub fn to(peer: Peer) -> (Queue, mpsc::Receiver<Command>) {
        let (commands, outgoing) = mpsc::channel(WAITING);
        (Queue { commands, peer }, outgoing)
    }

    /// Whom it leads to.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The same with no way left: the last one that is not ends the stream of commands.
    pub fn closed(&self) -> Queue {
        Queue { commands: mpsc::channel(1).0, peer: self.peer.clone() }
    }

    /// Sends a command. False when the agent has gone, or is cut off now because it takes none.
    pub fn send(&self, body: command::Body) -> bool {
        match self.commands.try_send(Command { body: Some(body) }) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Closed(_)) => false,
            Err(mpsc::error::TrySendError::Full(_)) => {
                tracing::warn!(peer = %self.peer, "{WAITING} commands wait for an agent that takes none; it is cut off");
                self.peer.hang_up();
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cancel() -> command::Body {
        command::Body::Cancel(vufleet_proto::v1::Cancel { run: 1 })
    }

    #[test]
    fn an_agent_that_takes_nothing_is_bounded() {
        let (queue, mut outgoing) = Queue::to(Peer::new(([127, 0, 0, 1], 1).into(), None));
        assert_eq!((0..2 * WAITING).filter(|_| queue.send(cancel())).count(), WAITING);
        outgoing.try_recv().unwrap();
        assert!(queue.send(cancel()));
        drop(outgoing);
        assert!(!queue.send(cancel()));
    }
}
