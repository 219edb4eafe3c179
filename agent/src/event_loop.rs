//! The loop of a thread that serves virtual users: tasks, sockets and timers on one epoll instance.
//!
//! A task belongs to the thread that it was spawned on, so nothing here is locked but what other threads leave: a wake-up goes
//! from the socket's event to the task's place in a queue. A socket is registered once and for good, edge by edge, and is
//! read only when the kernel has said that there is something; timers are a heap, and one timerfd for the earliest.
//! Why this and not tokio's own scheduler: docs/decisions/event-loop.md.
//!
//! Futures that need nothing but wakers (channels, semaphores, `select!`) run here as everywhere. Clients that bring tokio's
//! sockets along run under [`block_on_tokio`], where the same loop waits inside tokio's.

mod core;
mod on_tokio;
mod resolve;
mod socket;
mod wakers;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

use vufleet_scenarios::session::Session;

use self::core::MAIN;

pub(crate) use self::core::Core;
pub use self::on_tokio::block_on_tokio;
pub(crate) use self::socket::Socket;

/// Serves this thread until `future` has ended. Tasks that have not ended by then are dropped.
///
/// # Errors
/// When the kernel gives no epoll instance: too many open files.
pub fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    let entered = Core::enter()?;
    let core = entered.core();
    let mut future = pin!(future);
    core.wake(MAIN);
    loop {
        if let Some(output) = core.run_ready(future.as_mut()) {
            return Ok(output);
        }
        core.settle_timers()?;
        core.wait()?;
    }
}

/// Serves this thread in the way that a session wants.
///
/// # Errors
/// When the kernel gives no epoll instance: too many open files.
pub fn block_on_for<S: Session, F: Future>(future: F) -> io::Result<F::Output> {
    if S::ON_TOKIO { block_on_tokio(future) } else { block_on(future) }
}

/// Adds a task to the loop of this thread. One that panics ends alone.
///
/// # Panics
/// Outside of [`block_on`] and [`block_on_tokio`].
pub fn spawn(future: impl Future<Output = ()> + 'static) {
    Core::here().expect("tasks are spawned inside of a loop").spawn(Box::pin(future));
}

/// Lets the other tasks have their turn first.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A task, to be woken by its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task(u32);

impl Task {
    /// The one that is being polled; none outside of a loop.
    pub fn current() -> Option<Task> {
        Core::here().map(|core| Task(core.current()))
    }

    /// Has it polled again. Whether it still lives does not matter.
    pub fn wake(self) {
        if let Some(core) = Core::here() {
            core.wake(self.0);
        }
    }
}

#[cfg(test)]
mod tests;
