//! The same sessions sending the same statements on the same threads, and nothing else: nothing is recorded, nobody watches, no
//! coordinator is told. What vufleet's own measuring costs is what it takes beyond this. Started as a process of its own, so that
//! its CPU time is read as that of any other program.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use secrecy::SecretString;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use vufleet_agent::event_loop;
use vufleet_agent::session::MysqlSession;
use vufleet_scenarios::oltp::Oltp;
use vufleet_scenarios::session::{Fault, Session, Stmt};
use vufleet_scenarios::study::{self, Measure, Study, Workload as Chosen};
use vufleet_scenarios::workload::{Seat, Workload};

use crate::program::PASSWORD;

/// What the process is asked.
#[derive(Debug, Clone, Args)]
pub struct Bare {
    /// The study that vufleet is measured with.
    study: std::path::PathBuf,
    /// Threads for sessions.
    #[arg(long)]
    threads: usize,
}

/// What the sessions of a thread share.
struct Hall {
    study: Study,
    shape: Rc<<Oltp as Workload>::Shape>,
    limit: Option<u64>,
    stop: Arc<AtomicBool>,
}

impl Bare {
    /// Opens the sessions and sends for as long as the study says.
    pub fn run(&self) -> Result<()> {
        let text =
            std::fs::read_to_string(&self.study).with_context(|| format!("cannot read {}", self.study.display()))?;
        let mut study = study::read(&text, &Default::default()).map_err(|refusal| anyhow!("{refusal}"))?;
        study.target.password = std::env::var(PASSWORD).ok().map(SecretString::from);
        let (limit, length) = match study.schedule.measure {
            Measure::Transactions(each) => (Some(each), None),
            Measure::Duration(time) => (None, Some(study.schedule.ramp_up + time)),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..self.threads)
            .map(|thread| {
                let (study, stop, threads) = (study.clone(), Arc::clone(&stop), self.threads);
                thread::spawn(move || serve(study, limit, stop, thread, threads))
            })
            .collect();
        if let Some(length) = length {
            thread::sleep(length);
            stop.store(true, Ordering::Relaxed);
        }
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread died"))?)
    }
}

/// One thread: its share of the sessions, dealt out as a crew does it.
fn serve(study: Study, limit: Option<u64>, stop: Arc<AtomicBool>, thread: usize, threads: usize) -> Result<()> {
    let profile = &study.profiles[0];
    let Chosen::Oltp(shape) = profile.workload.clone() else { return Err(anyhow!("only OLTP is sent bare")) };
    let (seed, vus) = (study.seed, profile.vus);
    let seats = (0..vus).map(|vu| Seat { seed, vu, session: 0, vus, sessions_per_vu: 1, run: 1 });
    let own: Vec<Seat> = seats.skip(thread).step_by(threads).collect();
    let hall = Rc::new(Hall { study, shape: Rc::new(shape), limit, stop });
    event_loop::block_on(async {
        let (told, mut ends) = unbounded_channel();
        for seat in own {
            event_loop::spawn(live(Rc::clone(&hall), seat, told.clone()));
        }
        drop(told);
        while let Some(end) = ends.recv().await {
            end?;
        }
        Ok(())
    })?
}

async fn live(hall: Rc<Hall>, seat: Seat, told: UnboundedSender<Result<(), Fault>>) {
    // Whoever waits has gone only after another session's fault.
    told.send(work(&hall, seat).await).ok();
}

async fn work(hall: &Hall, seat: Seat) -> Result<(), Fault> {
    let statements: Rc<[_]> = Oltp::statements(&hall.shape, MysqlSession::DIALECT).into();
    let count = statements.len();
    let mut session = Box::pin(MysqlSession::connect(&hall.study.target, statements)).await?;
    for index in 0..count {
        session.prepare(Stmt(index as u16)).await?;
    }
    let mut workload = Oltp::seat(Rc::clone(&hall.shape), seat);
    let mut left = hall.limit.unwrap_or(u64::MAX);
    while left > 0 && !hall.stop.load(Ordering::Relaxed) {
        workload.draw();
        match workload.run(&mut session).await {
            Err(fault) if !fault.kind.is_transient() => return Err(fault),
            Err(_) => session.rollback().await?,
            Ok(_) => left -= 1,
        }
    }
    session.close().await;
    Ok(())
}

/// Longest that its sessions may take to be there: the load's clock starts with the process.
pub const CONNECTING: Duration = Duration::from_secs(1);
