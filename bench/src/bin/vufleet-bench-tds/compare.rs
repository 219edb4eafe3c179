//! Calls in two ways by turns, A B B A: what else the machine does meets both alike.

use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use procfs::process::Process;
use serde_json::json;
use tokio::task::JoinSet;
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::Target;

use crate::bare::Bare;
use crate::calls::Call;
use crate::ours::Ours;

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// vufleet's session
    Ours,
    /// The client library by itself
    Bare,
}

/// How long, how often.
#[derive(Debug, Clone, Copy, Args)]
pub struct Rounds {
    /// Connections of each way
    #[arg(long)]
    sessions: usize,
    /// Pairs of rounds
    #[arg(long, default_value_t = 10)]
    pairs: usize,
    /// Length of a round
    #[arg(long, default_value_t = 500)]
    round_ms: u64,
}

/// One connection of either way.
pub trait Caller: Sized + 'static {
    /// Connects, to execute these statements.
    async fn open(target: &Target, statements: &Rc<[Statement]>) -> Result<Self>;
    /// Calls, and returns how much came back.
    async fn call(&mut self, call: Call) -> Result<u64>;
}

/// CPU of one call in microseconds, for each pair of rounds: ours, the bare client's.
pub async fn compare(target: &Target, call: Call, rounds: Rounds) -> Result<serde_json::Value> {
    let statements = Rc::from([call.statement()]);
    let mut ours: Vec<Ours> = open(target, &statements, rounds.sessions).await?;
    let mut bare: Vec<Bare> = open(target, &statements, rounds.sessions).await?;
    let length = Duration::from_millis(rounds.round_ms);
    // First rounds prepare, and fill caches.
    let warm_up = length / 2;
    round(&mut ours, call, warm_up).await?;
    round(&mut bare, call, warm_up).await?;
    let mut pairs = Vec::with_capacity(rounds.pairs);
    for pair in 0..rounds.pairs {
        pairs.push(if pair % 2 == 0 {
            let first = round(&mut ours, call, length).await?;
            [first, round(&mut bare, call, length).await?]
        } else {
            let first = round(&mut bare, call, length).await?;
            [round(&mut ours, call, length).await?, first]
        });
    }
    Ok(json!({ "pairs": pairs }))
}

/// So many calls on one connection, and nothing besides.
pub async fn count(target: &Target, call: Call, way: Way, calls: u64) -> Result<()> {
    async fn repeat<C: Caller>(target: &Target, call: Call, calls: u64) -> Result<()> {
        let mut caller = C::open(target, &Rc::from([call.statement()])).await?;
        for _ in 0..calls {
            ensure!(caller.call(call).await? > 0, "an answer is missing");
        }
        Ok(())
    }
    match way {
        Way::Ours => repeat::<Ours>(target, call, calls).await,
        Way::Bare => repeat::<Bare>(target, call, calls).await,
    }
}

/// Opens connections one after the other.
pub async fn open<C: Caller>(target: &Target, statements: &Rc<[Statement]>, sessions: usize) -> Result<Vec<C>> {
    let mut all = Vec::with_capacity(sessions);
    for _ in 0..sessions {
        all.push(C::open(target, statements).await?);
    }
    Ok(all)
}

/// Everybody calls until the time is over. Returns microseconds of CPU a call.
async fn round<C: Caller>(callers: &mut Vec<C>, call: Call, length: Duration) -> Result<f64> {
    let (start, before) = (Instant::now(), cpu()?);
    let mut tasks = JoinSet::new();
    for mut caller in callers.drain(..) {
        tasks.spawn_local(async move {
            let mut calls = 0_u64;
            while start.elapsed() < length {
                ensure!(caller.call(call).await? > 0, "an answer is missing");
                calls += 1;
            }
            anyhow::Ok((caller, calls))
        });
    }
    let mut calls = 0;
    while let Some(done) = tasks.join_next().await {
        let (caller, more) = done??;
        callers.push(caller);
        calls += more;
    }
    Ok((cpu()? - before).as_secs_f64() * 1e6 / calls as f64)
}

/// Time that this process's one thread has been on a CPU. [proc_pid_schedstat]
fn cpu() -> Result<Duration> {
    let stat = Process::myself().and_then(|process| process.schedstat()).context("cannot read /proc/self/schedstat")?;
    Ok(Duration::from_nanos(stat.sum_exec_runtime))
}
