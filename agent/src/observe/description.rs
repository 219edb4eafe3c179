//! What this host is and how it is set, as far as it changes what a database or a load generator can do.
//!
//! Text for people and for comparison. What the kernel does not tell is left out, and so is all that moves by itself:
//! frequencies, free memory, load. Inside a container the kernel's settings are the host's, and the limits the container's.

mod devices;
mod processor;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Kernel settings that are named as sysctl names them.
const SYSCTLS: [&str; 22] = [
    "fs.aio-max-nr",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.threads-max",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_tw_reuse",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_ratio",
    "vm.max_map_count",
    "vm.nr_hugepages",
    "vm.overcommit_memory",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
];

/// Lines of /proc/meminfo that are settings.
const MEMORY: [(&str, &str); 3] = [("memory", "MemTotal"), ("swap", "SwapTotal"), ("huge page size", "Hugepagesize")];

/// Files of one value, or of several with the chosen one in brackets.
const FILES: [(&str, &str); 5] = [
    ("clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("hypervisor", "sys/hypervisor/type"),
    ("kernel", "proc/sys/kernel/osrelease"),
    ("transparent hugepages", "sys/kernel/mm/transparent_hugepage/enabled"),
    ("transparent hugepages defrag", "sys/kernel/mm/transparent_hugepage/defrag"),
];

/// Limits of the agent's own control group, by the file of version 2 and that of version 1.
const LIMITS: [(&str, &str, &str); 4] = [
    ("container cpu limit", "cpu.max", "cpu/cpu.cfs_quota_us"),
    ("container cpu weight", "cpu.weight", "cpu/cpu.shares"),
    ("container memory limit", "memory.max", "memory/memory.limit_in_bytes"),
    ("container swap limit", "memory.swap.max", "memory/memory.memsw.limit_in_bytes"),
];

/// What version 1 says instead of "max": the largest multiple of a page.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// The settings of the host whose file system is at `root`, by name.
pub fn describe(root: &Path) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            settings.insert(name.to_owned(), value);
        }
    };
    FILES.iter().for_each(|(name, path)| put(name, chosen(root, path)));
    SYSCTLS.iter().for_each(|name| put(name, line(root, &format!("proc/sys/{}", name.replace('.', "/")))));
    let memory = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    MEMORY.iter().for_each(|(name, key)| put(name, field(&memory, key)));
    put("os", os(root));
    put("machine", machine(root));
    LIMITS.iter().for_each(|(name, of_2, of_1)| put(name, limit(root, of_2, of_1)));
    settings.extend(processor::settings(root));
    settings.extend(devices::settings(root));
    settings
}

/// A file's text on one line; none of one that is empty or cannot be read.
fn line(root: &Path, path: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(path)).ok()?;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// Of "always [madvise] never" the one that holds.
fn chosen(root: &Path, path: &str) -> Option<String> {
    let line = line(root, path)?;
    let marked = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen.to_owned());
    Some(marked.unwrap_or(line))
}

/// Of lines like "MemTotal:   24 kB" or "model name : Xeon" the first with that key.
fn field(text: &str, key: &str) -> Option<String> {
    let of =
        |line: &str| line.split_once(':').filter(|(name, _)| name.trim() == key).map(|(_, it)| it.trim().to_owned());
    text.lines().find_map(of)
}

fn os(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join("etc/os-release")).ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// Who made it and what it is called; of a virtual machine its maker.
fn machine(root: &Path) -> Option<String> {
    let parts = ["sys_vendor", "product_name"].map(|name| line(root, &format!("sys/class/dmi/id/{name}")));
    let told: Vec<String> = parts.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn limit(root: &Path, of_2: &str, of_1: &str) -> Option<String> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    // Where the container has a namespace of its own, its group is the root of what it sees.
    let places =
        [format!("sys/fs/cgroup/{own}/{of_2}"), format!("sys/fs/cgroup/{of_2}"), format!("sys/fs/cgroup/{of_1}")];
    let told = places.iter().find_map(|path| line(root, path))?;
    let unlimited =
        told == "-1" || told.starts_with("max") || told.parse().is_ok_and(|bytes: u64| bytes >= UNLIMITED_BYTES);
    Some(if unlimited { "none".to_owned() } else { told })
}

/// Names in a directory, in order.
fn names(root: &Path, path: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root.join(path)) else { return Vec::new() };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests;
