//! Stopping a session's own statement from another thread.
//!
//! The session gives up waiting, tells the server by an attention to give up too, and reads on until the server has said that
//! it has. A server that does not say so in time, or says something else, leaves a connection on which nobody knows what
//! comes next: it is lost. So is one whose answer was complete when the attention went out, as the client takes the end of
//! the answer for the end of everything.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::Notify;
use vufleet_scenarios::session::{Fault, FaultKind};

use super::Tds;

/// How long a server may take to end a statement. After as long the watchdog drops the session anyway.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why anybody wants it to end.
const LATE: &str = "it went past target.deadline, or past the end of the load";

/// What a session looks at while it waits for the server.
#[derive(Debug, Default)]
pub(super) struct Stop(Notify);

impl Stop {
    /// Stops the statement under way, or the next one.
    pub fn now(&self) {
        self.0.notify_one();
    }

    /// Forgets a wish that came too late: the statement that it meant is over.
    pub fn forget(&self) {
        let wish = pin!(self.0.notified());
        if wish.enable() {
            tracing::debug!("a statement was stopped after its end");
        }
    }

    /// Does `work` unless it is stopped first.
    pub async fn unless<T>(
        &self,
        client: &mut Tds,
        work: impl AsyncFnOnce(&mut Tds) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let finished = {
            let work = pin!(work(client));
            tokio::select! {
                // The work first: an attention must follow a request.
                biased;
                result = work => Some(result),
                () = self.0.notified() => None,
            }
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
