//! Stopping a session's own statement from another thread.
//!
//! The session gives up waiting, tells the server by an attention to give up too, and reads on until the server has said that
//! it has. A server that does not say so in time, or says something else, leaves a connection on which nobody knows what
//! comes next: it is lost. So is one whose answer was complete when the attention went out, as the client takes the end of
//! the answer for the end of everything.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use vufleet_scenarios::session::{Fault, FaultKind};

use super::Tds;

/// How long a server may take to end a statement. After as long the watchdog drops the session anyway.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why anybody wants it to end.
const LATE: &str = "it went past target.deadline, or past the end of the load";

/// What a session looks at while it waits for the server.
///
/// Looked at by every statement and used by hardly any: hence no queue of waiters, but the one waker of the one task that a
/// session belongs to, which stays from one statement to the next.
#[derive(Debug, Default)]
pub(super) struct Stop {
    wished: AtomicBool,
    waiting: Mutex<Option<Waker>>,
}

impl Stop {
    /// Stops the statement under way, or the next one.
    pub fn now(&self) {
        self.wished.store(true, Ordering::Release);
        if let Some(waker) = &*self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake_by_ref();
        }
    }

    /// Forgets a wish that came too late: the statement that it meant is over.
    pub fn forget(&self) {
        if self.take() {
            tracing::debug!("a statement was stopped after its end");
        }
    }

    fn take(&self) -> bool {
        self.wished.load(Ordering::Relaxed) && self.wished.swap(false, Ordering::Acquire)
    }

    /// Registers first, under the lock that a wish comes through after it was made, and looks then: none is missed.
    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if !waiting.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                *waiting = Some(context.waker().clone());
            }
        }
        if self.take() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Does `work` unless it is stopped first.
    pub async fn unless<T>(
        &self,
        client: &mut Tds,
        work: impl AsyncFnOnce(&mut Tds) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let finished = {
            let mut work = pin!(work(client));
            // The work first: an attention must follow a request.
            poll_fn(|context| match work.as_mut().poll(context) {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                Poll::Pending => self.poll(context).map(|()| None),
            })
            .await
        };
        match finished {
            Some(result) => result,
            // Boxed: seldom, and larger than most statements.
            None => Err(Box::pin(attention(client)).await),
        }
    }
}

async fn attention(client: &mut Tds) -> Fault {
    match tokio::time::timeout(PATIENCE, client.cancel_query()).await {
        Ok(Ok(())) => Fault::new(FaultKind::Deadline, format!("{LATE}; ended by an attention")),
        Ok(Err(error)) => Fault::new(FaultKind::ConnectionLost, format!("{LATE}; it could not be stopped: {error}")),
        Err(_) => Fault::new(
            FaultKind::ConnectionLost,
            format!("{LATE}; the server did not end it within {PATIENCE:?} of being asked to"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    /// Counts how often it was woken.
    #[derive(Default)]
    struct Woken(std::sync::atomic::AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_wish_wakes_whoever_waits_and_is_granted_once() {
        let (stop, woken) = (Stop::default(), Arc::new(Woken::default()));
        let waker = Waker::from(Arc::clone(&woken));
        let context = Context::from_waker(&waker);
        let times = || woken.0.load(Ordering::Relaxed);
        assert!(stop.poll(&context).is_pending());
        stop.now();
        assert_eq!(times(), 1);
        assert!(stop.poll(&context).is_ready());
        assert!(stop.poll(&context).is_pending(), "granted already");
        stop.now();
        stop.forget();
        assert!(stop.poll(&context).is_pending(), "forgotten");
    }

    #[test]
    fn a_session_that_moves_to_another_task_is_woken_there() {
        let stop = Stop::default();
        let tasks = [Arc::new(Woken::default()), Arc::new(Woken::default())];
        for task in &tasks {
            assert!(stop.poll(&Context::from_waker(&Waker::from(Arc::clone(task)))).is_pending());
        }
        stop.now();
        assert_eq!(tasks.map(|task| task.0.load(Ordering::Relaxed)), [0, 1]);
    }

    #[test]
    fn a_wish_before_anybody_waits_is_kept() {
        let stop = Stop::default();
        stop.now();
        assert!(stop.poll(&Context::from_waker(Waker::noop())).is_ready());
    }
}
