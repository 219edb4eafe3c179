//! What a host did between two of its samples: differences of cumulative counters.

use vufleet_proto::v1;

/// Roles of processes in a sample.
const DATABASE: &str = "database";
const AGENT: &str = "agent";
/// Role of a database's host in its samples.
const OBSERVE: &str = "observe";

/// The part of a host sample that reports need.
#[derive(Debug, Clone, PartialEq)]
pub struct HostPoint {
    /// When it was taken.
    pub at_ns: u64,
    ticks_per_s: u64,
    idle: u64,
    total: u64,
    iowait: u64,
    process: Option<ProcessPoint>,
    disk_read: u64,
    disk_written: u64,
    received: u64,
    sent: u64,
}

/// The same of a process: the database on its host, the agent on one that drives.
#[derive(Debug, Clone, PartialEq)]
struct ProcessPoint {
    is_database: bool,
    name: String,
    identity: (i32, u64),
    cpu_ticks: u64,
    rss_bytes: u64,
}

/// What a host did between two instants. Percentages are of all its cores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostUse {
    /// First instant.
    pub from_ns: u64,
    /// Last instant.
    pub to_ns: u64,
    /// Time not idle and not waiting for disks; time stolen by a hypervisor is in it.
    pub cpu_percent: Option<f64>,
    /// Time idle while a disk was being waited for.
    pub iowait_percent: Option<f64>,
    /// CPU of the process of interest, on the same base.
    pub process_cpu_percent: Option<f64>,
    /// The same as a time.
    pub process_cpu_ms: Option<f64>,
    /// Memory of that process at the end.
    pub process_rss_bytes: Option<u64>,
    /// Whether that process is the database.
    pub is_database: bool,
    /// Read from disks.
    pub disk_read_bytes_per_s: Option<f64>,
    /// Written to disks.
    pub disk_write_bytes_per_s: Option<f64>,
    /// Received.
    pub net_rx_bytes_per_s: Option<f64>,
    /// Sent.
    pub net_tx_bytes_per_s: Option<f64>,
}

impl HostPoint {
    /// Keeps of a sample what reports need.
    pub fn of(sample: &v1::HostSample) -> HostPoint {
        let cpu = sample.cpu.unwrap_or_default();
        // A database that is away must not be told with the figures of the agent that looks for it.
        let of_interest = if sample.role == OBSERVE { DATABASE } else { AGENT };
        let process = sample.processes.iter().find(|process| process.role == of_interest);
        HostPoint {
            at_ns: sample.at_ns,
            ticks_per_s: u64::from(sample.ticks_per_s).max(1),
            idle: cpu.idle,
            iowait: cpu.iowait,
            total: cpu.user + cpu.system + cpu.iowait + cpu.steal + cpu.idle,
            process: process.map(|process| ProcessPoint {
                is_database: process.role == DATABASE,
                name: process.name.clone(),
                identity: (process.pid, process.started_ticks),
                cpu_ticks: process.cpu_ticks,
                rss_bytes: process.rss_bytes,
            }),
            disk_read: sample.disks.iter().map(|disk| disk.read_bytes).sum(),
            disk_written: sample.disks.iter().map(|disk| disk.write_bytes).sum(),
            received: sample.nets.iter().map(|net| net.rx_bytes).sum(),
            sent: sample.nets.iter().map(|net| net.tx_bytes).sum(),
        }
    }

    /// What changed until `later`. Counters that fell say nothing, and neither do those of another process.
    pub fn until(&self, later: &HostPoint) -> HostUse {
        let total = grown(self.total, later.total).filter(|total| *total > 0.0);
        let idle = grown(self.idle, later.idle);
        let iowait = grown(self.iowait, later.iowait);
        let share = |part: Option<f64>| Some((100.0 * part? / total?).clamp(0.0, 100.0));
        let process_ticks = self.process_ticks(later);
        let seconds = later.at_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        let rate = |from, to| grown(from, to).filter(|_| seconds > 0.0).map(|bytes| bytes / seconds);
        HostUse {
            from_ns: self.at_ns,
            to_ns: later.at_ns,
            cpu_percent: share(total.zip(idle).zip(iowait).map(|((total, idle), iowait)| total - idle - iowait)),
            iowait_percent: share(iowait),
            process_cpu_percent: share(process_ticks),
            process_cpu_ms: process_ticks.map(|ticks| ticks * 1e3 / self.ticks_per_s as f64),
            process_rss_bytes: later.process.as_ref().map(|process| process.rss_bytes),
            is_database: later.process.as_ref().is_some_and(|process| process.is_database),
            disk_read_bytes_per_s: rate(self.disk_read, later.disk_read),
            disk_write_bytes_per_s: rate(self.disk_written, later.disk_written),
            net_rx_bytes_per_s: rate(self.received, later.received),
            net_tx_bytes_per_s: rate(self.sent, later.sent),
        }
    }

    fn process_ticks(&self, later: &HostPoint) -> Option<f64> {
        let (from, to) = (self.process.as_ref()?, later.process.as_ref()?);
        if from.identity != to.identity { None } else { grown(from.cpu_ticks, to.cpu_ticks) }
    }

    /// The database process that was there and is another, or none, in `later`.
    pub fn database_lost_in(&self, later: &HostPoint) -> Option<&str> {
        let from = self.process.as_ref().filter(|process| process.is_database)?;
        let same = later.process.as_ref().is_some_and(|to| to.identity == from.identity);
        (!same).then_some(from.name.as_str())
    }
}

fn grown(from: u64, to: u64) -> Option<f64> {
    to.checked_sub(from).map(|growth| growth as f64)
}

/// The samples nearest two instants, where both are within `slack_ns` of them and they are two.
pub fn at_edges(points: &[HostPoint], start_ns: u64, end_ns: u64, slack_ns: u64) -> Option<(&HostPoint, &HostPoint)> {
    let nearest = |instant: u64| {
        points
            .iter()
            .min_by_key(|point| point.at_ns.abs_diff(instant))
            .filter(|point| point.at_ns.abs_diff(instant) <= slack_ns)
    };
    nearest(start_ns).zip(nearest(end_ns)).filter(|(from, to)| from.at_ns < to.at_ns)
}
