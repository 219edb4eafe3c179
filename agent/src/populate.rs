//! Fills tables: each thread takes the next chunk from a shared queue until none is left.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use vufleet_proto::v1::{self, event::Body};
use vufleet_scenarios::session::{Fault, FaultKind, Session, Source, Value};
use vufleet_scenarios::study::{Study, TargetKind};
use vufleet_scenarios::workload::{Chunk, Schema};

use crate::observe::meter::cpu_used;
use crate::outbox::Outlet;
use crate::session::{MysqlSession, SimulatedSession, SqliteSession};

/// Attempts at one item after faults that may pass.
const ATTEMPTS: u32 = 5;
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
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                return self.fail(format!("no runtime for the build: {error}; raise the limit of open files"));
            }
        };
        let local = tokio::task::LocalSet::new();
        match self.study.target.kind {
            TargetKind::Mysql => local.block_on(&runtime, self.serve::<MysqlSession>()),
            TargetKind::Sqlite => local.block_on(&runtime, self.serve::<SqliteSession>()),
            TargetKind::Simulated => local.block_on(&runtime, self.serve::<SimulatedSession>()),
        }
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
            Item::Chunk(chunk) => format!("loading {}", self.schema().destination(*chunk).0),
            Item::Statement(sql) => sql.lines().next().unwrap_or_default().to_owned(),
        }
    }

    fn schema(&self) -> &dyn Schema {
        self.study.workload.schema()
    }

    /// Does one item, again after faults that may pass.
    async fn persist<S: Session>(&self, session: &mut Option<S>, item: &Item) -> Result<(), Fault> {
        let mut attempt = 1;
        loop {
            let fault = match self.attempt(session, item, attempt).await {
                Ok(()) => return Ok(()),
                Err(fault) => fault,
            };
            if fault.kind.ends_connection() {
                session.take().into_iter().for_each(S::discard);
            }
            // A server that let us in before and does not now is probably starting again.
            let let_in_before = self.rows.load(Ordering::Relaxed) > 0;
            let may_pass = fault.kind.is_transient()
                || fault.kind == FaultKind::ConnectionLost
                || (fault.kind == FaultKind::Refused && let_in_before);
            if !may_pass || attempt == ATTEMPTS || self.over.load(Ordering::Relaxed) {
                return Err(fault);
            }
            tracing::warn!(%fault, attempt, "an item of the build is done again");
            tokio::time::sleep(Duration::from_millis(200) * 2u32.pow(attempt)).await;
            attempt += 1;
        }
    }

    async fn attempt<S: Session>(&self, session: &mut Option<S>, item: &Item, attempt: u32) -> Result<(), Fault> {
        let open = match session {
            Some(open) => open,
            None => session.insert(S::connect(&self.study.target, Rc::from([])).await?),
        };
        match item {
            Item::Statement(sql) => open.batch(sql).await,
            Item::Chunk(chunk) => {
                if attempt > 1 {
                    open.batch(&self.schema().clear(*chunk, S::DIALECT)).await?;
                }
                self.load(open, *chunk).await
            }
        }
    }

    async fn load<S: Session>(&self, session: &mut S, chunk: Chunk) -> Result<(), Fault> {
        let (table, columns) = self.schema().destination(chunk);
        let mut source = self.schema().source(self.study.seed, chunk);
        let mut counted = Counted { source: &mut *source, job: self, rows: 0 };
        let result = session.bulk(&table, &columns, &mut counted).await;
        if result.is_err() {
            // The whole chunk is loaded again.
            self.rows.fetch_sub(counted.rows, Ordering::Relaxed);
        }
        result.map(|_| ())
    }
}

/// Counts rows as they are taken, and has none left when the job is to end.
struct Counted<'a> {
    source: &'a mut dyn Source,
    job: &'a Job,
    rows: u64,
}

impl Source for Counted<'_> {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        if self.job.over.load(Ordering::Relaxed) || !self.source.next(put) {
            return false;
        }
        self.rows += 1;
        self.job.rows.fetch_add(1, Ordering::Relaxed);
        true
    }
}
