//! Wake-ups: of a loop's own thread, which cost a place in a queue, and of other threads, which may have to end its sleep.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::core::Core;

/// What other threads reach a loop by.
pub(super) struct Remote {
    event: EventFd,
    left: Mutex<Left>,
}

/// What they have left.
#[derive(Default)]
struct Left {
    tasks: Vec<u32>,
    /// The loop will not look here again before the event tells it to.
    asleep: bool,
}

impl Remote {
    pub(super) fn new() -> io::Result<Remote> {
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Remote { event, left: Mutex::default() })
    }

    pub(super) fn event(&self) -> &EventFd {
        &self.event
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        // Nothing behind this lock can be left half-done.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing was left; if so, whatever is left from now on ends the sleep.
    pub(super) fn may_sleep(&self) -> bool {
        let mut left = self.left();
        left.asleep = left.tasks.is_empty();
        left.asleep
    }

    /// Takes what was left.
    pub(super) fn take(&self, mut each: impl FnMut(u32)) {
        let mut left = self.left();
        left.asleep = false;
        left.tasks.drain(..).for_each(&mut each);
    }

    fn leave(&self, task: u32) {
        let mut left = self.left();
        left.tasks.push(task);
        let asleep = std::mem::replace(&mut left.asleep, false);
        drop(left);
        if asleep && let Err(errno) = self.event.write(1) {
            tracing::error!(%errno, "a thread of virtual users could not be woken");
        }
    }
}

/// Wakes one task from wherever.
pub(super) struct TaskWaker {
    task: u32,
    remote: Arc<Remote>,
}

impl TaskWaker {
    pub(super) fn new(task: u32, remote: Arc<Remote>) -> TaskWaker {
        TaskWaker { task, remote }
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !Core::wake_here(&self.remote, self.task) {
            self.remote.leave(self.task);
        }
    }
}
