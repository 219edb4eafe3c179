//! One thread of a crew: an event loop of its own, its users, and the cut of their counts at each tick.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};
use vufleet_scenarios::session::{Fault, FaultKind, Session};
use vufleet_scenarios::study::Pacing;
use vufleet_scenarios::workload::{Seat, Workload};

use super::{CrewPlan, Order, Part, Report};
use crate::event_loop;
use crate::fine::FineSleep;
use crate::recorder::{Recorder, Tally};
use crate::user::{Floor, FloorPlan, Stage, User};
use crate::watchdog::{Kill, Post};

/// Sessions of one agent in the middle of connecting.
const CONNECTING_AT_ONCE: usize = 64;

/// Whether transactions may start later than they are due: only arrivals have a schedule of their own.
pub(super) fn separate_response(pacing: &Pacing) -> bool {
    matches!(pacing, Pacing::Rate(_))
}

/// What a thread is given.
pub(super) struct Station {
    pub(super) plan: CrewPlan,
    /// With each seat's place among the agent's: sessions open in that order.
    pub(super) seats: Vec<(usize, Seat)>,
    pub(super) posts: Arc<[Post]>,
    pub(super) threads: usize,
    pub(super) epoch: Instant,
    pub(super) arrivals: Option<async_channel::Receiver<Instant>>,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) kills: mpsc::UnboundedReceiver<Kill>,
    pub(super) reports: mpsc::UnboundedSender<Report>,
    pub(super) sessions: Arc<AtomicU32>,
}

impl Station {
    /// Serves the users until they are done.
    pub(super) fn man<S: Session, W: Workload>(self, shape: W::Shape) {
        let reports = self.reports.clone();
        if let Err(error) = event_loop::block_on_for::<S, _>(Shift::<W>::new::<S>(self, shape).work::<S>()) {
            give_up(&reports, &error);
        }
    }
}

/// The run is refused at once: nobody else knows that these sessions will never be there.
fn give_up(reports: &mpsc::UnboundedSender<Report>, error: &std::io::Error) {
    let sentence =
        format!("no event loop for a thread of virtual users: {error}; raise the limit of open files (ulimit -n)");
    for report in [Report::Refused(Fault::new(FaultKind::Refused, sentence)), Report::Done { connected: 0 }] {
        if reports.send(report).is_err() {
            tracing::debug!("a report came after the run had been given up");
        }
    }
}

/// A thread at work.
struct Shift<W: Workload> {
    station: Station,
    floor: Rc<Floor<W>>,
    users: Rc<Users>,
    kinds: usize,
    tick: u64,
    start: Option<Instant>,
    /// The crew knows how connecting ended.
    shown: u32,
}

impl<W: Workload> Shift<W> {
    fn new<S: Session>(station: Station, shape: W::Shape) -> Self {
        let kinds = W::kinds(&shape).len();
        let separate = separate_response(&station.plan.profile.pacing);
        let plan = FloorPlan {
            target: station.plan.study.target.clone(),
            statements: W::statements(&shape, S::DIALECT).into(),
            opening: station.plan.opening,
            shape: Rc::new(shape),
            pacing: station.plan.profile.pacing,
            limit: station.plan.limit,
            arrivals: station.arrivals.clone(),
            epoch: station.epoch,
            doors: (CONNECTING_AT_ONCE / station.threads).max(1),
            posts: Arc::clone(&station.posts),
        };
        let floor = Floor::new(plan, Recorder::new(Tally::new(kinds, separate), Instant::now()));
        Shift { station, floor, users: Rc::default(), kinds, tick: 0, start: None, shown: 0 }
    }

    async fn work<S: Session>(mut self) {
        let connected = Rc::new(Connected::default());
        let mut ordered = true;
        loop {
            let cut_at = self.next_cut();
            tokio::select! {
                order = self.station.orders.recv(), if ordered => match order {
                    Some(Order::Connect { begin }) => self.seat_users::<S>(begin, &connected),
                    Some(Order::Start { at }) => self.begin(at).await,
                    Some(Order::Cut) => {
                        self.cut_overdue();
                        self.cut();
                    }
                    Some(Order::Stop) => self.stop(),
                    // Nobody is left to give one.
                    None => {
                        ordered = false;
                        self.stop();
                    }
                },
                Some(seat) = self.station.kills.recv() => self.floor.kill(seat),
                () = self.users.left.notified() => self.users_left(),
                () = FineSleep::until(cut_at.unwrap_or_else(Instant::now)), if cut_at.is_some() => self.cut(),
                () = connected.changed.notified() => self.tell_connected(&connected),
            }
            self.show_sessions();
            if self.users.here.get() == 0 && self.floor.stage() == Stage::Stopping {
                break;
            }
        }
        if self.start.is_some() {
            self.cut();
        }
        self.show_sessions();
        self.tell(Report::Done { connected: self.floor.connected.get() });
    }

    fn next_cut(&self) -> Option<Instant> {
        let ticks = u32::try_from(self.tick + 1).unwrap_or(u32::MAX);
        self.start.map(|start| start + self.station.plan.interval * ticks)
    }

    fn seat_users<S: Session>(&mut self, begin: Instant, connected: &Rc<Connected>) {
        let gap = Duration::from_secs_f64(1.0 / self.station.plan.study.schedule.connect_rate);
        let seats = std::mem::take(&mut self.station.seats);
        connected.missing.set(seats.len());
        if seats.is_empty() {
            connected.changed.notify_one();
        }
        for (index, (turn, seat)) in (0..).zip(seats) {
            let mut user = User::<S, W>::new(Rc::clone(&self.floor), index, seat);
            let at = begin + gap.mul_f64(turn as f64);
            let (present, connected) = (Present::new(&self.users), Rc::clone(connected));
            event_loop::spawn(async move {
                let _present = present;
                user.live(at, move |id| connected.one(id)).await;
            });
        }
    }

    /// Once, one or the other: the crew counts threads.
    fn tell_connected(&mut self, connected: &Connected) {
        if self.floor.stage() != Stage::Connecting {
            return;
        }
        if let Some(fault) = self.floor.refusal.borrow_mut().take() {
            self.floor.set_stage(Stage::Stopping);
            return self.tell(Report::Refused(fault));
        }
        let Some(session_ids) = connected.complete() else { return };
        let reached = self.floor.reached.borrow_mut().take();
        self.tell(Report::Connected { session_ids, reached });
    }

    /// Users wait for a stage, not for a time, so that one timer is enough for all of them. It is the fine one however long the
    /// wait: the runtime's is a millisecond late, and all agents of a fleet are to begin at one instant.
    async fn begin(&mut self, at: Instant) {
        FineSleep::until(at).await;
        self.start = Some(at);
        self.floor.recorder.borrow_mut().begin(at);
        self.floor.set_stage(Stage::Running);
        self.tell(Report::Started { at: Instant::now() });
    }

    fn stop(&mut self) {
        self.cut_overdue();
        self.floor.set_stage(Stage::Stopping);
    }

    /// An interval that is over is cut first, late as it may be: its sessions were connected at its end, and other threads have cut it.
    fn cut_overdue(&mut self) {
        while self.next_cut().is_some_and(|due| due <= Instant::now()) {
            self.cut();
        }
    }

    fn users_left(&mut self) {
        let all = self.users.here.get() == 0;
        if all && self.floor.limit.is_some() && self.floor.stage() == Stage::Running && !self.users.told.replace(true) {
            self.tell(Report::Idle);
        }
    }

    fn cut(&mut self) {
        let separate = separate_response(&self.floor.pacing);
        let empty = Tally::new(self.kinds, separate);
        let (tally, from, to) = self.floor.recorder.borrow_mut().cut(Instant::now(), empty);
        // A thread that was held up makes up for it with intervals of no length, so that every tick has all its parts.
        self.tick += 1;
        self.tell(Report::Part(Part {
            tick: self.tick,
            tally,
            from,
            to,
            connected: self.floor.connected.get(),
            ended: self.users.died.get(),
            remarks: self.floor.remarks.borrow_mut().take(),
        }));
    }

    fn show_sessions(&mut self) {
        let now = self.floor.connected.get();
        if now != self.shown {
            self.station.sessions.fetch_add(now.wrapping_sub(self.shown), Ordering::Relaxed);
            self.shown = now;
        }
    }

    fn tell(&self, report: Report) {
        if self.station.reports.send(report).is_err() {
            tracing::debug!("a report came after the run had been given up");
        }
    }
}

/// The users of a thread.
#[derive(Default)]
struct Users {
    here: Cell<usize>,
    /// Those that died of a panic.
    died: Cell<u32>,
    /// The crew knows that none is left.
    told: Cell<bool>,
    left: Notify,
}

/// One of them, as long as it is there.
struct Present(Rc<Users>);

impl Present {
    fn new(users: &Rc<Users>) -> Present {
        users.here.set(users.here.get() + 1);
        Present(Rc::clone(users))
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let users = &self.0;
        users.here.set(users.here.get() - 1);
        if std::thread::panicking() {
            tracing::error!("a virtual user died");
            users.died.set(users.died.get() + 1);
        }
        users.left.notify_one();
    }
}

/// How many users are still to connect.
#[derive(Default)]
struct Connected {
    missing: Cell<usize>,
    ids: Cell<Vec<u64>>,
    told: Cell<bool>,
    changed: Notify,
}

impl Connected {
    fn one(&self, id: Option<u64>) {
        let mut ids = self.ids.take();
        ids.push(id.unwrap_or(0));
        self.ids.set(ids);
        self.missing.set(self.missing.get() - 1);
        self.changed.notify_one();
    }

    /// The ids of all sessions, once all are there, and only once: two users that connect at one time wake the thread
    /// twice, and a thread that told it twice would stand for another that is not ready yet.
    fn complete(&self) -> Option<Vec<u64>> {
        (self.missing.get() == 0 && !self.told.replace(true)).then(|| self.ids.take())
    }
}

#[cfg(test)]
mod tests {
    use vufleet_scenarios::session::Dialect;
    use vufleet_scenarios::sql::Statement;
    use vufleet_scenarios::study::{self, Edits};
    use vufleet_scenarios::workload::{Outcome, Txn};

    use super::*;
    use crate::session::SimulatedSession;

    /// A workload that kills the user of the first seat.
    struct Doomed {
        vu: u32,
    }

    impl Workload for Doomed {
        type Shape = ();

        fn kinds((): &()) -> Vec<String> {
            vec!["doomed".to_owned()]
        }

        fn statements((): &(), _dialect: Dialect) -> Vec<Statement> {
            Vec::new()
        }

        fn eager((): &()) -> bool {
            false
        }

        fn seat(_shape: Rc<()>, seat: Seat) -> Self {
            Doomed { vu: seat.vu }
        }

        fn draw(&mut self) -> Txn {
            Txn { kind: 0 }
        }

        async fn run<S: Session>(&mut self, session: &mut S) -> Result<Outcome, Fault> {
            assert_ne!(self.vu, 0, "the first user dies");
            session.begin(vufleet_scenarios::session::Access::Write).await?;
            session.commit().await.map(|()| Outcome::Committed)
        }
    }

    /// It went on counting as connected, and the run as complete.
    #[test]
    fn a_user_that_dies_is_not_connected_any_more() {
        let text = "name = 'station'\nseed = 1\n[target]\nkind = 'simulated'\nservice_time = '1ms'\n[workload]\n\
                    kind = 'oltp'\nscript = 'point_select'\n[[profiles]]\nvus = 3\n[schedule]\nmeasure = '1s'\n\
                    connect_rate = 1000000\n";
        let study = study::read(text, &Edits::default()).unwrap();
        let plan = CrewPlan {
            profile: study.profiles[0].clone(),
            study: Arc::new(study),
            first_vu: 0,
            vus: 3,
            total_vus: 3,
            run_key: 1,
            run: 1,
            interval: Duration::from_millis(50),
            limit: None,
            threads: 1,
            opening: None,
        };
        let (order, orders) = mpsc::unbounded_channel();
        let (_kill, kills) = mpsc::unbounded_channel();
        let (reports, mut inbox) = mpsc::unbounded_channel();
        let seats = plan.seats().into_iter().enumerate().collect();
        let posts = (0..3).map(|_| Post::default()).collect();
        let (epoch, sessions) = (Instant::now(), Arc::default());
        let station =
            Station { plan, seats, posts, threads: 1, epoch, arrivals: None, orders, kills, reports, sessions };
        order.send(Order::Connect { begin: epoch }).unwrap();
        let thread = std::thread::spawn(|| station.man::<SimulatedSession, Doomed>(()));
        let mut parts = std::iter::from_fn(|| {
            loop {
                match inbox.blocking_recv()? {
                    Report::Connected { session_ids, .. } => {
                        assert_eq!(session_ids.len(), 3);
                        order.send(Order::Start { at: Instant::now() }).unwrap();
                    }
                    Report::Started { .. } => {}
                    Report::Part(part) => return Some((part.connected, part.ended)),
                    Report::Done { connected } => assert_eq!(connected, 0),
                    Report::Refused(_) | Report::Idle => panic!("nobody is refused, and nobody ends"),
                }
            }
        });
        // Its end is seen an interval or two later.
        assert_eq!(parts.find(|(_, ended)| *ended == 1), Some((2, 1)));
        order.send(Order::Stop).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn a_thread_is_connected_once() {
        let connected = Connected::default();
        connected.missing.set(2);
        connected.one(Some(7));
        assert_eq!(connected.complete(), None);
        connected.one(None);
        assert_eq!(connected.complete(), Some(vec![7, 0]));
        assert_eq!(connected.complete(), None);
    }
}
