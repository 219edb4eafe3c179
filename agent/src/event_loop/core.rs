//! Tasks and their queue, sources and their readiness.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};

use super::wakers::{Remote, TaskWaker};
use crate::fine::Waiting;

/// The task that [`super::block_on`] was given.
pub(super) const MAIN: u32 = 0;
/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// What an event's number says where it is not a source's.
const FROM_REMOTE: u64 = u64::MAX;
const FROM_TIMER: u64 = u64::MAX - 1;
/// A look without a sleep.
pub(super) const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// The longest sleep, for waits that no clock of the kernel can hold.
const LONGEST: Timespec = Timespec { tv_sec: i64::MAX, tv_nsec: 0 };

thread_local! {
    static HERE: RefCell<Option<Rc<Core>>> = const { RefCell::new(None) };
}

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// A thread's loop.
pub(crate) struct Core {
    pub(super) epoll: OwnedFd,
    pub(super) remote: Arc<Remote>,
    /// Who waits for what moment.
    pub(crate) timers: RefCell<Waiting<Watch>>,
    /// What wakes the loop inside of which this one is, if it is and sleeps.
    pub(super) outer: Cell<Option<Waker>>,
    timer: OwnedFd,
    /// What the timer is set to.
    armed: Cell<Option<Instant>>,
    tasks: RefCell<Places<Task>>,
    ready: RefCell<VecDeque<u32>>,
    sources: RefCell<Places<Source>>,
    /// The task that is being polled, and its waker's address.
    current: Cell<(u32, *const ())>,
    events: RefCell<Box<[Event]>>,
}

/// A task, or its empty place while it is polled.
struct Task {
    work: Option<Work>,
    waker: Option<Waker>,
    /// It stands in the queue.
    is_ready: bool,
}

/// What is known of a registered socket.
#[derive(Default)]
struct Source {
    readable: bool,
    /// The other side has closed or the socket is broken: every read returns at once from now on.
    closed: bool,
    reader: Option<Watch>,
    writer: Option<Watch>,
}

/// Who is to be woken.
pub(crate) enum Watch {
    /// A task of the loop.
    Task(u32),
    /// Somebody inside a task who has a waker of its own.
    Waker(Waker),
}

/// A loop that this thread has entered.
pub(super) struct Entered(Rc<Core>);

impl Entered {
    pub(super) fn core(&self) -> &Rc<Core> {
        &self.0
    }
}

impl Drop for Entered {
    /// Tasks hold sockets and timers, which want the loop for their end.
    fn drop(&mut self) {
        let tasks = std::mem::take(&mut *self.0.tasks.borrow_mut());
        drop(tasks);
        HERE.with_borrow_mut(Option::take);
    }
}

impl Core {
    /// Makes a loop and enters it.
    pub(super) fn enter() -> io::Result<Entered> {
        let (epoll, remote) = (epoll::create(epoll::CreateFlags::CLOEXEC)?, Remote::new()?);
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, remote.event(), EventData::new_u64(FROM_REMOTE), flags)?;
        epoll::add(&epoll, &timer, EventData::new_u64(FROM_TIMER), flags)?;
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let core = Rc::new(Core {
            epoll,
            remote: Arc::new(remote),
            timers: RefCell::default(),
            outer: Cell::new(None),
            timer,
            armed: Cell::new(None),
            tasks: RefCell::default(),
            ready: RefCell::default(),
            sources: RefCell::default(),
            current: Cell::new((MAIN, std::ptr::null())),
            events: RefCell::new(vec![nothing; EVENTS].into_boxed_slice()),
        });
        let main = core.add_task(None);
        assert_eq!(main, MAIN, "the main task comes first");
        let before = HERE.with_borrow_mut(|here| here.replace(Rc::clone(&core)));
        assert!(before.is_none(), "a loop cannot be entered from within another");
        Ok(Entered(core))
    }

    /// The loop of this thread, while it is inside of one.
    pub(crate) fn here() -> Option<Rc<Core>> {
        HERE.try_with(|here| here.borrow().clone()).ok().flatten()
    }

    /// Wakes a task if this thread is inside of the loop that has this remote. False if it is not.
    pub(super) fn wake_here(remote: &Arc<Remote>, task: u32) -> bool {
        let here = HERE.try_with(|here| {
            let here = here.borrow();
            let Some(core) = here.as_ref().filter(|core| Arc::ptr_eq(&core.remote, remote)) else { return false };
            core.wake(task);
            core.outer.take().into_iter().for_each(Waker::wake);
            true
        });
        here.unwrap_or(false)
    }

    fn add_task(&self, work: Option<Work>) -> u32 {
        self.tasks.borrow_mut().insert_with(|id| Task {
            work,
            waker: Some(Arc::new(TaskWaker::new(id, Arc::clone(&self.remote))).into()),
            is_ready: false,
        })
    }

    pub(super) fn spawn(&self, work: Work) {
        let id = self.add_task(Some(work));
        self.wake(id);
    }

    /// The task that is being polled.
    pub(super) fn current(&self) -> u32 {
        self.current.get().0
    }

    /// Puts a task into the queue, unless it stands there already or has ended.
    pub(super) fn wake(&self, task: u32) {
        if let Some(place) = self.tasks.borrow_mut().get_mut(task)
            && !std::mem::replace(&mut place.is_ready, true)
        {
            self.ready.borrow_mut().push_back(task);
        }
    }

    /// Who is to be woken for the one who polls with this context.
    pub(crate) fn watch(&self, context: &Context<'_>) -> Watch {
        let (task, waker) = self.current.get();
        if context.waker().data() == waker { Watch::Task(task) } else { Watch::Waker(context.waker().clone()) }
    }

    pub(super) fn notify(&self, watch: Watch) {
        match watch {
            Watch::Task(task) => self.wake(task),
            Watch::Waker(waker) => waker.wake(),
        }
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.borrow().is_empty()
    }

    /// Polls every task that stands in the queue now. Returns what the main task ended with.
    pub(super) fn run_ready<F: Future>(&self, mut main: Pin<&mut F>) -> Option<F::Output> {
        let count = self.ready.borrow().len();
        for _ in 0..count {
            let task = self.ready.borrow_mut().pop_front()?;
            if task != MAIN {
                self.poll_task(task);
                continue;
            }
            let waker = self.begin(MAIN).1?;
            let poll = main.as_mut().poll(&mut Context::from_waker(&waker));
            self.put_back(MAIN, None, waker);
            if let Poll::Ready(output) = poll {
                return Some(output);
            }
        }
        None
    }

    fn begin(&self, task: u32) -> (Option<Work>, Option<Waker>) {
        let mut tasks = self.tasks.borrow_mut();
        let Some(place) = tasks.get_mut(task) else { return (None, None) };
        place.is_ready = false;
        let address = place.waker.as_ref().map_or(std::ptr::null(), Waker::data);
        self.current.set((task, address));
        (place.work.take(), place.waker.take())
    }

    fn put_back(&self, task: u32, work: Option<Work>, waker: Waker) {
        if let Some(place) = self.tasks.borrow_mut().get_mut(task) {
            place.work = work;
            place.waker = Some(waker);
        }
    }

    fn poll_task(&self, task: u32) {
        let (Some(mut work), Some(waker)) = self.begin(task) else { return };
        let poll = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut Context::from_waker(&waker))));
        if matches!(poll, Ok(Poll::Pending)) {
            return self.put_back(task, Some(work), waker);
        }
        // A panic has been told where it happened. The place is freed last: what ends here may wake others.
        if catch_unwind(AssertUnwindSafe(|| drop(work))).is_err() {
            tracing::debug!("a task panicked as it was dropped");
        }
        let ended = self.tasks.borrow_mut().remove(task);
        drop((ended, waker));
    }

    /// Wakes who is due, or sets the timer for the earliest of those who wait.
    pub(super) fn settle_timers(&self) -> io::Result<()> {
        loop {
            let Some(due) = self.timers.borrow_mut().earliest() else { return Ok(()) };
            if self.armed.get().is_some_and(|armed| armed <= due) {
                return Ok(());
            }
            let now = Instant::now();
            if due > now {
                let never = Timespec { tv_sec: 0, tv_nsec: 0 };
                let wait = Timespec::try_from(due - now).unwrap_or(LONGEST);
                let once = Itimerspec { it_interval: never, it_value: wait };
                timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
                self.armed.set(Some(due));
                return Ok(());
            }
            while let Some(watch) = self.next_due(now) {
                self.notify(watch);
            }
        }
    }

    fn next_due(&self, now: Instant) -> Option<Watch> {
        self.timers.borrow_mut().take_due(now)
    }

    /// Sleeps until something happens, unless a task is ready.
    pub(super) fn wait(&self) -> io::Result<()> {
        let awake = self.has_ready() || !self.remote.may_sleep();
        self.look(awake.then_some(&AT_ONCE)).map(drop)
    }

    /// Takes what has happened, after so long at most. Whether there may be more of it.
    pub(super) fn look(&self, timeout: Option<&Timespec>) -> io::Result<bool> {
        let mut events = self.events.borrow_mut();
        let count = match epoll::wait(&self.epoll, &mut events[..], timeout) {
            Err(Errno::INTR) => 0,
            count => count?,
        };
        for &Event { flags, data } in &events[..count] {
            match data.u64() {
                // Neither is read: an edge is told once, and setting the timer again clears it.
                FROM_REMOTE => {}
                FROM_TIMER => self.armed.set(None),
                source => self.happened(source as u32, flags),
            }
        }
        self.remote.take(|task| self.wake(task));
        Ok(count == EVENTS)
    }

    fn happened(&self, source: u32, flags: EventFlags) {
        let over = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        let (mut reader, mut writer) = (None, None);
        if let Some(source) = self.sources.borrow_mut().get_mut(source) {
            let closed = flags.intersects(over);
            source.closed |= closed;
            if closed || flags.contains(EventFlags::IN) {
                source.readable = true;
                reader = source.reader.take();
            }
            if closed || flags.contains(EventFlags::OUT) {
                writer = source.writer.take();
            }
        }
        // Others may be woken here who register sources of their own.
        if let Some(watch) = reader {
            self.notify(watch);
        }
        if let Some(watch) = writer {
            self.notify(watch);
        }
    }

    /// Registers a socket. `also`: what is waited for besides something to read.
    pub(super) fn register(&self, socket: impl AsFd, also: EventFlags) -> io::Result<u32> {
        let source = self.sources.borrow_mut().insert_with(|_| Source::default());
        let added = epoll::add(&self.epoll, socket, EventData::new_u64(source.into()), interest(also));
        if let Err(error) = added {
            self.unregister(source);
            return Err(error.into());
        }
        Ok(source)
    }

    /// Waits for something else besides something to read. What is there already is told at once.
    pub(super) fn change(&self, source: u32, socket: impl AsFd, also: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(source.into()), interest(also))?)
    }

    /// Forgets a socket, which its owner closes.
    pub(super) fn unregister(&self, source: u32) {
        let source = self.sources.borrow_mut().remove(source);
        drop(source);
    }

    /// Whether a read may find something; if not, the reader is woken once it may.
    #[inline]
    pub(super) fn may_read(&self, source: u32, context: &Context<'_>) -> bool {
        let mut sources = self.sources.borrow_mut();
        let Some(source) = sources.get_mut(source) else { return true };
        if source.readable {
            return true;
        }
        // Dropped without a borrow: it may be the last that is left of whatever it would have woken.
        let before = source.reader.replace(self.watch(context));
        drop(sources);
        drop(before);
        false
    }

    /// The kernel had nothing to read. It is asked again when it says that there is something: an end that was seen before would
    /// have been read, so what was seen belonged to an earlier socket of this number.
    pub(super) fn found_nothing(&self, source: u32) {
        if let Some(source) = self.sources.borrow_mut().get_mut(source) {
            (source.readable, source.closed) = (false, false);
        }
    }

    /// Everything that was there has been read.
    #[inline]
    pub(super) fn drained(&self, source: u32) {
        if let Some(source) = self.sources.borrow_mut().get_mut(source) {
            source.readable = source.closed;
        }
    }

    pub(super) fn watch_write(&self, source: u32, context: &Context<'_>) {
        let watch = self.watch(context);
        if let Some(source) = self.sources.borrow_mut().get_mut(source) {
            source.writer = Some(watch);
        }
    }
}

/// Room in the send buffer is not asked for before it is missed: a unix socket tells of it with every message that the other side takes.
fn interest(also: EventFlags) -> EventFlags {
    EventFlags::IN | EventFlags::RDHUP | EventFlags::ET | also
}

/// Things with numbers, which are used again.
struct Places<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Places { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Places<T> {
    fn insert_with(&mut self, make: impl FnOnce(u32) -> T) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 of them")
        });
        self.places[number as usize] = Some(make(number));
        number
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.places.get_mut(number as usize)?.as_mut()
    }

    fn remove(&mut self, number: u32) -> Option<T> {
        let place = self.places.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(place)
    }
}
