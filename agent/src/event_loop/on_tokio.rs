//! The loop inside of tokio's, for clients that bring tokio's sockets along: tokio waits for the loop's epoll instance as for a
//! socket, and everything else is the same.

use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::unix::AsyncFd;
use tokio::runtime::Builder;

use super::core::{AT_ONCE, Core, Entered, MAIN};

/// Rounds of the loop before tokio's sockets have their turn.
const ROUNDS: u32 = 16;

/// What [`super::block_on`] does, with tokio's sockets and timers at hand.
///
/// # Errors
/// When the kernel gives no epoll instance: too many open files.
pub fn block_on_tokio<F: Future>(future: F) -> io::Result<F::Output> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let entered = Core::enter()?;
    let mut future = pin!(future);
    runtime.block_on(async {
        let nested = Nested { events: watched(entered.core().epoll.try_clone()?)?, entered: &entered };
        entered.core().wake(MAIN);
        // tokio's budget is for one task, and here all of them are inside of one; they give tokio its turn by themselves.
        tokio::task::unconstrained(poll_fn(|context| nested.poll(context, future.as_mut()))).await
    })
}

#[expect(deprecated, reason = "its successor is unsafe: a type could lie about its descriptor. This one does not")]
fn watched(epoll: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(epoll)
}

struct Nested<'a> {
    events: AsyncFd<OwnedFd>,
    entered: &'a Entered,
}

impl Nested<'_> {
    fn poll<F: Future>(&self, context: &mut Context<'_>, mut future: Pin<&mut F>) -> Poll<io::Result<F::Output>> {
        let core = self.entered.core();
        core.outer.take();
        for _ in 0..ROUNDS {
            let more = core.look(Some(&AT_ONCE))?;
            if let Some(output) = core.run_ready(future.as_mut()) {
                return Poll::Ready(Ok(output));
            }
            core.settle_timers()?;
            if more || core.has_ready() || !core.remote.may_sleep() {
                continue;
            }
            // An edge that comes from now on ends tokio's sleep, and so does a task that tokio wakes meanwhile.
            core.outer.replace(Some(context.waker().clone()));
            let mut seen = ready!(self.events.poll_read_ready(context))?;
            seen.clear_ready();
            core.outer.take();
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
