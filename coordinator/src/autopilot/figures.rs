//! The present figures of a run, for one line of a terminal. Nothing here reaches a report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use vufleet_proto::v1::{self, event};
use vufleet_scenarios::study::TargetKind;

use crate::analysis::latency::{Encoded, Latency};
use crate::fleet::registry::FleetEvent;

/// The last that each agent said.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// Withhold throughput and latency.
    relative_only: bool,
    /// The database's host is where its process is seen, not wherever it is observed from.
    process_needed: bool,
    /// Who takes part, where that is known.
    members: Option<BTreeSet<String>>,
    intervals: BTreeMap<String, v1::Interval>,
    sessions: BTreeMap<String, u32>,
    hosts: BTreeMap<String, Pair>,
}

/// Two samples of one host, the later one last.
#[derive(Debug, Default)]
struct Pair {
    before: Option<v1::HostSample>,
    now: Option<v1::HostSample>,
}

impl Figures {
    pub(super) fn new(relative_only: bool, target: TargetKind) -> Self {
        Figures { relative_only, process_needed: target == TargetKind::Mssql, ..Figures::default() }
    }

    /// Forgets everything: another run begins.
    pub(super) fn clear(&mut self) {
        let (relative_only, process_needed) = (self.relative_only, self.process_needed);
        *self = Figures { relative_only, process_needed, ..Figures::default() };
    }

    /// From now on nobody else is heard.
    pub(super) fn only(&mut self, members: impl Iterator<Item = String>) {
        self.members = Some(members.collect());
    }

    pub(super) fn hear(&mut self, event: &FleetEvent) {
        let name = match event {
            FleetEvent::Heartbeat { name, .. } | FleetEvent::Event { name, .. } => name,
            _ => return,
        };
        if self.members.as_ref().is_some_and(|members| !members.contains(name)) {
            return;
        }
        match event {
            FleetEvent::Heartbeat { name, sessions } => {
                self.sessions.insert(name.clone(), sessions.load(Ordering::Relaxed));
            }
            FleetEvent::Event { name, event } => match &event.body {
                Some(event::Body::Interval(interval)) => {
                    self.sessions.insert(name.clone(), interval.sessions);
                    self.intervals.insert(name.clone(), interval.clone());
                }
                Some(event::Body::Host(sample)) => {
                    let pair = self.hosts.entry(name.clone()).or_default();
                    pair.before = pair.now.replace(sample.clone());
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Sessions connected now, as far as known.
    pub(super) fn sessions(&self) -> u32 {
        self.sessions.values().sum()
    }

    /// Fills in what is known.
    pub(super) fn fill(&self, mut live: v1::Live) -> v1::Live {
        live.sessions = self.sessions();
        // An agent that drives and observes samples its host once, as an observer.
        let drives = |name: &str, sample: &v1::HostSample| sample.role == "drive" || self.intervals.contains_key(name);
        live.driver_cpu_percent = self.cpu(|name, sample| drives(name, sample).then(|| host_busy(sample)));
        let databases = |sample: &v1::HostSample| {
            sample.role == "observe" && (!self.process_needed || database_process(sample).is_some())
        };
        live.db_host_cpu_percent = self.cpu(|_, sample| databases(sample).then(|| host_busy(sample)));
        live.db_process_cpu_percent = self.cpu(|_, sample| database_process(sample));
        if self.relative_only {
            live.rows_per_s = None;
        } else if !self.intervals.is_empty() {
            let rate = |count: fn(&v1::KindCounts) -> u64| self.intervals.values().map(|one| per_s(one, count)).sum();
            live.tps = Some(rate(|kind| kind.ok + kind.rollback));
            live.errors_per_s = Some(rate(|kind| kind.faults.iter().map(|fault| fault.count).sum()));
            live.p95_ms = self.p95_ms();
        }
        live
    }

    fn p95_ms(&self) -> Option<f64> {
        let (mut sum, mut one) = (Latency::default(), Encoded::default());
        for kind in self.intervals.values().flat_map(|interval| &interval.kinds) {
            one.read(&kind.response).ok()?;
            sum.add_encoded(&one);
        }
        sum.quantile_ms(0.95)
    }

    /// The largest share over the hosts that have one.
    fn cpu(&self, of: impl Fn(&str, &v1::HostSample) -> Option<(u64, u64)>) -> Option<f64> {
        let shares = self.hosts.iter().filter_map(|(name, pair)| {
            let (busy_before, all_before) = of(name, pair.before.as_ref()?)?;
            let (busy, all) = of(name, pair.now.as_ref()?)?;
            let passed = all.checked_sub(all_before).filter(|passed| *passed > 0)?;
            Some(100.0 * busy.saturating_sub(busy_before) as f64 / passed as f64)
        });
        shares.max_by(f64::total_cmp)
    }
}

fn per_s(interval: &v1::Interval, count: impl Fn(&v1::KindCounts) -> u64) -> f64 {
    let seconds = interval.end_ns.saturating_sub(interval.start_ns) as f64 / 1e9;
    if seconds > 0.0 { interval.kinds.iter().map(count).sum::<u64>() as f64 / seconds } else { 0.0 }
}

/// Busy and all ticks of a host.
fn host_busy(sample: &v1::HostSample) -> (u64, u64) {
    let cpu = sample.cpu.unwrap_or_default();
    let busy = cpu.user + cpu.system + cpu.steal;
    (busy, busy + cpu.iowait + cpu.idle)
}

/// Ticks of the database's process, and all ticks of its host.
fn database_process(sample: &v1::HostSample) -> Option<(u64, u64)> {
    let process = sample.processes.iter().find(|process| process.role == "database")?;
    Some((process.cpu_ticks, host_busy(sample).1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(event: event::Body) -> FleetEvent {
        FleetEvent::Event { name: "a".to_owned(), event: Box::new(v1::Event { seq: 1, run: 1, body: Some(event) }) }
    }

    fn interval(ok: u64) -> FleetEvent {
        let kinds = vec![v1::KindCounts { ok, ..Default::default() }];
        heard(event::Body::Interval(v1::Interval {
            start_ns: 0,
            end_ns: 500_000_000,
            kinds,
            sessions: 4,
            ..Default::default()
        }))
    }

    fn host(user: u64, idle: u64) -> FleetEvent {
        let cpu = Some(v1::CpuTimes { user, idle, ..Default::default() });
        heard(event::Body::Host(v1::HostSample { cpu, role: "drive".to_owned(), ..Default::default() }))
    }

    #[test]
    fn rates_divide_by_measured_time() {
        let mut figures = Figures::new(false, TargetKind::Mysql);
        figures.hear(&interval(50));
        let live = figures.fill(v1::Live::default());
        assert_eq!((live.tps, live.sessions), (Some(100.0), 4));
    }

    #[test]
    fn withheld_figures_are_absent_and_cpu_is_not() {
        let mut figures = Figures::new(true, TargetKind::Mysql);
        figures.hear(&interval(50));
        figures.hear(&host(0, 0));
        figures.hear(&host(25, 75));
        let live = figures.fill(v1::Live::default());
        assert_eq!((live.tps, live.p95_ms, live.errors_per_s), (None, None, None));
        assert_eq!(live.driver_cpu_percent, Some(25.0));
    }

    #[test]
    fn an_agent_in_both_roles_has_a_driving_host() {
        let mut figures = Figures::new(false, TargetKind::Mysql);
        for (user, idle) in [(0, 0), (25, 75)] {
            let cpu = Some(v1::CpuTimes { user, idle, ..Default::default() });
            let sample = v1::HostSample { cpu, role: "observe".to_owned(), ..Default::default() };
            figures.hear(&heard(event::Body::Host(sample)));
        }
        assert_eq!(figures.fill(v1::Live::default()).driver_cpu_percent, None);
        figures.hear(&interval(50));
        let live = figures.fill(v1::Live::default());
        assert_eq!((live.driver_cpu_percent, live.db_host_cpu_percent), (Some(25.0), Some(25.0)));
    }

    #[test]
    fn a_sql_server_may_be_observed_from_another_host() {
        let seen = |with_process: bool| {
            let mut figures = Figures::new(false, TargetKind::Mssql);
            for (user, idle) in [(0, 0), (25, 75)] {
                let cpu = Some(v1::CpuTimes { user, idle, ..Default::default() });
                let process = v1::ProcessSample { role: "database".to_owned(), ..Default::default() };
                let processes = if with_process { vec![process] } else { vec![] };
                let sample = v1::HostSample { cpu, role: "observe".to_owned(), processes, ..Default::default() };
                figures.hear(&heard(event::Body::Host(sample)));
            }
            figures.fill(v1::Live::default()).db_host_cpu_percent
        };
        assert_eq!((seen(true), seen(false)), (Some(25.0), None));
    }
}
