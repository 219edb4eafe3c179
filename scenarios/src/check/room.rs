//! Whether agents may start the threads, have the memory and use the CPU that their sessions take.

use std::collections::BTreeMap;

use super::{AgentFacts, Finding};
use crate::study::{Study, TargetKind};

/// Threads of an agent beside its sessions' and those for virtual users: runtimes, pacer, uplink.
const AGENT_THREADS: u64 = 32;
/// Memory of an agent without sessions: program, histograms of all threads, what waits for the coordinator.
const AGENT_BYTES: u64 = 128 << 20;

pub(super) fn findings(study: &Study, agents: &[AgentFacts]) -> Vec<Finding> {
    let driving: Vec<&AgentFacts> = agents.iter().filter(|agent| agent.sessions_wanted > 0).collect();
    let kind = study.target.kind;
    let mut findings: Vec<Finding> = driving.iter().filter_map(|agent| threads(kind, agent)).collect();
    findings.extend(driving.iter().filter_map(|agent| memory_limit(kind, agent)));
    findings.extend(memory_of_hosts(kind, &driving));
    findings.extend(driving.iter().filter_map(|agent| cpu(agent)));
    findings
}

/// A session of SQLite blocks, and has a thread for itself.
fn threads(kind: TargetKind, agent: &AgentFacts) -> Option<Finding> {
    let of_sessions = if kind == TargetKind::Sqlite { agent.sessions_wanted } else { 0 };
    let (allowed, wanted) = (agent.tasks?, of_sessions + u64::from(agent.affinity_cores) + AGENT_THREADS);
    (wanted > allowed).then(|| {
        let what = format!("agent {} may start {allowed} more threads, but its sessions take about {wanted}", agent.name);
        let remedy = format!(
            "set TasksMax={wanted} in its systemd unit or raise the pids limit of its container, ulimit -u, kernel.threads-max \
             and kernel.pid_max, whichever is the least"
        );
        Finding::fatal(what, remedy)
    })
}

/// Above what docs/benchmarks.md measured, 3 to 5 KB a session of MariaDB, so that TLS (two buffers of 16 KB) and large rows
/// fit in. SQLite has a cache of 2 MB for each connection.
fn bytes_per_session(kind: TargetKind) -> u64 {
    match kind {
        TargetKind::Mysql => 64 << 10,
        TargetKind::Mssql => 128 << 10,
        TargetKind::Sqlite => 3 << 20,
        TargetKind::Simulated => 4 << 10,
    }
}

fn wanted_bytes(kind: TargetKind, agent: &AgentFacts) -> u64 {
    agent.sessions_wanted * bytes_per_session(kind) + AGENT_BYTES
}

/// The kernel ends a process that goes beyond, without a word to it.
fn memory_limit(kind: TargetKind, agent: &AgentFacts) -> Option<Finding> {
    let (allowed, wanted) = (agent.memory_limit_bytes?, wanted_bytes(kind, agent));
    (wanted > allowed).then(|| {
        let what = format!(
            "agent {} may use {} of memory, but its {} sessions may take up to {}: the kernel would kill it",
            agent.name,
            megabytes(allowed),
            agent.sessions_wanted,
            megabytes(wanted)
        );
        Finding::warning(
            what,
            "raise the memory limit of its container (MemoryMax= of its unit), or add driving agents",
        )
    })
}

fn memory_of_hosts(kind: TargetKind, driving: &[&AgentFacts]) -> Vec<Finding> {
    let mut machines: BTreeMap<&str, Vec<&AgentFacts>> = BTreeMap::new();
    for agent in driving {
        machines.entry(&agent.machine).or_default().push(agent);
    }
    let short = |agents: &Vec<&AgentFacts>| {
        let there = agents.iter().map(|agent| agent.memory_bytes).filter(|bytes| *bytes > 0).min()?;
        let wanted: u64 = agents.iter().map(|agent| wanted_bytes(kind, agent)).sum();
        (wanted > there).then(|| {
            let names = agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ");
            let what = format!(
                "sessions of one machine ({names}) may take up to {}, but it has {} of memory",
                megabytes(wanted),
                megabytes(there)
            );
            Finding::warning(what, "drive from more machines, or lower the profile's vus")
        })
    };
    machines.values().filter_map(short).collect()
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}

/// What holds an agent below its host's cores. A quota stops all its threads when it is used up, for the rest of each tenth
/// of a second, and virtual users take that for the database's time.
fn cpu(agent: &AgentFacts) -> Option<Finding> {
    let (name, host) = (&agent.name, agent.host_cores);
    let quota = agent.quota_cores.filter(|quota| *quota < f64::from(agent.affinity_cores));
    if let Some(quota) = quota {
        let what = format!(
            "agent {name} is held to {quota} of {host} cores by a quota (CPUQuota=, a container's CPU limit): when that is used up \
             the kernel stops its sessions for up to 100 ms, and their latencies have that in them"
        );
        let remedy =
            "give it whole cores instead (AllowedCPUs=, --cpuset-cpus, Kubernetes' static CPU manager), or no limit";
        return Some(Finding::warning(what, remedy));
    }
    (0 < agent.affinity_cores && agent.affinity_cores < host).then(|| {
        let what = format!(
            "agent {name} may run on {} of its host's {host} cores, and the driver CPU of reports is of all of them",
            agent.affinity_cores
        );
        Finding::note(what, "runs are judged by its own share, too: it is not taken for idle when that is used up")
    })
}
