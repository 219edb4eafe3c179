//! `vufleet-bench`: vufleet beside sysbench on one MariaDB, and its own TPROC-C, for docs/benchmarks.md; and its intervals
//! against a known truth, for docs/method.md.
//!
//! Load is measured from outside: it starts the programs as anybody would and reads the kernel's and the server's counts of
//! what they did. Only the proof of the intervals, which needs no load, calls the coordinator's own analysis.

mod coverage;
mod ledger;
mod load;
mod machine;
mod memory;
mod page;
mod processes;
mod program;
mod scale;
mod server;
mod statistics;
mod throughput;
mod tprocc;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use crate::ledger::{Ages, Day};
use crate::load::{Calls, Load, Target, Work};
use crate::machine::Machine;
use crate::memory::{Costs, Scale};
use crate::program::Program;
use crate::scale::{Crowd, Fleets};
use crate::server::Server;
use crate::throughput::{CELLS, Cell, Pace, Pair};
use crate::tprocc::Findings;

/// Measures vufleet beside sysbench, proves its intervals, and writes the tables of docs/benchmarks.md and docs/method.md.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Examples:\n  make bench\n  vufleet-bench --quick\n  vufleet-bench --only coverage\n  vufleet-bench --only throughput --cells point_select:16 \
                  --pairs 9 --against ../other/target/release\n\n\
                  Exit codes: 0 measured, 1 something could not be measured, 2 usage."
)]
struct Args {
    /// One pair, short windows, few sessions; the page stays as it is
    #[arg(long)]
    quick: bool,
    /// One part only
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Scripts and sessions, for example point_select:16; the page stays as it is [default: all four]
    #[arg(long, value_delimiter = ',', value_parser = cell)]
    cells: Vec<Cell>,
    /// Pairs of each cell [default: 7]
    #[arg(long)]
    pairs: Option<usize>,
    /// Compare with the vufleet in this directory instead of sysbench; the page stays as it is
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// The page with the tables of load
    #[arg(long, default_value = "docs/benchmarks.md")]
    page: PathBuf,
    /// The page with the table of intervals
    #[arg(long, default_value = "docs/method.md")]
    method_page: PathBuf,
}

/// Medians of fewer pairs do not get onto the page.
const FEWEST_PAIRS: usize = 5;

/// Fewer ledgers prove nothing to two digits.
const LEDGERS: u64 = 20_000;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Whether intervals hold the truth: ledgers of a model, without load
    Coverage,
    /// Throughput and CPU
    Throughput,
    /// Memory and connecting
    Memory,
    /// TPROC-C: CPU per new order, of a build, and without a database; memory
    Tprocc,
    /// A day of four agents in a ledger: its size, and what reading it costs
    Ledger,
    /// Two hundred agents on one coordinator, and how exactly twenty begin
    Scale,
}

impl Part {
    /// Its place on the page.
    fn name(self) -> &'static str {
        match self {
            Part::Coverage => "coverage",
            Part::Throughput => "throughput",
            Part::Memory => "memory",
            Part::Tprocc => "tprocc",
            Part::Ledger => "ledger",
            Part::Scale => "scale",
        }
    }
}

impl Args {
    fn measures(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    /// Whether a part is measured as the page says.
    fn is_complete(&self) -> bool {
        !self.quick && self.cells.is_empty() && self.against.is_none() && self.pairs() >= FEWEST_PAIRS
    }

    fn pairs(&self) -> usize {
        self.pairs.unwrap_or(if self.quick { 1 } else { 7 })
    }

    fn cells(&self) -> Vec<Cell> {
        if self.cells.is_empty() { CELLS.to_vec() } else { self.cells.clone() }
    }

    fn pace(&self) -> Pace {
        let (warm_up, window) = if self.quick { (1, 2) } else { (2, 8) };
        Pace { warm_up: Duration::from_secs(warm_up), window: Duration::from_secs(window) }
    }

    fn scale(&self) -> Scale {
        let full =
            Scale { few: 1_000, many: 10_000, simulated: 50_000, repetitions: 3, length: Duration::from_secs(8) };
        if !self.quick {
            return full;
        }
        Scale { few: 200, many: 1_000, simulated: 5_000, repetitions: 1, length: Duration::from_secs(2) }
    }

    fn coverage(&self) -> coverage::Scale {
        let today: u64 = jiff::Timestamp::now().strftime("%Y%m%d").to_string().parse().expect("a date has digits");
        let (ledgers, failing) = if self.quick { (500, 100) } else { (LEDGERS, 2_000) };
        coverage::Scale { ledgers, failing, seeds: [1, 2, today] }
    }

    fn day(&self) -> Day {
        Day { agents: 4, half_s: if self.quick { 1_800 } else { 12 * 3_600 } }
    }

    fn crowd(&self) -> Crowd {
        let (agents, minutes, starts) = if self.quick { (40, 1, 5) } else { (200, 10, 60) };
        Crowd { agents, vus: 50, length: Duration::from_secs(minutes * 60), starters: 20, starts }
    }

    fn tprocc(&self) -> tprocc::Scale {
        let (warehouses, rounds) = if self.quick { (2, 1) } else { (16, 3) };
        let (statements, procedures, keyed_simulated) =
            if self.quick { (100, 100, 1_000) } else { (4_000, 2_000, 10_240) };
        tprocc::Scale {
            warehouses,
            levels: [1, 8, 16],
            simulated: 64,
            keyed: [(Calls::Statements, statements), (Calls::Procedures, procedures)],
            keyed_simulated,
            rounds,
            pace: self.pace(),
        }
    }
}

fn cell(text: &str) -> Result<Cell, String> {
    let named = |cell: &&Cell| text == format!("{}:{}", cell.script, cell.sessions);
    CELLS.iter().find(named).copied().ok_or_else(|| {
        let known: Vec<_> = CELLS.iter().map(|cell| format!("{}:{}", cell.script, cell.sessions)).collect();
        format!("known are {}", known.join(", "))
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match bench(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vufleet-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn bench(args: &Args) -> Result<()> {
    if args.measures(Part::Coverage) {
        prove(args)?;
    }
    if args.only == Some(Part::Coverage) {
        return Ok(());
    }
    let ours = Program::beside()?;
    if args.measures(Part::Ledger) {
        write_page(args, Part::Ledger, &page::ages(&Ages::measure(ours.directory()?, args.day())?))?;
    }
    if args.measures(Part::Scale) {
        write_page(args, Part::Scale, &page::fleets(&Fleets::measure(ours.directory()?, args.crowd()).await?))?;
    }
    if matches!(args.only, Some(Part::Ledger | Part::Scale)) {
        return Ok(());
    }
    let theirs = args.against.as_deref().map_or(Ok(Program::Sysbench), Program::of_directory)?;
    let mut server = Server::start().await?;
    let machine = Machine::look(&mut server, [&ours, &theirs]).await?;
    let read_write = Load::on(Target::MariaDb(server.port()), Work::script("read_write"), 1, Duration::from_secs(1));
    program::build_tables(&ours, &read_write)?.finish()?;
    let heading = page::heading(&machine);
    for part in Part::value_variants().iter().filter(|part| args.measures(**part)) {
        let table = match part {
            Part::Coverage | Part::Ledger | Part::Scale => continue,
            Part::Throughput => {
                let pairs = all_pairs(args, &mut server, [&ours, &theirs]).await?;
                let other = if args.against.is_some() { "the other" } else { theirs.name() };
                page::throughput(&pairs, args.pace(), other)
            }
            Part::Memory => page::costs(&Costs::measure(&ours, server.port(), args.scale()).await?),
            Part::Tprocc => page::tprocc(&Findings::measure(&ours, &mut server, args.tprocc()).await?),
        };
        write_page(args, *part, &format!("{heading}\n{table}"))?;
    }
    Ok(())
}

fn write_page(args: &Args, part: Part, table: &str) -> Result<()> {
    println!("{table}");
    if args.is_complete() {
        page::update(&args.page, part.name(), table)?;
        println!("written to {}", args.page.display());
    }
    Ok(())
}

/// Intervals against a known truth. A quick look is too short to be held against them.
fn prove(args: &Args) -> Result<()> {
    let rows = coverage::prove(args.coverage())?;
    let table = page::coverage(&rows);
    println!("{table}");
    if args.is_complete() {
        page::update(&args.method_page, Part::Coverage.name(), &table)?;
        println!("written to {}", args.method_page.display());
        rows.iter().try_for_each(coverage::Row::check)?;
    }
    Ok(())
}

/// Every cell once, then every cell again: a change of the machine's mood meets all of them.
async fn all_pairs(args: &Args, server: &mut Server, programs: [&Program; 2]) -> Result<Vec<(Cell, Vec<Pair>)>> {
    let mut found: Vec<(Cell, Vec<Pair>)> = args.cells().into_iter().map(|cell| (cell, Vec::new())).collect();
    for round in 0..args.pairs() {
        for (cell, pairs) in &mut found {
            let pair = throughput::pair(server, programs, *cell, args.pace(), round % 2 == 0).await?;
            let (ours, theirs) = (pair.ours, pair.theirs);
            eprintln!(
                "{} {}, pair {}: {:.1} and {:.1} us, {:.0} and {:.0}/s",
                cell.script,
                cell.sessions,
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_page_is_written_only_by_a_complete_part() {
        for (extra, complete) in [
            (&[][..], true),
            (&["--pairs", "9"], true),
            (&["--quick"], false),
            (&["--only", "memory"], true),
            (&["--pairs", "4"], false),
            (&["--cells", "read_write:64,point_select:16"], false),
            (&["--against", "x"], false),
        ] {
            let line = ["vufleet-bench"].iter().chain(extra);
            assert_eq!(Args::parse_from(line).is_complete(), complete, "{extra:?}");
        }
        let error = Args::try_parse_from(["vufleet-bench", "--cells", "read_only:16"]).unwrap_err().to_string();
        assert!(error.contains("known are point_select:16"), "{error}");
    }
}
