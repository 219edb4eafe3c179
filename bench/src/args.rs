//! The command line, and how much of everything is measured.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use crate::arrivals::Rates;
use crate::bare::Bare;
use crate::instructions::Lengths;
use crate::ledger::Day;
use crate::load::{CYCLE, Calls};
use crate::scale::Crowd;
use crate::throughput::{Cell, Pace};
use crate::{coverage, memory, soak, tds, tprocc};

/// Measures vufleet beside sysbench, proves its intervals, and writes the tables of docs/benchmarks.md and docs/method.md.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Without --only: every part but the soak, in about two hours. --quick: every part once, in three minutes, on a busy machine six.\n\n\
                  Examples:\n  make bench\n  vufleet-bench --quick\n  vufleet-bench --only soak\n  vufleet-bench --only instructions --verbose\n  \
                  vufleet-bench --only throughput --cells point_select:16,read_write:64:unix --pairs 9\n  \
                  vufleet-bench --only throughput --against ../other/target/release\n\n\
                  Exit codes: 0 measured, 1 something could not be measured, 2 usage."
)]
pub struct Args {
    /// One pair, short windows, few sessions; the page stays as it is
    #[arg(long)]
    quick: bool,
    /// One part only
    #[arg(long, value_enum)]
    pub only: Option<Part>,
    /// Scripts and sessions, with `:unix` behind them by a unix socket, for example point_select:16,read_write:64:unix; the page
    /// stays as it is [default: both scripts, 1, 4, 16, 64 and 256 sessions, TCP and unix socket]
    #[arg(long, value_delimiter = ',', value_parser = Cell::parse)]
    cells: Vec<Cell>,
    /// Pairs of each cell [default: 5]
    #[arg(long)]
    pairs: Option<usize>,
    /// Compare with the vufleet in this directory instead of sysbench; the page stays as it is
    #[arg(long, value_name = "DIR")]
    pub against: Option<PathBuf>,
    /// Measure the vufleet in this directory [default: that of this program]
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,
    /// List the functions that cost the most instructions
    #[arg(long)]
    pub verbose: bool,
    /// The page with the table of benchmarks; the table's source is beside it, with the extension json
    #[arg(long, default_value = "docs/benchmarks.md")]
    pub page: PathBuf,
    /// The page with the table of intervals
    #[arg(long, default_value = "docs/method.md")]
    pub method_page: PathBuf,
    #[command(subcommand)]
    pub hidden: Option<Hidden>,
}

/// What this program starts itself with.
#[derive(Debug, Clone, Subcommand)]
pub enum Hidden {
    /// vufleet's sessions without its measuring
    #[command(hide = true)]
    Bare(Bare),
}

/// Medians of fewer pairs do not get onto the page.
const FEWEST_PAIRS: usize = 5;

/// Fewer ledgers prove nothing to two digits.
const LEDGERS: u64 = 20_000;

/// What is measured, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Whether intervals hold the truth: ledgers of a model, without load
    Coverage,
    /// Throughput and CPU beside sysbench
    Throughput,
    /// User-space instructions a statement by callgrind, which no neighbour moves
    Instructions,
    /// Recorder, watchdog and events on and off
    Measuring,
    /// Memory and connecting
    Memory,
    /// Open arrivals: lateness, and whether counts add up
    Arrivals,
    /// Thousands of sessions for ten minutes; only when asked for
    Soak,
    /// TPROC-C: CPU per new order, of a build, and without a database; memory
    Tprocc,
    /// Sessions of SQL Server on a scripted one: CPU of calls beside the client library alone, and memory
    Tds,
    /// Two hundred agents on one coordinator, and how exactly twenty begin
    Scale,
    /// A day of four agents in a ledger: its size, and what reading it costs
    Ledger,
}

impl Part {
    /// Its name in the table's source.
    pub fn name(self) -> &'static str {
        match self {
            Part::Coverage => "coverage",
            Part::Throughput => "throughput",
            Part::Instructions => "instructions",
            Part::Measuring => "measuring",
            Part::Memory => "memory",
            Part::Arrivals => "arrivals",
            Part::Soak => "soak",
            Part::Tprocc => "tprocc",
            Part::Tds => "tds",
            Part::Scale => "scale",
            Part::Ledger => "ledger",
        }
    }

    /// Whether it needs the database.
    pub fn needs_server(self) -> bool {
        !matches!(self, Part::Coverage | Part::Tds | Part::Scale | Part::Ledger)
    }
}

impl Args {
    /// The parts that are asked for.
    pub fn parts(&self) -> Vec<Part> {
        let asked = |part: &Part| match self.only {
            Some(only) => only == *part,
            None => *part != Part::Soak || self.quick,
        };
        Part::value_variants().iter().copied().filter(asked).collect()
    }

    /// Whether parts are measured as the page says.
    pub fn is_complete(&self) -> bool {
        !self.quick && self.cells.is_empty() && self.against.is_none() && self.pairs() >= FEWEST_PAIRS
    }

    pub fn pairs(&self) -> usize {
        self.pairs.unwrap_or(if self.quick { 1 } else { FEWEST_PAIRS })
    }

    pub fn cells(&self) -> Vec<Cell> {
        match (self.quick, self.cells.is_empty()) {
            (_, false) => self.cells.clone(),
            (true, true) => Cell::all().into_iter().filter(|cell| cell.sessions == 16).collect(),
            (false, true) => Cell::all(),
        }
    }

    /// Of the pairs: twenty cells, five times two programs, in half an hour.
    pub fn pace(&self) -> Pace {
        let (warm_up, window) = if self.quick { (500, 1_000) } else { (1_000, 4_000) };
        Pace { warm_up: Duration::from_millis(warm_up), window: Duration::from_millis(window) }
    }

    /// The cost of measuring is a few per cent: it takes more to see it.
    pub fn measuring_rounds(&self) -> usize {
        self.pairs.unwrap_or(if self.quick { 1 } else { 3 * FEWEST_PAIRS })
    }

    pub fn lengths(&self) -> Lengths {
        let (short, long) = if self.quick { (1_600, 4_800) } else { (16_000, 80_000) };
        Lengths { short, long }
    }

    pub fn scale(&self) -> memory::Scale {
        let s = Duration::from_secs;
        if self.quick {
            return memory::Scale { few: 200, many: 1_000, simulated: 20_000, repetitions: 1, length: s(1) };
        }
        memory::Scale { few: 1_000, many: 10_240, simulated: 1_000_000, repetitions: 3, length: s(8) }
    }

    pub fn rates(&self) -> Rates {
        let length = Duration::from_secs(if self.quick { 2 } else { 15 });
        Rates { fair: 20_000.0, database: 10_000.0, beyond: 400_000.0, length }
    }

    pub fn soak(&self) -> soak::Scale {
        let (sessions, length, settled) = if self.quick { (400, 6, 2) } else { (4_000, 600, 60) };
        soak::Scale { sessions, length: Duration::from_secs(length), settled: Duration::from_secs(settled) }
    }

    pub fn tds(&self) -> tds::Scale {
        let (sessions, held) = if self.quick { (vec![16], vec![1_000]) } else { (vec![1, 16], vec![1_000, 4_000]) };
        let round = Duration::from_millis(if self.quick { 100 } else { 500 });
        tds::Scale { sessions, pairs: self.pairs.unwrap_or(if self.quick { 2 } else { 10 }), round, held }
    }

    pub fn coverage(&self) -> coverage::Scale {
        let today: u64 = jiff::Timestamp::now().strftime("%Y%m%d").to_string().parse().expect("a date has digits");
        let (ledgers, failing) = if self.quick { (300, 60) } else { (LEDGERS, 2_000) };
        coverage::Scale { ledgers, failing, seeds: [1, 2, today] }
    }

    pub fn day(&self) -> Day {
        Day { agents: 4, half_s: if self.quick { 900 } else { 12 * 3_600 } }
    }

    pub fn crowd(&self) -> Crowd {
        let (agents, seconds, starts) = if self.quick { (20, 20, 2) } else { (200, 600, 60) };
        Crowd { agents, vus: 50, length: Duration::from_secs(seconds), starters: 20, starts }
    }

    pub fn tprocc(&self) -> tprocc::Scale {
        let (warehouses, rounds) = if self.quick { (1, 1) } else { (16, 3) };
        let (statements, procedures, keyed_simulated) =
            if self.quick { (100, 100, 1_000) } else { (4_000, 2_000, 10_240) };
        let window = Duration::from_secs(if self.quick { 1 } else { 8 });
        tprocc::Scale {
            warehouses,
            levels: if self.quick { vec![8] } else { vec![1, 8, 16] },
            simulated: 64,
            keyed: [(Calls::Statements, statements), (Calls::Procedures, procedures)],
            keyed_simulated,
            rounds,
            cycle: if self.quick { Duration::from_secs(3) } else { CYCLE },
            pace: Pace { warm_up: window / 4, window },
        }
    }
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
            (&["--cells", "read_write:64,point_select:16:unix"], false),
            (&["--against", "x"], false),
        ] {
            let line = ["vufleet-bench"].iter().chain(extra);
            assert_eq!(Args::parse_from(line).is_complete(), complete, "{extra:?}");
        }
        let error = Args::try_parse_from(["vufleet-bench", "--cells", "read_only:16"]).unwrap_err().to_string();
        assert!(error.contains("for example point_select:16"), "{error}");
    }

    #[test]
    fn a_soak_has_to_be_asked_for() {
        let parts = |line: &[&str]| Args::parse_from(["vufleet-bench"].iter().chain(line)).parts();
        assert!(!parts(&[]).contains(&Part::Soak));
        assert_eq!(parts(&["--only", "soak"]), [Part::Soak]);
        assert_eq!(parts(&["--quick"]), Part::value_variants());
    }
}
