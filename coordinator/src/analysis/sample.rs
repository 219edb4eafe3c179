//! One agent's interval in short: what stays of it after its histograms were added up.

use std::sync::Arc;

use vufleet_proto::v1;
use vufleet_scenarios::session::FaultKind;

use super::latency::{Encoded, Unreadable};
use super::names::Names;

/// Number of fault kinds.
const FAULTS: usize = FaultKind::ALL.len();

/// Name of TPROC-C's transaction that takes an order.
pub(super) const NEW_ORDER: &str = "new_order";

/// Counts by fault kind. Hardly any interval has any, and there may be hundreds of thousands of intervals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FaultCounts(Option<Box<[u64; FAULTS]>>);

impl FaultCounts {
    /// How many there are of a kind.
    pub fn of(&self, kind: FaultKind) -> u64 {
        self.0.as_ref().map_or(0, |counts| counts[kind.index()])
    }

    /// How many there are of all kinds.
    pub fn total(&self) -> u64 {
        self.0.as_ref().map_or(0, |counts| counts.iter().sum())
    }

    /// Every kind with its count.
    pub fn each(&self) -> impl Iterator<Item = (FaultKind, u64)> {
        FaultKind::ALL.into_iter().map(|kind| (kind, self.of(kind)))
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &FaultCounts) {
        let Some(other) = &other.0 else { return };
        for (sum, count) in self.0.get_or_insert_default().iter_mut().zip(other.iter()) {
            *sum += count;
        }
    }

    /// The contract counts its fault kinds from 1 (0 is none), in the order of [`FaultKind::ALL`].
    fn told(faults: &[v1::FaultCount]) -> FaultCounts {
        let mut counts = FaultCounts::default();
        for fault in faults.iter().filter(|fault| fault.count > 0) {
            let index = usize::try_from(fault.kind - 1).ok().filter(|index| *index < FAULTS);
            if let Some(index) = index {
                counts.0.get_or_insert_default()[index] += fault.count;
            }
        }
        counts
    }
}

/// What the virtual users of one agent did in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Name of the agent.
    pub agent: Arc<str>,
    /// First instant.
    pub start_ns: u64,
    /// Last instant.
    pub end_ns: u64,
    /// Time that it covers: of a sum what its intervals covered, else all of it.
    covered_ns: u64,
    /// Of both instants.
    pub uncertainty_ns: u64,
    /// Connected at the end.
    pub sessions: u32,
    /// Sessions that ended early, since the start.
    pub ended: u32,
    /// Connections opened again.
    pub reconnects: u64,
    /// Arrivals that became due.
    pub due: u64,
    /// Arrivals that nobody could take.
    pub not_started: u64,
    /// Faults of opening connections.
    pub connect_faults: FaultCounts,
    /// By transaction kind.
    pub kinds: Vec<KindSample>,
}

/// The same for one transaction kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KindSample {
    /// Name of the kind.
    pub kind: Arc<str>,
    /// Ended as intended.
    pub ok: u64,
    /// Rolled back on purpose.
    pub rollback: u64,
    /// Lost in mid-commit.
    pub unknown: u64,
    /// Given up.
    pub failed: u64,
    /// Sent again.
    pub retries: u64,
    /// Statements sent.
    pub statements: u64,
    /// ROLLBACKs sent because of a fault.
    pub fault_rollbacks: u64,
    /// Waited for inside the agent.
    pub queued_ns: u64,
    /// Faults, retried or not.
    pub faults: FaultCounts,
    /// 95th percentile of the response time.
    pub p95_ms: Option<f64>,
    /// 95th percentile of the service time.
    pub service_p95_ms: Option<f64>,
}

/// A kind's histograms of one interval, as they came.
#[derive(Debug, Default)]
pub struct KindLatency {
    /// From the actual start.
    pub service: Encoded,
    /// From the due time.
    pub response: Encoded,
}

/// What is kept of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What a report is made of.
    Brief,
    /// What is told of every interval by itself, too.
    Series,
}

impl Sample {
    /// Shortens an interval. The histograms of its kinds are put beside it, in the same order.
    pub fn of(
        agent: &str,
        interval: &v1::Interval,
        detail: Detail,
        names: &mut Names,
        latencies: &mut Vec<KindLatency>,
    ) -> Result<Sample, Unreadable> {
        latencies.resize_with(interval.kinds.len(), KindLatency::default);
        let mut kinds = Vec::with_capacity(interval.kinds.len());
        for (counts, latency) in interval.kinds.iter().zip(latencies) {
            latency.service.read(&counts.service)?;
            latency.response.read(&counts.response)?;
            kinds.push(KindSample::of(counts, names.get(&counts.name), latency, detail));
        }
        Ok(Sample {
            agent: names.get(agent),
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            covered_ns: match interval.covered_ns {
                0 => interval.end_ns.saturating_sub(interval.start_ns),
                covered_ns => covered_ns,
            },
            uncertainty_ns: interval.uncertainty_ns,
            sessions: interval.sessions,
            ended: interval.ended,
            reconnects: interval.reconnects,
            due: interval.due,
            not_started: interval.not_started,
            connect_faults: FaultCounts::told(&interval.connect_faults),
            kinds,
        })
    }

    /// Measured time in nanoseconds, which rates divide by.
    pub fn length_ns(&self) -> u64 {
        self.covered_ns
    }

    /// From its first to its last instant.
    fn span_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// The instant that decides where it belongs.
    pub fn middle_ns(&self) -> u64 {
        self.start_ns + self.span_ns() / 2
    }

    /// What was done in it.
    pub fn work(&self) -> Work {
        let mut work = Work::default();
        for kind in &self.kinds {
            work.ok += kind.ok as f64;
            work.rollback += kind.rollback as f64;
            work.unknown += kind.unknown as f64;
            work.failed += kind.failed as f64;
            work.statements += kind.statements as f64;
            work.faults += kind.faults.total() as f64;
            work.fault_rollbacks += kind.fault_rollbacks as f64;
            if &*kind.kind == NEW_ORDER {
                work.new_orders += kind.ok as f64;
                work.new_orders_unknown += kind.unknown as f64;
            }
        }
        work.faults += self.connect_faults.total() as f64;
        work
    }

    /// Whether a connection was lost, or could not be opened again, in it.
    pub fn lost_connections(&self) -> bool {
        let gone = |faults: &FaultCounts| faults.of(FaultKind::ConnectionLost) > 0 || faults.of(FaultKind::Refused) > 0;
        gone(&self.connect_faults) || self.kinds.iter().any(|kind| gone(&kind.faults))
    }
}

impl KindSample {
    /// Adds the counts of another interval; percentiles do not add.
    pub(super) fn add(&mut self, other: &KindSample) {
        self.ok += other.ok;
        self.rollback += other.rollback;
        self.unknown += other.unknown;
        self.failed += other.failed;
        self.retries += other.retries;
        self.statements += other.statements;
        self.fault_rollbacks += other.fault_rollbacks;
        self.queued_ns += other.queued_ns;
        self.faults.add(&other.faults);
    }

    fn of(counts: &v1::KindCounts, kind: Arc<str>, latency: &KindLatency, detail: Detail) -> KindSample {
        let p95_ms = |latency: &Encoded| latency.quantile_ms(0.95).filter(|_| detail == Detail::Series);
        KindSample {
            kind,
            ok: counts.ok,
            rollback: counts.rollback,
            unknown: counts.unknown,
            failed: counts.failed,
            retries: counts.retries,
            statements: counts.statements,
            fault_rollbacks: counts.fault_rollbacks,
            queued_ns: counts.queued_ns,
            faults: FaultCounts::told(&counts.faults),
            p95_ms: p95_ms(&latency.response),
            service_p95_ms: p95_ms(&latency.service),
        }
    }
}

/// Sums over intervals or parts of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Transactions that ended as intended.
    pub ok: f64,
    /// Rolled back on purpose.
    pub rollback: f64,
    /// Lost in mid-commit.
    pub unknown: f64,
    /// Given up.
    pub failed: f64,
    /// Statements of transactions.
    pub statements: f64,
    /// Faults of any kind.
    pub faults: f64,
    /// ROLLBACKs sent because of a fault.
    pub fault_rollbacks: f64,
    /// TPROC-C's new orders among those that ended as intended.
    pub new_orders: f64,
    /// And among those that were lost in mid-commit.
    pub new_orders_unknown: f64,
}

impl Work {
    /// Transactions that count for TPS.
    pub fn transactions(&self) -> f64 {
        self.ok + self.rollback
    }

    /// Transactions however they ended.
    pub fn ended(&self) -> f64 {
        self.ok + self.rollback + self.unknown + self.failed
    }

    /// Adds a share of other work.
    pub fn add(&mut self, other: &Work, share: f64) {
        self.ok += other.ok * share;
        self.rollback += other.rollback * share;
        self.unknown += other.unknown * share;
        self.failed += other.failed * share;
        self.statements += other.statements * share;
        self.faults += other.faults * share;
        self.fault_rollbacks += other.fault_rollbacks * share;
        self.new_orders += other.new_orders * share;
        self.new_orders_unknown += other.new_orders_unknown * share;
    }
}

/// What was done between two instants, an interval that lies across one of them counted by its share.
pub fn work_between(samples: &[Sample], start_ns: u64, end_ns: u64) -> Work {
    let mut work = Work::default();
    for sample in samples {
        let overlap = sample.end_ns.min(end_ns).saturating_sub(sample.start_ns.max(start_ns));
        if overlap > 0 {
            work.add(&sample.work(), overlap as f64 / sample.span_ns() as f64);
        }
    }
    work
}

/// Transactions that ended as intended between two instants, each counted as often as its kind weighs.
pub fn weighted_between(samples: &[Sample], start_ns: u64, end_ns: u64, weight: impl Fn(&str) -> f64) -> f64 {
    let of = |sample: &Sample| {
        let overlap = sample.end_ns.min(end_ns).saturating_sub(sample.start_ns.max(start_ns));
        let weighted: f64 = sample.kinds.iter().map(|kind| kind.ok as f64 * weight(&kind.kind)).sum();
        if overlap > 0 { weighted * overlap as f64 / sample.span_ns() as f64 } else { 0.0 }
    };
    samples.iter().map(of).sum()
}

/// How much of what was done around an instant lies on an unknown side of it: what an interval that lies across it would
/// have had, at its mean rate, between the instant and its own nearer end. Nobody knows the rate in so short a time, but
/// nothing and twice the mean are within reach.
pub fn torn_at(samples: &[Sample], at_ns: u64) -> Work {
    let mut work = Work::default();
    for sample in samples.iter().filter(|sample| sample.start_ns < at_ns && at_ns < sample.end_ns) {
        let nearer_ns = (at_ns - sample.start_ns).min(sample.end_ns - at_ns);
        work.add(&sample.work(), nearer_ns as f64 / sample.span_ns() as f64);
    }
    work
}
