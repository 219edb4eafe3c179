//! The ledger on a thread of its own: writing waits for the disk, and nothing else should.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use anyhow::Context;
use tokio::sync::oneshot;

use crate::ledger::{Ledger, LedgerError};

type Work = Box<dyn FnOnce(&mut Ledger) + Send>;

/// A handle to the ledger's thread.
#[derive(Debug, Clone)]
pub struct Record {
    work: mpsc::Sender<Work>,
    queue: Arc<AtomicUsize>,
}

impl Record {
    /// Hands the ledger to a thread of its own. It is closed when the last handle is gone.
    pub fn keep(mut ledger: Ledger) -> anyhow::Result<Record> {
        let (work, inbox) = mpsc::channel::<Work>();
        let queue: Arc<AtomicUsize> = Arc::default();
        let waiting = Arc::clone(&queue);
        thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || {
                for work in inbox {
                    work(&mut ledger);
                    waiting.fetch_sub(1, Ordering::Relaxed);
                }
            })
            .context("cannot start the ledger's thread; raise the limit of threads (ulimit -u)")?;
        Ok(Record { work, queue })
    }

    /// What is to be done with the ledger, the work at hand included.
    pub fn queue(&self) -> usize {
        self.queue.load(Ordering::Relaxed)
    }

    /// Does something with the ledger and waits for the answer.
    pub async fn with<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut Ledger) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let (answer, answered) = oneshot::channel();
        let work: Work = Box::new(move |ledger| {
            // Nobody waits any more when the connection that asked has gone; the ledger has it all the same.
            answer.send(what(ledger)).unwrap_or_default();
        });
        self.queue.fetch_add(1, Ordering::Relaxed);
        if self.work.send(work).is_err() {
            return Err(LedgerError::Closed);
        }
        answered.await.unwrap_or(Err(LedgerError::Closed))
    }
}
