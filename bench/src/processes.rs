//! What the kernel counts of processes and of this host. Every program under test is read in this one way.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use procfs::process::{Process, all_processes};
use procfs::{CurrentSI, KernelStats, ticks_per_second};

/// CPU time of each process of a tree since its start, by process id.
pub type Usage = BTreeMap<i32, Duration>;

fn ticks(count: u64) -> Duration {
    Duration::from_secs_f64(count as f64 / ticks_per_second() as f64)
}

/// A process and everything it has started that still lives.
pub fn tree(root: i32) -> Result<Vec<i32>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in all_processes().context("cannot read /proc")? {
        // A process may end while the list is read.
        if let Ok(stat) = process.and_then(|process| process.stat()) {
            children.entry(stat.ppid).or_default().push(stat.pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    Ok(found)
}

/// User and system time of a process.
pub fn cpu(pid: i32) -> Result<Duration> {
    let stat = Process::new(pid).and_then(|process| process.stat());
    let stat = stat.with_context(|| format!("process {pid} is gone"))?;
    Ok(ticks(stat.utime + stat.stime))
}

/// The same of a whole tree.
pub fn usage(root: i32) -> Result<Usage> {
    tree(root)?.into_iter().map(|pid| Ok((pid, cpu(pid)?))).collect()
}

/// The process of a tree that was started with this argument.
pub fn started_with(root: i32, argument: &str) -> Result<Option<i32>> {
    let has = |pid: &i32| {
        let line = Process::new(*pid).and_then(|process| process.cmdline());
        line.is_ok_and(|line| line.iter().any(|word| word == argument))
    };
    Ok(tree(root)?.into_iter().find(has))
}

/// The most memory that a process has had resident so far; none once it has ended.
pub fn peak_resident_bytes(pid: i32) -> Option<u64> {
    let status = Process::new(pid).and_then(|process| process.status()).ok()?;
    status.vmhwm.map(|kilobytes| kilobytes * 1024)
}

/// Memory that a process has resident now; none once it has ended.
pub fn resident_bytes(pid: i32) -> Option<u64> {
    let status = Process::new(pid).and_then(|process| process.status()).ok()?;
    status.vmrss.map(|kilobytes| kilobytes * 1024)
}

/// Time that all cores of this host have been busy since it started.
pub fn host_busy() -> Result<Duration> {
    let total = KernelStats::current().context("cannot read /proc/stat")?.total;
    let busy = total.user + total.nice + total.system + total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
    Ok(ticks(busy))
}

/// Cores of this host.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_tree_holds_children_of_children_and_nobody_else() {
        let mut shell = Command::new("sh")
            // Both read what nobody writes, and end when it is closed.
            .args(["-c", "exec 3<&0; sh -c 'read _; true' grandchild <&3 & read _; wait"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let root = shell.id() as i32;
        let grandchild = loop {
            if let Some(pid) = started_with(root, "grandchild").unwrap() {
                break pid;
            }
            std::thread::yield_now();
        };
        assert_eq!(tree(root).unwrap(), [root, grandchild]);
        assert!(tree(std::process::id() as i32).unwrap().contains(&grandchild));
        assert!(peak_resident_bytes(root).unwrap() > 100_000);
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(cpu(root).is_err() && peak_resident_bytes(root).is_none());
    }

    #[test]
    fn work_costs_time() {
        let (me, host) = (cpu(std::process::id() as i32).unwrap(), host_busy().unwrap());
        let mut sum = 0_u64;
        while cpu(std::process::id() as i32).unwrap() < me + Duration::from_millis(30) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(host_busy().unwrap() > host);
    }
}
