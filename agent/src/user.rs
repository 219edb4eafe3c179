//! A virtual user's session: waits until a transaction is due, runs it, counts how it ended, and comes back after
//! whatever happened to its connection.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use vufleet_scenarios::session::{Fault, FaultKind, Session, Stmt};
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::{Pacing, Target};
use vufleet_scenarios::workload::{Outcome, Seat, Workload};

use crate::allow::Guard;
use crate::event_loop::Task;
use crate::fine::{self, FineSleep};
use crate::measured::Measured;
use crate::pace::{Keyed, Person};
use crate::recorder::{End, Finished, Recorder, nanos};
use crate::watchdog::{Kill, Post};

/// Retries of one transaction, at most.
const MAX_RETRIES: u32 = 10;
/// First back-off; doubled with each further attempt up to [`LAST_BACK_OFF`], jittered by half.
const FIRST_BACK_OFF: Duration = Duration::from_millis(1);
const LAST_BACK_OFF: Duration = Duration::from_secs(1);
/// Attempts to open a session before the run's start, as long as the server may let it in a moment later. Later ones never
/// end. A database that starts again and one that is asked by ten thousand sessions at once need a second or two.
const CONNECT_ATTEMPTS: u32 = 5;
/// Of the back-off between them, so that the first takes an eighth of a second.
const CONNECT_BACK_OFF: u32 = 7;

/// What the users of one thread are allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Open sessions and wait.
    Connecting,
    /// Transactions may start.
    Running,
    /// No transaction starts any more.
    Stopping,
}

/// What the users of one thread share. Nothing in it is ever touched by another thread.
pub struct Floor<W: Workload> {
    /// Where sessions connect.
    pub target: Target,
    /// What they send.
    pub statements: Rc<[Statement]>,
    /// Sent ahead of all of it on each connection.
    pub opening: Guard,
    /// Whether all of it is prepared after connecting.
    pub eager: bool,
    /// What the workload's seats share.
    pub shape: Rc<W::Shape>,
    /// When transactions are due.
    pub pacing: Pacing,
    /// Keying and thinking times, where they are the pacing.
    pub keyed: Option<Keyed>,
    /// Transactions of a session, where they are counted.
    pub limit: Option<u64>,
    /// Due times of open arrivals.
    pub arrivals: Option<async_channel::Receiver<Instant>>,
    /// Origin of the nanoseconds told to the watchdog.
    pub epoch: Instant,
    /// How many sessions may be in the middle of connecting.
    pub doors: Semaphore,
    /// What happened since the last cut.
    pub recorder: RefCell<Recorder>,
    /// Sessions connected now.
    pub connected: Cell<u32>,
    /// The fault that ended the connect phase.
    pub refusal: RefCell<Option<Fault>>,
    /// What the database said with the first fault of each kind.
    pub remarks: RefCell<Remarks>,
    /// How and to what the first session connected.
    pub reached: RefCell<Option<Reached>>,
    /// What the watchdog reads, seat by seat.
    posts: Arc<[Post]>,
    places: Box<[Place]>,
    stage: Cell<Stage>,
}

/// How the target was reached, for reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// "tcp, TLS", "unix socket", ...
    pub connection: String,
    /// The server's version.
    pub version: String,
}

/// The database's words with the first fault of each kind; the others are only counted.
#[derive(Debug, Default)]
pub struct Remarks {
    heard: [bool; FaultKind::ALL.len()],
    untold: Vec<(FaultKind, String)>,
}

impl Remarks {
    fn hear(&mut self, fault: &Fault) {
        if !std::mem::replace(&mut self.heard[fault.kind.index()], true) {
            self.untold.push((fault.kind, fault.to_string()));
        }
    }

    /// What was heard since the last call.
    pub fn take(&mut self) -> Vec<(FaultKind, String)> {
        std::mem::take(&mut self.untold)
    }
}

/// What a floor is made of.
pub struct FloorPlan<W: Workload> {
    /// Where sessions connect.
    pub target: Target,
    /// What they send.
    pub statements: Rc<[Statement]>,
    /// Sent ahead of all of it on each connection.
    pub opening: Guard,
    /// What the workload's seats share.
    pub shape: Rc<W::Shape>,
    /// When transactions are due.
    pub pacing: Pacing,
    /// Transactions of a session, where they are counted.
    pub limit: Option<u64>,
    /// Due times of open arrivals.
    pub arrivals: Option<async_channel::Receiver<Instant>>,
    /// Origin of the nanoseconds told to the watchdog.
    pub epoch: Instant,
    /// How many sessions may be in the middle of connecting.
    pub doors: usize,
    /// What the watchdog reads, one for each seat.
    pub posts: Arc<[Post]>,
}

impl<W: Workload> Floor<W> {
    /// A floor on which nothing has happened yet.
    pub fn new(plan: FloorPlan<W>, recorder: Recorder) -> Rc<Self> {
        Rc::new(Floor {
            eager: W::eager(&plan.shape),
            keyed: Keyed::of(&plan.pacing, W::terminal(&plan.shape)),
            target: plan.target,
            statements: plan.statements,
            opening: plan.opening,
            shape: plan.shape,
            pacing: plan.pacing,
            limit: plan.limit,
            arrivals: plan.arrivals,
            epoch: plan.epoch,
            doors: Semaphore::new(plan.doors),
            recorder: RefCell::new(recorder),
            connected: Cell::new(0),
            refusal: RefCell::new(None),
            remarks: RefCell::default(),
            reached: RefCell::new(None),
            stage: Cell::new(Stage::Connecting),
            places: plan.posts.iter().map(|_| Place::default()).collect(),
            posts: plan.posts,
        })
    }

    /// What is allowed now.
    pub fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Allows something else, and wakes everybody who waits.
    pub fn set_stage(&self, stage: Stage) {
        if self.stage.get() != Stage::Stopping {
            self.stage.set(stage);
        }
        self.places.iter().filter_map(|place| place.task.get()).for_each(Task::wake);
    }

    /// Makes a user give its session up, whatever it waits for.
    pub fn kill(&self, seat: Kill) {
        self.places[seat].killed.set(true);
        self.places[seat].task.get().into_iter().for_each(Task::wake);
    }

    /// Runs a database call of a user unless the session has to be given up first. The call is pinned by the caller: a future that is
    /// handed over by value is stored twice.
    async fn guard<T>(&self, seat: Kill, mut call: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        poll_fn(|context| {
            if self.places[seat].killed.take() {
                return Poll::Ready(None);
            }
            call.as_mut().poll(context).map(Some)
        })
        .await
    }

    /// Waits for the start. False when there will be none.
    async fn started(&self) -> bool {
        poll_fn(|_| match self.stage() {
            Stage::Connecting => Poll::Pending,
            Stage::Running => Poll::Ready(true),
            Stage::Stopping => Poll::Ready(false),
        })
        .await
    }

    /// Does something unless the stop comes first.
    async fn unless_stopped<T>(&self, mut what: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        poll_fn(|context| match self.stage() {
            Stage::Stopping => Poll::Ready(None),
            Stage::Connecting | Stage::Running => what.as_mut().poll(context).map(Some),
        })
        .await
    }

    /// When the next transaction, of that kind, is due, once it is. Only the arrivals of an open rate have a schedule: where
    /// the agent wakes a waiting user a tenth of a millisecond late, its wait was longer and not the database slower.
    /// `last`: the end of the one before.
    async fn next_due(&self, person: &mut Person, kind: usize, last: Option<Instant>) -> Option<Instant> {
        let due = match (self.pacing, &self.keyed) {
            (Pacing::Rate(_), _) => return self.arrivals.as_ref()?.recv().await.ok(),
            (Pacing::Wait(wait), _) => match last {
                Some(end) => end + wait,
                None => Instant::now() + person.first_wait(wait),
            },
            (Pacing::KeyingThinking { .. }, Some(keyed)) => person.due(keyed, kind, last),
            (Pacing::None | Pacing::KeyingThinking { .. }, _) => {
                return (self.stage() == Stage::Running).then(Instant::now);
            }
        };
        self.wait_until(due).await.then(Instant::now)
    }

    /// False when the stop comes first.
    async fn wait_until(&self, due: Instant) -> bool {
        self.unless_stopped(pin!(FineSleep::until(due))).await.is_some()
    }

    async fn wait(&self, time: Duration) -> bool {
        self.wait_until(Instant::now() + time).await
    }
}

/// A user's place on its thread, reachable for the watchdog's last resort.
#[derive(Debug, Default)]
struct Place {
    /// None before it has come and after it has gone.
    task: Cell<Option<Task>>,
    killed: Cell<bool>,
}

/// How long to wait before attempt `attempt` (1 is the first repeat).
fn back_off(attempt: u32) -> Duration {
    let doubled = FIRST_BACK_OFF.saturating_mul(1 << attempt.saturating_sub(1).min(16));
    doubled.min(LAST_BACK_OFF).mul_f64(rand::random_range(0.5..1.5))
}

/// Why an attempt at a transaction failed.
enum Broken {
    Fault(Fault),
    /// The watchdog had the session given up.
    Dropped,
    NoSession,
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Broken {
        Broken::Fault(fault)
    }
}

/// How a user keeps the state of a transaction.
trait Turn {
    /// Runs one. Returns its end.
    async fn transact<S: Session, W: Workload>(user: &mut User<S, W>, kind: usize, due: Instant) -> Instant;
}

/// In the user itself, for those who do nothing else.
struct Steady;

/// In memory of its own, as long as it lasts: most users are waiting for their next one.
struct Paced;

impl Turn for Steady {
    async fn transact<S: Session, W: Workload>(user: &mut User<S, W>, kind: usize, due: Instant) -> Instant {
        user.transact(kind, due).await
    }
}

impl Turn for Paced {
    async fn transact<S: Session, W: Workload>(user: &mut User<S, W>, kind: usize, due: Instant) -> Instant {
        Box::pin(user.transact(kind, due)).await
    }
}

/// A session's user.
pub struct User<S: Session, W: Workload> {
    floor: Rc<Floor<W>>,
    /// Its number on its thread.
    place: u32,
    workload: W,
    person: Person,
    session: Option<Measured<S>>,
    /// Transactions given up in a row, to slow down a user whose every transaction fails.
    failures: u32,
}

impl<S: Session, W: Workload> User<S, W> {
    /// Takes a seat, the `place`-th of its thread.
    pub fn new(floor: Rc<Floor<W>>, place: u32, seat: Seat) -> Self {
        let workload = W::seat(Rc::clone(&floor.shape), seat);
        User { floor, place, workload, person: Person::new(&seat), session: None, failures: 0 }
    }

    fn place(&self) -> Kill {
        self.place as Kill
    }

    fn post(&self) -> &Post {
        &self.floor.posts[self.place()]
    }

    /// The whole life: connect at `connect_at`, `connected`, work until the stop or the limit, say goodbye. What is done with in a
    /// moment or seldom is boxed: a user takes the memory of the longest of its waits.
    pub async fn live(&mut self, connect_at: Instant, connected: impl FnOnce(Option<u64>)) {
        self.floor.places[self.place()].task.set(Task::current());
        if !Box::pin(self.enter(connect_at, connected)).await {
            return;
        }
        if self.floor.started().await {
            match self.floor.pacing {
                Pacing::None => Box::pin(self.work::<Steady>()).await,
                Pacing::Wait(_) | Pacing::KeyingThinking { .. } | Pacing::Rate(_) => self.work::<Paced>().await,
            }
        }
        Box::pin(self.leave()).await;
    }

    /// Opens the first session. False when there is none.
    async fn enter(&mut self, connect_at: Instant, connected: impl FnOnce(Option<u64>)) -> bool {
        let floor = Rc::clone(&self.floor);
        let first = pin!(async {
            FineSleep::until(connect_at).await;
            Self::first_session(&floor).await
        });
        match floor.unless_stopped(first).await {
            Some(Ok(session)) => self.seat(session),
            Some(Err(fault)) => {
                floor.refusal.borrow_mut().get_or_insert(fault);
                connected(None);
                return false;
            }
            None => return false,
        }
        connected(self.session.as_ref().and_then(Session::id));
        true
    }

    async fn work<T: Turn>(&mut self) {
        let mut last = None;
        let mut left = self.floor.limit.unwrap_or(u64::MAX);
        while left > 0 {
            let kind = self.workload.draw().kind;
            let Some(due) = self.floor.next_due(&mut self.person, kind, last).await else { return };
            last = Some(T::transact(self, kind, due).await);
            if let Some(keyed) = &self.floor.keyed {
                self.person.think(keyed, kind);
            }
            left -= 1;
            if self.session.is_none() && !Box::pin(self.reopen()).await {
                return;
            }
            if self.failures > 0 && !self.floor.wait(back_off(self.failures)).await {
                return;
            }
        }
    }

    /// One transaction with all its retries. Returns its end. What only follows a fault lies apart: nearly all wake-ups go through
    /// here, and most of them find nothing else to do.
    async fn transact(&mut self, kind: usize, due: Instant) -> Instant {
        let start = if matches!(self.floor.pacing, Pacing::Rate(_)) { Instant::now() } else { due };
        let mut attempt = 1;
        let end = loop {
            let broken = match self.attempt(start).await {
                Ok(outcome) => break End::of(outcome),
                Err(broken) => broken,
            };
            if let Some(end) = Box::pin(self.settle(kind, start, attempt, broken)).await {
                break end;
            }
            attempt += 1;
        };
        self.failures = if end == End::Failed { self.failures + 1 } else { 0 };
        self.record(kind, end, start, due)
    }

    /// Sends it once. `start`: of the transaction, whose deadline all its attempts share.
    async fn attempt(&mut self, start: Instant) -> Result<Outcome, Broken> {
        let Some(session) = &mut self.session else { return Err(Broken::NoSession) };
        let (floor, place) = (&*self.floor, self.place as Kill);
        // Whatever was to be killed before is over.
        floor.places[place].killed.set(false);
        floor.posts[place].busy(nanos(start.saturating_duration_since(floor.epoch)));
        let result = floor.guard(place, pin!(self.workload.run(session))).await;
        floor.posts[place].idle();
        Ok(result.ok_or(Broken::Dropped)??)
    }

    /// Counts a failed attempt, sees to the session, and waits before the next one. None when there is to be one.
    async fn settle(&mut self, kind: usize, start: Instant, attempt: u32, broken: Broken) -> Option<End> {
        let (fault, dropped) = match broken {
            Broken::NoSession => return Some(End::Failed),
            Broken::Dropped => (FaultKind::Deadline, true),
            Broken::Fault(fault) => {
                self.floor.remarks.borrow_mut().hear(&fault);
                (fault.kind, false)
            }
        };
        self.floor.recorder.borrow_mut().tally.fault(kind, fault, 1);
        if dropped || fault.ends_connection() {
            let uncertain = self.session.as_ref().is_some_and(Measured::is_uncertain);
            self.lose(kind);
            return Some(if uncertain { End::Unknown } else { End::Failed });
        }
        self.clean_up(kind).await;
        let again = fault.is_transient()
            && self.session.is_some()
            && attempt <= MAX_RETRIES
            && start.elapsed() < self.floor.target.deadline
            && self.pause_before_retry(kind, attempt).await;
        (!again).then_some(End::Failed)
    }

    async fn pause_before_retry(&mut self, kind: usize, attempt: u32) -> bool {
        let going_on = self.floor.wait(back_off(attempt)).await;
        if going_on {
            self.floor.recorder.borrow_mut().tally.retry(kind);
        }
        going_on
    }

    /// Every fault inside a transaction is followed by ROLLBACK before anything else: a server may keep the
    /// transaction open, and the next BEGIN would commit it. If that fails, the connection is closed.
    async fn clean_up(&mut self, kind: usize) {
        let Some(session) = &mut self.session else { return };
        self.floor.recorder.borrow_mut().tally.fault_rollback(kind);
        let (floor, place) = (&*self.floor, self.place as Kill);
        floor.places[place].killed.set(false);
        floor.posts[place].busy(nanos(floor.epoch.elapsed()));
        let result = floor.guard(place, pin!(session.rollback())).await;
        floor.posts[place].idle();
        if !matches!(result, Some(Ok(()))) {
            return self.lose(kind);
        }
        // What an attempt sent is booked with it: the server has counted it, and the transaction may go on for long.
        self.floor.recorder.borrow_mut().tally.sent(kind, session.take_sent());
    }

    /// Gives the session up and counts what it still had to tell.
    fn lose(&mut self, kind: usize) {
        if let Some(mut session) = self.unseat() {
            self.floor.recorder.borrow_mut().tally.sent(kind, session.take_sent());
            session.discard();
        }
    }

    fn record(&mut self, kind: usize, end: End, start: Instant, due: Instant) -> Instant {
        let now = Instant::now();
        let (mut statements, mut queued, mut noted) = (0, Duration::ZERO, None);
        if let Some(session) = &mut self.session {
            statements = session.take_sent();
            queued = session.take_queued();
            noted = session.take_noted();
        }
        let finished = Finished {
            kind,
            end,
            service: now.saturating_duration_since(start),
            response: (start != due).then(|| now.saturating_duration_since(due)),
            statements,
            queued,
        };
        let mut recorder = self.floor.recorder.borrow_mut();
        recorder.tally.finish(&finished);
        if let Some(noted) = noted {
            for (fault, count) in FaultKind::ALL.into_iter().zip(*noted) {
                recorder.tally.fault(kind, fault, u64::from(count));
            }
        }
        now
    }

    /// Opens the session again, however long it takes. False when the stop came first.
    async fn reopen(&mut self) -> bool {
        let floor = Rc::clone(&self.floor);
        for attempt in 1.. {
            match floor.unless_stopped(pin!(Self::open(&floor))).await {
                Some(Ok(session)) => {
                    floor.recorder.borrow_mut().tally.reconnect();
                    self.seat(session);
                    return true;
                }
                Some(Err(fault)) => {
                    floor.remarks.borrow_mut().hear(&fault);
                    floor.recorder.borrow_mut().tally.connect_fault(fault.kind);
                }
                None => return false,
            }
            // From 32 ms up: a database that restarts needs seconds, not thousands of attempts.
            if !floor.wait(back_off(attempt + 5)).await {
                return false;
            }
        }
        false
    }

    /// Opens the first session. What the server refuses for good is not tried again.
    async fn first_session(floor: &Floor<W>) -> Result<Measured<S>, Fault> {
        let mut attempt = 1;
        loop {
            match Self::open(floor).await {
                Err(fault) if S::may_let_in(&fault) && attempt < CONNECT_ATTEMPTS => {
                    floor.recorder.borrow_mut().tally.connect_fault(fault.kind);
                    fine::sleep(back_off(attempt + CONNECT_BACK_OFF)).await;
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    async fn open(floor: &Floor<W>) -> Result<Measured<S>, Fault> {
        let _door = floor.doors.acquire().await.expect("the doors are never closed");
        let mut session = Measured::<S>::connect(&floor.target, Rc::clone(&floor.statements)).await?;
        if let Some(opening) = floor.opening {
            session.batch(opening).await?;
        }
        if floor.eager {
            for index in 0..floor.statements.len() {
                session.prepare(Stmt(index as u16)).await?;
            }
        }
        Ok(session)
    }

    fn seat(&mut self, session: Measured<S>) {
        self.post().reach_by(session.interrupt());
        self.floor.connected.set(self.floor.connected.get() + 1);
        self.floor
            .reached
            .borrow_mut()
            .get_or_insert_with(|| Reached { connection: session.describe(), version: session.version() });
        self.session = Some(session);
    }

    /// Takes the session out of its seat; it counts as connected no longer.
    fn unseat(&mut self) -> Option<Measured<S>> {
        let session = self.session.take()?;
        self.floor.connected.set(self.floor.connected.get() - 1);
        Some(session)
    }

    async fn leave(&mut self) {
        if let Some(session) = self.unseat() {
            // A server that does not answer a goodbye must not hold up the end of the run.
            if fine::timeout(Duration::from_secs(2), session.close()).await.is_none() {
                tracing::debug!("a session's goodbye was not answered");
            }
        }
    }
}

impl<S: Session, W: Workload> Drop for User<S, W> {
    /// A user that died in mid-transaction has no session any more.
    fn drop(&mut self) {
        self.unseat().into_iter().for_each(Session::discard);
        self.post().idle();
        self.floor.places[self.place()].task.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Tally;
    use vufleet_scenarios::custom::Custom;
    use vufleet_scenarios::oltp::{Oltp, Script};
    use vufleet_scenarios::session::Dialect;
    use vufleet_scenarios::tprocc::{Calls, TprocC};

    #[test]
    fn back_off_grows_and_is_bounded() {
        for attempt in 1..40 {
            let wait = back_off(attempt);
            assert!(wait >= FIRST_BACK_OFF / 2 && wait <= LAST_BACK_OFF.mul_f64(1.5), "{attempt}: {wait:?}");
        }
        assert!(back_off(1) < Duration::from_millis(2));
        assert!(back_off(20) >= Duration::from_millis(500));
    }
    /// Printed by `cargo test -- --nocapture footprint`; a fleet's memory is this times its sessions, and the client's.
    #[test]
    fn the_footprint_of_a_user_is_small() {
        fn of<S: Session, W: Workload>(limit: usize, shape: W::Shape) {
            let study = "name = \"a\"\nseed = 1\n[target]\nkind = \"simulated\"\n[workload]\nkind = \"oltp\"\n\
                         script = \"read_write\"\n[[profiles]]\nvus = 1\n";
            let target = vufleet_scenarios::study::read(study, &Default::default()).unwrap().target;
            let plan = FloorPlan::<W> {
                opening: None,
                target,
                statements: Rc::from([]),
                shape: Rc::new(shape),
                pacing: Pacing::None,
                limit: None,
                arrivals: None,
                epoch: Instant::now(),
                doors: 1,
                posts: Arc::new([Post::default()]),
            };
            let floor = Floor::new(plan, Recorder::new(Tally::new(1, false), Instant::now()));
            let seat = Seat { seed: 1, vu: 0, session: 0, vus: 1, sessions_per_vu: 1, run: 1 };
            let mut user = User::<S, W>::new(floor, 0, seat);
            let transaction = size_of_val(&user.transact(0, Instant::now()));
            let (itself, session, workload) = (size_of_val(&user), size_of::<Measured<S>>(), size_of::<W>());
            let bytes = size_of_val(&async move { user.live(Instant::now(), |_| ()).await });
            println!(
                "a user with {} doing {}: {bytes} bytes, {itself} of them itself (session {session}, workload \
                 {workload}), a transaction {transaction}",
                std::any::type_name::<S>(),
                std::any::type_name::<W>()
            );
            assert!(bytes <= limit, "{bytes} bytes, more than {limit}");
        }
        let oltp = || vufleet_scenarios::oltp::Shape::new(Script::ReadWrite);
        of::<crate::session::MysqlSession, Oltp>(2_560, oltp());
        of::<crate::session::MssqlSession, Oltp>(2_048, oltp());
        of::<crate::session::SqliteSession, Oltp>(2_048, oltp());
        of::<crate::session::SimulatedSession, Oltp>(2_048, oltp());
        let tprocc = || vufleet_scenarios::tprocc::Shape::new(4, Calls::Statements);
        of::<crate::session::MysqlSession, TprocC>(3_072, tprocc());
        of::<crate::session::MssqlSession, TprocC>(2_816, tprocc());
        of::<crate::session::SqliteSession, TprocC>(2_944, tprocc());
        of::<crate::session::SimulatedSession, TprocC>(2_688, tprocc());
        let custom = || vufleet_scenarios::custom::Shape { dialect: Dialect::Mysql, transactions: Vec::new() };
        of::<crate::session::MysqlSession, Custom>(2_304, custom());
        of::<crate::session::MssqlSession, Custom>(2_048, custom());
        of::<crate::session::SqliteSession, Custom>(2_048, custom());
        of::<crate::session::SimulatedSession, Custom>(2_048, custom());
    }
}
