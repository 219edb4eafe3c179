//! What this host is, and what it allows a process like the agent: facts for the agent's Hello.
//!
//! Nothing is judged here. Whether a limit is enough depends on the study, and is for the checks before a run.

mod group;

use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

use anyhow::Context;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use procfs::process::Process;
use procfs::{Current, CurrentSI, KernelStats, LoadAverage, Meminfo};
use vufleet_proto::v1;

use group::Group;

/// The agent's host.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Cores that this process may use: an affinity mask or a container's quota counts, the host may have more.
    pub cores: u32,
    /// Memory of the host.
    pub memory_bytes: u64,
    /// Its name.
    pub hostname: String,
    /// Equal for all agents that share this machine's cores, whatever network namespaces or containers they are in:
    /// the kernel's boot id.
    pub machine: String,
    /// What a process may open and use.
    pub limits: v1::Limits,
}

impl Host {
    /// Reads everything. Call it after [`raise_open_files`].
    pub fn read() -> anyhow::Result<Host> {
        let cores = std::thread::available_parallelism().context("this host does not tell its number of cores")?;
        let memory = Meminfo::current().context("cannot read /proc/meminfo; the agent needs a mounted /proc")?;
        let hostname = nix::unistd::gethostname().context("this host does not tell its name")?;
        Ok(Host {
            cores: u32::try_from(cores.get())?,
            memory_bytes: memory.mem_total,
            hostname: hostname.to_string_lossy().into_owned(),
            machine: line("/proc/sys/kernel/random/boot_id")?,
            limits: limits()?,
        })
    }
}

fn limits() -> anyhow::Result<v1::Limits> {
    let (open_files, _) = getrlimit(Resource::RLIMIT_NOFILE).context("cannot read the limit on open files")?;
    let (port_low, port_high) = port_range(&line("/proc/sys/net/ipv4/ip_local_port_range")?)?;
    let group = Group::read(Path::new("/"));
    let cores = Cores::read(group)?;
    Ok(v1::Limits {
        open_files,
        somaxconn: number("/proc/sys/net/core/somaxconn")?,
        port_low,
        port_high,
        host_cores: cores.host,
        affinity_cores: cores.affinity,
        quota_millicores: group.quota_millicores.unwrap_or(0).try_into().unwrap_or(u32::MAX),
        memory_bytes: group.memory_bytes.unwrap_or(0),
        tasks: tasks(group)?,
        syn_backlog: syn_backlog(),
        tw_reuse: number("/proc/sys/net/ipv4/tcp_tw_reuse").unwrap_or(0),
    })
}

/// Cores of the host, and those that this process may run on.
struct Cores {
    host: u32,
    affinity: u32,
    quota_millicores: Option<u64>,
}

impl Cores {
    fn read(group: Group) -> anyhow::Result<Cores> {
        let host = KernelStats::current().context("cannot read /proc/stat")?.cpu_time.len();
        let allowed =
            Process::myself().and_then(|process| process.status()).context("cannot read /proc/self/status")?;
        let ranges = allowed.cpus_allowed_list.unwrap_or_default();
        let affinity = ranges.iter().map(|(first, last)| last - first + 1).sum::<u32>();
        Ok(Cores { host: u32::try_from(host)?, affinity, quota_millicores: group.quota_millicores })
    }

    /// CPU that this process may use, 1000 a core; none where it may use all of the host's.
    fn usable_millicores(&self) -> Option<u32> {
        let all = u64::from(self.host) * 1000;
        let allowed = u64::from(self.affinity) * 1000;
        let usable = self.quota_millicores.map_or(allowed, |quota| quota.min(allowed));
        (0 < usable && usable < all).then(|| u32::try_from(usable).unwrap_or(u32::MAX))
    }
}

/// CPU that this process may use, 1000 a core; none where it may use all of its host's.
pub fn usable_millicores() -> Option<u32> {
    Cores::read(Group::read(Path::new("/"))).ok()?.usable_millicores()
}

/// Threads that this process may still start, by the kernel's bounds and its control groups. That on the threads of its
/// user is taken as if nobody else were that user.
fn tasks(group: Group) -> anyhow::Result<u64> {
    let running = u64::from(LoadAverage::current().context("cannot read /proc/loadavg")?.max);
    let of_kernel = ["/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max"].map(number::<u64>);
    let of_kernel = of_kernel.into_iter().flatten().map(|most| most.saturating_sub(running));
    let (of_user, _) = getrlimit(Resource::RLIMIT_NPROC).context("cannot read the limit on processes")?;
    Ok(of_kernel.chain(group.tasks).fold(of_user, u64::min))
}

/// Connections that may be half open to one listener; 0 where SYN cookies let any number be.
fn syn_backlog() -> u64 {
    match line("/proc/sys/net/ipv4/tcp_syncookies").as_deref() {
        Ok("0") => number("/proc/sys/net/ipv4/tcp_max_syn_backlog").unwrap_or(0),
        _ => 0,
    }
}

/// Raises the soft limit on open files to the hard one, so that sessions are bounded by what the administrator set and
/// not by a shell's default. Returns the limit that now holds.
pub fn raise_open_files() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(soft.max(hard))
}

fn line(path: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    Ok(text.trim().to_owned())
}

fn number<T: FromStr<Err = std::num::ParseIntError>>(path: &str) -> anyhow::Result<T> {
    line(path)?.parse().with_context(|| format!("{path} does not hold a number"))
}

/// Both ends of the range of local ports, each a usable port.
fn port_range(text: &str) -> anyhow::Result<(u32, u32)> {
    let mut ends = text.split_whitespace().map(str::parse::<u16>);
    match (ends.next(), ends.next(), ends.next()) {
        (Some(Ok(low)), Some(Ok(high)), None) if low <= high => Ok((low.into(), high.into())),
        _ => anyhow::bail!("ip_local_port_range is {text:?}, expected two ports, the lower one first"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_range_is_two_ports_in_order() {
        assert_eq!(port_range("32768\t60999").unwrap(), (32768, 60999));
        assert_eq!(port_range("1024 1024").unwrap(), (1024, 1024));
        for wrong in ["", "32768", "60999 32768", "1 2 3", "1 99999", "a b"] {
            assert!(port_range(wrong).unwrap_err().to_string().contains("ip_local_port_range"), "{wrong}");
        }
    }

    #[test]
    fn this_host_tells_what_it_is() {
        let raised = raise_open_files().unwrap();
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert_eq!((soft, raised), (hard, hard));

        let host = Host::read().unwrap();
        assert_eq!(host.limits.open_files, raised);
        assert!(host.cores >= 1);
        assert!(host.memory_bytes > 1 << 20);
        assert!(!host.hostname.is_empty());
        assert_eq!(host.machine, Host::read().unwrap().machine);
        assert_eq!(host.machine.len(), 36, "a boot id is a UUID: {}", host.machine);
        assert!(host.limits.somaxconn > 0);
        assert!(host.limits.port_low < host.limits.port_high);
        assert!(host.limits.tasks > 0);
        assert!(host.limits.host_cores >= host.limits.affinity_cores && host.limits.affinity_cores >= host.cores);
    }

    #[test]
    fn what_may_be_used_is_told_where_it_is_not_all() {
        for (host, affinity, quota_millicores, usable) in [
            (4, 4, None, None),
            (4, 2, None, Some(2000)),
            (4, 4, Some(2500), Some(2500)),
            (4, 2, Some(2500), Some(2000)),
            (4, 4, Some(4000), None),
            (4, 4, Some(9000), None),
            (4, 0, None, None), // the kernel does not tell
        ] {
            let cores = Cores { host, affinity, quota_millicores };
            assert_eq!(cores.usable_millicores(), usable, "{host} {affinity} {quota_millicores:?}");
        }
    }
}
