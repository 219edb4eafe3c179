//! What a host did between two of its samples: differences of cumulative counters.

use vufleet_proto::v1;

/// Parts of a tick: instants between two samples have ticks of their own.
const PARTS: u64 = 1_000;

/// Roles of processes in a sample.
const DATABASE: &str = "database";
const AGENT: &str = "agent";

/// The part of a host sample that reports need.
#[derive(Debug, Clone, PartialEq)]
pub struct HostPoint {
    /// When it was taken.
    pub at_ns: u64,
    /// Of the parts of ticks that all CPU times here are counted in.
    ticks_per_s: u64,
    cpu: v1::CpuTimes,
    cores: Vec<v1::CpuTimes>,
    load1: f64,
    memory_total: u64,
    memory_available: u64,
    usable_millicores: u32,
    database: Option<ProcessPoint>,
    agent: Option<ProcessPoint>,
    disk_read: u64,
    disk_written: u64,
    received: u64,
    sent: u64,
}

/// The same of a process.
#[derive(Debug, Clone, PartialEq)]
struct ProcessPoint {
    name: String,
    identity: (i32, u64),
    cpu_ticks: u64,
    rss_bytes: u64,
}

/// What a host did between two instants. Percentages are of all its cores unless they are a core's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostUse {
    /// First instant.
    pub from_ns: u64,
    /// Last instant.
    pub to_ns: u64,
    /// Time not idle and not waiting for disks; time stolen by a hypervisor is in it.
    pub cpu_percent: Option<f64>,
    /// Time spent outside the kernel.
    pub user_percent: Option<f64>,
    /// Time spent in the kernel, interrupts included.
    pub system_percent: Option<f64>,
    /// Time that a hypervisor gave to somebody else.
    pub steal_percent: Option<f64>,
    /// Time idle while a disk was being waited for.
    pub iowait_percent: Option<f64>,
    /// As `cpu_percent`, of each core by itself; none where their number changed.
    pub core_percent: Vec<f64>,
    /// Load average of one minute, at the end.
    pub load1: Option<f64>,
    /// Memory of the host.
    pub memory_total_bytes: Option<u64>,
    /// What of it programs could have without swapping, at the end.
    pub memory_available_bytes: Option<u64>,
    /// The database's process, where this host has it.
    pub database: Option<ProcessUse>,
    /// The agent's own process.
    pub agent: Option<ProcessUse>,
    /// What the agent may use of the host, where that is not all of it.
    pub allowed: Option<Allowed>,
    /// Read from disks.
    pub disk_read_bytes_per_s: Option<f64>,
    /// Written to disks.
    pub disk_write_bytes_per_s: Option<f64>,
    /// Received.
    pub net_rx_bytes_per_s: Option<f64>,
    /// Sent.
    pub net_tx_bytes_per_s: Option<f64>,
}

/// A part of a host's CPU that an agent is held to, by a quota or by an affinity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowed {
    /// How much it is.
    pub cores: f64,
    /// Of how many.
    pub of: usize,
    /// What the agent used of it, in per cent.
    pub used_percent: Option<f64>,
}

/// What a process did between two instants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProcessUse {
    /// Of all cores of the host; none where it was another process at the beginning.
    pub cpu_percent: Option<f64>,
    /// The same as a time.
    pub cpu_ms: Option<f64>,
    /// Resident memory at the end.
    pub rss_bytes: Option<u64>,
}

impl HostPoint {
    /// Keeps of a sample what reports need.
    pub fn of(sample: &v1::HostSample) -> HostPoint {
        let process = |role: &str| sample.processes.iter().find(|process| process.role == role).map(ProcessPoint::of);
        HostPoint {
            at_ns: sample.at_ns,
            ticks_per_s: u64::from(sample.ticks_per_s).max(1) * PARTS,
            cpu: in_parts(&sample.cpu.unwrap_or_default()),
            cores: sample.cores.iter().map(in_parts).collect(),
            load1: sample.load1,
            memory_total: sample.memory_total,
            memory_available: sample.memory_available,
            usable_millicores: sample.usable_millicores,
            database: process(DATABASE),
            agent: process(AGENT),
            disk_read: sample.disks.iter().map(|disk| disk.read_bytes).sum(),
            disk_written: sample.disks.iter().map(|disk| disk.write_bytes).sum(),
            received: sample.nets.iter().map(|net| net.rx_bytes).sum(),
            sent: sample.nets.iter().map(|net| net.tx_bytes).sum(),
        }
    }

    /// The host between this sample and a later one, as if its counters had grown evenly. What is no counter is as in the
    /// later sample, and a process that is another there is in neither.
    fn between(&self, later: &HostPoint, at_ns: u64) -> HostPoint {
        let share = (at_ns - self.at_ns) as f64 / later.at_ns.saturating_sub(self.at_ns).max(1) as f64;
        let count = |from: u64, to: u64| from + (to.saturating_sub(from) as f64 * share).round() as u64;
        let times = |from: &v1::CpuTimes, to: &v1::CpuTimes| v1::CpuTimes {
            user: count(from.user, to.user),
            system: count(from.system, to.system),
            idle: count(from.idle, to.idle),
            iowait: count(from.iowait, to.iowait),
            steal: count(from.steal, to.steal),
        };
        let process = |from: &Option<ProcessPoint>, to: &Option<ProcessPoint>| {
            let (from, to) = from.as_ref().zip(to.as_ref()).filter(|(from, to)| from.identity == to.identity)?;
            Some(ProcessPoint { cpu_ticks: count(from.cpu_ticks, to.cpu_ticks), ..to.clone() })
        };
        let same_cores = self.cores.len() == later.cores.len();
        HostPoint {
            at_ns,
            cpu: times(&self.cpu, &later.cpu),
            cores: match same_cores {
                true => self.cores.iter().zip(&later.cores).map(|(from, to)| times(from, to)).collect(),
                false => Vec::new(),
            },
            database: process(&self.database, &later.database),
            agent: process(&self.agent, &later.agent),
            disk_read: count(self.disk_read, later.disk_read),
            disk_written: count(self.disk_written, later.disk_written),
            received: count(self.received, later.received),
            sent: count(self.sent, later.sent),
            ..later.clone()
        }
    }

    /// What changed until `later`. Counters that fell say nothing, and neither do those of another process.
    pub fn until(&self, later: &HostPoint) -> HostUse {
        let share = |part: fn(&v1::CpuTimes) -> u64| share(&self.cpu, &later.cpu, part);
        let seconds = later.at_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        let rate = |from, to| grown(from, to).filter(|_| seconds > 0.0).map(|bytes| bytes / seconds);
        let known = later.memory_total > 0;
        let agent = self.process_use(later, |point| point.agent.as_ref());
        let allowed = later.allowed(agent.as_ref(), seconds);
        HostUse {
            from_ns: self.at_ns,
            to_ns: later.at_ns,
            cpu_percent: share(busy),
            user_percent: share(|cpu| cpu.user),
            system_percent: share(|cpu| cpu.system),
            steal_percent: share(|cpu| cpu.steal),
            iowait_percent: share(|cpu| cpu.iowait),
            core_percent: self.core_percent(later),
            load1: known.then_some(later.load1),
            memory_total_bytes: known.then_some(later.memory_total),
            memory_available_bytes: known.then_some(later.memory_available),
            database: self.process_use(later, |point| point.database.as_ref()),
            agent,
            allowed,
            disk_read_bytes_per_s: rate(self.disk_read, later.disk_read),
            disk_write_bytes_per_s: rate(self.disk_written, later.disk_written),
            net_rx_bytes_per_s: rate(self.received, later.received),
            net_tx_bytes_per_s: rate(self.sent, later.sent),
        }
    }

    fn core_percent(&self, later: &HostPoint) -> Vec<f64> {
        if self.cores.len() != later.cores.len() {
            return Vec::new();
        }
        let pairs = self.cores.iter().zip(&later.cores);
        pairs.map(|(from, to)| share(from, to, busy)).collect::<Option<_>>().unwrap_or_default()
    }

    fn process_use(
        &self,
        later: &HostPoint,
        which: impl Fn(&HostPoint) -> Option<&ProcessPoint>,
    ) -> Option<ProcessUse> {
        let to = which(later)?;
        let from = which(self).filter(|from| from.identity == to.identity);
        let ticks = from.and_then(|from| grown(from.cpu_ticks, to.cpu_ticks));
        let all = grown(all(&self.cpu), all(&later.cpu)).filter(|all| *all > 0.0);
        Some(ProcessUse {
            cpu_percent: ticks.zip(all).map(|(ticks, all)| (100.0 * ticks / all).clamp(0.0, 100.0)),
            cpu_ms: ticks.map(|ticks| ticks * 1e3 / self.ticks_per_s as f64),
            rss_bytes: Some(to.rss_bytes),
        })
    }

    fn allowed(&self, agent: Option<&ProcessUse>, seconds: f64) -> Option<Allowed> {
        (self.usable_millicores > 0).then(|| {
            let cores = f64::from(self.usable_millicores) / 1e3;
            let used_s = agent.and_then(|agent| agent.cpu_ms).filter(|_| seconds > 0.0).map(|used_ms| used_ms / 1e3);
            let used_percent = used_s.map(|used_s| (100.0 * used_s / seconds / cores).clamp(0.0, 100.0));
            Allowed { cores, of: self.cores.len(), used_percent }
        })
    }

    /// The database process that was there and is another, or none, in `later`.
    pub fn database_lost_in(&self, later: &HostPoint) -> Option<&str> {
        let from = self.database.as_ref()?;
        let same = later.database.as_ref().is_some_and(|to| to.identity == from.identity);
        (!same).then_some(from.name.as_str())
    }
}

impl ProcessPoint {
    fn of(process: &v1::ProcessSample) -> ProcessPoint {
        ProcessPoint {
            name: process.name.clone(),
            identity: (process.pid, process.started_ticks),
            cpu_ticks: process.cpu_ticks * PARTS,
            rss_bytes: process.rss_bytes,
        }
    }
}

fn in_parts(cpu: &v1::CpuTimes) -> v1::CpuTimes {
    v1::CpuTimes {
        user: cpu.user * PARTS,
        system: cpu.system * PARTS,
        idle: cpu.idle * PARTS,
        iowait: cpu.iowait * PARTS,
        steal: cpu.steal * PARTS,
    }
}

fn busy(cpu: &v1::CpuTimes) -> u64 {
    cpu.user + cpu.system + cpu.steal
}

fn all(cpu: &v1::CpuTimes) -> u64 {
    busy(cpu) + cpu.iowait + cpu.idle
}

/// By how much a part of the time grew, in per cent of all time.
fn share(from: &v1::CpuTimes, to: &v1::CpuTimes, part: fn(&v1::CpuTimes) -> u64) -> Option<f64> {
    let total = grown(all(from), all(to)).filter(|total| *total > 0.0)?;
    Some((100.0 * grown(part(from), part(to))? / total).clamp(0.0, 100.0))
}

fn grown(from: u64, to: u64) -> Option<f64> {
    to.checked_sub(from).map(|growth| growth as f64)
}

/// The host at two instants: between the samples around each, where both are within `slack_ns` of it, else at the nearest.
/// None where that is farther away, and where the two are one.
pub fn at_edges(points: &[HostPoint], start_ns: u64, end_ns: u64, slack_ns: u64) -> Option<(HostPoint, HostPoint)> {
    let at = |instant: u64| {
        let near = |point: &&HostPoint| point.at_ns.abs_diff(instant) <= slack_ns;
        let before = points.iter().rev().find(|point| point.at_ns <= instant).filter(near);
        let after = points.iter().find(|point| point.at_ns >= instant).filter(near);
        match (before, after) {
            (Some(before), Some(after)) => Some(before.between(after, instant)),
            (Some(only), None) | (None, Some(only)) => Some(only.clone()),
            (None, None) => None,
        }
    };
    at(start_ns).zip(at(end_ns)).filter(|(from, to)| from.at_ns < to.at_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// One core of 100 ticks a second that idles until the tenth second and is busy from then on, half of it the
    /// database's doing.
    fn sample(at_ns: u64) -> HostPoint {
        let ticks = |ns: u64| ns * 100 / S;
        let busy = ticks(at_ns.saturating_sub(10 * S));
        let process =
            v1::ProcessSample { role: DATABASE.to_owned(), pid: 7, cpu_ticks: busy / 2, ..Default::default() };
        HostPoint::of(&v1::HostSample {
            at_ns,
            ticks_per_s: 100,
            cpu: Some(v1::CpuTimes { user: busy, idle: ticks(at_ns) - busy, ..Default::default() }),
            cores: vec![v1::CpuTimes { user: busy, idle: ticks(at_ns) - busy, ..Default::default() }],
            processes: vec![process],
            ..Default::default()
        })
    }

    fn over(points: &[HostPoint], start_s: f64, end_s: f64) -> Option<HostUse> {
        let at = |seconds: f64| (seconds * S as f64) as u64;
        at_edges(points, at(start_s), at(end_s), 2 * S).map(|(from, to)| from.until(&to))
    }

    #[track_caller]
    fn expect(usage: &HostUse, span_s: [f64; 2], cpu_percent: f64) {
        let near = |found: f64, known: f64| assert!((found - known).abs() < 0.01, "{found} is not {known}");
        near(usage.from_ns as f64 / 1e9, span_s[0]);
        near(usage.to_ns as f64 / 1e9, span_s[1]);
        near(usage.cpu_percent.unwrap(), cpu_percent);
        near(usage.core_percent[0], cpu_percent);
        near(usage.database.as_ref().unwrap().cpu_percent.unwrap(), cpu_percent / 2.0);
    }

    #[test]
    fn a_window_between_samples_has_the_shares_of_its_own_time() {
        // Samples come 0.4 s after each full second: the core is busy from 10 s on, which lies between two of them.
        let points: Vec<HostPoint> = (0..30).map(|second| sample(second * S + 4 * S / 10)).collect();
        expect(&over(&points, 10.4, 20.4).unwrap(), [10.4, 20.4], 100.0);
        expect(&over(&points, 12.0, 20.0).unwrap(), [12.0, 20.0], 100.0);
        expect(&over(&points, 4.0, 9.0).unwrap(), [4.0, 9.0], 0.0);
        // The nearest samples are of 5.4 and 15.4 s: 54 %.
        expect(&over(&points, 5.0, 15.0).unwrap(), [5.0, 15.0], 50.0);
        // Half a second and a window within one interval.
        expect(&over(&points, 11.5, 12.0).unwrap(), [11.5, 12.0], 100.0);
    }

    #[test]
    fn an_edge_without_a_sample_beyond_it_is_the_nearest_sample() {
        let points: Vec<HostPoint> = (5..=19).map(|second| sample(second * S)).collect();
        expect(&over(&points, 11.0, 20.0).unwrap(), [11.0, 19.0], 100.0);
        expect(&over(&points, 4.0, 8.0).unwrap(), [5.0, 8.0], 0.0);
        assert_eq!(over(&points, 11.0, 22.0), None, "too far away");
        assert_eq!(over(&points[..1], 4.5, 5.5), None, "one sample is no time");
        assert_eq!(over(&[], 4.5, 5.5), None);
    }

    #[test]
    fn another_process_has_no_share() {
        let mut points: Vec<HostPoint> = (5..=19).map(|second| sample(second * S)).collect();
        points[..4].iter_mut().for_each(|point| point.database.as_mut().unwrap().identity = (6, 0));
        assert_eq!(over(&points, 8.5, 12.0).unwrap().database.unwrap().cpu_percent, None);
    }
}
