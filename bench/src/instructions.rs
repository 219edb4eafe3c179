//! User-space instructions a statement: of vufleet's agent, of the same sessions without its measuring, and of sysbench.
//!
//! Each is run twice under callgrind with a counted load, a short one and a long one. The difference of instructions over the
//! difference of statements, which the server counts, is what a statement costs: start-up, connecting and preparing cancel out.
//! What a program does by the clock does not: an emulated second has a fiftieth of the statements, so that heartbeats and
//! intervals weigh more here than they do in truth.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::callgrind::{self, Profile};
use crate::lab::Lab;
use crate::load::{Length, Load, Wire, Work};
use crate::program::{self, Program};
use crate::server::Server;

/// An emulated agent may be silent for long.
const LEASE: Duration = Duration::from_secs(600);
/// A counted load that has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(50);
/// Sessions, on one thread where a program can be told: an emulator runs one thread at a time.
pub const SESSIONS: u32 = 16;
/// Functions that are listed.
const LISTED: usize = 15;

/// How long the two loads are.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// Statements of the shorter one, about.
    pub short: u32,
    /// And of the longer one.
    pub long: u32,
}

/// One program under one script.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Instructions a statement, of the whole process.
    pub process: f64,
    /// Of the thread that serves the sessions, or of the busiest.
    pub thread: f64,
    /// The costliest functions.
    pub functions: Vec<(String, f64)>,
}

/// One script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Its name.
    pub name: &'static str,
    /// vufleet's agent.
    pub ours: Cost,
    /// The same sessions, nothing recorded.
    pub bare: Cost,
    /// sysbench.
    pub sysbench: Cost,
}

/// Counts both scripts.
pub async fn measure(ours: &Program, server: &mut Server, lengths: Lengths) -> Result<Vec<Script>> {
    callgrind::check()?;
    let mut scripts = Vec::new();
    for (name, statements) in [("point_select", 1), ("read_write", 20)] {
        let transactions = |count: u32| (count / statements / SESSIONS).max(1);
        let counts = [transactions(lengths.short), transactions(lengths.long)];
        let mut cost = async |program: &Program| {
            let cost = cost(program, server, name, counts).await?;
            eprintln!("{name}, {}: {:.0} instructions a statement", program.name(), cost.process);
            anyhow::Ok(cost)
        };
        let ours = cost(ours).await?;
        scripts.push(Script {
            name,
            ours,
            bare: cost(&Program::Bare).await?,
            sysbench: cost(&Program::Sysbench).await?,
        });
    }
    Ok(scripts)
}

/// What a script's functions cost, for people who tune them.
pub fn listing(script: &Script) -> String {
    let mut out = String::new();
    for (who, cost) in [("vufleet", &script.ours), ("bare", &script.bare), ("sysbench", &script.sysbench)] {
        out += &format!("{} of {who}: {:.0} instructions a statement\n", script.name, cost.process);
        for (name, each) in &cost.functions {
            out += &format!("{each:10.1}  {name}\n");
        }
    }
    out
}

async fn cost(program: &Program, server: &mut Server, script: &'static str, counts: [u32; 2]) -> Result<Cost> {
    let mut runs = Vec::new();
    for count in counts {
        let load = Load {
            length: Length::Transactions(count),
            ..Load::on(server.target(Wire::Tcp), Work::script(script), SESSIONS, Duration::ZERO)
        };
        let before = server.questions().await?;
        let directory = tempfile::Builder::new().prefix("vufleet-bench-").tempdir()?;
        let counted = match program {
            Program::Vufleet(_) => agent(program, &load, &directory).await,
            Program::Sysbench | Program::Bare => alone(program, &load, &directory).await,
        };
        let profile = counted.with_context(|| format!("{} could not be counted under {load:?}", program.name()))?;
        runs.push((profile, server.questions().await? - before));
    }
    let [(short, fewer), (long, more)] = &runs[..] else { unreachable!("two lengths, two runs") };
    let statements = (*more as f64) - (*fewer as f64);
    ensure!(statements > 0.0, "the longer load has sent no more statements than the shorter one");
    let each = |of: fn(&Profile) -> u64| (of(long) as f64 - of(short) as f64) / statements;
    let mut functions = long.functions_over(short, statements);
    functions.truncate(LISTED);
    Ok(Cost { process: each(Profile::total), thread: each(Profile::busiest_thread), functions })
}

/// A program of one process.
async fn alone(program: &Program, load: &Load, directory: &TempDir) -> Result<Profile> {
    let command = program.command(load, directory.path(), 1)?;
    let log = std::fs::File::create(directory.path().join("output.log"))?;
    let mut counted = callgrind::under(&command, directory.path());
    let child = counted.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
    let ended = await_end(child).await?;
    let said = || std::fs::read_to_string(directory.path().join("output.log")).unwrap_or_default();
    ensure!(ended.success(), "{} ended with {ended}: {}", program.name(), said());
    Profile::read(directory.path())
}

/// vufleet's agent, with everything that belongs to it; its coordinator is not counted.
async fn agent(program: &Program, load: &Load, directory: &TempDir) -> Result<Profile> {
    let mut lab = Lab::start(program.directory()?, LEASE)?;
    let mut command: Command = lab.agent("counted");
    command.args(["--threads", "1"]);
    lab.start_agent(callgrind::under(&command, directory.path()))?;
    lab.await_agents(1, Instant::now()).await?;
    let ended = await_end(lab.run(&program::study(load), 1)?).await?;
    ensure!(ended.success(), "the run ended with {ended}: {}", lab.last_words());
    lab.dismiss()?;
    Profile::read(directory.path())
}

async fn await_end(mut child: Child) -> Result<std::process::ExitStatus> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begin.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("a counted load has not ended after {PATIENCE:?}");
        }
        sleep(POLL).await;
    }
}
