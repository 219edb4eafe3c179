//! `schedule.repetitions`: a number, or as many blocks as an interval takes to become narrow.

use toml_edit::Item;

use super::mistakes::Objection;
use super::nearest::nearest;
use super::section::Section;
use super::value::{count, wrong_type};
use super::{Measure, Order, Repetitions, TargetKind, Until, Workload};

const REPETITIONS: u32 = 5;
const MOST: u32 = 1000;
/// Fewer pilot blocks tell too little of how much their metric varies.
const FEWEST_PILOTS: u32 = 5;
const NARROWEST_PERCENT: f64 = 0.1;
const WIDEST_PERCENT: f64 = 50.0;
const REMEDY: &str = "write half the width of the interval, for example until = \"2%\"";

/// What a study measures, as far as it decides which metrics there are.
pub(super) struct Measured<'a> {
    pub(super) target: Option<TargetKind>,
    pub(super) workload: Option<&'a Workload>,
}

/// Who has a metric.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Everybody,
    /// TPROC-C alone counts orders.
    Orders,
    /// There is a database whose host can be looked at.
    Database,
    /// The database is a process of its own.
    Server,
    /// SQL Server tells it.
    Mssql,
}

/// Those that an interval makes sense of.
const METRICS: [(&str, Owner); 16] = [
    ("tps", Owner::Everybody),
    ("qps", Owner::Everybody),
    ("nopm", Owner::Orders),
    ("tpm", Owner::Orders),
    ("p50_ms", Owner::Everybody),
    ("p95_ms", Owner::Everybody),
    ("p99_ms", Owner::Everybody),
    ("mean_ms", Owner::Everybody),
    ("service_p50_ms", Owner::Everybody),
    ("service_p95_ms", Owner::Everybody),
    ("service_p99_ms", Owner::Everybody),
    ("service_mean_ms", Owner::Everybody),
    ("db_host_cpu_percent", Owner::Database),
    ("db_process_cpu_percent", Owner::Server),
    ("cpu_ms_per_txn", Owner::Server),
    ("batch_requests_per_s", Owner::Mssql),
];

impl Measured<'_> {
    fn are_orders(&self) -> bool {
        matches!(self.workload, Some(Workload::Tprocc(_)))
    }

    fn has(&self, owner: Owner) -> bool {
        match (owner, self.target) {
            (Owner::Everybody, _) => true,
            (Owner::Orders, _) => self.workload.is_none() || self.are_orders(),
            (Owner::Database, target) => target != Some(TargetKind::Simulated),
            (Owner::Server, target) => target.is_none_or(TargetKind::is_server),
            (Owner::Mssql, target) => target.is_none_or(|target| target == TargetKind::Mssql),
        }
    }

    /// What a report of the study is about first of all.
    fn headline(&self, measure: Measure) -> &'static str {
        let enters_orders = matches!(self.workload, Some(Workload::Tprocc(shape)) if shape.mix.new_order > 0);
        match (measure, enters_orders) {
            (Measure::Transactions(_), _) => "service_mean_ms",
            (Measure::Duration(_), true) => "nopm",
            (Measure::Duration(_), false) => "tps",
        }
    }
}

/// Reads `repetitions` of `[schedule]`.
pub(super) fn repetitions(
    schedule: &Section<'_>,
    measured: &Measured<'_>,
    measure: Measure,
    order: Order,
) -> Repetitions {
    if !schedule.item("repetitions").is_some_and(Item::is_table_like) {
        let fixed = schedule.value("repetitions", count(1..=MOST));
        return Repetitions::Fixed(fixed.unwrap_or(REPETITIONS));
    }
    if order == Order::Grouped {
        let what = "an interval adds blocks to those of its pilot, and the grouped order has none";
        schedule.object("repetitions", Objection::new(what, "write order = \"blocks\", or a number of repetitions"));
    }
    let section = schedule.section("repetitions");
    let min = section.value("min", count(FEWEST_PILOTS..=MOST)).unwrap_or(FEWEST_PILOTS);
    let max =
        section.required("max", "write the most blocks that you have time for, for example max = 20", count(1..=MOST));
    let percent = section.required("until", REMEDY, percent);
    let metric = section.value("metric", |item| metric(item, measured)).unwrap_or_else(|| measured.headline(measure));
    let max = max.unwrap_or(min);
    if max < min {
        let what = format!("{max} blocks at most are fewer than the {min} of the pilot");
        section.object("max", Objection::new(what, format!("write at least {min}")));
    }
    section.finish();
    Repetitions::Until(Until { min, max, percent: percent.unwrap_or(WIDEST_PERCENT), metric })
}

/// "2%", "0.5 %".
fn percent(item: &Item) -> Result<f64, Objection> {
    if item.is_integer() || item.is_float() {
        let number = item.to_string();
        let number = number.trim();
        return Err(Objection::new(format!("{number} has no unit"), format!("write \"{number}%\", in quotes")));
    }
    let text = item.as_str().ok_or_else(|| wrong_type(item, "text", "a part of the mean, for example \"2%\""))?;
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
    let number = number.ok_or_else(|| Objection::new(format!("\"{text}\" is not a number of per cent"), REMEDY))?;
    match (NARROWEST_PERCENT..=WIDEST_PERCENT).contains(&number) {
        true => Ok(number),
        false => {
            let remedy = format!("write one from \"{NARROWEST_PERCENT}%\" to \"{WIDEST_PERCENT}%\"");
            Err(Objection::new(format!("\"{text}\" is out of range"), remedy))
        }
    }
}

fn metric(item: &Item, measured: &Measured<'_>) -> Result<&'static str, Objection> {
    let had = || METRICS.iter().filter(|(_, owner)| measured.has(*owner)).map(|(name, _)| *name);
    let all = had().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let word = item.as_str().ok_or_else(|| wrong_type(item, "a word", &format!("one of {all}")))?;
    let (name, owner) = METRICS.iter().find(|(known, _)| *known == word).ok_or_else(|| {
        let remedy = match nearest(word, had()) {
            Some(meant) => format!("write \"{meant}\"? known are {all}"),
            None => format!("write one of {all}"),
        };
        Objection::new(format!("\"{word}\" is no metric that an interval can be asked for"), remedy)
    })?;
    let why = match owner {
        _ if measured.has(*owner) => return Ok(name),
        Owner::Orders => "only the workload tprocc counts orders",
        Owner::Database => "a simulated database has no host",
        Owner::Server => "this database is no process of its own",
        Owner::Mssql => "only SQL Server tells it",
        Owner::Everybody => unreachable!("everybody has it"),
    };
    Err(Objection::new(format!("this study has no {name}: {why}"), format!("write one of {all}")))
}
