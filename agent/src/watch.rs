//! Samples of a run: the host at every tick, and the database's counters where this agent reads them.
//!
//! Both happen on a thread of their own. A reading of the counters can take longer than an interval beside a busy
//! database; the host's samples do not wait for it.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::sync::watch;
use tokio::task::LocalSet;
use vufleet_proto::v1::{self, event::Body};
use vufleet_scenarios::counters::{Part, mssql, mysql};
use vufleet_scenarios::session::Session;
use vufleet_scenarios::study::{Study, TargetKind};

use crate::clock::CommonClock;
use crate::fine;
use crate::observe::database::DatabaseObserver;
use crate::observe::host::{HostRole, HostSampler};
use crate::observe::orders::{Occasions, OrdersObserver};
use crate::observe::process::ProcessChoice;
use crate::outbox::Outlet;
use crate::session::{MssqlSession, MysqlAsyncSession, SqliteSession};

/// What is to be sampled.
pub struct WatchPlan {
    /// The study, with the password of the target resolved.
    pub study: Arc<Study>,
    /// Number of the run.
    pub run: u64,
    /// Length of an interval.
    pub interval: Duration,
    /// Whether the database's counters are read here.
    pub counters: bool,
    /// Why this host is sampled.
    pub role: HostRole,
    /// The common clock.
    pub clock: CommonClock,
    /// Where samples go.
    pub outlet: Outlet,
}

/// What is ordered: the grid's origin, and how many readings beside it.
#[derive(Debug, Clone, Copy)]
struct Orders {
    origin: Instant,
    extra_readings: u64,
    over: bool,
}

/// Samples under way; dropping it ends them.
pub struct Watch {
    orders: watch::Sender<Orders>,
}

impl Watch {
    /// Begins at once, on a grid of its own until [`align`](Watch::align).
    pub fn launch(plan: WatchPlan) -> anyhow::Result<Watch> {
        let origin = Instant::now();
        let (orders, received) = watch::channel(Orders { origin, extra_readings: 0, over: false });
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => LocalSet::new().block_on(&runtime, work(plan, received)),
                Err(error) => tracing::error!(%error, "no runtime for samples; raise the limit of open files"),
            })
            .context("cannot start a thread for samples; raise the limit of threads (ulimit -u)")?;
        Ok(Watch { orders })
    }

    /// Samples fall on `origin` and whole intervals after it from now on.
    pub fn align(&self, origin: Instant) {
        self.orders.send_modify(|orders| orders.origin = origin);
    }

    /// Reads the counters once more, now.
    pub fn read_counters(&self) {
        self.orders.send_modify(|orders| orders.extra_readings += 1);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.orders.send_modify(|orders| orders.over = true);
    }
}

async fn work(plan: WatchPlan, orders: watch::Receiver<Orders>) {
    let counters = read_counters(&plan, orders.clone());
    tokio::join!(sample_host(&plan, orders), counters);
}

/// The next instant of the grid after `now`.
fn next_tick(origin: Instant, interval: Duration, now: Instant) -> Instant {
    match now.checked_duration_since(origin) {
        None => origin,
        Some(since) => {
            let passed = (since.as_nanos() / interval.as_nanos().max(1)) as u32;
            origin + interval * (passed + 1)
        }
    }
}

/// Waits for the next tick. True: it came; false: the samples are over. Another origin starts the wait again.
async fn tick(orders: &mut watch::Receiver<Orders>, interval: Duration) -> bool {
    loop {
        let Orders { origin, over, .. } = *orders.borrow_and_update();
        if over {
            return false;
        }
        tokio::select! {
            () = fine::sleep_until(next_tick(origin, interval, Instant::now())) => return true,
            changed = orders.changed() => if changed.is_err() { return false },
        }
    }
}

async fn sample_host(plan: &WatchPlan, mut orders: watch::Receiver<Orders>) {
    let choice = match plan.role {
        HostRole::Observe => ProcessChoice::of(&plan.study),
        HostRole::Drive => ProcessChoice::None,
    };
    let mut sampler = match HostSampler::new(plan.role, choice) {
        Ok(sampler) => sampler,
        Err(error) => return notice(plan, format!("this host cannot be sampled: {error:#}")),
    };
    while tick(&mut orders, plan.interval).await {
        let at_ns = plan.clock.now();
        match sampler.sample() {
            Ok(sample) => plan.outlet.send(plan.run, Body::Host(v1::HostSample { at_ns, ..sample })),
            Err(error) => tracing::warn!("this host could not be sampled: {error:#}"),
        }
        if let Some(text) = sampler.take_notice() {
            notice(plan, text);
        }
    }
}

fn notice(plan: &WatchPlan, text: String) {
    tracing::warn!("{text}");
    let at_ns = plan.clock.now();
    plan.outlet.send(plan.run, Body::Notice(v1::Notice { level: v1::notice::Level::Warn as i32, text, at_ns }));
}

/// Reads what the kind of database and the workload have counters for.
async fn read_counters(plan: &WatchPlan, orders: watch::Receiver<Orders>) {
    if !plan.counters {
        return;
    }
    match plan.study.target.kind {
        TargetKind::Mysql => Counters::<MysqlAsyncSession>::new(plan, Some(mysql::parts())).read_on(orders).await,
        TargetKind::Sqlite => Counters::<SqliteSession>::new(plan, None).read_on(orders).await,
        TargetKind::Mssql => {
            let parts = mssql::parts(plan.study.target.database.as_deref(), plan.study.monitor.requests);
            Counters::<MssqlSession>::new(plan, Some(parts)).read_on(orders).await;
        }
        TargetKind::Simulated => {}
    }
}

/// What is read of a database: its server's counters, the orders it has taken, or both.
struct Counters<'a, S> {
    plan: &'a WatchPlan,
    server: Option<DatabaseObserver<S>>,
    orders: Option<(Occasions, OrdersObserver<S>)>,
}

impl<'a, S: Session> Counters<'a, S> {
    fn new(plan: &'a WatchPlan, parts: Option<Vec<Part>>) -> Self {
        let server = parts.map(|parts| DatabaseObserver::new(plan.study.control_target(), parts));
        let occasions = Occasions::of(&plan.study, plan.interval);
        let orders = occasions.map(|occasions| (occasions, OrdersObserver::new(Arc::clone(&plan.study))));
        Counters { plan, server, orders }
    }

    async fn read_on(mut self, mut orders: watch::Receiver<Orders>) {
        if self.server.is_none() && self.orders.is_none() {
            return;
        }
        let mut extra_done = 0;
        loop {
            let Orders { extra_readings, over, .. } = *orders.borrow_and_update();
            if over {
                break;
            }
            if extra_readings == extra_done && !tick_or_order(&mut orders, self.plan.interval, extra_done).await {
                break;
            }
            let now = *orders.borrow();
            let ordered = now.extra_readings != extra_done;
            extra_done = now.extra_readings;
            self.read(ordered, now.origin.elapsed()).await;
        }
        if let Some(server) = self.server {
            server.close().await;
        }
        if let Some((_, orders)) = self.orders {
            orders.close().await;
        }
    }

    /// The server's counters come last: whoever has seen them has seen both.
    async fn read(&mut self, ordered: bool, since_start: Duration) {
        let plan = self.plan;
        let mut own_statements = 0;
        if let Some((occasions, orders)) = &mut self.orders {
            if ordered || occasions.is_one(since_start) {
                let counters = orders.read(&plan.clock).await;
                plan.outlet.send(plan.run, Body::Counters(counters));
            }
            own_statements = orders.sent();
        }
        if let Some(server) = &mut self.server {
            let mut reading = server.read().await;
            reading.own_statements += own_statements;
            if let Some(lacks) = reading.error.as_ref().filter(|_| !reading.values.is_empty()) {
                notice(plan, lacks.clone());
            }
            let time = plan.clock.translation();
            let (before_ns, after_ns) = (time.at(reading.before), time.at(reading.after));
            plan.outlet.send(plan.run, Body::Counters(reading.into_counters(before_ns, after_ns)));
        }
    }
}

/// Waits for a tick or for an order to read now. False: the samples are over.
async fn tick_or_order(orders: &mut watch::Receiver<Orders>, interval: Duration, extra_done: u64) -> bool {
    loop {
        let Orders { origin, extra_readings, over } = *orders.borrow_and_update();
        if over || extra_readings != extra_done {
            return !over;
        }
        tokio::select! {
            () = fine::sleep_until(next_tick(origin, interval, Instant::now())) => return true,
            changed = orders.changed() => if changed.is_err() { return false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_on_the_grid() {
        let origin = Instant::now() + Duration::from_secs(10);
        let second = Duration::from_secs(1);
        assert_eq!(next_tick(origin, second, origin - second), origin);
        assert_eq!(next_tick(origin, second, origin), origin + second);
        assert_eq!(next_tick(origin, second, origin + second / 2), origin + second);
        assert_eq!(next_tick(origin, second, origin + second * 7 + second / 3), origin + second * 8);
    }
}
