//! One writer at a time per file, first come first served, and how to interrupt whoever waits.
//!
//! SQLite has one writer per file and no queue: the others poll, and whoever is lucky comes next. Within a process this
//! gate makes a fair queue of it. It does not span processes, so a busy handler has to stay behind it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use rusqlite::InterruptHandle;
use tokio::sync::{Mutex as FairMutex, Notify, OwnedMutexGuard};
use vufleet_scenarios::session::{Access, Fault, FaultKind};

/// The gate of one file, the same for every session of the process.
#[derive(Clone)]
pub(super) struct Gate(Arc<FairMutex<()>>);

/// A writer's turn; the next one's begins when it is dropped.
pub(super) type Turn = OwnedMutexGuard<()>;

impl Gate {
    /// The gate of an existing file, whatever path leads to it.
    pub fn of(path: &Path) -> Gate {
        static GATES: OnceLock<Mutex<HashMap<PathBuf, Weak<FairMutex<()>>>>> = OnceLock::new();
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut gates = GATES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(&path).and_then(Weak::upgrade) {
            return Gate(gate);
        }
        gates.retain(|_, gate| gate.strong_count() > 0);
        let gate = Arc::new(FairMutex::new(()));
        gates.insert(path, Arc::downgrade(&gate));
        Gate(gate)
    }

    /// Waits for the turn.
    pub async fn pass(&self) -> Turn {
        Arc::clone(&self.0).lock_owned().await
    }
}

/// What another thread raises to stop a session, wherever it is: in a statement, at the gate, or between two calls.
pub(super) struct Signal {
    statement: InterruptHandle,
    at_gate: Notify,
    raised: AtomicBool,
}

impl Signal {
    pub fn new(statement: InterruptHandle) -> Self {
        Signal { statement, at_gate: Notify::new(), raised: AtomicBool::new(false) }
    }

    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        self.at_gate.notify_waiters();
        self.statement.interrupt();
    }

    pub fn clear(&self) {
        self.raised.store(false, Ordering::SeqCst);
    }

    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    fn check(&self) -> Result<(), Fault> {
        if self.is_raised() {
            return Err(Fault::new(
                FaultKind::Deadline,
                "interrupted between two statements or while waiting to write",
            ));
        }
        Ok(())
    }
}

/// A session's way through the gate.
pub(super) struct Passage {
    gate: Gate,
    signal: Arc<Signal>,
    /// Held exactly as long as a write is under way or a transaction may write.
    turn: Option<Turn>,
    queued: Duration,
}

impl Passage {
    pub fn new(gate: Gate, signal: Arc<Signal>) -> Self {
        Passage { gate, signal, turn: None, queued: Duration::ZERO }
    }

    pub fn signal(&self) -> &Arc<Signal> {
        &self.signal
    }

    /// Starts something new: an old signal does not concern it, and this thread's other tasks get their chance, which
    /// blocking calls would never give them.
    pub async fn start(&self) {
        self.signal.clear();
        tokio::task::yield_now().await;
    }

    /// Takes the turn for a write, unless it is this session's already.
    pub async fn enter(&mut self, access: Access) -> Result<(), Fault> {
        // Before the check, so that a signal raised right after it is not missed.
        let interrupted = self.signal.at_gate.notified();
        self.signal.check()?;
        if access == Access::Read || self.turn.is_some() {
            return Ok(());
        }
        // Nobody is overtaken here: the gate is handed to the first in the queue without being free in between.
        if let Ok(turn) = Arc::clone(&self.gate.0).try_lock_owned() {
            self.turn = Some(turn);
            return Ok(());
        }
        let start = Instant::now();
        tokio::select! {
            biased;
            () = interrupted => {}
            turn = self.gate.pass() => self.turn = Some(turn),
        }
        self.queued += start.elapsed();
        self.signal.check().inspect_err(|_| self.turn = None)
    }

    /// Gives the turn to the next writer.
    pub fn leave(&mut self) {
        self.turn = None;
    }

    pub fn take_queued(&mut self) -> Duration {
        std::mem::take(&mut self.queued)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    fn passage(gate: &Gate, connection: &Connection) -> Passage {
        Passage::new(gate.clone(), Arc::new(Signal::new(connection.get_interrupt_handle())))
    }

    #[test]
    fn every_path_to_a_file_leads_to_one_gate() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.db");
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, directory.path().join("b.db")).unwrap();
        let gate = Gate::of(&file);
        assert!(Arc::ptr_eq(&gate.0, &Gate::of(&directory.path().join("b.db")).0));
        assert!(!Arc::ptr_eq(&gate.0, &Gate::of(&directory.path().join("c.db")).0));
    }

    #[tokio::test]
    async fn turns_are_taken_in_the_order_of_arrival() {
        let gate = Gate(Arc::default());
        let first = gate.pass().await;
        let (sender, mut order) = tokio::sync::mpsc::unbounded_channel();
        for i in 0..5 {
            let (gate, sender) = (gate.clone(), sender.clone());
            tokio::spawn(async move {
                let _turn = gate.pass().await;
                sender.send(i).unwrap();
            });
            // The runtime has one thread: the task runs until it waits at the gate.
            tokio::task::yield_now().await;
        }
        drop((first, sender));
        let mut seen = vec![];
        while let Some(i) = order.recv().await {
            seen.push(i);
        }
        assert_eq!(seen, [0, 1, 2, 3, 4]);
    }

    #[tokio::test]
    async fn a_signal_ends_the_wait_at_the_gate_and_not_the_next_one() {
        let connection = Connection::open_in_memory().unwrap();
        let gate = Gate(Arc::default());
        let turn = gate.pass().await;
        let mut waiting = passage(&gate, &connection);
        let signal = Arc::clone(waiting.signal());
        let ended = tokio::join!(waiting.enter(Access::Write), async { signal.raise() }).0;
        assert_eq!(ended.unwrap_err().kind, FaultKind::Deadline);

        drop(turn);
        waiting.start().await;
        waiting.enter(Access::Write).await.unwrap();
        assert!(gate.0.try_lock().is_err(), "the turn is held");
        waiting.leave();
        assert!(gate.0.try_lock().is_ok());
    }

    #[tokio::test]
    async fn readers_do_not_queue() {
        let connection = Connection::open_in_memory().unwrap();
        let gate = Gate(Arc::default());
        let _turn = gate.pass().await;
        let mut reader = passage(&gate, &connection);
        reader.enter(Access::Read).await.unwrap();
        assert_eq!(reader.take_queued(), Duration::ZERO);
    }
}
