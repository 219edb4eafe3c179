//! The virtual users of one run: threads that serve them, and the one place where their counts come together.

mod edges;
mod station;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::sync::mpsc;
use vufleet_proto::v1;
use vufleet_scenarios::custom::Custom;
use vufleet_scenarios::oltp::Oltp;
use vufleet_scenarios::random::stream;
use vufleet_scenarios::session::{Fault, FaultKind, Session};
use vufleet_scenarios::study::{MysqlDriver, Pacing, Profile, Study, TargetKind, Workload as Chosen};
use vufleet_scenarios::tprocc::TprocC;
use vufleet_scenarios::workload::{Seat, Workload};

use self::edges::{Edges, Merged};
use crate::allow::Guard;
use crate::arrivals::Arrivals;
use crate::clock::CommonClock;
use crate::event_loop;
use crate::outbox::Outlet;
use crate::recorder::{Tally, fault_to_proto};
use crate::session::{MssqlSession, MysqlAsyncSession, MysqlSession, SimulatedSession, SqliteSession};
use crate::user::Reached;
use crate::watchdog::{Post, Watchdog, Watched};

/// Sessions whose server-side ids are reported; more than these nobody samples one by one.
const TOLD_SESSION_IDS: usize = 64;

/// Fewer sessions than these share a thread, however many cores there are: one that sleeps for each answer costs more than
/// one that finds several at once, and an answer is looked at in microseconds.
const SESSIONS_A_THREAD: usize = 8;

/// What a crew has to do.
#[derive(Clone)]
pub struct CrewPlan {
    /// The study, with the password of the target resolved.
    pub study: Arc<Study>,
    /// The load level.
    pub profile: Profile,
    /// First of this agent's virtual users.
    pub first_vu: u32,
    /// How many of them.
    pub vus: u32,
    /// Virtual users of the whole fleet.
    pub total_vus: u32,
    /// Number of the run in the ledger.
    pub run: u64,
    /// Which run of the study it is, whatever its number: what keys and arrivals are drawn from.
    pub run_key: u64,
    /// Length of an interval.
    pub interval: Duration,
    /// Transactions after which a session ends, where they are counted.
    pub limit: Option<u64>,
    /// Threads for virtual users, unless each session needs its own.
    pub threads: usize,
    /// Sent first on each connection, where the load may only ask.
    pub opening: Guard,
}

impl CrewPlan {
    fn seats(&self) -> Vec<Seat> {
        let sessions_per_vu = self.profile.sessions_per_vu;
        let (seed, vus, run) = (self.study.seed, self.total_vus, self.run_key);
        let seat = |vu, session| Seat { seed, vu, session, vus, sessions_per_vu, run };
        let own = self.first_vu..self.first_vu + self.vus;
        own.flat_map(|vu| (0..sessions_per_vu).map(move |session| seat(vu, session))).collect()
    }

    /// This agent's part of an open arrival rate.
    fn arrivals(&self) -> Option<Arrivals> {
        let Pacing::Rate(rate) = self.profile.pacing else { return None };
        let part = rate * f64::from(self.vus) / f64::from(self.total_vus);
        Some(Arrivals::new(part, stream(self.study.seed, &[2, u64::from(self.first_vu), self.run_key])))
    }
}

/// What the agent tells a crew.
#[derive(Debug, Clone, Copy)]
enum Order {
    Connect {
        begin: Instant,
    },
    Start {
        at: Instant,
    },
    /// Every session of the crew reached its limit: the interval ends with the last of them.
    Cut,
    Stop,
}

/// What a thread tells its crew.
enum Report {
    Connected {
        session_ids: Vec<u64>,
        reached: Option<Reached>,
    },
    Refused(Fault),
    /// Its users have been told to begin.
    Started {
        at: Instant,
    },
    /// Every session reached its limit.
    Idle,
    Part(Part),
    Done {
        connected: u32,
    },
}

/// One thread's share of an interval.
struct Part {
    tick: u64,
    tally: Tally,
    from: Instant,
    to: Instant,
    connected: u32,
    ended: u32,
    remarks: Vec<(FaultKind, String)>,
}

/// A running crew. Dropping it ends the load at once.
pub struct Crew {
    orders: Vec<mpsc::UnboundedSender<Order>>,
    watchdog: Arc<Watchdog>,
    stop: mpsc::UnboundedSender<()>,
    sessions: Arc<AtomicU32>,
    start: mpsc::UnboundedSender<Instant>,
    vus: u32,
    foreman: tokio::task::JoinHandle<()>,
}

impl Crew {
    /// Starts the threads; no connection is opened yet.
    pub fn muster(plan: &CrewPlan, clock: CommonClock, outlet: Outlet) -> anyhow::Result<Crew> {
        match &plan.profile.workload {
            Chosen::Oltp(shape) => Self::doing::<Oltp>(plan, shape, clock, outlet),
            Chosen::Tprocc(shape) => Self::doing::<TprocC>(plan, shape, clock, outlet),
            Chosen::Custom(shape) => Self::doing::<Custom>(plan, shape, clock, outlet),
        }
    }

    fn doing<W: Workload>(plan: &CrewPlan, shape: &W::Shape, clock: CommonClock, outlet: Outlet) -> anyhow::Result<Crew>
    where
        W::Shape: Clone + Send,
    {
        match plan.study.target.kind {
            TargetKind::Mysql => match plan.study.target.driver {
                MysqlDriver::Native => Self::of::<MysqlSession, W>(plan, shape, clock, outlet),
                MysqlDriver::MysqlAsync => Self::of::<MysqlAsyncSession, W>(plan, shape, clock, outlet),
            },
            TargetKind::Mssql => Self::of::<MssqlSession, W>(plan, shape, clock, outlet),
            TargetKind::Sqlite => Self::of::<SqliteSession, W>(plan, shape, clock, outlet),
            TargetKind::Simulated => Self::of::<SimulatedSession, W>(plan, shape, clock, outlet),
        }
    }

    fn of<S: Session, W: Workload>(
        plan: &CrewPlan,
        shape: &W::Shape,
        clock: CommonClock,
        outlet: Outlet,
    ) -> anyhow::Result<Crew>
    where
        W::Shape: Clone + Send,
    {
        let seats = plan.seats();
        let threads =
            if S::BLOCKING { seats.len() } else { plan.threads.min(seats.len().div_ceil(SESSIONS_A_THREAD)).max(1) };
        let epoch = Instant::now();
        let watchdog = Watchdog::new(epoch, plan.study.target.deadline);
        let sessions = Arc::new(AtomicU32::new(0));
        let arrivals = plan.arrivals();
        let (reports, inbox) = mpsc::unbounded_channel();
        let (mut orders, mut watched) = (Vec::new(), Vec::new());
        for thread in 0..threads {
            let (order, order_inbox) = mpsc::unbounded_channel();
            let (kill, kills) = mpsc::unbounded_channel();
            let own: Vec<(usize, Seat)> = seats.iter().copied().enumerate().skip(thread).step_by(threads).collect();
            let posts: Arc<[Post]> = own.iter().map(|_| Post::default()).collect();
            watched.push(Watched { posts: Arc::clone(&posts), thread: kill });
            let station = station::Station {
                plan: plan.clone(),
                seats: own,
                posts,
                threads,
                epoch,
                arrivals: arrivals.as_ref().map(|arrivals| arrivals.queue.clone()),
                orders: order_inbox,
                kills,
                reports: reports.clone(),
                sessions: Arc::clone(&sessions),
            };
            let shape = shape.clone();
            thread::Builder::new()
                .name(format!("crew-{thread}"))
                .spawn(move || station.man::<S, W>(shape))
                .context("cannot start a thread for virtual users; raise the limit of threads (ulimit -u)")?;
            orders.push(order);
        }
        let target = plan.study.target.clone();
        let dog = Arc::clone(&watchdog);
        thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || keep_watch::<S>(&dog, &target, &watched))
            .context("cannot start the watchdog's thread; raise the limit of threads (ulimit -u)")?;
        let (stop, stops) = mpsc::unbounded_channel();
        let (start, starts) = mpsc::unbounded_channel();
        let foreman = Foreman {
            names: W::kinds(shape),
            separate_response: station::separate_response(&plan.profile.pacing),
            threads,
            orders: orders.clone(),
            epoch,
            waiting: BTreeMap::new(),
            edges: Edges::new(threads),
            arrivals,
            told: (0, 0),
            remarked: HashSet::new(),
            clock,
            outlet,
            run: plan.run,
            watchdog: Arc::clone(&watchdog),
        };
        let foreman = tokio::spawn(foreman.oversee(inbox, starts, stops));
        Ok(Crew { orders, watchdog, stop, sessions, start, vus: plan.vus, foreman })
    }

    /// Opens the sessions, at the study's rate.
    pub fn connect(&self) {
        order(&self.orders, Order::Connect { begin: Instant::now() });
    }

    /// Starts the load at an instant.
    pub fn start(&self, at: Instant) {
        tell(&self.start, at);
        order(&self.orders, Order::Start { at });
    }

    /// Ends the load: what is still busy after `grace` is stopped by the database, or dropped.
    pub fn stop(&self, grace: Duration) {
        self.watchdog.all_out(Instant::now() + grace);
        tell(&self.stop, ());
        order(&self.orders, Order::Stop);
    }

    /// Its virtual users.
    pub fn vus(&self) -> u32 {
        self.vus
    }

    /// Whether every thread has ended and everything it had to tell is told.
    pub fn is_over(&self) -> bool {
        self.foreman.is_finished()
    }

    /// Sessions connected now.
    pub fn sessions(&self) -> u32 {
        self.sessions.load(Ordering::Relaxed)
    }
}

fn order(threads: &[mpsc::UnboundedSender<Order>], what: Order) {
    for thread in threads {
        tell(thread, what);
    }
}

/// A thread that has ended needs no orders.
fn tell<T>(whom: &mpsc::UnboundedSender<T>, what: T) {
    if whom.send(what).is_err() {
        tracing::debug!("an order came after its thread had ended");
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

fn keep_watch<S: Session>(dog: &Watchdog, target: &vufleet_scenarios::study::Target, watched: &[Watched]) {
    if let Err(error) = event_loop::block_on_for::<S, _>(dog.watch::<S>(target, watched)) {
        tracing::error!(%error, "no event loop for the watchdog: deadlines are not enforced");
    }
}

/// Brings the threads' reports together and passes them on.
struct Foreman {
    names: Vec<String>,
    separate_response: bool,
    threads: usize,
    orders: Vec<mpsc::UnboundedSender<Order>>,
    epoch: Instant,
    waiting: BTreeMap<u64, Merged>,
    edges: Edges,
    arrivals: Option<Arrivals>,
    told: (u64, u64),
    remarked: HashSet<FaultKind>,
    clock: CommonClock,
    outlet: Outlet,
    run: u64,
    watchdog: Arc<Watchdog>,
}

impl Foreman {
    async fn oversee(
        mut self,
        mut inbox: mpsc::UnboundedReceiver<Report>,
        mut starts: mpsc::UnboundedReceiver<Instant>,
        mut stops: mpsc::UnboundedReceiver<()>,
    ) {
        let (mut connected, mut idle, mut left) = (0, 0, self.threads);
        let mut started = Vec::new();
        let mut phase = v1::Phase { kind: v1::phase::Kind::Connected as i32, ..Default::default() };
        while left > 0 {
            tokio::select! {
                Some(at) = starts.recv() => self.begin_arrivals(at),
                Some(()) = stops.recv() => self.end_arrivals(),
                report = inbox.recv() => match report {
                    Some(Report::Connected { session_ids, reached }) => {
                        connected += 1;
                        phase.sessions += session_ids.len() as u32;
                        phase.session_ids.extend(session_ids);
                        if let Some(reached) = reached {
                            phase.connection = reached.connection;
                            phase.message = reached.version;
                        }
                        if connected == self.threads {
                            phase.session_ids.retain(|id| *id != 0);
                            if phase.sessions as usize > TOLD_SESSION_IDS {
                                phase.session_ids.clear();
                            }
                            self.tell(phase.clone());
                        }
                    }
                    Some(Report::Refused(fault)) => self.tell(failed(&fault)),
                    Some(Report::Started { at }) => {
                        started.push(at);
                        if started.len() == self.threads {
                            self.tell_start(&started);
                        }
                    }
                    Some(Report::Idle) => {
                        idle += 1;
                        if idle == self.threads {
                            self.edges.finish(self.epoch.elapsed());
                            order(&self.orders, Order::Cut);
                            self.tell(v1::Phase { kind: v1::phase::Kind::Finished as i32, ..Default::default() });
                        }
                    }
                    Some(Report::Part(part)) => self.take_in(part),
                    Some(Report::Done { connected }) => {
                        left -= 1;
                        if connected > 0 {
                            tracing::warn!(connected, "a thread ended with sessions that count as connected");
                        }
                    }
                    // A thread that panicked takes its sender along; what it had counted since the last cut is lost.
                    None => {
                        self.tell(v1::Phase {
                            kind: v1::phase::Kind::Failed as i32,
                            message: "a thread of virtual users died; its log says why".to_owned(),
                            ..Default::default()
                        });
                        break;
                    }
                },
            }
        }
        self.end_arrivals();
        for (_, merged) in std::mem::take(&mut self.waiting) {
            self.emit(merged);
        }
        self.watchdog.over();
        self.tell(v1::Phase { kind: v1::phase::Kind::Stopped as i32, ..Default::default() });
    }

    fn begin_arrivals(&mut self, at: Instant) {
        if let Some(arrivals) = &mut self.arrivals
            && let Err(error) = arrivals.begin(at)
        {
            self.tell(v1::Phase {
                kind: v1::phase::Kind::Failed as i32,
                message: format!(
                    "cannot start the thread of arrivals: {error}; raise the limit of threads (ulimit -u)"
                ),
                ..Default::default()
            });
        }
    }

    fn end_arrivals(&mut self) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.end();
        }
    }

    fn tell_start(&self, started: &[Instant]) {
        let at_ns = started.iter().max().map_or(0, |last| self.clock.at(*last));
        tracing::info!(run = self.run, at_ns, "the load begins");
        self.tell(v1::Phase { kind: v1::phase::Kind::Started as i32, at_ns, ..Default::default() });
    }

    fn tell(&self, phase: v1::Phase) {
        self.outlet.send(self.run, v1::event::Body::Phase(phase));
    }

    /// Passes on what the database said, once for each kind of fault and agent.
    fn remark(&mut self, kind: FaultKind, words: &str) {
        if self.remarked.insert(kind) {
            let text = format!("first {}: {words}", kind.name());
            let level = v1::notice::Level::Info as i32;
            self.outlet.send(self.run, v1::event::Body::Notice(v1::Notice { level, text, at_ns: self.clock.now() }));
        }
    }

    fn take_in(&mut self, mut part: Part) {
        for (kind, words) in std::mem::take(&mut part.remarks) {
            self.remark(kind, &words);
        }
        let tick = part.tick;
        let (kinds, separate, epoch) = (self.names.len(), self.separate_response, self.epoch);
        let share = self.waiting.entry(tick).or_insert_with(|| Merged::new(Tally::new(kinds, separate)));
        share.add(&part, epoch);
        if share.parts == self.threads
            && let Some(complete) = self.waiting.remove(&tick)
        {
            self.emit(complete);
        }
    }

    fn emit(&mut self, merged: Merged) {
        let (due, not_started) = self.arrivals.as_ref().map_or((0, 0), Arrivals::counts);
        let told = std::mem::replace(&mut self.told, (due, not_started));
        let (from, to) = self.edges.of(&merged);
        let time = self.clock.translation();
        let interval = v1::Interval {
            start_ns: time.at(self.epoch + from),
            end_ns: time.at(self.epoch + to),
            uncertainty_ns: time.uncertainty_ns,
            sessions: merged.connected,
            ended: merged.ended,
            due: due - told.0,
            not_started: not_started - told.1,
            ..merged.tally.to_interval(&self.names)
        };
        self.outlet.send(self.run, v1::event::Body::Interval(interval));
    }
}

fn failed(fault: &Fault) -> v1::Phase {
    v1::Phase {
        kind: v1::phase::Kind::Failed as i32,
        message: fault.to_string(),
        fault: fault_to_proto(fault.kind) as i32,
        ..Default::default()
    }
}
