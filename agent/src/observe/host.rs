//! Cumulative counters of this host, cheap enough to be read every 100 ms beside the load.
//!
//! Disks are whole devices, so that their rates may be added: a name that `/sys/block` lists (partitions are not
//! there), with a size (a drive without medium has none), resting on no other device (RAID and LVM do: their writes are
//! counted where they land), and neither a loop nor a memory device.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use procfs::process::Process;
use procfs::{CpuTime, Current, CurrentSI, DiskStat, KernelStats, LoadAverage, Meminfo};
use vufleet_proto::v1;

use super::process::{ProcessChoice, ProcessWatch, sample};
use crate::limits::usable_millicores;

/// Unit of the kernel's sector counts, whatever the device's own sectors are.
const SECTOR_BYTES: u64 = 512;

/// Why a host is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRole {
    /// It drives load.
    Drive,
    /// The database runs on it.
    Observe,
}

impl HostRole {
    /// Name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            HostRole::Drive => "drive",
            HostRole::Observe => "observe",
        }
    }
}

/// Reads this host's counters, the agent's and the database process's.
#[derive(Debug)]
pub struct HostSampler {
    role: HostRole,
    usable_millicores: u32,
    agent: Process,
    database: ProcessWatch,
    /// Which names of /proc/diskstats are whole devices. Decided once a name: a disk may be plugged in later.
    disks: HashMap<String, bool>,
}

impl HostSampler {
    /// Opens what every sample needs. A missing database process is no error: see [`HostSampler::take_notice`].
    pub fn new(role: HostRole, process: ProcessChoice) -> anyhow::Result<HostSampler> {
        let agent = Process::myself().context("cannot read /proc/self; the agent needs a mounted /proc")?;
        Ok(HostSampler {
            role,
            usable_millicores: usable_millicores().unwrap_or(0),
            agent,
            database: ProcessWatch::new(process),
            disks: HashMap::new(),
        })
    }

    /// The counters now. The instant is the caller's to fill in.
    pub fn sample(&mut self) -> anyhow::Result<v1::HostSample> {
        let cpu = KernelStats::current().context("cannot read /proc/stat")?;
        let memory = Meminfo::current().context("cannot read /proc/meminfo")?;
        let load = LoadAverage::current().context("cannot read /proc/loadavg")?;
        Ok(v1::HostSample {
            at_ns: 0,
            ticks_per_s: procfs::ticks_per_second() as u32,
            cpu: Some(cpu_times(&cpu.total)),
            cores: cpu.cpu_time.iter().map(cpu_times).collect(),
            load1: f64::from(load.one),
            memory_total: memory.mem_total,
            memory_available: memory.mem_available.unwrap_or(memory.mem_free),
            disks: self.disks(),
            nets: nets(),
            processes: sample(&self.agent, "agent").into_iter().chain(self.database.sample()).collect(),
            role: self.role.name().to_owned(),
            usable_millicores: self.usable_millicores,
        })
    }

    /// What is worth telling since the last call, for example why there is no database process; each thing once.
    pub fn take_notice(&mut self) -> Option<String> {
        self.database.take_notice()
    }

    /// None where the kernel shows no disks to this agent's container.
    fn disks(&mut self) -> Vec<v1::DiskCounters> {
        let all = procfs::diskstats().unwrap_or_default();
        let whole = all.iter().filter(|disk| match self.disks.get(&disk.name) {
            Some(&known) => known,
            None => {
                *self.disks.entry(disk.name.clone()).or_insert_with(|| is_whole(Path::new("/sys/block"), &disk.name))
            }
        });
        whole.map(disk_counters).collect()
    }
}

fn is_whole(sys_block: &Path, name: &str) -> bool {
    if ["loop", "ram", "zram"].iter().any(|prefix| name.starts_with(prefix)) {
        return false;
    }
    let device = sys_block.join(name.replace('/', "!"));
    let has_medium = fs::read_to_string(device.join("size")).is_ok_and(|size| size.trim() != "0");
    let rests_on_others = fs::read_dir(device.join("slaves")).is_ok_and(|mut slaves| slaves.next().is_some());
    has_medium && !rests_on_others
}

/// Guest time is part of the kernel's user and nice already.
fn cpu_times(time: &CpuTime) -> v1::CpuTimes {
    v1::CpuTimes {
        user: time.user + time.nice,
        system: time.system + time.irq.unwrap_or(0) + time.softirq.unwrap_or(0),
        iowait: time.iowait.unwrap_or(0),
        steal: time.steal.unwrap_or(0),
        idle: time.idle,
    }
}

fn disk_counters(disk: &DiskStat) -> v1::DiskCounters {
    v1::DiskCounters {
        name: disk.name.clone(),
        reads: disk.reads,
        writes: disk.writes,
        read_bytes: disk.sectors_read * SECTOR_BYTES,
        write_bytes: disk.sectors_written * SECTOR_BYTES,
        busy_ms: disk.time_in_progress,
    }
}

/// In the order of their names: the kernel's own order may change.
fn nets() -> Vec<v1::NetCounters> {
    let all = procfs::net::dev_status().unwrap_or_default();
    let mut nets: Vec<_> = all
        .into_values()
        .filter(|device| device.name != "lo")
        .map(|device| v1::NetCounters { name: device.name, rx_bytes: device.recv_bytes, tx_bytes: device.sent_bytes })
        .collect();
    nets.sort_by(|a, b| a.name.cmp(&b.name));
    nets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::meter::cpu_used;
    use std::time::Duration;

    /// Until the kernel has counted this much more CPU time of this process.
    fn spin(cpu: Duration) {
        let until = cpu_used() + cpu;
        while cpu_used() < until {
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
    }

    #[test]
    fn work_shows_in_the_counters_of_host_and_process() {
        let mut sampler = HostSampler::new(HostRole::Drive, ProcessChoice::None).unwrap();
        let before = sampler.sample().unwrap();
        spin(Duration::from_millis(200));
        let after = sampler.sample().unwrap();

        assert_eq!((after.role.as_str(), after.at_ns), ("drive", 0));
        assert_eq!(after.ticks_per_s, 100);
        let busy = |sample: &v1::HostSample| sample.cpu.map(|cpu| cpu.user + cpu.system).unwrap();
        assert!(busy(&after) >= busy(&before) + 10, "200 ms are 20 ticks: {before:?} {after:?}");
        let agent = |sample: &v1::HostSample| sample.processes[0].clone();
        assert!(agent(&after).cpu_ticks >= agent(&before).cpu_ticks + 10);
        assert_eq!(agent(&after).started_ticks, agent(&before).started_ticks);
        assert_eq!(agent(&after).pid, std::process::id() as i32);
        assert_eq!((agent(&after).role.as_str(), after.processes.len()), ("agent", 1));
        assert!(agent(&after).rss_bytes > 1 << 20);
        assert_eq!(sampler.take_notice(), None);
    }

    #[test]
    fn the_cores_add_up_to_the_host() {
        let sample = HostSampler::new(HostRole::Observe, ProcessChoice::None).unwrap().sample().unwrap();
        let all = sample.cpu.unwrap();
        let cores: u64 = sample.cores.iter().map(|core| core.idle).sum();
        // The kernel rounds each line to ticks by itself.
        assert!(all.idle.abs_diff(cores) <= sample.cores.len() as u64 + 2, "{} and {cores}", all.idle);
        assert!(!sample.cores.is_empty());
        assert!(sample.memory_available > 0 && sample.memory_available < sample.memory_total);
        assert!(sample.nets.iter().all(|net| net.name != "lo"));
    }

    #[test]
    fn a_time_of_the_kernel_keeps_its_parts() {
        let line = "cpu 100 5 30 1000 7 2 3 4 50 1\nbtime 1\nctxt 1\nprocesses 1\n";
        let stats: KernelStats = procfs::FromReadSI::from_read(line.as_bytes(), procfs::current_system_info()).unwrap();
        let expected = v1::CpuTimes { user: 105, system: 35, iowait: 7, steal: 4, idle: 1000 };
        assert_eq!(cpu_times(&stats.total), expected);
    }

    #[test]
    fn only_whole_devices_are_disks() {
        let sys = tempfile::tempdir().unwrap();
        let device = |name: &str, size: &str, slaves: &[&str]| {
            let directory = sys.path().join(name);
            fs::create_dir_all(directory.join("slaves")).unwrap();
            fs::write(directory.join("size"), size).unwrap();
            slaves.iter().for_each(|slave| fs::create_dir(directory.join("slaves").join(slave)).unwrap());
        };
        device("sda", "1000\n", &[]);
        device("nvme0n1", "1000\n", &[]);
        device("cciss!c0d0", "1000\n", &[]);
        device("sr0", "0\n", &[]);
        device("dm-0", "900\n", &["sda"]);
        device("loop0", "800\n", &[]);
        device("zram0", "800\n", &[]);
        device("ram1", "800\n", &[]);
        for (name, whole) in [
            ("sda", true),
            ("sda1", false),
            ("nvme0n1", true),
            ("nvme0n1p2", false),
            ("cciss/c0d0", true),
            ("sr0", false),
            ("dm-0", false),
            ("loop0", false),
            ("zram0", false),
            ("ram1", false),
        ] {
            assert_eq!(is_whole(sys.path(), name), whole, "{name}");
        }
        assert!(!is_whole(Path::new("/nowhere"), "sda"), "no sysfs, no disks");
    }
}
