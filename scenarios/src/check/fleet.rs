//! What the agents' hosts allow, against their shares of the sessions.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::{AgentFacts, Finding, clock_bound};
use crate::study::{Measure, Study, TargetKind};

/// Files that an agent holds open beside its sessions: runtimes, uplink, logs, /proc.
const AGENT_FILES: u64 = 64;

pub(super) fn findings(study: &Study, agents: &[AgentFacts]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = agents.iter().filter_map(|agent| open_files(study, agent)).collect();
    if study.target.kind.is_server() && study.target.socket.is_none() {
        findings.extend(ports(agents));
        findings.extend(agents.iter().filter_map(|agent| ports_that_wait(study, agent)));
    }
    findings.extend(agents.iter().filter_map(|agent| clock(study, agent)));
    findings.extend(agents.iter().filter_map(|agent| shared(agent, agents)));
    findings.extend(agents.iter().filter_map(version));
    findings
}

/// Agents of another version may draw, time or count otherwise.
fn version(agent: &AgentFacts) -> Option<Finding> {
    const OWN: &str = env!("CARGO_PKG_VERSION");
    (agent.version != OWN).then(|| {
        let what = format!("agent {} is of version {}, the coordinator of {OWN}", agent.name, agent.version);
        Finding::warning(what, "measure with one version: install it there and start the agent again")
    })
}

/// A session of SQLite opens the database, its log and its index, and has an event loop of its own (three more).
fn files_per_session(kind: TargetKind) -> u64 {
    match kind {
        TargetKind::Mysql | TargetKind::Mssql => 1,
        TargetKind::Sqlite => 6,
        TargetKind::Simulated => 0,
    }
}

fn open_files(study: &Study, agent: &AgentFacts) -> Option<Finding> {
    let wanted = agent.sessions_wanted * files_per_session(study.target.kind) + AGENT_FILES;
    (agent.sessions_wanted > 0 && wanted > agent.open_files).then(|| {
        let what = format!(
            "agent {} may open {} files, but its {} sessions take {wanted}",
            agent.name, agent.open_files, agent.sessions_wanted
        );
        let remedy = format!(
            "start it with ulimit -n {wanted}, or with LimitNOFILE={wanted} in its systemd unit, or add driving agents"
        );
        Finding::fatal(what, remedy)
    })
}

/// Sessions to one address and port each take a local port of their host.
fn ports(agents: &[AgentFacts]) -> Vec<Finding> {
    let mut machines: BTreeMap<&str, Vec<&AgentFacts>> = BTreeMap::new();
    for agent in agents.iter().filter(|agent| agent.sessions_wanted > 0) {
        machines.entry(&agent.machine).or_default().push(agent);
    }
    let short = |agents: &Vec<&AgentFacts>| {
        let room = agents.iter().map(|agent| room(agent)).min().unwrap_or(0);
        let sessions: u64 = agents.iter().map(|agent| agent.sessions_wanted).sum();
        let names = agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ");
        let what = format!(
            "agents on one machine ({names}) open {sessions} sessions to one address, but ip_local_port_range leaves \
             {room} local ports"
        );
        let remedy = "sysctl net.ipv4.ip_local_port_range='1024 65535', or drive from more machines";
        match agents.as_slice() {
            _ if sessions <= room => None,
            [_] => Some(Finding::fatal(what, remedy)),
            // In network namespaces of their own they have a range each; the machine does not tell.
            many if many.iter().all(|agent| agent.sessions_wanted <= room) => Some(Finding::warning(what, remedy)),
            _ => Some(Finding::fatal(what, remedy)),
        }
    };
    machines.values().filter_map(short).collect()
}

/// The end that closes a connection first keeps its port for a while (TIME_WAIT): the sessions of one run may not have given
/// theirs back when those of the next are opened. Linux takes such ports again after a second where it may.
fn ports_that_wait(study: &Study, agent: &AgentFacts) -> Option<Finding> {
    const WAIT: Duration = Duration::from_secs(60);
    let (room, wanted, pause) = (room(agent), agent.sessions_wanted, study.schedule.settle);
    let taken_again =
        agent.tw_reuse == 1 || (agent.tw_reuse == 2 && study.target.host.as_deref().is_some_and(is_loopback));
    let is_short = wanted <= room && room < 2 * wanted && pause < WAIT;
    (is_short && !taken_again).then(|| {
        let what = format!(
            "agent {} opens {wanted} sessions of {room} local ports, and those of the run before may keep theirs for {WAIT:?} \
             (TIME_WAIT), but runs follow each other within {pause:?}",
            agent.name
        );
        Finding::warning(what, "sysctl net.ipv4.tcp_tw_reuse=1 on its host, or schedule.settle = \"60s\"")
    })
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn room(agent: &AgentFacts) -> u64 {
    u64::from((agent.ports.1 + 1).saturating_sub(agent.ports.0))
}

/// A run that begins so will end as degraded.
fn clock(study: &Study, agent: &AgentFacts) -> Option<Finding> {
    let window = match study.schedule.measure {
        Measure::Duration(window) => Some(window),
        Measure::Transactions(_) => None,
    };
    let (known, needed) = (agent.clock_uncertainty?, clock_bound(window));
    (agent.sessions_wanted > 0 && known > needed).then(|| {
        let what = format!(
            "the clock of agent {} is known to {:.1} ms only, but the window needs {:.1} ms",
            agent.name,
            known.as_secs_f64() * 1e3,
            needed.as_secs_f64() * 1e3
        );
        Finding::warning(what, "measure for longer, or run the coordinator nearer to its agents")
    })
}

/// One note a driving agent: it takes cores from the database, and a host's CPU is not the database's alone.
fn shared(agent: &AgentFacts, agents: &[AgentFacts]) -> Option<Finding> {
    if agent.sessions_wanted == 0 {
        return None;
    }
    let observer = agents.iter().find(|other| other.observes && other.machine == agent.machine)?;
    let (who, verb) = if observer.name == agent.name {
        (format!("agent {}", agent.name), "drives load on the machine that it observes")
    } else {
        (format!("agents {} and {}", agent.name, observer.name), "drive and observe on one machine")
    };
    let what = format!("{who} {verb}: load and database compete for its cores, and its host CPU is of both");
    Some(Finding::note(what, "drive from other machines where absolute figures matter; comparisons still hold"))
}
