//! From a ledger to a report: pure functions, no clock, no socket, no formatting.
//!
//! [`fold`] reduces the events of one run, [`statistics`] says what several runs are worth, [`report`] puts a study
//! together. The forms that reports take are in [`crate::render`].

mod block_drift;
mod cell;
mod change;
pub mod compare;
pub mod counters;
mod drift;
pub mod fold;
mod footprint;
mod hang;
pub mod host;
mod judge;
mod judged;
pub mod latency;
mod measure;
mod metric;
mod missing;
mod names;
mod noise_floor;
mod orders;
mod outage;
mod outlier;
pub mod requests;
mod run;
pub mod sample;
mod settings;
pub mod statistics;
mod steady;
mod timeline;
mod until;
pub mod verdict;
pub mod waits;
pub mod window;
mod withhold;
pub mod witness;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use serde_json::Value;
use vufleet_scenarios::study::Order;

pub use block_drift::BlockDrift;
pub use cell::Cell;
pub use change::{Change, Conclusion};
pub use judged::Judged;
pub use metric::{Metric, Metrics};
pub use noise_floor::NoiseFloor;
pub use outlier::Outlier;
pub use run::{HostReport, KindLatencies, KindReport, RunReport, SwitchReport, WholeRun};
pub use settings::{SettingCause, SettingChange, SettingsReport, Unread};
pub use steady::Steady;
pub use timeline::{TimelinePoint, window_s};
pub use until::UntilReport;

use crate::ledger::{
    Ledger, LedgerError, MeasureFacts, Outline, Pace, ProfileOutline, RunId, RunRecord, ScheduleOutline, StudyRecord,
    StudyState,
};
use fold::Fold;
use sample::Detail;
use verdict::Verdict;

/// What the reader asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Tell absolute figures even of a study that withholds them.
    pub absolute: bool,
}

/// Everything that is told of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What the user calls it.
    pub study: String,
    /// Its id in the ledger.
    pub study_id: String,
    /// Where it is in its life.
    pub state: StudyState,
    /// Version of the coordinator that made it.
    pub vufleet: String,
    /// Where every random stream started.
    pub seed: u64,
    /// Whether the study asks to withhold absolute figures.
    pub relative_only: bool,
    /// Whether they are withheld here.
    pub withheld: bool,
    /// Variant that changes are counted from.
    pub baseline: String,
    /// Of the intervals.
    pub confidence: f64,
    /// The measured window as the study asks for it.
    pub measure: MeasureFacts,
    /// Runs wanted of each cell.
    pub repetitions: u32,
    /// How that number came about, where the study does not name it.
    pub until: Option<UntilReport>,
    /// Times and order of the runs.
    pub schedule: Option<ScheduleOutline>,
    /// Variants beside the baseline in which the database is as it is there (A/A).
    pub controls: Vec<String>,
    /// What those variants differ by: noise.
    pub noise_floor: Vec<NoiseFloor>,
    /// Where a metric went over the blocks.
    pub block_drift: Vec<BlockDrift>,
    /// Runs that are far from the others of their cell. They count all the same.
    pub outliers: Vec<Outlier>,
    /// Settings of the database and the hosts, and what became of them.
    pub settings: Vec<SettingsReport>,
    /// The finest window that this report rests on; where runs were rolled up, that of their sums.
    pub interval_s: Option<f64>,
    /// In the order of the study.
    pub variants: Vec<String>,
    /// Options of the workload on which all profiles agree.
    pub workload: BTreeMap<String, Value>,
    /// The database.
    pub target: TargetReport,
    /// Load levels, in the order of the study.
    pub profiles: Vec<ProfileReport>,
    /// Variants of profiles, in the order of the study.
    pub cells: Vec<Cell>,
    /// Every run that ended, invalid ones included, in the order they were made.
    pub runs: Vec<RunReport>,
    /// What the runs' samples have figures of.
    pub columns: SampleColumns,
}

/// What the samples of a study's runs have figures of, all runs together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampleColumns {
    /// Transaction kinds.
    pub kinds: BTreeSet<String>,
    /// The database's own counters.
    pub counters: BTreeSet<String>,
    /// Whether single sessions were looked at.
    pub requests: bool,
}

impl SampleColumns {
    fn take(&mut self, run: &RunReport) {
        let kinds = run.samples.iter().flat_map(|sample| &sample.kinds);
        for kind in kinds {
            if !self.kinds.contains(&*kind.kind) {
                self.kinds.insert(kind.kind.to_string());
            }
        }
        self.counters.extend(run.counters.names.iter().cloned());
        self.requests |= !run.looks.is_empty();
    }
}

/// The database as the runs found it.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetReport {
    /// Kind, as in studies.
    pub kind: String,
    /// As the server tells it.
    pub version: Option<String>,
    /// How it was reached.
    pub connection: Option<String>,
    /// Load and database shared a machine.
    pub shared_host: bool,
}

/// A load level.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileReport {
    /// Its id.
    pub id: String,
    /// Virtual users of the whole fleet.
    pub vus: u32,
    /// Sessions of each.
    pub sessions_per_vu: u32,
    /// When the next transaction starts, for people.
    pub pacing: String,
    /// The same, for decisions.
    pub pace: Pace,
    /// Options of the workload that other profiles have otherwise.
    pub workload: BTreeMap<String, Value>,
}

/// Reports on a study (its id, a prefix of it, or `last`). Absolute figures that the study withholds are left out here,
/// once, unless the options ask for them: no renderer ever sees them.
pub fn report(ledger: &Ledger, study: &str, options: Options) -> Result<Report, LedgerError> {
    made(ledger, study, options, Detail::Series)
}

/// The same without what was recorded second by second, of which a study of hundreds of runs has gigabytes:
/// [`run_of`] has it run by run.
pub fn brief(ledger: &Ledger, study: &str, options: Options) -> Result<Report, LedgerError> {
    made(ledger, study, options, Detail::Brief)
}

/// A run of a report with everything that was recorded of it, as far as the report does not withhold it.
pub fn run_of(ledger: &Ledger, report: &Report, told: &RunReport) -> Result<RunReport, LedgerError> {
    let run = one(ledger, RunId(told.run), Detail::Series, &mut || true)?;
    // Which attempt counts is known of all runs together.
    let run = RunReport { superseded: told.superseded, ..run };
    Ok(if report.withheld { run.withheld(report.by_transactions()) } else { run })
}

fn made(ledger: &Ledger, study: &str, options: Options, detail: Detail) -> Result<Report, LedgerError> {
    let study = ledger.study(study)?;
    let mut runs = Vec::new();
    let mut columns = SampleColumns::default();
    let mut interval_ns = None;
    let records = ledger.runs(&study.id)?;
    let facts = records.iter().map(|run| Ok((run, ledger.facts(run.id)?))).collect::<Result<Vec<_>, LedgerError>>()?;
    let settings = settings::settings(&facts);
    for run in &records {
        if run.end.is_none() && study.state == StudyState::Running {
            continue; // under way
        }
        interval_ns = interval_ns.or(run.facts.as_ref().map(|facts| facts.interval_ns));
        if let Some(run) = fold_run(ledger, &study.outline, run, detail, &mut || true)? {
            columns.take(&run);
            runs.push(if detail == Detail::Brief { run.without_series() } else { run });
        }
    }
    supersede(&mut runs, Grouping::of(&study.outline));
    let sums_s = runs.iter().filter_map(|run| run.sums_s).reduce(f64::max);
    let mut report = Report { settings, columns, ..Report::of(study, runs, interval_ns) };
    report.interval_s = sums_s.or(report.interval_s);
    Ok(if report.relative_only && !options.absolute { report.withheld() } else { report })
}

/// How many blocks a study with `until` takes by its pilot: at least those of the pilot, at most as many as it may have.
/// None without `until`, and before every cell has a run that counts in every block of the pilot.
pub fn blocks_needed(report: &Report) -> Option<u32> {
    report.until.as_ref()?.wanted()
}

/// Events that are folded before it is asked again whether to go on.
const ASKED_EVERY: usize = 1_000;

/// Folds one run, whatever became of it, as [`brief`] has it, but for whether a later attempt counts instead. Nothing is withheld
/// here: this is for deciding, not for telling.
pub fn run(ledger: &Ledger, run: RunId) -> Result<RunReport, LedgerError> {
    one(ledger, run, Detail::Brief, &mut || true).map(RunReport::without_series)
}

/// The same for as long as `go_on` says so, which is asked now and then; none when it said no.
pub fn run_while(
    ledger: &Ledger,
    run: RunId,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<RunReport>, LedgerError> {
    let mut left = false;
    let report = one(ledger, run, Detail::Brief, &mut || {
        left = left || !go_on();
        !left
    })?;
    Ok((!left).then(|| report.without_series()))
}

fn one(ledger: &Ledger, run: RunId, detail: Detail, go_on: &mut dyn FnMut() -> bool) -> Result<RunReport, LedgerError> {
    let run = ledger.run(run)?;
    let study = ledger.study(&run.study.0)?;
    fold_run(ledger, &study.outline, &run, detail, go_on)?.ok_or(LedgerError::NoRun { run: run.id.0 })
}

/// None of a run whose profile the study does not have. What is left off when `go_on` says no is no report of the run.
fn fold_run(
    ledger: &Ledger,
    outline: &Outline,
    run: &RunRecord,
    detail: Detail,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<RunReport>, LedgerError> {
    let Some(profile) = outline.profile(&run.planned.profile) else { return Ok(None) };
    let mut fold = Fold::new(run, profile, outline, detail);
    for fact in ledger.facts(run.id)? {
        fold.fact(fact);
    }
    let mut events = 0_usize;
    ledger.each_event_while(run.id, &mut |recorded| {
        fold.event(&recorded);
        events += 1;
        if events.is_multiple_of(ASKED_EVERY) && !go_on() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(Some(fold.finish()))
}

/// Of several attempts at one run, the last that may be believed counts. Variants are compared within the rounds that were made
/// together: once a group's next round has begun, nothing of the rounds before counts, whatever becomes of it.
fn supersede(runs: &mut [RunReport], grouping: Grouping) {
    let mut counting: BTreeMap<(String, String, u32), usize> = BTreeMap::new();
    let mut rounds: BTreeMap<(String, u32), Vec<usize>> = BTreeMap::new();
    for index in 0..runs.len() {
        let run = &runs[index];
        if grouping == Grouping::Together && run.repetition > 0 {
            let round = rounds.entry((run.profile.clone(), run.repetition)).or_default();
            if round.iter().any(|earlier| runs[*earlier].variant == run.variant) {
                for earlier in std::mem::take(round) {
                    runs[earlier].superseded = runs[earlier].verdict() != Verdict::Invalid;
                }
            }
            round.push(index);
            continue;
        }
        if run.verdict() == Verdict::Invalid {
            continue;
        }
        let place = (run.variant.clone(), run.profile.clone(), run.repetition);
        if let Some(earlier) = counting.insert(place, index) {
            runs[earlier].superseded = true;
        }
    }
}

/// Whether an invalid run is made again alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grouping {
    /// With the other variants of its profile and block.
    Together,
    /// By itself: the variants' runs are hours apart anyway.
    Alone,
}

impl Grouping {
    fn of(outline: &Outline) -> Grouping {
        let is_in_blocks = outline.schedule.as_ref().is_some_and(|schedule| schedule.order == Order::Blocks.name());
        if is_in_blocks { Grouping::Together } else { Grouping::Alone }
    }
}

impl Report {
    fn of(study: StudyRecord, runs: Vec<RunReport>, interval_ns: Option<u64>) -> Report {
        let outline = study.outline;
        let workload = common_options(&outline);
        let counted = cell::counted(&runs);
        let until = UntilReport::of(&outline, &counted);
        let mut cells = cell::cells(&outline, &counted, until.as_ref());
        let noise_floor = NoiseFloor::all(&cells, &outline.controls);
        noise_floor::mark(&mut cells, &noise_floor, &outline.controls);
        let watched = watched(&outline);
        let drift = |metric: &Metric| BlockDrift::of(&counted, *metric, outline.confidence);
        let (block_drift, outliers) =
            (watched.iter().filter_map(drift).collect(), outlier::outliers(&counted, &watched));
        let told = runs.iter().rev().find(|run| run.target_version.is_some()).or(runs.last());
        Report {
            study: study.name,
            study_id: study.id.0,
            state: study.state,
            vufleet: study.facts.vufleet,
            seed: outline.seed,
            relative_only: study.relative_only,
            withheld: false,
            confidence: outline.confidence,
            measure: outline.measure,
            repetitions: until.as_ref().and_then(UntilReport::wanted).unwrap_or(outline.repetitions),
            until,
            schedule: outline.schedule.clone(),
            controls: outline.controls.clone(),
            noise_floor,
            block_drift,
            outliers,
            settings: Vec::new(),
            interval_s: interval_ns.map(|ns| ns as f64 / 1e9),
            target: TargetReport {
                kind: outline.target.clone(),
                version: told.and_then(|run| run.target_version.clone()),
                connection: told.and_then(|run| run.connection.clone()),
                shared_host: runs.iter().any(|run| run.shared_host),
            },
            profiles: outline.profiles.iter().map(|profile| ProfileReport::of(profile, &workload)).collect(),
            cells,
            baseline: outline.baseline,
            variants: outline.variants,
            workload,
            runs,
            columns: SampleColumns::default(),
        }
    }

    /// The profile of that id.
    pub fn profile(&self, id: &str) -> Option<&ProfileReport> {
        self.profiles.iter().find(|profile| profile.id == id)
    }

    /// A cell as people call it: the variant goes without saying where there is one.
    pub fn cell_name(&self, cell: &Cell) -> String {
        match self.variants.len() {
            0 | 1 => cell.profile.clone(),
            _ => format!("{} {}", cell.profile, cell.variant),
        }
    }

    /// Cells with fewer runs that count than the study asks for, for people.
    pub fn short_cells(&self) -> Vec<String> {
        let short = self.cells.iter().filter(|cell| cell.n < self.repetitions as usize);
        short.map(|cell| format!("{} {} has {} of {}", cell.variant, cell.profile, cell.n, self.repetitions)).collect()
    }

    /// Whether the workload is TPROC-C and enters orders: a mix without any has nothing to count them by.
    pub fn is_order_entry(&self) -> bool {
        self.workload.get("kind").and_then(Value::as_str) == Some("tprocc") && enters_orders(&self.workload)
    }

    /// What the report is about first of all.
    pub fn headline(&self) -> Metric {
        match (self.by_transactions(), self.is_order_entry()) {
            (true, _) => Metric::ServiceMeanMs,
            (false, true) => Metric::Nopm,
            (false, false) => Metric::Tps,
        }
    }

    /// Whether variant came after variant, so that what changes with time is in the comparison.
    pub fn is_grouped(&self) -> bool {
        self.schedule.as_ref().is_some_and(|schedule| schedule.order == Order::Grouped.name())
    }

    /// Whether the window is a number of transactions, and the metric therefore the service time.
    pub fn by_transactions(&self) -> bool {
        matches!(self.measure, MeasureFacts::Transactions(_))
    }
}

impl ProfileReport {
    fn of(profile: &ProfileOutline, common: &BTreeMap<String, Value>) -> ProfileReport {
        let own = profile.workload.iter().filter(|(key, _)| !common.contains_key(*key));
        ProfileReport {
            id: profile.id.clone(),
            vus: profile.vus,
            sessions_per_vu: profile.sessions_per_vu,
            pacing: profile.pacing.clone(),
            pace: profile.pace,
            workload: own.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }
}

/// The metrics whose way over the blocks and whose outliers are told of.
fn watched(outline: &Outline) -> Vec<Metric> {
    let order_entry =
        outline.profiles.iter().any(|profile| profile.order_entry.is_some() && enters_orders(&profile.workload));
    let speed: &[Metric] = match (outline.measure, order_entry) {
        (MeasureFacts::Transactions(_), _) => &[Metric::ServiceMeanMs, Metric::ServiceP95Ms],
        (MeasureFacts::DurationNs(_), true) => &[Metric::Nopm, Metric::Tpm, Metric::P95Ms],
        (MeasureFacts::DurationNs(_), false) => &[Metric::Tps, Metric::P95Ms],
    };
    speed.iter().copied().chain([Metric::DbProcessCpuPercent, Metric::CpuMsPerTxn]).collect()
}

/// Of the options of a TPROC-C.
fn enters_orders(workload: &BTreeMap<String, Value>) -> bool {
    workload.get("mix").and_then(|mix| mix.get("new_order")).and_then(Value::as_u64) != Some(0)
}

fn common_options(outline: &Outline) -> BTreeMap<String, Value> {
    let Some((first, others)) = outline.profiles.split_first() else { return BTreeMap::new() };
    let everywhere = |key: &String, value: &Value| others.iter().all(|it| it.workload.get(key) == Some(value));
    first.workload.iter().filter(|(key, value)| everywhere(key, value)).map(|(k, v)| (k.clone(), v.clone())).collect()
}
