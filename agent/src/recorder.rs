//! What the virtual users of one thread did since the last cut: counts and histograms, nothing that allocates or
//! formats while a transaction is recorded.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use vufleet_proto::v1;
use vufleet_scenarios::session::FaultKind;
use vufleet_scenarios::workload::Outcome;

/// Latencies are kept in nanoseconds: finest step 64 ns, three significant digits, up to ten minutes.
const LOWEST_NS: u64 = 100;
const HIGHEST_NS: u64 = 600_000_000_000;

/// How a recorded transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Committed or autocommitted.
    Ok,
    /// Rolled back on purpose.
    Rollback,
    /// The connection broke while a commit was under way.
    Unknown,
    /// Given up.
    Failed,
}

impl End {
    /// Of a transaction that came to its end by itself.
    pub fn of(outcome: Outcome) -> End {
        match outcome {
            Outcome::Committed => End::Ok,
            Outcome::RolledBack => End::Rollback,
        }
    }
}

/// One finished transaction.
#[derive(Debug, Clone, Copy)]
pub struct Finished {
    /// Index of its kind.
    pub kind: usize,
    /// How it ended.
    pub end: End,
    /// From the actual start, retries included.
    pub service: Duration,
    /// From the instant it was due; none where that was the start.
    pub response: Option<Duration>,
    /// Statements sent for it.
    pub statements: u64,
    /// Time spent waiting inside this process for the database.
    pub queued: Duration,
}

/// Whole nanoseconds. A duration's own method counts in 128 bits, and is asked for several times a transaction.
pub fn nanos(time: Duration) -> u64 {
    time.as_secs().wrapping_mul(1_000_000_000).wrapping_add(time.subsec_nanos().into())
}

/// Counts of one transaction kind.
#[derive(Debug, Clone, Default)]
struct Counts {
    ok: u64,
    rollback: u64,
    unknown: u64,
    failed: u64,
    retries: u64,
    statements: u64,
    fault_rollbacks: u64,
    queued_ns: u64,
    faults: [u64; FaultKind::ALL.len()],
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.ok += other.ok;
        self.rollback += other.rollback;
        self.unknown += other.unknown;
        self.failed += other.failed;
        self.retries += other.retries;
        self.statements += other.statements;
        self.fault_rollbacks += other.fault_rollbacks;
        self.queued_ns += other.queued_ns;
        for (sum, count) in self.faults.iter_mut().zip(other.faults) {
            *sum += count;
        }
    }
}

/// Counts and latencies of one transaction kind.
#[derive(Debug, Clone)]
struct KindTally {
    counts: Counts,
    service: Histogram<u64>,
    /// None where nothing is ever late: response is service then.
    response: Option<Histogram<u64>>,
}

fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, 3).expect("bounds and digits are valid constants")
}

impl KindTally {
    fn new(separate_response: bool) -> Self {
        KindTally { counts: Counts::default(), service: latencies(), response: separate_response.then(latencies) }
    }

    fn add(&mut self, other: &KindTally) {
        self.counts.add(&other.counts);
        let same_bounds = "all histograms have the same bounds";
        self.service.add(&other.service).expect(same_bounds);
        if let (Some(sum), Some(response)) = (&mut self.response, &other.response) {
            sum.add(response).expect(same_bounds);
        }
    }
}

/// Everything recorded between two cuts.
#[derive(Debug, Clone)]
pub struct Tally {
    kinds: Vec<KindTally>,
    reconnects: u64,
    connect_faults: [u64; FaultKind::ALL.len()],
}

impl Tally {
    /// An empty tally of so many kinds. `separate_response`: transactions may start later than due.
    pub fn new(kinds: usize, separate_response: bool) -> Self {
        Tally {
            kinds: (0..kinds).map(|_| KindTally::new(separate_response)).collect(),
            reconnects: 0,
            connect_faults: [0; FaultKind::ALL.len()],
        }
    }

    /// Records a transaction.
    pub fn finish(&mut self, finished: &Finished) {
        let kind = &mut self.kinds[finished.kind];
        kind.counts.statements += finished.statements;
        kind.counts.queued_ns += nanos(finished.queued);
        match finished.end {
            End::Ok => kind.counts.ok += 1,
            End::Rollback => kind.counts.rollback += 1,
            End::Unknown => kind.counts.unknown += 1,
            End::Failed => kind.counts.failed += 1,
        }
        if matches!(finished.end, End::Ok | End::Rollback) {
            let service = nanos(finished.service);
            kind.service.saturating_record(service);
            if let Some(response) = &mut kind.response {
                response.saturating_record(finished.response.map_or(service, nanos));
            }
        }
    }

    /// Records a fault inside a transaction.
    pub fn fault(&mut self, kind: usize, fault: FaultKind, count: u64) {
        self.kinds[kind].counts.faults[fault.index()] += count;
    }

    /// Records statements sent for a transaction that has not ended, or never will.
    pub fn sent(&mut self, kind: usize, statements: u64) {
        self.kinds[kind].counts.statements += statements;
    }

    /// Records that a transaction is sent again.
    pub fn retry(&mut self, kind: usize) {
        self.kinds[kind].counts.retries += 1;
    }

    /// Records a ROLLBACK sent because of a fault.
    pub fn fault_rollback(&mut self, kind: usize) {
        self.kinds[kind].counts.fault_rollbacks += 1;
    }

    /// Records a session opened again.
    pub fn reconnect(&mut self) {
        self.reconnects += 1;
    }

    /// Records a failed attempt to open a session.
    pub fn connect_fault(&mut self, fault: FaultKind) {
        self.connect_faults[fault.index()] += 1;
    }

    /// Adds another thread's tally.
    pub fn add(&mut self, other: &Tally) {
        for (sum, kind) in self.kinds.iter_mut().zip(&other.kinds) {
            sum.add(kind);
        }
        self.reconnects += other.reconnects;
        for (sum, count) in self.connect_faults.iter_mut().zip(other.connect_faults) {
            *sum += count;
        }
    }

    /// The contract's form. `names` are the kinds' names; kinds in which nothing happened are left out.
    pub fn to_interval(&self, names: &[String]) -> v1::Interval {
        let mut serializer = V2Serializer::new();
        let kinds = names.iter().zip(&self.kinds).filter_map(|(name, kind)| kind.to_proto(name, &mut serializer));
        v1::Interval {
            kinds: kinds.collect(),
            reconnects: self.reconnects,
            connect_faults: fault_counts(&self.connect_faults),
            ..Default::default()
        }
    }
}

impl KindTally {
    fn to_proto(&self, name: &str, serializer: &mut V2Serializer) -> Option<v1::KindCounts> {
        let counts = &self.counts;
        let faults = fault_counts(&counts.faults);
        let finished = counts.ok + counts.rollback + counts.unknown + counts.failed;
        if finished + counts.retries + counts.statements == 0 && faults.is_empty() {
            return None;
        }
        let mut serialize = |histogram: &Histogram<u64>| {
            let mut bytes = Vec::new();
            serializer.serialize(histogram, &mut bytes).expect("a vector takes every byte");
            bytes
        };
        let service = serialize(&self.service);
        let response = self.response.as_ref().map_or_else(|| service.clone(), &mut serialize);
        Some(v1::KindCounts {
            name: name.to_owned(),
            ok: counts.ok,
            rollback: counts.rollback,
            unknown: counts.unknown,
            failed: counts.failed,
            retries: counts.retries,
            statements: counts.statements,
            fault_rollbacks: counts.fault_rollbacks,
            queued_ns: counts.queued_ns,
            faults,
            service: service.into(),
            response: response.into(),
        })
    }
}

fn fault_counts(counts: &[u64; FaultKind::ALL.len()]) -> Vec<v1::FaultCount> {
    let seen = FaultKind::ALL.into_iter().zip(counts).filter(|(_, count)| **count > 0);
    seen.map(|(kind, count)| v1::FaultCount { kind: fault_to_proto(kind) as i32, count: *count }).collect()
}

/// The contract's word for a kind of fault.
pub fn fault_to_proto(kind: FaultKind) -> v1::FaultKind {
    match kind {
        FaultKind::Deadlock => v1::FaultKind::FaultDeadlock,
        FaultKind::LockTimeout => v1::FaultKind::FaultLockTimeout,
        FaultKind::Serialization => v1::FaultKind::FaultSerialization,
        FaultKind::ConnectionLost => v1::FaultKind::FaultConnectionLost,
        FaultKind::Refused => v1::FaultKind::FaultRefused,
        FaultKind::Statement => v1::FaultKind::FaultStatement,
        FaultKind::Duplicate => v1::FaultKind::FaultDuplicate,
        FaultKind::Deadline => v1::FaultKind::FaultDeadline,
        FaultKind::Overloaded => v1::FaultKind::FaultOverloaded,
    }
}

/// One thread's recorder: the tally since the last cut, and when that was.
#[derive(Debug)]
pub struct Recorder {
    /// What happened since the last cut.
    pub tally: Tally,
    since: Instant,
}

impl Recorder {
    /// Starts recording.
    pub fn new(tally: Tally, since: Instant) -> Self {
        Recorder { tally, since }
    }

    /// Moves the beginning of the first interval to the appointed start.
    pub fn begin(&mut self, since: Instant) {
        self.since = since;
    }

    /// Ends the interval: what was recorded, from when to `now`; `empty` takes its place.
    pub fn cut(&mut self, now: Instant, empty: Tally) -> (Tally, Instant, Instant) {
        let since = std::mem::replace(&mut self.since, now);
        (std::mem::replace(&mut self.tally, empty), since, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    fn finished(end: End, service_us: u64, response_us: u64) -> Finished {
        Finished {
            kind: 0,
            end,
            service: Duration::from_micros(service_us),
            response: Some(Duration::from_micros(response_us)),
            statements: 20,
            queued: Duration::ZERO,
        }
    }

    fn names() -> Vec<String> {
        vec!["read_write".to_owned(), "other".to_owned()]
    }

    #[test]
    fn tallies_of_threads_add_up() {
        let (mut one, mut two) = (Tally::new(2, true), Tally::new(2, true));
        one.finish(&finished(End::Ok, 100, 150));
        two.finish(&finished(End::Rollback, 300, 350));
        two.fault(0, FaultKind::Deadlock, 2);
        two.retry(0);
        one.add(&two);
        let interval = one.to_interval(&names());
        assert_eq!(interval.kinds.len(), 1, "a kind in which nothing happened is left out");
        let kind = &interval.kinds[0];
        assert_eq!((kind.ok, kind.rollback, kind.retries, kind.statements), (1, 1, 1, 40));
        assert_eq!(kind.faults, [v1::FaultCount { kind: v1::FaultKind::FaultDeadlock as i32, count: 2 }]);
        let read = |bytes: &[u8]| -> Histogram<u64> { Deserializer::new().deserialize(&mut &*bytes).unwrap() };
        let (service, response) = (read(&kind.service), read(&kind.response));
        assert_eq!((service.len(), response.len()), (2, 2));
        assert!(service.max().abs_diff(300_000) <= 300, "{}", service.max());
        assert!(response.max().abs_diff(350_000) <= 350, "{}", response.max());
    }

    #[test]
    fn failures_have_no_latency() {
        let mut tally = Tally::new(1, false);
        tally.finish(&finished(End::Failed, 5_000_000, 5_000_000));
        tally.finish(&finished(End::Unknown, 5_000_000, 5_000_000));
        let kind = tally.to_interval(&names()[..1]).kinds.remove(0);
        assert_eq!((kind.ok, kind.failed, kind.unknown), (0, 1, 1));
        let service: Histogram<u64> = Deserializer::new().deserialize(&mut &kind.service[..]).unwrap();
        assert_eq!(service.len(), 0);
    }

    #[test]
    fn a_cut_hands_over_and_goes_on() {
        let start = Instant::now();
        let mut recorder = Recorder::new(Tally::new(1, false), start);
        recorder.tally.finish(&finished(End::Ok, 100, 100));
        let middle = start + Duration::from_secs(1);
        let (tally, from, to) = recorder.cut(middle, Tally::new(1, false));
        assert_eq!((from, to), (start, middle));
        assert_eq!(tally.to_interval(&names()[..1]).kinds[0].ok, 1);
        let (_, from, _) = recorder.cut(middle + Duration::from_secs(1), Tally::new(1, false));
        assert_eq!(from, middle);
    }
}
