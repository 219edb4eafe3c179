//! Roll-up: of runs that ended longer than `--keep` ago, 10-second sums stay.
//!
//! Intervals are added up, histograms and all; of cumulative counters the last reading of each ten seconds stays. No sum
//! reaches across an edge of the run's window, and what lies next to an edge stays as it was: every figure of a run is what
//! it was before. What only seconds can tell (whether throughput had a trend, a silence of two seconds) is judged once more
//! before the first sum is made, and written down with it.
//!
//! A run is rolled up in small steps, each a transaction. One that was interrupted goes on where it was.

mod sums;

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::analysis::{self, Judged, RunReport};
use crate::ledger::{Fact, Ledger, LedgerError, RunId, Sender, Whole};

pub use sums::Thinned;

/// Length of a sum.
const SUM: Duration = Duration::from_secs(10);
/// How near to an edge of a window intervals and samples of hosts stay as they are; half a sum at least.
const NEAR_NS: u64 = 5_000_000_000;
/// The same of readings of counters: a busy server's best reading may be some seconds from the edge.
const NEAR_READING_NS: u64 = 10_000_000_000;
/// Events of a step, unless one sum is of more.
const STEP: usize = 512;
/// Pages that are given back in one step: 4 MB.
pub(crate) const PAGES: u32 = 1_024;
/// What is thinned out, one after the other.
const KINDS: [&str; 3] = ["interval", "host", "counters"];

/// How long everything is kept as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// So long after the end of its run, or the last that was heard of it where nobody saw its end.
    For(Duration),
    /// For good.
    Forever,
}

impl Keep {
    /// A week.
    pub const DEFAULT: Keep = Keep::For(Duration::from_secs(7 * 86_400));

    /// Runs that have been kept for long enough at that time, the oldest first.
    pub fn due(self, ledger: &Ledger, now_ns: u64) -> Result<Vec<RunId>, LedgerError> {
        let Keep::For(time) = self else { return Ok(Vec::new()) };
        let before_ns = now_ns.saturating_sub(time.as_nanos() as u64);
        let whole = ledger.whole_runs()?.into_iter();
        Ok(whole.filter(|whole: &Whole| whole.at_ns < before_ns).map(|whole| whole.run).collect())
    }
}

/// Where the sums of a run begin and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    origin_ns: u64,
    edges_ns: Vec<u64>,
}

/// Which sum something belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Edges before it.
    edges: usize,
    index: i64,
}

impl Grid {
    fn of(report: &RunReport) -> Grid {
        let window = report.window.into_iter().flat_map(|window| [Some(window.start_ns), window.end_ns]).flatten();
        let switches = report.switches.iter().flat_map(|switch| [switch.from_ns, switch.to_ns]);
        let mut edges_ns: Vec<u64> = window.chain(switches).collect();
        edges_ns.sort_unstable();
        Grid { origin_ns: report.load_start_ns().unwrap_or(0), edges_ns }
    }

    /// None next to an edge.
    fn place(&self, at_ns: u64, near_ns: u64) -> Option<Place> {
        if self.edges_ns.iter().any(|edge| edge.abs_diff(at_ns) < near_ns) {
            return None;
        }
        let since = at_ns as i64 - self.origin_ns as i64;
        let edges = self.edges_ns.partition_point(|edge| *edge <= at_ns);
        Some(Place { edges, index: since.div_euclid(SUM.as_nanos() as i64) })
    }
}

/// What a roll-up is between when it asks whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// Events that a run is judged by. Nothing is written yet.
    Events,
    /// Steps of the work.
    Steps,
}

/// A run on its way.
#[derive(Debug)]
pub struct Rollup {
    run: RunId,
    /// Events that the run had when it was judged.
    seen: u64,
    grid: Grid,
    senders: Vec<Sender>,
    sender: usize,
    kind: usize,
    seq: u64,
    most: usize,
}

/// What is known about a run before it is rolled up.
#[derive(Debug)]
pub enum Judgement {
    /// It was judged before; only the rest of the work is to be done.
    Before(Rollup),
    /// This is to be written down first.
    Now(Rollup, Box<Fact>),
    /// There is nothing to add up: its intervals are long already.
    Nothing,
    /// It was not to go on.
    Left,
}

impl Rollup {
    /// Judges a run for the last time. Reads all of it, which may take a while, and writes nothing. `go_on` is asked meanwhile.
    pub fn judge(
        ledger: &Ledger,
        run: RunId,
        now_ns: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Judgement, LedgerError> {
        let seen = ledger.event_count(run)?;
        let judged_before = ledger.facts(run)?.into_iter().find_map(|fact| match fact {
            Fact::Thinned { origin_ns, edges_ns, .. } => Some(Grid { origin_ns, edges_ns }),
            _ => None,
        });
        let rollup = |grid| -> Result<Rollup, LedgerError> {
            let senders = ledger.senders(run)?;
            Ok(Rollup { run, seen, grid, senders, sender: 0, kind: 0, seq: 0, most: STEP })
        };
        if let Some(grid) = judged_before {
            return Ok(Judgement::Before(rollup(grid)?));
        }
        let record = ledger.run(run)?;
        let fine = record.facts.as_ref().is_some_and(|facts| u128::from(facts.interval_ns) < SUM.as_nanos());
        if !fine {
            return Ok(Judgement::Nothing);
        }
        let report = match analysis::run_while(ledger, run, go_on) {
            Err(LedgerError::NoRun { .. }) => return Ok(Judgement::Nothing), // of a profile that its study does not have
            report => report?,
        };
        let Some(report) = report else { return Ok(Judgement::Left) };
        let grid = Grid::of(&report);
        let fact = Fact::Thinned {
            at_ns: now_ns,
            interval_ns: SUM.as_nanos() as u64,
            origin_ns: grid.origin_ns,
            edges_ns: grid.edges_ns.clone(),
            vufleet: env!("CARGO_PKG_VERSION").to_owned(),
            judged: Judged::of(&report).to_value(),
        };
        Ok(Judgement::Now(rollup(grid)?, Box::new(fact)))
    }

    /// Writes the judgement down. False when events came that it does not know: then the run is to be judged again.
    pub fn begin(&self, ledger: &mut Ledger, judged: &Fact) -> Result<bool, LedgerError> {
        if ledger.event_count(self.run)? != self.seen {
            return Ok(false);
        }
        ledger.note(self.run, judged)?;
        Ok(true)
    }

    /// Does a small part of the work. False when there was none left.
    pub fn step(&mut self, ledger: &mut Ledger) -> Result<bool, LedgerError> {
        let Some(sender) = self.senders.get(self.sender) else { return Ok(false) };
        let events = ledger.events_from(self.run, sender, KINDS[self.kind], self.seq, self.most)?;
        let open = events.len() == self.most;
        let thinned = Thinned::of(events, &self.grid, open);
        if !thinned.kept.is_empty() {
            ledger.thin(sender, &thinned.kept, &thinned.gone)?;
        }
        match thinned.next {
            // One sum of more events than fit into a step.
            Some(next) if next == self.seq => self.most *= 2,
            Some(next) => self.seq = next,
            None => self.turn_over(),
        }
        Ok(true)
    }

    fn turn_over(&mut self) {
        (self.seq, self.most) = (0, STEP);
        self.kind = (self.kind + 1) % KINDS.len();
        if self.kind == 0 {
            self.sender += 1;
        }
    }
}

/// Rolls one run up, from its judgement to its end. `go_on` is asked now and then; false when it said no.
pub fn roll_up(
    ledger: &mut Ledger,
    run: RunId,
    now_ns: u64,
    go_on: &mut dyn FnMut(Between) -> bool,
) -> Result<bool, LedgerError> {
    let rollup = match Rollup::judge(ledger, run, now_ns, &mut || go_on(Between::Events))? {
        Judgement::Left => return Ok(false),
        Judgement::Nothing => None,
        Judgement::Before(rollup) => Some(rollup),
        Judgement::Now(rollup, fact) if rollup.begin(ledger, &fact)? => Some(rollup),
        Judgement::Now(..) => return Ok(false),
    };
    if let Some(mut rollup) = rollup {
        while rollup.step(ledger)? {
            if !go_on(Between::Steps) {
                return Ok(false);
            }
        }
    }
    ledger.set_thinned(run, now_ns)?;
    while ledger.give_back(PAGES)? > 0 {
        if !go_on(Between::Steps) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Rolls up every run of a data directory that is older than what is kept, as far as it is let. Runs that could not be are handed
/// back with the reason; they hold no other up.
pub fn all_old(
    data: &Path,
    keep: Keep,
    go_on: &mut dyn FnMut(Between) -> bool,
) -> Result<Vec<(RunId, LedgerError)>, LedgerError> {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    // Most ledgers have nothing that old, and opening for writing is no small thing.
    if keep.due(&Ledger::read_only(data)?, now_ns)?.is_empty() {
        return Ok(Vec::new());
    }
    let mut ledger = Ledger::open(data)?;
    let mut failed = Vec::new();
    for run in keep.due(&ledger, now_ns)? {
        match roll_up(&mut ledger, run, now_ns, go_on) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if error.is_of_all_runs() => return Err(error),
            Err(error) => failed.push((run, error)),
        }
    }
    Ok(failed)
}
