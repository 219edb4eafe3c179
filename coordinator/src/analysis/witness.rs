//! A second, independent count of the same thing: what the database says its clients did.
//!
//! Server-wide counters see every client, so a difference may also be somebody else's work.

use std::collections::BTreeMap;

use serde::Serialize;
use vufleet_proto::v1;

use super::Metric;
use super::orders::standing;
use super::sample::{Sample, Work, torn_at, weighted_between, work_between};
use crate::ledger::{KindOutline, OrderEntry, ProfileOutline};

/// Share of the count by which the two may differ without doubt.
const TOLERANCE: f64 = 0.01;
/// Difference, in per cent of the database's count, beyond which two counts that disagree say nothing.
const APART_PERCENT: f64 = 5.0;

/// A reading that lies this much time further from an edge has to be one unit of time more certain.
const QUICKER: u64 = 20;
/// And it may be so far from it however short the window is.
const NEAR_NS: u64 = 1_000_000_000;

/// The part of a reading of the database's counters that reports need.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Before the counters were read.
    pub before_ns: u64,
    /// After.
    pub after_ns: u64,
    /// How long the database has been up.
    pub uptime_s: u64,
    own_statements: u64,
    commits: Option<u64>,
    rollbacks: Option<u64>,
    statements: Option<u64>,
    /// Batches and calls that a SQL Server received.
    batches: Option<u64>,
    /// CPU time of the server's process, where the server tells it, and the processors of its host.
    process: Option<(u64, u64)>,
    rows_statements: Option<u64>,
    /// Those that the user's own SQL may send beside them; 0 where they were not read.
    other_rows_statements: u64,
}

/// Forms of statements on rows that have counters of their own.
const OTHER_FORMS: [&str; 5] =
    ["Com_delete_multi", "Com_insert_select", "Com_replace", "Com_replace_select", "Com_update_multi"];

impl Reading {
    /// Keeps of a reading what reports need; the reason why there is none, where there is none.
    pub fn of(counters: &v1::Counters) -> Result<Reading, String> {
        if counters.values.is_empty() && !counters.error.is_empty() {
            return Err(counters.error.clone());
        }
        let value = |name: &str| counters.values.get(name).copied();
        let dml = ["Com_select", "Com_insert", "Com_update", "Com_delete"];
        Ok(Reading {
            before_ns: counters.before_ns,
            after_ns: counters.after_ns,
            uptime_s: counters.uptime_s,
            own_statements: counters.own_statements,
            commits: value("Com_commit"),
            rollbacks: value("Com_rollback"),
            statements: value("Questions"),
            batches: value("Batch Requests/sec"),
            process: value("process_user_time_ms")
                .zip(value("process_kernel_time_ms"))
                .map(|(user, kernel)| user + kernel)
                .zip(value("cpu_count")),
            rows_statements: dml.into_iter().map(value).sum(),
            other_rows_statements: OTHER_FORMS.into_iter().filter_map(value).sum(),
        })
    }

    /// The instant that the counters are taken to be of.
    pub fn at_ns(&self) -> u64 {
        self.before_ns + self.length_ns() / 2
    }

    fn length_ns(&self) -> u64 {
        self.after_ns.saturating_sub(self.before_ns)
    }

    /// Commits of everybody from this reading to a later one.
    pub fn commits_until(&self, later: &Reading) -> Option<u64> {
        later.commits?.checked_sub(self.commits?)
    }

    /// Batches a second of everybody but the observer from this reading to a later one.
    pub(super) fn batches_per_s(&self, later: &Reading) -> Option<f64> {
        let batches = growth(self.batches, later.batches)? - later.own_statements_since(self) as f64;
        let seconds = self.seconds_until(later)?;
        Some(batches.max(0.0) / seconds)
    }

    /// CPU time of the server's process from this reading to a later one, and its share of all processors in per cent.
    pub(super) fn process_cpu(&self, later: &Reading) -> Option<(f64, f64)> {
        let ((from, _), (to, processors)) = (self.process?, later.process?);
        let (cpu_ms, seconds) = (growth(Some(from), Some(to))?, self.seconds_until(later)?);
        let all_ms = 1e3 * seconds * processors as f64;
        (all_ms > 0.0).then(|| (cpu_ms, (100.0 * cpu_ms / all_ms).clamp(0.0, 100.0)))
    }

    fn seconds_until(&self, later: &Reading) -> Option<f64> {
        Some(later.at_ns().checked_sub(self.at_ns())? as f64 / 1e9).filter(|seconds| *seconds > 0.0)
    }

    /// The observer counts its statements anew on each of its connections.
    fn own_statements_since(&self, earlier: &Reading) -> u64 {
        self.own_statements.checked_sub(earlier.own_statements).unwrap_or(self.own_statements)
    }

    /// Between this reading and a later one.
    fn span_to(&self, later: &Reading, clock_uncertainty_ns: u64) -> Span {
        Span::of([(self.before_ns, self.after_ns), (later.before_ns, later.after_ns)], clock_uncertainty_ns)
    }
}

/// The time between two readings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// Of both instants together.
    uncertain_ns: f64,
}

impl Span {
    /// `readings`: the instants before and after each.
    pub(super) fn of(readings: [(u64, u64); 2], clock_uncertainty_ns: u64) -> Span {
        let [from_ns, to_ns] = readings.map(|(before, after)| before + after.saturating_sub(before) / 2);
        let lengths: u64 = readings.iter().map(|(before, after)| after.saturating_sub(*before)).sum();
        Span { from_ns, to_ns, uncertain_ns: lengths as f64 / 2.0 + 2.0 * clock_uncertainty_ns as f64 }
    }

    fn seconds(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }
}

/// Two counts of one thing between the same two instants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Witness {
    /// Which metric.
    pub metric: &'static str,
    /// What the virtual users counted, per second, or minute where the metric's name says so.
    pub client: f64,
    /// What the database counted, likewise.
    pub database: f64,
    /// Which counters.
    pub source: &'static str,
    /// By how much the client's count is above the database's.
    pub difference_percent: f64,
    /// The client's count.
    pub client_count: f64,
    /// The database's.
    pub database_count: f64,
    /// Time between the readings.
    pub over_s: f64,
    /// What the two may differ by for reasons that are nobody's mistake: transactions under way at either edge, the
    /// time that the readings took, intervals that lie across one of them, faults.
    pub allowance_count: f64,
}

/// How far two counts are from agreeing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Within their bound.
    Agree,
    /// Beyond it.
    Disagree,
    /// So far that the run says nothing.
    Apart,
}

impl Witness {
    /// Compares two counts; none where no time lies between the readings.
    pub(super) fn over(
        span: &Span,
        metric: Metric,
        source: &'static str,
        [client, database]: [f64; 2],
        allowance: f64,
    ) -> Option<Witness> {
        let over_s = Some(span.seconds()).filter(|seconds| *seconds > 0.0)?;
        let base = if database > 0.0 { database } else { client.max(1.0) };
        let per = metric.per_s() / over_s;
        Some(Witness {
            metric: metric.name(),
            client: client * per,
            database: database * per,
            source,
            difference_percent: 100.0 * (client - database) / base,
            client_count: client,
            database_count: database,
            over_s,
            allowance_count: allowance + client / over_s * span.uncertain_ns / 1e9,
        })
    }

    /// Whether the two counts agree. What is allowed for decides that alone: beside the few transactions of a short run
    /// one for each session may be more than 5 %.
    pub fn agreement(&self) -> Agreement {
        let beyond = (self.client_count - self.database_count).abs() - self.allowance_count;
        if beyond <= TOLERANCE * self.client_count.max(self.database_count) {
            return Agreement::Agree;
        }
        if self.difference_percent.abs() > APART_PERCENT { Agreement::Apart } else { Agreement::Disagree }
    }
}

/// Everything that the comparison needs.
pub struct Comparison<'a> {
    /// The profile at hand.
    pub profile: &'a ProfileOutline,
    /// Reading at the window's start.
    pub first: &'a Reading,
    /// Reading at its end.
    pub last: &'a Reading,
    /// Every driving agent's intervals.
    pub samples: &'a [Sample],
    /// Sessions of the fleet.
    pub sessions: u32,
    /// Of the agents' clocks.
    pub clock_uncertainty_ns: u64,
    /// Orders that were rolled back on purpose are counted among those that were not; the share of all that is none.
    pub rollbacks_unseen: Option<f64>,
}

impl Comparison<'_> {
    /// Every witness that this workload has in the server's counters.
    pub fn witnesses(&self) -> Vec<Witness> {
        let work = work_between(self.samples, self.first.at_ns(), self.last.at_ns());
        let span = self.first.span_to(self.last, self.clock_uncertainty_ns);
        let per_transaction = f64::from(self.profile.statements_per_transaction.unwrap_or(1));
        let longest = self.longest_transaction(per_transaction);
        let sessions = f64::from(self.sessions);
        let mut torn = torn_at(self.samples, self.first.at_ns());
        torn.add(&torn_at(self.samples, self.last.at_ns()), 1.0);
        let own = self.last.own_statements_since(self.first) as f64;
        let questions = growth(self.first.statements, self.last.statements).map(|all| all - own);
        // A transaction's statements are booked when it ends.
        let under_way = sessions * longest + torn.statements;
        [
            self.order_entry(&span, &work, sessions + torn.transactions()),
            self.transactions(&span, &work, sessions + torn.ok, per_transaction),
            questions
                .and_then(|count| Witness::over(&span, Metric::Qps, "Questions", [work.statements, count], under_way)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Statements of the longest transaction.
    fn longest_transaction(&self, per_transaction: f64) -> f64 {
        let own = self.profile.own_sql.values().map(|kind| kind.statements).max();
        let own = own.map_or(per_transaction, f64::from);
        self.profile.order_entry.map_or(own, OrderEntry::longest_transaction)
    }

    fn transactions(&self, span: &Span, work: &Work, under_way: f64, per_transaction: f64) -> Option<Witness> {
        if self.profile.transactional {
            let commits = growth(self.first.commits, self.last.commits)?;
            let (orders, chance) = match self.rollbacks_unseen {
                Some(share) => standing(work.new_orders, share),
                None => (work.new_orders, 0.0),
            };
            let committed = work.ok - work.new_orders + orders;
            let allowance = under_way + work.unknown + chance;
            return Witness::over(span, Metric::Tps, "Com_commit", [committed, commits], allowance);
        }
        if !self.profile.own_sql.is_empty() {
            return self.own_sql(span, work, under_way);
        }
        self.profile.statements_per_transaction?; // nothing to divide by
        let rows = growth(self.first.rows_statements, self.last.rows_statements)? / per_transaction;
        let source = "Com_select + Com_insert + Com_update + Com_delete";
        // A transaction that met a fault may have got its statements counted without being counted itself.
        Witness::over(span, Metric::Tps, source, [work.ok, rows], under_way + work.faults + work.unknown)
    }

    /// Autocommitted transactions of the user's own. What kinds of different lengths have in common is their mean, by the
    /// virtual users' own count of each kind.
    fn own_sql(&self, span: &Span, work: &Work, under_way: f64) -> Option<Witness> {
        let rows: BTreeMap<&str, u32> = self.profile.own_sql.iter().map(autocommitted_rows).collect::<Option<_>>()?;
        let of = |kind: &str| rows.get(kind).copied().map_or(0.0, f64::from);
        let sent = weighted_between(self.samples, span.from_ns, span.to_ns, of);
        let mean = Some(sent / work.ok).filter(|mean| *mean > 0.0)?;
        let all = |reading: &Reading| reading.rows_statements.map(|rows| rows + reading.other_rows_statements);
        let transactions = growth(all(self.first), all(self.last))? / mean;
        let source = "Com_select + Com_insert + Com_replace + Com_update + Com_delete, in all their forms";
        Witness::over(span, Metric::Tps, source, [work.ok, transactions], under_way + work.faults + work.unknown)
    }

    /// TPM. A fault costs a ROLLBACK, and another one inside the procedure that met it; whether somebody else's
    /// procedures do that is not known.
    fn order_entry(&self, span: &Span, work: &Work, under_way: f64) -> Option<Witness> {
        let procedures = self.profile.order_entry?.procedures;
        if let Some(batches) = growth(self.first.batches, self.last.batches) {
            return self.calls(span, work, batches, under_way).filter(|_| procedures);
        }
        let commits = growth(self.first.commits, self.last.commits)?;
        let rollbacks = growth(self.first.rollbacks, self.last.rollbacks)?;
        let of_faults = work.fault_rollbacks * if procedures { 2.0 } else { 1.0 };
        let database = (commits + rollbacks - of_faults).max(0.0);
        let doubtful = if procedures { work.fault_rollbacks } else { 0.0 };
        let source = "Com_commit + Com_rollback";
        let allowance = under_way + work.unknown + doubtful;
        Witness::over(span, Metric::Tpm, source, [work.transactions(), database], allowance)
    }
}

impl Comparison<'_> {
    /// TPM of SQL Server: a transaction is one call, and so is each attempt that met a fault. Whether the ROLLBACK after it
    /// counts as a batch is not documented.
    fn calls(&self, span: &Span, work: &Work, batches: f64, under_way: f64) -> Option<Witness> {
        let own = self.last.own_statements_since(self.first) as f64;
        let database = (batches - own - work.fault_rollbacks).max(0.0);
        // A lost connection has a call without its ROLLBACK, and a new session's greeting.
        let lost = (work.faults - work.fault_rollbacks).max(0.0);
        let allowance = under_way + work.unknown + work.fault_rollbacks + 2.0 * lost;
        Witness::over(span, Metric::Tpm, "Batch Requests/sec", [work.transactions(), database], allowance)
    }
}

fn autocommitted_rows<'a>((name, kind): (&'a String, &KindOutline)) -> Option<(&'a str, u32)> {
    Some((name.as_str(), kind.autocommitted_rows?))
}

fn growth(from: Option<u64>, to: Option<u64>) -> Option<f64> {
    to?.checked_sub(from?).map(|growth| growth as f64)
}

/// The last reading before the first of two instants and the first one after the second.
pub fn around(readings: &[Reading], start_ns: u64, end_ns: u64) -> Option<(&Reading, &Reading)> {
    let before = readings.iter().rfind(|reading| reading.after_ns <= start_ns);
    before.zip(readings.iter().find(|reading| reading.before_ns >= end_ns))
}

/// The readings near two instants, both within `slack_ns` or a second of them, that say most, where they are two. The clients are
/// counted between the same two, so a quick reading further off is better than a slow one that is near.
pub fn at_edges(readings: &[Reading], start_ns: u64, end_ns: u64, slack_ns: u64) -> Option<(&Reading, &Reading)> {
    let near = |instant: u64| {
        let within = readings.iter().filter(|reading| reading.at_ns().abs_diff(instant) <= slack_ns.max(NEAR_NS));
        within.min_by_key(|reading| reading.length_ns() / 2 + reading.at_ns().abs_diff(instant) / QUICKER)
    };
    near(start_ns).zip(near(end_ns)).filter(|(first, last)| first.at_ns() < last.at_ns())
}
