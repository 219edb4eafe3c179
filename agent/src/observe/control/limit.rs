//! How long control statements may take together, and how one is stopped that takes longer.

use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::time::timeout;
use vufleet_proto::v1;
use vufleet_scenarios::session::{Fault, FaultKind, Interrupt, Session};
use vufleet_scenarios::study::Target;

/// How long a server may take to end what it was told to stop, until the connection is given up.
const STOPPING: Duration = Duration::from_secs(10);
/// How long a statement may take that comes after the limit: it opens again what the one before it has closed.
const AFTER: Duration = Duration::from_secs(30);

/// The limit of a command's statements together.
#[derive(Debug)]
pub(super) struct Limit {
    whole: Option<Duration>,
    begun: Instant,
    passed: bool,
}

impl Limit {
    /// As the command says.
    pub(super) fn of(command: &v1::Control) -> Limit {
        let whole = (command.limit_ns > 0).then(|| Duration::from_nanos(command.limit_ns));
        Limit { whole, begun: Instant::now(), passed: false }
    }

    /// Whether a statement was stopped because of it, or should have been.
    pub(super) fn has_passed(&self) -> bool {
        self.passed
    }

    /// Does `work` on a session, and has it stopped at the limit.
    ///
    /// # Errors
    /// Those of the work; a lost connection where the server does not stop it.
    pub(super) async fn keep<S: Session, T>(
        &mut self,
        target: &Target,
        session: &mut S,
        work: impl AsyncFnOnce(&mut S) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let Some(whole) = self.whole else { return work(session).await };
        let left = if self.passed { AFTER } else { whole.saturating_sub(self.begun.elapsed()) };
        let interrupt = session.interrupt();
        if S::BLOCKING {
            // Nothing else is done on this thread meanwhile.
            let guard = Guard::post(interrupt, left);
            let result = work(session).await;
            return if guard.dismiss() { self.stopped(whole, result) } else { result };
        }
        let mut work = pin!(work(session));
        if let Ok(result) = timeout(left, &mut work).await {
            return result;
        }
        if let Err(fault) = stop::<S>(interrupt, target).await {
            tracing::warn!(%fault, "a statement that takes longer than it may could not be stopped");
        }
        match timeout(STOPPING, work).await {
            Ok(result) => self.stopped(whole, result),
            Err(_) => {
                self.passed = true;
                let what = format!(
                    "it takes longer than the {whole:?} that it may, and was not to be stopped; its connection was closed, but it \
                     may go on"
                );
                Err(Fault::new(FaultKind::ConnectionLost, what))
            }
        }
    }

    /// Some statements end without an error where they are stopped, and have not done what they are for.
    fn stopped<T>(&mut self, whole: Duration, result: Result<T, Fault>) -> Result<T, Fault> {
        self.passed = true;
        let what = format!("it took longer than the {whole:?} that it may, and was stopped");
        Err(match result {
            Ok(_) => Fault::new(FaultKind::Deadline, what),
            Err(fault) if fault.kind.ends_connection() => Fault::new(fault.kind, format!("{what}: {fault}")),
            Err(fault) => Fault::new(FaultKind::Deadline, format!("{what}: {fault}")),
        })
    }
}

async fn stop<S: Session>(interrupt: Interrupt, target: &Target) -> Result<(), Fault> {
    match interrupt {
        Interrupt::None => Ok(()),
        Interrupt::Call(call) => {
            call.stop();
            Ok(())
        }
        Interrupt::Statement(sql) => {
            let send = async {
                let mut other = Box::pin(S::connect(target, Rc::from([]))).await?;
                let sent = other.batch(&sql).await;
                other.close().await;
                sent
            };
            let silent = || Fault::new(FaultKind::ConnectionLost, "no answer on a second connection");
            timeout(STOPPING, send).await.unwrap_or_else(|_| Err(silent()))
        }
    }
}

/// A thread that stops a session at its time, unless it is dismissed before.
struct Guard {
    over: Sender<()>,
    /// None where there is no thread left: then nothing is stopped.
    watching: Option<JoinHandle<bool>>,
}

impl Guard {
    fn post(interrupt: Interrupt, left: Duration) -> Guard {
        let (over, dismissed) = mpsc::channel();
        let watch = move || {
            let is_late = dismissed.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
            if let (true, Interrupt::Call(call)) = (is_late, interrupt) {
                call.stop();
            }
            is_late
        };
        let watching = thread::Builder::new().name("limit".to_owned()).spawn(watch);
        Guard { over, watching: watching.ok() }
    }

    /// Whether it has stopped the session.
    fn dismiss(self) -> bool {
        drop(self.over);
        self.watching.is_some_and(|watching| watching.join().unwrap_or(false))
    }
}
