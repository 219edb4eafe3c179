//! What this host is, and what it allows a process like the agent: facts for the agent's Hello.
//!
//! Nothing is judged here. Whether a limit is enough depends on the study, and is for the checks before a run.

use std::fs;
use std::io;
use std::str::FromStr;

use anyhow::Context;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use procfs::{Current, Meminfo};
use vufleet_proto::v1;

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
    Ok(v1::Limits { open_files, somaxconn: number("/proc/sys/net/core/somaxconn")?, port_low, port_high })
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
    }
}
