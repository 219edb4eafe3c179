//! Deadlines without a timer per transaction: one thread looks at every seat four times a second and stops what has
//! run too long.
//!
//! A database goes on with a query whose client has left, and keeps its locks. So a late query is first stopped by the
//! database itself (KILL QUERY on a spare connection, or an interrupt handle); only when that has not helped within
//! [`GRACE`] is the session dropped. Looking never waits for the database: one that does not answer holds up the stopping,
//! not the dropping.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use vufleet_scenarios::session::{Fault, Interrupt, Session};
use vufleet_scenarios::study::Target;

use crate::fine;

/// From stopping a query to giving its session up.
pub const GRACE: Duration = Duration::from_secs(2);

const ROUND: Duration = Duration::from_millis(250);

/// What the watchdog knows of one session, written by its user with plain stores.
#[derive(Default)]
pub struct Post {
    /// Nanoseconds since the crew's epoch at which the transaction under way began; 0 when none is.
    busy_since: AtomicU64,
    interrupt: Mutex<Option<Interrupt>>,
}

impl Post {
    /// A transaction begins.
    pub fn busy(&self, since_ns: u64) {
        self.busy_since.store(since_ns.max(1), Ordering::Relaxed);
    }

    /// The transaction is over.
    pub fn idle(&self) {
        self.busy_since.store(0, Ordering::Relaxed);
    }

    /// How the session's query can be stopped from now on; set once a connection, never per transaction.
    pub fn reach_by(&self, interrupt: Interrupt) {
        *self.interrupt.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(interrupt);
    }
}

/// Names a seat to the thread that serves it: which one is to give its session up.
pub type Kill = usize;

/// One watched session.
pub struct Watched {
    /// What its user tells.
    pub post: Arc<Post>,
    /// The thread that serves it.
    pub thread: mpsc::UnboundedSender<Kill>,
    /// Its number in that thread.
    pub seat: usize,
}

/// The watchdog of one crew.
pub struct Watchdog {
    epoch: Instant,
    deadline: Duration,
    /// Nanoseconds since `epoch` after which nothing may be busy; `u64::MAX` while the load runs.
    all_out_ns: AtomicU64,
    over: AtomicBool,
}

impl Watchdog {
    /// A watchdog for transactions of at most `deadline`.
    pub fn new(epoch: Instant, deadline: Duration) -> Arc<Self> {
        Arc::new(Watchdog { epoch, deadline, all_out_ns: AtomicU64::new(u64::MAX), over: AtomicBool::new(false) })
    }

    /// Whatever is still busy at `instant` is stopped.
    pub fn all_out(&self, instant: Instant) {
        let at = instant.saturating_duration_since(self.epoch).as_nanos() as u64;
        self.all_out_ns.fetch_min(at, Ordering::Relaxed);
    }

    /// Ends the watch.
    pub fn over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Watches until [`over`](Watchdog::over). The spare connection is opened now, while the server still lets us in.
    pub async fn watch<S: Session>(&self, target: &Target, seats: &[Watched]) {
        let (late, inbox) = mpsc::unbounded_channel();
        tokio::join!(self.look_around(seats, late), stop_late::<S>(target, inbox));
    }

    async fn look_around(&self, seats: &[Watched], late: mpsc::UnboundedSender<Late>) {
        let mut stopped: Vec<Option<(u64, Instant)>> = vec![None; seats.len()];
        while !self.over.load(Ordering::Relaxed) {
            fine::sleep(ROUND).await;
            for (watched, stopped) in seats.iter().zip(&mut stopped) {
                self.look(watched, stopped, &late);
            }
        }
    }

    fn look(&self, watched: &Watched, stopped: &mut Option<(u64, Instant)>, late: &mpsc::UnboundedSender<Late>) {
        let since = watched.post.busy_since.load(Ordering::Relaxed);
        let late_at =
            since.saturating_add(self.deadline.as_nanos() as u64).min(self.all_out_ns.load(Ordering::Relaxed));
        if since == 0 || (self.epoch.elapsed().as_nanos() as u64) < late_at {
            *stopped = None;
            return;
        }
        match *stopped {
            Some((transaction, at)) if transaction == since => {
                if at.elapsed() >= GRACE && watched.thread.send(watched.seat).is_err() {
                    tracing::debug!(seat = watched.seat, "the thread of a late session has ended");
                }
            }
            _ => {
                let at = Instant::now();
                *stopped = Some((since, at));
                if late.send(Late { post: Arc::clone(&watched.post), since, at }).is_err() {
                    tracing::debug!(
                        seat = watched.seat,
                        "a late session is only dropped: nobody stops queries any more"
                    );
                }
            }
        }
    }
}

/// A transaction that is to be stopped.
struct Late {
    post: Arc<Post>,
    /// When it began, as its post has it.
    since: u64,
    /// When it was found late.
    at: Instant,
}

impl Late {
    /// How long stopping it still makes sense: until its session is dropped.
    fn left(&self) -> Option<Duration> {
        let still_there = self.post.busy_since.load(Ordering::Relaxed) == self.since;
        GRACE.checked_sub(self.at.elapsed()).filter(|_| still_there)
    }
}

/// Stops late queries, one after the other, as long as somebody looks for them.
async fn stop_late<S: Session>(target: &Target, mut inbox: mpsc::UnboundedReceiver<Late>) {
    let mut spare = Spare::<S>::open(target).await;
    while let Some(late) = inbox.recv().await {
        let interrupt = late.post.interrupt.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        if let Some(left) = late.left() {
            spare.stop(interrupt, left).await;
        }
    }
    spare.close().await;
}

/// The connection that stops other connections' queries.
struct Spare<'a, S: Session> {
    target: &'a Target,
    session: Option<S>,
}

impl<'a, S: Session> Spare<'a, S> {
    async fn open(target: &'a Target) -> Self {
        let mut spare = Spare { target, session: None };
        if !S::BLOCKING
            && let Err(fault) = spare.reopen().await
        {
            tracing::warn!(%fault, "no spare connection: a query past its deadline is only stopped by dropping its session");
        }
        spare
    }

    async fn reopen(&mut self) -> Result<(), Fault> {
        let session = Box::pin(S::connect(self.target, Rc::from([]))).await?;
        self.session = Some(session);
        Ok(())
    }

    async fn stop(&mut self, interrupt: Option<Interrupt>, patience: Duration) {
        match interrupt {
            Some(Interrupt::Call(call)) => call(),
            Some(Interrupt::Statement(sql)) => {
                match fine::timeout(patience, self.send(&sql)).await {
                    Some(Ok(())) => {}
                    Some(Err(fault)) => tracing::debug!(%fault, sql = &*sql, "a late query could not be stopped"),
                    // The future was dropped half-way: this connection is of no use any more.
                    None => self.session.take().into_iter().for_each(S::discard),
                }
            }
            Some(Interrupt::None) | None => {}
        }
    }

    /// Sends a statement, once more on a fresh connection if the spare one has died meanwhile.
    async fn send(&mut self, sql: &str) -> Result<(), Fault> {
        if let Some(session) = &mut self.session {
            match session.batch(sql).await {
                Err(fault) if fault.kind.ends_connection() => self.session = None,
                result => return result,
            }
        }
        self.reopen().await?;
        match &mut self.session {
            Some(session) => session.batch(sql).await,
            None => Ok(()),
        }
    }

    async fn close(self) {
        if let Some(session) = self.session {
            session.close().await;
        }
    }
}
