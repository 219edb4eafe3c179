//! The part of a study that its report needs, kept beside the text.
//!
//! A report of an old ledger must not depend on whether today's parser still accepts yesterday's study.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vufleet_scenarios::study::{Pacing, Profile, Repetitions, Study, Switch, TargetKind, Until, Variant, Workload};
use vufleet_scenarios::tprocc::Calls;
use vufleet_scenarios::{custom, oltp, tprocc};

use super::MeasureFacts;

/// A study as its report sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// Where every random stream started.
    pub seed: u64,
    /// Kind of database, as in studies.
    pub target: String,
    /// Variant that changes are counted from.
    pub baseline: String,
    /// Of the intervals.
    pub confidence: f64,
    /// Names, in the order of the study.
    pub variants: Vec<String>,
    /// Load levels, in the order of the study.
    pub profiles: Vec<ProfileOutline>,
    /// Runs of each cell.
    pub repetitions: u32,
    /// The measured window.
    pub measure: MeasureFacts,
    /// How many more blocks there may be, and what decides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilOutline>,
    /// Times and order of the runs; none of ledgers of the first vufleets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleOutline>,
    /// Variants in which the database is as it is in the baseline: what differs there is noise (A/A).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<String>,
}

/// Repetitions until an interval is narrow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UntilOutline {
    /// Pilot blocks.
    pub min: u32,
    /// Most blocks.
    pub max: u32,
    /// Half the width that the interval is to have, in per cent.
    pub percent: f64,
    /// Name of the metric whose interval it is.
    pub metric: String,
}

impl UntilOutline {
    fn of(repetitions: Repetitions) -> Option<UntilOutline> {
        match repetitions {
            Repetitions::Fixed(_) => None,
            Repetitions::Until(Until { min, max, percent, metric }) => {
                Some(UntilOutline { min, max, percent, metric: metric.to_owned() })
            }
        }
    }
}

/// How a study was measured, for its report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleOutline {
    /// Load before the window.
    pub ramp_up_ns: u64,
    /// Rest after the load.
    pub settle_ns: u64,
    /// Whether there was a checkpoint after each run.
    pub checkpoint: bool,
    /// "blocks" or "grouped".
    pub order: String,
    /// What is shuffled outside within a block: "profile" or "variant".
    pub nest: String,
    /// Repeats of an invalid run, at most.
    pub max_repeats: u32,
    /// How the data was reset and when, for people; none: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<String>,
    /// Variants that are turned on in the runs of no cell: nanoseconds after the start of the load, and which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<(u64, String)>,
}

impl ScheduleOutline {
    fn of(study: &Study) -> ScheduleOutline {
        let schedule = &study.schedule;
        let switch = |switch: &Switch| (switch.at.as_nanos() as u64, switch.variant.clone());
        ScheduleOutline {
            ramp_up_ns: schedule.ramp_up.as_nanos() as u64,
            settle_ns: schedule.settle.as_nanos() as u64,
            checkpoint: schedule.checkpoint,
            order: schedule.order.name().to_owned(),
            nest: schedule.nest.name().to_owned(),
            max_repeats: schedule.max_repeats,
            reset: study.reset.as_ref().map(ToString::to_string),
            switches: study.switches.iter().map(switch).collect(),
        }
    }
}

/// The variants beside the baseline that change as little as it does.
fn controls(study: &Study) -> Vec<String> {
    let Some(baseline) = study.variants.iter().find(|variant| variant.name == study.baseline()) else {
        return Vec::new();
    };
    let same = |variant: &&Variant| variant.name != baseline.name && variant.change == baseline.change;
    study.variants.iter().filter(same).map(|variant| variant.name.clone()).collect()
}

impl Outline {
    /// What a report needs of `study`.
    pub fn of(study: &Study) -> Outline {
        Outline {
            seed: study.seed,
            target: study.target.kind.name().to_owned(),
            baseline: study.baseline().to_owned(),
            confidence: study.report.confidence,
            variants: study.variants.iter().map(|variant| variant.name.clone()).collect(),
            profiles: study.profiles.iter().map(ProfileOutline::of).collect(),
            repetitions: study.schedule.repetitions.at_least(),
            until: UntilOutline::of(study.schedule.repetitions),
            schedule: Some(ScheduleOutline::of(study)),
            controls: controls(study),
            measure: study.schedule.measure.into(),
        }
    }

    /// The profile of that id.
    pub fn profile(&self, id: &str) -> Option<&ProfileOutline> {
        self.profiles.iter().find(|profile| profile.id == id)
    }

    /// Whether there is a database at all.
    pub fn has_database(&self) -> bool {
        self.target != TargetKind::Simulated.name()
    }

    /// Whether the database counts what its clients do in counters that every connection feeds.
    pub fn has_server_counters(&self) -> bool {
        self.target == TargetKind::Mysql.name() || self.is_mssql()
    }

    /// Whether some of these counters grow by a known number with each transaction, whatever the workload. None of SQL
    /// Server's does.
    pub fn counts_transactions(&self) -> bool {
        self.target == TargetKind::Mysql.name()
    }

    /// Whether the database is SQL Server, or speaks its protocol.
    pub fn is_mssql(&self) -> bool {
        self.target == TargetKind::Mssql.name()
    }
}

/// A load level as its report sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileOutline {
    /// Unique in the study.
    pub id: String,
    /// Virtual users of the whole fleet.
    pub vus: u32,
    /// Sessions of each.
    pub sessions_per_vu: u32,
    /// When the next transaction starts, for people.
    pub pacing: String,
    /// The same, for decisions.
    pub pace: Pace,
    /// The workload's options that results name.
    pub workload: BTreeMap<String, Value>,
    /// Whether a transaction is committed by a statement of its own.
    pub transactional: bool,
    /// Statements of one transaction that meets no fault, BEGIN and COMMIT included, where there is such a number.
    pub statements_per_transaction: Option<u32>,
    /// What is counted beside, where the workload is TPROC-C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_entry: Option<OrderEntry>,
    /// What each transaction kind sends, where the workload is the user's own SQL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own_sql: BTreeMap<String, KindOutline>,
}

/// A transaction kind of the user's own SQL, as witnesses count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindOutline {
    /// Statements of a transaction that meets no fault, BEGIN and COMMIT included.
    pub statements: u32,
    /// Those that the server's counters of SELECT, INSERT, REPLACE, UPDATE and DELETE count, where each commits itself and
    /// nothing else moves these counters.
    pub autocommitted_rows: Option<u32>,
}

impl KindOutline {
    fn all_of(workload: &Workload) -> BTreeMap<String, KindOutline> {
        let Workload::Custom(shape) = workload else { return BTreeMap::new() };
        let kind = |transaction: &custom::Transaction| KindOutline {
            statements: transaction.statements(),
            autocommitted_rows: transaction.row_statements(shape.dialect).filter(|_| !transaction.transactional),
        };
        shape.transactions.iter().map(|transaction| (transaction.name.clone(), kind(transaction))).collect()
    }
}

/// What TPROC-C counts, beside what every workload counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderEntry {
    /// Transactions are calls of stored procedures; else statements.
    pub procedures: bool,
}

impl OrderEntry {
    /// Statements of the longest transaction: a Delivery's seven for each of ten districts; a call is one.
    pub fn longest_transaction(self) -> f64 {
        if self.procedures { 1.0 } else { 72.0 }
    }

    fn of(workload: &Workload) -> Option<OrderEntry> {
        match workload {
            Workload::Oltp(_) | Workload::Custom(_) => None,
            Workload::Tprocc(shape) => Some(OrderEntry { procedures: shape.calls == Calls::Procedures }),
        }
    }
}

/// Who decides when a transaction starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// The end of the one before it.
    BackToBack,
    /// A wait after it.
    Waiting,
    /// Arrivals that do not care whether anybody is idle.
    Open,
}

impl ProfileOutline {
    fn of(profile: &Profile) -> ProfileOutline {
        let (workload, transactional, statements_per_transaction) = match &profile.workload {
            Workload::Oltp(shape) => (oltp_options(shape), shape.transactional(), shape.statements_per_transaction()),
            Workload::Tprocc(shape) => (tprocc_options(shape), true, procedures_call(shape)),
            Workload::Custom(shape) => (custom_options(shape), all_transactional(shape), same_statements(shape)),
        };
        ProfileOutline {
            id: profile.id.clone(),
            vus: profile.vus,
            sessions_per_vu: profile.sessions_per_vu,
            pacing: profile.pacing.to_string(),
            pace: match profile.pacing {
                Pacing::None => Pace::BackToBack,
                Pacing::Wait(_) | Pacing::KeyingThinking { .. } => Pace::Waiting,
                Pacing::Rate(_) => Pace::Open,
            },
            workload,
            transactional,
            statements_per_transaction,
            order_entry: OrderEntry::of(&profile.workload),
            own_sql: KindOutline::all_of(&profile.workload),
        }
    }
}

fn oltp_options(shape: &oltp::Shape) -> BTreeMap<String, Value> {
    let mut options = BTreeMap::from([
        ("kind".to_owned(), json!("oltp")),
        ("script".to_owned(), json!(shape.script.name())),
        ("protocol".to_owned(), json!(shape.protocol.name())),
        ("distribution".to_owned(), json!(shape.distribution.name())),
        ("tables".to_owned(), json!(shape.tables)),
        ("table_size".to_owned(), json!(shape.table_size)),
    ]);
    if shape.skip_trx {
        options.insert("skip_trx".to_owned(), json!(true));
    }
    options
}

/// A call is one statement, whatever happens inside of it.
fn procedures_call(shape: &tprocc::Shape) -> Option<u32> {
    (shape.calls == Calls::Procedures).then_some(1)
}

fn tprocc_options(shape: &tprocc::Shape) -> BTreeMap<String, Value> {
    let mix = &shape.mix;
    let mut options = BTreeMap::from([
        ("kind".to_owned(), json!("tprocc")),
        ("calls".to_owned(), json!(shape.calls.name())),
        ("protocol".to_owned(), json!(shape.protocol.name())),
        ("warehouses".to_owned(), json!(shape.warehouses)),
    ]);
    if shape.all_warehouses {
        options.insert("all_warehouses".to_owned(), json!(true));
    }
    if *mix != tprocc::Mix::default() {
        let weights = json!({
            "new_order": mix.new_order, "payment": mix.payment, "order_status": mix.order_status,
            "delivery": mix.delivery, "stock_level": mix.stock_level,
        });
        options.insert("mix".to_owned(), weights);
    }
    options
}

fn all_transactional(shape: &custom::Shape) -> bool {
    shape.transactions.iter().all(|transaction| transaction.transactional)
}

/// Statements of a transaction, where all kinds have as many.
fn same_statements(shape: &custom::Shape) -> Option<u32> {
    let mut counts = shape.transactions.iter().map(custom::Transaction::statements);
    let first = counts.next()?;
    counts.all(|count| count == first).then_some(first)
}

fn custom_options(shape: &custom::Shape) -> BTreeMap<String, Value> {
    let told = |transaction: &custom::Transaction| {
        let (weight, statements) = (transaction.weight, transaction.steps.len());
        json!({ "weight": weight, "statements": statements, "transaction": transaction.transactional })
    };
    let transactions: BTreeMap<&str, Value> =
        shape.transactions.iter().map(|transaction| (transaction.name.as_str(), told(transaction))).collect();
    BTreeMap::from([
        ("kind".to_owned(), json!("sql")),
        ("protocol".to_owned(), json!(shape.protocol().name())),
        ("transactions".to_owned(), json!(transactions)),
    ])
}
