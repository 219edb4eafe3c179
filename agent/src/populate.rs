//! Fills tables: each thread takes the next chunk from a shared queue until none is left.
//!
//! A chunk that failed half-way is cleared and loaded again. Its seal, where it has one, is one transaction: once that
//! has committed the chunk is complete, even when nobody heard of the commit.

mod rows;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use vufleet_proto::v1::{self, event::Body};
use vufleet_scenarios::session::{Access, Fault, FaultKind, Session};
use vufleet_scenarios::study::{Study, TargetKind};
use vufleet_scenarios::workload::{Chunk, Load, Schema};

use self::rows::{Counted, Search};
use crate::observe::meter::cpu_used;
use crate::outbox::Outlet;
use crate::session::{MssqlSession, MysqlSession, SimulatedSession, SqliteSession};
use crate::{event_loop, fine};

/// Attempts at one item after faults that may pass while the server is there.
const ATTEMPTS: u32 = 5;
/// How long a server that has let us in may be away: it may have to recover from a crash.
const ABSENCE: Duration = Duration::from_secs(300);
const FIRST_PAUSE: Duration = Duration::from_millis(400);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
const PROGRESS: Duration = Duration::from_millis(500);
/// How soon the end of the last thread is noticed.
const ROUND: Duration = Duration::from_millis(20);

/// What a thread takes from the queue.
enum Item {
    Chunk(Chunk),
    Statement(String),
}

/// A job that its threads share.
struct Job {
    study: Arc<Study>,
    /// Chunks may hold rows of an earlier attempt.
    resumed: bool,
    /// The server has let somebody in: when it does not any more, it is probably starting again.
    let_in: AtomicBool,
    queue: Mutex<VecDeque<Item>>,
    rows: AtomicU64,
    items_done: AtomicU32,
    over: Arc<AtomicBool>,
    error: Mutex<Option<String>>,
}

/// Starts a job; its progress and its end are events. `over` ends it early.
pub fn start(
    study: Arc<Study>,
    order: v1::Populate,
    threads: usize,
    over: Arc<AtomicBool>,
    outlet: Outlet,
) -> anyhow::Result<()> {
    let chunks = order
        .chunks
        .iter()
        .map(|chunk| Item::Chunk(Chunk { part: chunk.part, first: chunk.first, count: chunk.count }));
    let items: VecDeque<Item> = chunks.chain(order.statements.into_iter().map(Item::Statement)).collect();
    // SQLite has one writer at a time: more threads would only wait for each other.
    let threads = if study.target.kind == TargetKind::Sqlite { 1 } else { threads.min(items.len()).max(1) };
    let job = Arc::new(Job {
        study,
        resumed: order.resumed,
        let_in: AtomicBool::new(false),
        queue: Mutex::new(items),
        rows: AtomicU64::new(0),
        items_done: AtomicU32::new(0),
        over,
        error: Mutex::new(None),
    });
    let number = order.job;
    thread::Builder::new()
        .name("populate".to_owned())
        .spawn(move || supervise(&job, number, threads, &outlet))
        .context("cannot start a thread for the build; raise the limit of threads (ulimit -u)")?;
    Ok(())
}

fn supervise(job: &Arc<Job>, number: u64, threads: usize, outlet: &Outlet) {
    let cpu = cpu_used();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| job.work())).collect();
        let mut told = Instant::now();
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(ROUND);
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                outlet.send(number, Body::Populate(job.progress()));
            }
        }
    });
    let error = job.error.lock().unwrap_or_else(PoisonError::into_inner).take();
    let stopped = job.over.swap(true, Ordering::Relaxed).then(|| "stopped".to_owned());
    let client_cpu = cpu_used().saturating_sub(cpu);
    outlet.send(
        number,
        Body::Populate(v1::PopulateProgress {
            finished: true,
            error: error.or(stopped).unwrap_or_default(),
            client_cpu_ms: client_cpu.as_millis() as u64,
            ..job.progress()
        }),
    );
}

impl Job {
    fn progress(&self) -> v1::PopulateProgress {
        v1::PopulateProgress {
            rows: self.rows.load(Ordering::Relaxed),
            items_done: self.items_done.load(Ordering::Relaxed),
            ..Default::default()
        }
    }

    fn fail(&self, error: String) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn next(&self) -> Option<Item> {
        if self.over.load(Ordering::Relaxed) {
            return None;
        }
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn work(&self) {
        let served = match self.study.target.kind {
            TargetKind::Mysql => self.serve_all::<MysqlSession>(),
            TargetKind::Mssql => self.serve_all::<MssqlSession>(),
            TargetKind::Sqlite => self.serve_all::<SqliteSession>(),
            TargetKind::Simulated => self.serve_all::<SimulatedSession>(),
        };
        if let Err(error) = served {
            self.fail(format!("no event loop for the build: {error}; raise the limit of open files (ulimit -n)"));
        }
    }

    fn serve_all<S: Session>(&self) -> std::io::Result<()> {
        event_loop::block_on_for::<S, _>(self.serve::<S>())
    }

    async fn serve<S: Session>(&self) {
        let mut session: Option<S> = None;
        while let Some(item) = self.next() {
            match self.persist(&mut session, &item).await {
                Ok(()) => {
                    self.items_done.fetch_add(1, Ordering::Relaxed);
                }
                Err(fault) => self.fail(format!("{}: {fault}", self.describe(&item))),
            }
        }
        if let Some(session) = session {
            session.close().await;
        }
    }

    fn describe(&self, item: &Item) -> String {
        match item {
            Item::Chunk(chunk) => format!("loading {}", self.schema().describe(*chunk)),
            Item::Statement(sql) => sql.lines().next().unwrap_or_default().to_owned(),
        }
    }

    fn schema(&self) -> &dyn Schema {
        self.study.workload.schema()
    }

    /// Does one item, again after faults that may pass.
    async fn persist<S: Session>(&self, session: &mut Option<S>, item: &Item) -> Result<(), Fault> {
        let mut attempt = 1;
        let mut away_since = None;
        loop {
            let fault = match self.attempt(session, item, attempt).await {
                Ok(()) => return Ok(()),
                Err(fault) => fault,
            };
            // Whatever is open must not be committed by the next BEGIN.
            if let Some(open) = session
                && (fault.kind.ends_connection() || open.rollback().await.is_err())
            {
                session.take().into_iter().for_each(S::discard);
            }
            let patient = if fault.kind.ends_connection() {
                let away = away_since.get_or_insert_with(Instant::now).elapsed();
                self.let_in.load(Ordering::Relaxed) && away < ABSENCE
            } else {
                may_pass(fault.kind, item) && attempt < ATTEMPTS
            };
            if !patient || self.over.load(Ordering::Relaxed) {
                return Err(fault);
            }
            tracing::warn!(%fault, attempt, "an item of the build is done again");
            fine::sleep(pause(attempt)).await;
            attempt += 1;
        }
    }

    async fn attempt<S: Session>(&self, session: &mut Option<S>, item: &Item, attempt: u32) -> Result<(), Fault> {
        let open = match session {
            Some(open) => open,
            None => session.insert(S::connect(&self.study.target, Rc::from([])).await?),
        };
        self.let_in.store(true, Ordering::Relaxed);
        let chunk = match item {
            Item::Statement(sql) => return open.batch(sql).await,
            Item::Chunk(chunk) => *chunk,
        };
        if attempt > 1 && self.is_complete(open, chunk).await? {
            self.rows.fetch_add(chunk.count, Ordering::Relaxed);
            return Ok(());
        }
        if attempt > 1 || self.resumed {
            for sql in self.schema().clear(chunk, S::DIALECT) {
                open.batch(&sql).await?;
            }
        }
        self.load(open, chunk).await
    }

    /// Whether an earlier attempt got through although its commit was not answered.
    async fn is_complete<S: Session>(&self, session: &mut S, chunk: Chunk) -> Result<bool, Fault> {
        let Some(resume) = self.schema().resume(self.study.seed, S::DIALECT) else { return Ok(false) };
        let mut search = Search::of(chunk.part);
        session.query(&resume.complete, &mut search).await?;
        Ok(search.found)
    }

    async fn load<S: Session>(&self, session: &mut S, chunk: Chunk) -> Result<(), Fault> {
        let mut loaded = 0;
        let result = self.load_all(session, chunk, &mut loaded).await;
        if result.is_err() {
            // The whole chunk is loaded again.
            self.rows.fetch_sub(loaded, Ordering::Relaxed);
        }
        result
    }

    async fn load_all<S: Session>(&self, session: &mut S, chunk: Chunk, loaded: &mut u64) -> Result<(), Fault> {
        let loads = self.schema().loads(self.study.seed, chunk);
        for load in loads.batches {
            self.load_one(session, load, loaded).await?;
        }
        if loads.seal.is_empty() {
            return Ok(());
        }
        session.begin(Access::Write).await?;
        for load in loads.seal {
            self.load_one(session, load, loaded).await?;
        }
        session.commit().await
    }

    async fn load_one<S: Session>(&self, session: &mut S, mut load: Load, loaded: &mut u64) -> Result<(), Fault> {
        let mut counted = Counted::new(&mut *load.source, &self.rows, &self.over);
        let result = session.bulk(&load.table, load.columns, &mut counted).await;
        *loaded += counted.rows;
        if counted.cut {
            // A chunk that was cut short is not done.
            return Err(Fault::new(FaultKind::Deadline, "stopped"));
        }
        result.map(drop)
    }
}

/// Whether a fault of a connection that is still there may pass.
fn may_pass(kind: FaultKind, item: &Item) -> bool {
    match kind {
        // The server may still have been busy with what an earlier attempt sent last when its rows were cleared.
        FaultKind::Duplicate => matches!(item, Item::Chunk(_)),
        kind => kind.is_transient(),
    }
}

/// How long to wait after an attempt, counted from 1.
fn pause(attempt: u32) -> Duration {
    (FIRST_PAUSE * 2u32.pow(attempt.clamp(1, 8) - 1)).min(LONGEST_PAUSE)
}
