//! Throughput and client CPU per statement, two programs in turns on the same tables.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::time::sleep;

use crate::load::{Load, Wire, Work};
use crate::processes::{self, Usage};
use crate::program::{Program, Running};
use crate::server::Server;
use crate::statistics::Quartiles;

/// How often the server is asked whether the load has begun.
const POLL: Duration = Duration::from_millis(100);
/// Statements between two polls that nothing but the load sends.
const LOAD: u64 = 25;
/// A program that has sent nothing by then will not.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a load lasts beyond the window: reading the counters of a server that is busy with hundreds of sessions takes a while.
const SLACK: Duration = Duration::from_secs(2);

/// A script at a load level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Name of the script.
    pub script: &'static str,
    /// Connections.
    pub sessions: u32,
    /// How bytes get to the server.
    pub wire: Wire,
}

const SCRIPTS: [&str; 2] = ["point_select", "read_write"];
const SESSIONS: [u32; 5] = [1, 4, 16, 64, 256];

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sessions = if self.sessions == 1 { "session" } else { "sessions" };
        write!(f, "{}, {} {sessions}, {}", self.script, self.sessions, self.wire.name())
    }
}

impl Cell {
    /// What is measured.
    pub fn all() -> Vec<Cell> {
        let levels = SCRIPTS.iter().flat_map(|script| SESSIONS.map(|sessions| (*script, sessions)));
        levels
            .flat_map(|(script, sessions)| [Wire::Tcp, Wire::Unix].map(|wire| Cell { script, sessions, wire }))
            .collect()
    }

    /// A cell from the command line: `point_select:16`, or `read_write:64:unix`.
    pub fn parse(text: &str) -> Result<Cell, String> {
        let known = || {
            format!(
                "write one of {} and sessions, for example point_select:16 or read_write:64:unix",
                SCRIPTS.join(", ")
            )
        };
        let words: Vec<&str> = text.split(':').collect();
        let (script, sessions, wire) = match words[..] {
            [script, sessions] | [script, sessions, "tcp"] => (script, sessions, Wire::Tcp),
            [script, sessions, "unix"] => (script, sessions, Wire::Unix),
            _ => return Err(known()),
        };
        let script = SCRIPTS.into_iter().find(|known| *known == script).ok_or_else(known)?;
        let sessions = sessions.parse().ok().filter(|sessions| (1..=4_096).contains(sessions)).ok_or_else(known)?;
        Ok(Cell { script, sessions, wire })
    }
}

/// How long a pair takes.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Under load before the window.
    pub warm_up: Duration,
    /// What is measured.
    pub window: Duration,
}

impl Pace {
    /// Of a load that lasts until the window is over for sure.
    pub fn length(self) -> Duration {
        self.warm_up + self.window + SLACK
    }
}

/// What the server counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Statements.
    Statement,
    /// TPROC-C's committed new orders.
    NewOrder,
}

/// One program in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Units a second, counted by the server.
    pub per_second: f64,
    /// Microseconds of the process that makes the load, per unit.
    pub driver_us: f64,
    /// Microseconds of all of the program's processes, per unit.
    pub all_us: f64,
    /// Share of all cores that was used by neither program nor server.
    pub others: f64,
}

/// Both programs, one right after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The program under test.
    pub ours: Figures,
    /// The one compared with.
    pub theirs: Figures,
}

/// Quartiles over the pairs of one cell.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    /// CPU per statement of the process that makes the load, ours over theirs.
    pub driver: Quartiles,
    /// The same of all processes.
    pub all: Quartiles,
    /// Throughput, ours over theirs.
    pub rate: Quartiles,
}

impl Comparison {
    /// Of at least one pair.
    pub fn of(pairs: &[Pair]) -> Option<Comparison> {
        let ratios = |figure: fn(&Figures) -> f64| {
            Quartiles::of(pairs.iter().map(|pair| figure(&pair.ours) / figure(&pair.theirs)))
        };
        Some(Comparison {
            driver: ratios(|figures| figures.driver_us)?,
            all: ratios(|figures| figures.all_us)?,
            rate: ratios(|figures| figures.per_second)?,
        })
    }
}

/// Every cell once, then every cell again: a change of the machine's mood meets all of them.
pub async fn all_pairs(
    server: &mut Server,
    programs: [&Program; 2],
    cells: &[Cell],
    pace: Pace,
    rounds: usize,
) -> Result<Vec<(Cell, Vec<Pair>)>> {
    let mut found: Vec<(Cell, Vec<Pair>)> = cells.iter().map(|cell| (*cell, Vec::new())).collect();
    for round in 0..rounds {
        for (cell, pairs) in &mut found {
            let pair = pair(server, programs, *cell, pace, round % 2 == 0).await?;
            let (ours, theirs) = (pair.ours, pair.theirs);
            eprintln!(
                "{cell}, {} and {}, pair {}: {:.1} and {:.1} us, {:.0} and {:.0}/s",
                programs[0].name(),
                programs[1].name(),
                round + 1,
                ours.driver_us,
                theirs.driver_us,
                ours.per_second,
                theirs.per_second
            );
            pairs.push(pair);
        }
    }
    Ok(found)
}

/// Measures a pair. `ours_first` changes from pair to pair, so that a drift of the machine favours nobody.
async fn pair(server: &mut Server, programs: [&Program; 2], cell: Cell, pace: Pace, ours_first: bool) -> Result<Pair> {
    let length = pace.length();
    let load = Load::on(server.target(cell.wire), Work::script(cell.script), cell.sessions, length);
    let [ours, theirs] = programs;
    let mut measure = async |program| figures(server, program, &load, Unit::Statement, pace).await;
    if ours_first {
        let ours = measure(ours).await?;
        Ok(Pair { ours, theirs: measure(theirs).await? })
    } else {
        let theirs = measure(theirs).await?;
        Ok(Pair { ours: measure(ours).await?, theirs })
    }
}

/// Measures one program under one load.
pub async fn figures(server: &mut Server, program: &Program, load: &Load, unit: Unit, pace: Pace) -> Result<Figures> {
    let mut running = program.start(load)?;
    let window = window(server, program, &mut running, unit, pace).await;
    let window = window.with_context(|| format!("{program:?} under {load:?} said:\n{}", running.last_words()))?;
    running.finish()?;
    Ok(window)
}

async fn window(
    server: &mut Server,
    program: &Program,
    running: &mut Running,
    unit: Unit,
    pace: Pace,
) -> Result<Figures> {
    await_load(server, running).await?;
    sleep(pace.warm_up).await;
    let driver = program.driver(running)?.context("the process that makes the load is gone")?;
    let first = Edge::read(server, unit, running.pid()).await?;
    sleep(pace.window).await;
    let last = Edge::read(server, unit, running.pid()).await?;
    let questions = server.questions().await?;
    sleep(POLL).await;
    ensure!(server.questions().await? > questions + LOAD, "the load ended inside the window");
    last.since(&first, driver)
}

/// Connecting and preparing do not count as statements of the load.
async fn await_load(server: &mut Server, running: &mut Running) -> Result<()> {
    let begin = Instant::now();
    let mut before = server.questions().await?;
    loop {
        sleep(POLL).await;
        let now = server.questions().await?;
        if now > before + LOAD {
            return Ok(());
        }
        before = now;
        ensure!(running.goes_on()?, "the program ended before its load began");
        ensure!(begin.elapsed() < PATIENCE, "there is no load after {PATIENCE:?}");
    }
}

/// One side of a window.
struct Edge {
    at: Instant,
    count: u64,
    usage: Usage,
    server: Duration,
    host: Duration,
}

impl Edge {
    async fn read(server: &mut Server, unit: Unit, root: i32) -> Result<Edge> {
        let (usage, host) = (processes::usage(root)?, processes::host_busy()?);
        let before = Instant::now();
        let count = match unit {
            Unit::Statement => server.questions().await?,
            Unit::NewOrder => server.orders().await?,
        };
        // The server may take long to answer: the middle is the best guess at when it counted.
        let at = before + before.elapsed() / 2;
        let again = processes::usage(root)?;
        let middle = usage.iter().filter_map(|(pid, cpu)| Some((*pid, (*cpu + *again.get(pid)?) / 2))).collect();
        Ok(Edge { at, count, usage: middle, server: processes::cpu(server.pid()?)?, host })
    }

    fn since(&self, first: &Edge, driver: i32) -> Result<Figures> {
        let used = |pid: &i32, cpu: &Duration| cpu.saturating_sub(first.usage.get(pid).copied().unwrap_or_default());
        let all: Duration = self.usage.iter().map(|(pid, cpu)| used(pid, cpu)).sum();
        let driving = self.usage.get(&driver).map(|cpu| used(&driver, cpu));
        let driving = driving.context("the process that makes the load ended inside the window")?;
        let seconds = (self.at - first.at).as_secs_f64();
        let units = (self.count - first.count) as f64;
        ensure!(units > 0.0, "the server counted nothing");
        let others = (self.host - first.host).saturating_sub(all + (self.server - first.server));
        Ok(Figures {
            per_second: units / seconds,
            driver_us: driving.as_secs_f64() * 1e6 / units,
            all_us: all.as_secs_f64() * 1e6 / units,
            others: others.as_secs_f64() / seconds / processes::cores() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn edge(at: Instant, count: u64, usage: &[(i32, u32)], server: u32, host: u32) -> Edge {
        let usage = usage.iter().map(|(pid, seconds)| (*pid, S * *seconds)).collect();
        Edge { at, count, usage, server: S * server, host: S * host }
    }

    #[test]
    fn a_window_takes_differences() {
        let start = Instant::now();
        let first = edge(start, 1_000, &[(7, 1), (8, 100)], 50, 500);
        // Process 9 is new; process 6 was there at neither edge.
        let last = edge(start + 10 * S, 1_001_000, &[(7, 3), (8, 104), (9, 1)], 58, 520);
        let figures = last.since(&first, 8).unwrap();
        assert_eq!((figures.per_second, figures.driver_us, figures.all_us), (100_000.0, 4.0, 7.0));
        let others = 20.0 - 7.0 - 8.0;
        assert!((figures.others * processes::cores() as f64 - others / 10.0).abs() < 1e-9, "{figures:?}");
        assert!(last.since(&first, 6).is_err());
    }

    #[test]
    fn a_cell_is_a_script_a_level_and_a_wire() {
        let cell = |wire| Ok(Cell { script: "read_write", sessions: 64, wire });
        assert_eq!(Cell::parse("read_write:64"), cell(Wire::Tcp));
        assert_eq!(Cell::parse("read_write:64:tcp"), cell(Wire::Tcp));
        assert_eq!(Cell::parse("read_write:64:unix"), cell(Wire::Unix));
        for wrong in
            ["", "read_write", "read_only:16", "read_write:0", "read_write:x", "read_write:16:pipe", "a:1:unix:2"]
        {
            assert!(Cell::parse(wrong).unwrap_err().contains("read_write:64:unix"), "{wrong}");
        }
        assert_eq!(Cell::all().len(), 20);
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let figures = |per_second, driver_us| Figures { per_second, driver_us, all_us: 2.0 * driver_us, others: 0.0 };
        let slow_machine = Pair { ours: figures(50.0, 20.0), theirs: figures(100.0, 10.0) };
        let fast_machine = Pair { ours: figures(500.0, 4.0), theirs: figures(1000.0, 2.0) };
        let comparison = Comparison::of(&[slow_machine, fast_machine]).unwrap();
        assert_eq!((comparison.driver.low, comparison.driver.high), (2.0, 2.0));
        assert_eq!((comparison.all.median, comparison.rate.median), (2.0, 0.5));
        assert!(Comparison::of(&[]).is_none());
    }
}
