//! From the events of one run to its report: a pure function of what the ledger holds.
//!
//! Events come in any number, agent by agent; histograms are added up as they pass, everything else is kept in short.
//! Nothing here reads a clock, and nothing is judged here ([`super::judge`] does).

use std::collections::BTreeMap;
use std::sync::Arc;

use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::phase::Kind as PhaseKind;

use super::counters::Counters;
use super::host::HostPoint;
use super::judged::Judged;
use super::latency::Latency;
use super::names::Names;
use super::orders::OrdersReading;
use super::requests::RequestLook;
use super::run::{RunReport, Start};
use super::sample::{Detail, KindLatency, KindSample, Sample};
use super::verdict::Reason;
use super::window::Window;
use super::witness::Reading;
use crate::ledger::{Fact, Outline, ProfileOutline, Recorded, RunRecord};

/// Role of a driving host in its samples.
const DRIVE: &str = "drive";

/// How an agent's notice of the first fault of a kind begins.
const FIRST: &str = "first ";

/// A run while its events pass.
pub struct Fold<'a> {
    pub(super) run: &'a RunRecord,
    pub(super) profile: &'a ProfileOutline,
    pub(super) outline: &'a Outline,
    pub(super) window: Option<Window>,
    detail: Detail,
    names: Names,
    /// Of the interval at hand.
    latencies: Vec<KindLatency>,
    pub(super) drivers: BTreeMap<String, Driver>,
    pub(super) kinds: BTreeMap<Arc<str>, KindTotal>,
    pub(super) samples: Vec<Sample>,
    pub(super) hosts: BTreeMap<HostKey, Vec<HostPoint>>,
    pub(super) readings: Vec<Reading>,
    pub(super) orders: Vec<OrdersReading>,
    pub(super) counters: Counters,
    pub(super) looks: Vec<RequestLook>,
    /// Every transaction of the run, whatever its interval is good for.
    pub(super) whole: BTreeMap<Arc<str>, KindSample>,
    pub(super) reading_error: Option<String>,
    pub(super) facts: Vec<Fact>,
    pub(super) found: Vec<Reason>,
    /// What the database said to the first fault of each kind, by the kind's name.
    pub(super) first_words: BTreeMap<String, String>,
}

/// Which host, and why it is sampled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostKey {
    /// Name of the agent on it.
    pub agent: String,
    /// Because it drives; else because it is the database's.
    pub drives: bool,
}

/// What is known of a driving agent beside its samples.
#[derive(Debug, Default)]
pub(super) struct Driver {
    /// Intervals taken so far, by start.
    taken: BTreeMap<u64, u64>,
    /// Sessions that it said were connected before the load started.
    pub(super) connected: Option<u32>,
    /// When its load really began.
    began_ns: Option<u64>,
}

/// One transaction kind inside the window.
#[derive(Debug, Clone, Default)]
pub(super) struct KindTotal {
    pub(super) counts: KindSample,
    pub(super) service: Latency,
    pub(super) response: Latency,
}

impl<'a> Fold<'a> {
    /// Starts with what the coordinator wrote down about the run.
    pub fn new(run: &'a RunRecord, profile: &'a ProfileOutline, outline: &'a Outline, detail: Detail) -> Fold<'a> {
        Fold {
            run,
            profile,
            outline,
            window: run.facts.as_ref().and_then(Window::of),
            detail,
            names: Names::default(),
            latencies: Vec::new(),
            drivers: BTreeMap::new(),
            kinds: BTreeMap::new(),
            samples: Vec::new(),
            hosts: BTreeMap::new(),
            readings: Vec::new(),
            orders: Vec::new(),
            counters: Counters::default(),
            looks: Vec::new(),
            whole: BTreeMap::new(),
            reading_error: None,
            facts: Vec::new(),
            found: Vec::new(),
            first_words: BTreeMap::new(),
        }
    }

    /// Takes what the coordinator saw.
    pub fn fact(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    /// Takes what an agent sent.
    pub fn event(&mut self, recorded: &Recorded) {
        let agent = recorded.agent.as_str();
        if !self.has_part(recorded) {
            return self.find_once(Reason::Stranger { agent: agent.to_owned() });
        }
        match &recorded.event.body {
            Some(Body::Interval(interval)) => {
                match Sample::of(agent, interval, self.detail, &mut self.names, &mut self.latencies) {
                    Ok(sample) => self.sample(sample),
                    Err(_) => self.find_once(Reason::Unreadable { agent: agent.to_owned() }),
                }
            }
            Some(Body::Host(sample)) => {
                let key = HostKey { agent: agent.to_owned(), drives: sample.role == DRIVE };
                self.hosts.entry(key).or_default().push(HostPoint::of(sample));
            }
            Some(Body::Counters(counters)) => self.reading(agent, counters),
            Some(Body::Phase(phase)) => self.phase(agent, phase),
            Some(Body::Notice(notice)) => {
                if let Some((kind, words)) = notice.text.strip_prefix(FIRST).and_then(|text| text.split_once(": ")) {
                    self.first_words.entry(kind.to_owned()).or_insert_with(|| words.to_owned());
                }
            }
            _ => {}
        }
    }

    /// Whether the run had ordered its sender to send such a thing. Agents are trusted to tell what they did, and nobody else's part of it.
    fn has_part(&self, recorded: &Recorded) -> bool {
        let Some(facts) = &self.run.facts else { return true };
        let drives = || facts.driving.iter().any(|it| it.name == recorded.agent && it.boot == recorded.boot);
        let observes = || facts.observing.contains(&recorded.agent);
        match &recorded.event.body {
            Some(Body::Interval(_)) => drives(),
            Some(Body::Counters(_)) => facts.counters_agent.as_ref() == Some(&recorded.agent),
            Some(Body::Host(_) | Body::Phase(_) | Body::Notice(_)) => drives() || observes(),
            _ => true,
        }
    }

    fn reading(&mut self, agent: &str, counters: &v1::Counters) {
        self.counters.take(agent, counters);
        self.looks.extend(RequestLook::all_of(agent, counters));
        if !counters.error.is_empty() {
            self.reading_error = Some(counters.error.clone());
        }
        match (OrdersReading::of(counters), Reading::of(counters)) {
            (Some(orders), _) => self.orders.push(orders),
            (None, Ok(reading)) => self.readings.push(reading),
            (None, Err(_)) => {}
        }
    }

    fn phase(&mut self, agent: &str, told: &v1::Phase) {
        let agent = agent.to_owned();
        match told.kind() {
            PhaseKind::Connected => self.drivers.entry(agent).or_default().connected = Some(told.sessions),
            PhaseKind::Started => self.drivers.entry(agent).or_default().began_ns = Some(told.at_ns),
            PhaseKind::Failed => self.find_once(Reason::AgentFailed { agent, message: told.message.clone() }),
            PhaseKind::LeaseLost => {
                let message = "it heard nothing from the coordinator and stopped its load".to_owned();
                self.find_once(Reason::AgentFailed { agent, message });
            }
            _ => {}
        }
    }

    /// Of the driving agents the one whose load began farthest from the appointed time.
    pub(super) fn farthest_start(&self) -> Option<Start> {
        let appointed_ns = self.run.facts.as_ref()?.start_at_ns?;
        let starts = self.drivers.iter().filter_map(|(agent, driver)| {
            let late_ms = (driver.began_ns? as i64 - appointed_ns as i64) as f64 / 1e6;
            Some(Start { agent: agent.clone(), late_ms })
        });
        starts.max_by(|a, b| a.late_ms.abs().total_cmp(&b.late_ms.abs()))
    }

    /// What was found when all seconds of the run were there, where they are not any more; or that this is not known.
    pub(super) fn judged_before(&self) -> Option<Result<Judged, Reason>> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::Thinned { judged, vufleet, .. } => {
                Some(Judged::read(judged).ok_or_else(|| Reason::Forgotten { vufleet: vufleet.clone() }))
            }
            _ => None,
        })
    }

    /// Length of the sums that are kept of the run.
    pub(super) fn sums_ns(&self) -> Option<u64> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::Thinned { interval_ns, .. } => Some(*interval_ns),
            _ => None,
        })
    }

    fn find_once(&mut self, reason: Reason) {
        if !self.found.contains(&reason) {
            self.found.push(reason);
        }
    }

    fn sample(&mut self, sample: Sample) {
        for kind in &sample.kinds {
            self.whole.entry(Arc::clone(&kind.kind)).or_default().add(kind);
        }
        if !self.drivers.entry(sample.agent.to_string()).or_default().take(sample.start_ns, sample.end_ns) {
            return;
        }
        if self.window.is_some_and(|window| window.holds(sample.start_ns, sample.end_ns)) {
            for (kind, latency) in sample.kinds.iter().zip(&self.latencies) {
                self.kinds.entry(Arc::clone(&kind.kind)).or_default().add(kind, latency);
            }
        }
        self.samples.push(sample);
    }

    /// Ends the fold.
    pub fn finish(mut self) -> RunReport {
        self.samples.sort_by(|a, b| (a.start_ns, &a.agent).cmp(&(b.start_ns, &b.agent)));
        self.readings.sort_by_key(Reading::at_ns);
        self.orders.sort_by_key(OrdersReading::at_ns);
        self.counters.settle();
        self.looks.sort_by_key(|look| (look.before_ns, look.session_id));
        for points in self.hosts.values_mut() {
            points.sort_by_key(|point| point.at_ns);
        }
        // A window of transactions ends with the last of them.
        let active = self.samples.iter().filter(|sample| sample.work().ended() > 0.0);
        let last_active_ns = active.map(|sample| sample.end_ns).max();
        if let Some(window) = &mut self.window {
            window.end_ns = window.end_ns.or(last_active_ns).or(Some(window.start_ns));
        }
        RunReport::of(self)
    }
}

impl Driver {
    /// Takes an interval unless more than half of it was taken already: time counts once.
    fn take(&mut self, start_ns: u64, end_ns: u64) -> bool {
        let length = end_ns.saturating_sub(start_ns);
        let before = self.taken.range(..=start_ns).next_back().map_or(0, |(_, end)| end.saturating_sub(start_ns));
        let after = self.taken.range(start_ns..).next().map_or(0, |(start, _)| end_ns.saturating_sub(*start));
        let fits = length > 0 && before.max(after) <= length / 2;
        if fits {
            self.taken.insert(start_ns, end_ns);
        }
        fits
    }
}

impl KindTotal {
    fn add(&mut self, kind: &KindSample, latency: &KindLatency) {
        self.counts.add(kind);
        self.service.add_encoded(&latency.service);
        self.response.add_encoded(&latency.response);
    }
}
