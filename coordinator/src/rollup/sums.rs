//! What stays of an agent's events: intervals added up, cumulative counters read less often. Pure.

use std::collections::HashMap;
use std::mem;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;
use vufleet_scenarios::tprocc::ORDERS;

use super::{Grid, Place};

/// What names of waits begin with: a reading leaves out those that stand as in the reading before it.
const WAIT: &str = "wait.";

/// What becomes of a stretch of events of one kind and process.
#[derive(Debug, Default, PartialEq)]
pub struct Thinned {
    /// Written anew.
    pub kept: Vec<v1::Event>,
    /// Not needed any more.
    pub gone: Vec<u64>,
    /// Where the next stretch begins; none when nothing follows.
    pub next: Option<u64>,
}

/// Events that become one.
#[derive(Default)]
struct Group {
    place: Option<Place>,
    events: Vec<v1::Event>,
}

impl Thinned {
    /// Of a stretch of events in their order. `open`: more events follow, and the last sum may not be complete.
    pub fn of(events: Vec<v1::Event>, grid: &Grid, open: bool) -> Thinned {
        let next = events.last().filter(|_| open).map(|last| match place(last, grid) {
            Some(at) => events.iter().find(|event| place(event, grid) == Some(at)).unwrap_or(last).seq,
            None => last.seq + 1,
        });
        let mut thinned = Thinned { next, ..Thinned::default() };
        let end = next.unwrap_or(u64::MAX);
        // Readings of orders and of the server's counters come by turns.
        let mut groups = [Group::default(), Group::default()];
        for event in events.into_iter().filter(|event| event.seq < end) {
            let group = &mut groups[usize::from(is_of_orders(&event))];
            let at = place(&event, grid);
            if at.is_none() || at != group.place || group.events.last().is_some_and(|last| !follows(last, &event)) {
                mem::take(group).close(&mut thinned);
                group.place = at;
            }
            group.events.push(event);
        }
        groups.into_iter().for_each(|group| group.close(&mut thinned));
        thinned
    }
}

/// Where an event belongs; none of one that stays as it is.
fn place(event: &v1::Event, grid: &Grid) -> Option<Place> {
    match event.body.as_ref()? {
        Body::Interval(interval) if interval.end_ns > interval.start_ns => {
            grid.place(interval.start_ns + (interval.end_ns - interval.start_ns) / 2, super::NEAR_NS)
        }
        Body::Host(sample) => grid.place(sample.at_ns, super::NEAR_NS),
        Body::Counters(counters) if counters.error.is_empty() || counters.values.is_empty() => {
            let middle_ns = counters.before_ns + counters.after_ns.saturating_sub(counters.before_ns) / 2;
            grid.place(middle_ns, super::NEAR_READING_NS)
        }
        _ => None,
    }
}

fn is_of_orders(event: &v1::Event) -> bool {
    matches!(&event.body, Some(Body::Counters(counters)) if counters.values.contains_key(ORDERS))
}

/// Whether two neighbours may become one.
fn follows(last: &v1::Event, next: &v1::Event) -> bool {
    match (&last.body, &next.body) {
        // Time that no interval covers stays uncovered.
        (Some(Body::Interval(last)), Some(Body::Interval(next))) => {
            next.start_ns.abs_diff(last.end_ns) <= (next.end_ns - next.start_ns) / 2
        }
        (Some(Body::Host(last)), Some(Body::Host(next))) => last.role == next.role && same_processes(last, next),
        // A restart is told by both of its readings, and so is an outage by its words.
        (Some(Body::Counters(last)), Some(Body::Counters(next))) => {
            last.uptime_s <= next.uptime_s
                && last.values.is_empty() == next.values.is_empty()
                && last.error == next.error
        }
        _ => false,
    }
}

/// Counters of another process do not go on from those of the one before it.
fn same_processes(last: &v1::HostSample, next: &v1::HostSample) -> bool {
    let identities = |sample: &v1::HostSample| -> Vec<(i32, u64)> {
        sample.processes.iter().map(|process| (process.pid, process.started_ticks)).collect()
    };
    identities(last) == identities(next)
}

impl Group {
    fn close(mut self, thinned: &mut Thinned) {
        if self.events.len() < 2 {
            return;
        }
        let last = self.events.pop().expect("there are two at least");
        let sum = match &last.body {
            Some(Body::Interval(_)) => added_up(&self.events, last),
            Some(Body::Counters(_)) => brought_together(&self.events, last),
            _ => Some(last),
        };
        // A histogram that cannot be read is told of, as long as it is there.
        let Some(sum) = sum else { return };
        thinned.gone.extend(self.events.iter().map(|event| event.seq));
        thinned.kept.push(sum);
    }
}

/// The sum of intervals, under the number of the last of them.
fn added_up(earlier: &[v1::Event], last: v1::Event) -> Option<v1::Event> {
    let mut sum: Option<Sum> = None;
    for event in earlier.iter().chain([&last]) {
        let Some(Body::Interval(interval)) = &event.body else { continue };
        match &mut sum {
            None => sum = Some(Sum::of(interval)?),
            Some(sum) => sum.add(interval)?,
        }
    }
    Some(v1::Event { body: Some(Body::Interval(sum?.interval())), ..last })
}

/// An interval with its histograms opened.
struct Sum {
    interval: v1::Interval,
    latencies: Vec<[Histogram<u64>; 2]>,
}

impl Sum {
    fn of(interval: &v1::Interval) -> Option<Sum> {
        let latencies = interval.kinds.iter().map(opened).collect::<Option<_>>()?;
        Some(Sum { interval: v1::Interval { covered_ns: covered(interval), ..interval.clone() }, latencies })
    }

    fn add(&mut self, next: &v1::Interval) -> Option<()> {
        let sum = &mut self.interval;
        sum.end_ns = next.end_ns;
        sum.covered_ns += covered(next);
        sum.uncertainty_ns = sum.uncertainty_ns.max(next.uncertainty_ns);
        sum.sessions = next.sessions;
        sum.ended = next.ended;
        sum.due += next.due;
        sum.not_started += next.not_started;
        sum.reconnects += next.reconnects;
        add_faults(&mut sum.connect_faults, &next.connect_faults);
        for kind in &next.kinds {
            let latency = opened(kind)?;
            match sum.kinds.iter().position(|known| known.name == kind.name) {
                Some(place) => {
                    add_counts(&mut sum.kinds[place], kind);
                    for (sum, more) in self.latencies[place].iter_mut().zip(&latency) {
                        sum.add(more).ok()?;
                    }
                }
                None => {
                    sum.kinds.push(kind.clone());
                    self.latencies.push(latency);
                }
            }
        }
        Some(())
    }

    fn interval(mut self) -> v1::Interval {
        let mut serializer = V2Serializer::new();
        let mut bytes = |histogram: &Histogram<u64>| {
            let mut bytes = Vec::new();
            serializer.serialize(histogram, &mut bytes).expect("a vector takes every byte");
            bytes.into()
        };
        for (kind, [service, response]) in self.interval.kinds.iter_mut().zip(&self.latencies) {
            (kind.service, kind.response) = (bytes(service), bytes(response));
        }
        self.interval
    }
}

fn covered(interval: &v1::Interval) -> u64 {
    if interval.covered_ns > 0 { interval.covered_ns } else { interval.end_ns.saturating_sub(interval.start_ns) }
}

fn opened(kind: &v1::KindCounts) -> Option<[Histogram<u64>; 2]> {
    let read = |bytes: &[u8]| {
        if bytes.is_empty() {
            return Histogram::new(3).ok();
        }
        let mut histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).ok()?;
        histogram.auto(true);
        Some(histogram)
    };
    Some([read(&kind.service)?, read(&kind.response)?])
}

fn add_counts(sum: &mut v1::KindCounts, kind: &v1::KindCounts) {
    sum.ok += kind.ok;
    sum.rollback += kind.rollback;
    sum.unknown += kind.unknown;
    sum.failed += kind.failed;
    sum.retries += kind.retries;
    sum.statements += kind.statements;
    sum.fault_rollbacks += kind.fault_rollbacks;
    sum.queued_ns += kind.queued_ns;
    add_faults(&mut sum.faults, &kind.faults);
}

fn add_faults(sum: &mut Vec<v1::FaultCount>, more: &[v1::FaultCount]) {
    for fault in more {
        match sum.iter_mut().find(|known| known.kind == fault.kind) {
            Some(known) => known.count += fault.count,
            None => sum.push(*fault),
        }
    }
}

/// The last of several readings, with the waits that only those before it tell of and what each saw of single sessions.
fn brought_together(earlier: &[v1::Event], mut last: v1::Event) -> Option<v1::Event> {
    let Some(Body::Counters(reading)) = &mut last.body else { return None };
    let mut waits: HashMap<String, u64> = HashMap::new();
    for event in earlier {
        let Some(Body::Counters(earlier)) = &event.body else { return None };
        if !earlier.requests.is_empty() {
            return None; // each look counts
        }
        let told = earlier.values.iter().filter(|(name, _)| name.starts_with(WAIT));
        waits.extend(told.map(|(name, value)| (name.clone(), *value)));
    }
    for (name, value) in waits {
        reading.values.entry(name).or_insert(value);
    }
    Some(last)
}
