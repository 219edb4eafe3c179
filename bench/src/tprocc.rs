//! TPROC-C: client CPU of a new order and of a warehouse that is built, what one core does without a database, and
//! memory of thousands of sessions.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::time::sleep;

use crate::load::{Calls, Load, Pause, Target, Wire, Work};
use crate::memory::Peak;
use crate::processes::{self, Usage};
use crate::program::{self, Program, Running};
use crate::server::Server;
use crate::statistics::Quartiles;
use crate::throughput::{self, Figures, Pace, Unit};

/// How often a build is looked at.
const POLL: Duration = Duration::from_millis(50);
/// Sessions of a virtual user with keying and thinking times.
const SESSIONS_PER_VU: u32 = 5;
/// Mean time from one of its transactions to the next, rounded up.
pub const CYCLE_S: u64 = 21;
/// A transaction without a database.
const SERVICE_TIME: Duration = Duration::from_millis(2);
/// A program that has no driving agent by then will have none.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much.
#[derive(Debug, Clone)]
pub struct Scale {
    /// Warehouses that are built.
    pub warehouses: u32,
    /// Load levels, in virtual users.
    pub levels: Vec<u32>,
    /// Users without a database and without a pause.
    pub simulated: u32,
    /// Sessions on MariaDB with keying and thinking times, by statements and by procedures (whose sessions cost the server 1 MB each).
    pub keyed: [(Calls, u32); 2],
    /// The same without a database; five to a virtual user, as in the first published experiment.
    pub keyed_simulated: u32,
    /// Runs of each load.
    pub rounds: usize,
    /// How long sessions key and think: two of three come to a transaction in one mean cycle.
    pub cycle: Duration,
    /// How long each takes.
    pub pace: Pace,
}

/// What a warehouse cost to build.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Build {
    /// CPU time of all of vufleet's processes, seconds a warehouse.
    pub cpu_s: f64,
    /// Seconds a warehouse, several at a time.
    pub wall_s: f64,
}

/// One load level.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// How it was sent.
    pub calls: Calls,
    /// Virtual users.
    pub vus: u32,
    /// Microseconds of the driving agent per new order.
    pub driver_us: Quartiles,
    /// Committed new orders a minute, counted by the server.
    pub nopm: Quartiles,
}

/// Memory of one kind of session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Keyed {
    /// How it was sent.
    pub calls: Calls,
    /// Whether there was a database.
    pub simulated: bool,
    /// Sessions.
    pub sessions: u32,
    /// Bytes of the driving agent for each of them.
    pub bytes: f64,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Findings {
    /// How much was asked.
    pub scale: Scale,
    /// Of the build.
    pub build: Build,
    /// Load levels on MariaDB.
    pub levels: Vec<Level>,
    /// Transactions of the mix per second of CPU time, without a database.
    pub simulated: Vec<(Calls, Quartiles)>,
    /// Sessions with keying and thinking times, each with all of its statements prepared.
    pub keyed: Vec<Keyed>,
}

impl Findings {
    /// Measures all of it.
    pub async fn measure(ours: &Program, server: &mut Server, scale: Scale) -> Result<Findings> {
        let spellings = [Calls::Procedures, Calls::Statements];
        let load = |target, calls, vus| {
            let work = Work::Tprocc { calls, warehouses: scale.warehouses };
            Load::on(target, work, vus, scale.pace.length())
        };
        let database = server.target(Wire::Tcp);
        let build = build(ours, &load(database.clone(), Calls::Procedures, 1), scale.warehouses).await?;

        let mut cells: Vec<(Calls, u32, Vec<Figures>)> = spellings
            .into_iter()
            .flat_map(|calls| scale.levels.iter().map(move |vus| (calls, *vus, Vec::new())))
            .collect();
        let mut simulated = spellings.map(|calls| (calls, Vec::new()));
        for round in 1..=scale.rounds {
            for (calls, vus, found) in &mut cells {
                let load = load(database.clone(), *calls, *vus);
                let figures = throughput::figures(server, ours, &load, Unit::NewOrder, scale.pace).await?;
                let (name, us, nopm) = (calls.name(), figures.driver_us, nopm(&figures));
                eprintln!("{name}, {vus} virtual users, round {round}: {us:.0} us a new order, {nopm:.0} NOPM");
                found.push(figures);
            }
            for (calls, found) in &mut simulated {
                let load = load(Target::Simulated(Duration::ZERO), *calls, scale.simulated);
                let rate = of_one_core(ours, &load, scale.pace).await?;
                eprintln!("{}, simulated, round {round}: {rate:.0} transactions a core second", calls.name());
                found.push(rate);
            }
        }
        let nothing = "nothing was measured";
        let levels = cells.into_iter().map(|(calls, vus, found)| {
            let quartiles = |figure: fn(&Figures) -> f64| Quartiles::of(found.iter().map(figure));
            Some(Level { calls, vus, driver_us: quartiles(|figures| figures.driver_us)?, nopm: quartiles(nopm)? })
        });
        let levels = levels.collect::<Option<_>>().context(nothing)?;
        let simulated = simulated.into_iter().map(|(calls, found)| Some((calls, Quartiles::of(found)?)));
        let simulated = simulated.collect::<Option<_>>().context(nothing)?;
        let mut keyed = Vec::new();
        for (calls, sessions) in scale.keyed {
            keyed.push(Keyed::measure(ours, &database, calls, sessions, &scale).await?);
        }
        let nowhere = Target::Simulated(SERVICE_TIME);
        keyed.push(Keyed::measure(ours, &nowhere, Calls::Statements, scale.keyed_simulated, &scale).await?);
        Ok(Findings { scale, build, levels, simulated, keyed })
    }
}

impl Keyed {
    async fn measure(ours: &Program, target: &Target, calls: Calls, sessions: u32, scale: &Scale) -> Result<Keyed> {
        let work = Work::Tprocc { calls, warehouses: scale.warehouses };
        let load = |sessions| Load {
            sessions_per_vu: SESSIONS_PER_VU,
            pause: Pause::KeyingThinking,
            ..Load::on(target.clone(), work, sessions, scale.cycle)
        };
        let base = Peak::of(ours, &load(SESSIONS_PER_VU)).await?;
        let bytes = Peak::of(ours, &load(sessions)).await?.over(&base);
        Ok(Keyed { calls, simulated: matches!(target, Target::Simulated(_)), sessions, bytes })
    }
}

fn nopm(figures: &Figures) -> f64 {
    figures.per_second * 60.0
}

async fn build(ours: &Program, load: &Load, warehouses: u32) -> Result<Build> {
    let begin = Instant::now();
    let mut running = program::build_tables(ours, load)?;
    let mut usage = Usage::new();
    while running.goes_on()? {
        // A process may end while it is read: what it had used a moment ago stays.
        usage.extend(processes::usage(running.pid()).unwrap_or_default());
        sleep(POLL).await;
    }
    let wall = begin.elapsed();
    running.finish()?;
    let cpu: Duration = usage.values().sum();
    let each = |time: Duration| time.as_secs_f64() / f64::from(warehouses);
    let build = Build { cpu_s: each(cpu), wall_s: each(wall) };
    eprintln!("{warehouses} warehouses built: {:.2} s CPU and {:.2} s a warehouse", build.cpu_s, build.wall_s);
    Ok(build)
}

/// Transactions per second of the driving agent's CPU time.
async fn of_one_core(ours: &Program, load: &Load, pace: Pace) -> Result<f64> {
    let mut running = ours.start(load)?;
    let driver = await_driver(ours, &mut running).await?;
    sleep(pace.warm_up + Duration::from_secs(1)).await;
    let (begin, before) = (Instant::now(), processes::cpu(driver)?);
    sleep(pace.window).await;
    let (wall, cpu) = (begin.elapsed(), processes::cpu(driver)? - before);
    let tps = running.finish()?.context("vufleet left no results")?.number("metrics/tps")?;
    ensure!(!cpu.is_zero(), "the driving agent used no CPU time");
    Ok(tps * wall.as_secs_f64() / cpu.as_secs_f64())
}

async fn await_driver(ours: &Program, running: &mut Running) -> Result<i32> {
    let begin = Instant::now();
    loop {
        if let Some(pid) = ours.driver(running)? {
            return Ok(pid);
        }
        ensure!(running.goes_on()?, "the program ended before its load began:\n{}", running.last_words());
        ensure!(begin.elapsed() < PATIENCE, "there is no driving agent after {PATIENCE:?}");
        sleep(POLL).await;
    }
}
