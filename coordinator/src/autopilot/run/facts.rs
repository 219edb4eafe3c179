//! What a run is told to do, as the ledger keeps it.

use std::collections::BTreeMap;

use vufleet_scenarios::study::{Measure, Profile, TargetKind, Workload};

use crate::allocation::Allotment;
use crate::autopilot::grid::{interval, whole_intervals};
use crate::autopilot::pilot::Pilot;
use crate::fleet::registry::Agent;
use crate::fleet::versions::VERSION;
use crate::ledger::{DrivingAgent, RunFacts};

/// The facts of a run that has not begun.
pub(super) fn facts(
    pilot: &Pilot,
    profile: &Profile,
    allotments: &[Allotment],
    driving: &[&Agent],
    observers: &[Agent],
    smoke: bool,
) -> RunFacts {
    let schedule = &pilot.study.schedule;
    let vus: u32 = allotments.iter().map(|allotment| allotment.count).sum();
    let each_once = Measure::Transactions(profile.workload.transactions_of_every_kind());
    let measure = if smoke { each_once } else { schedule.measure };
    let interval = interval(pilot.study.monitor.interval, measure);
    let counted = match pilot.study.target.kind {
        TargetKind::Mysql | TargetKind::Mssql => true,
        TargetKind::Sqlite => matches!(profile.workload, Workload::Tprocc(_)),
        TargetKind::Simulated => false,
    };
    RunFacts {
        begun_ns: pilot.core.clock.now(),
        start_at_ns: None,
        ramp_up_ns: if smoke { 0 } else { whole_intervals(schedule.ramp_up, interval).as_nanos() as u64 },
        measure: measure.into(),
        settle_ns: if smoke { 0 } else { schedule.settle.as_nanos() as u64 },
        interval_ns: interval.as_nanos() as u64,
        sessions: if smoke { 1 } else { vus * profile.sessions_per_vu },
        vus,
        driving: allotments
            .iter()
            .zip(driving)
            .map(|(allotment, agent)| DrivingAgent {
                name: allotment.name.clone(),
                boot: agent.hello.boot,
                vus: allotment.count,
            })
            .collect(),
        observing: observers.iter().map(|agent| agent.hello.name.clone()).collect(),
        counters_agent: observers.first().filter(|_| counted).map(|agent| agent.hello.name.clone()),
        shared_host: shared_host(pilot, driving, observers),
        target_version: None,
        connection: None,
        connect_ns: None,
        plaintext: pilot.core.exposed,
        other_versions: other_versions(driving, observers),
    }
}

fn other_versions(driving: &[&Agent], observers: &[Agent]) -> BTreeMap<String, String> {
    let hellos = driving.iter().copied().chain(observers).map(|agent| &agent.hello);
    let others = hellos.filter(|hello| hello.version != VERSION);
    others.map(|hello| (hello.name.clone(), hello.version.clone())).collect()
}

/// Whether load and database share a machine, as far as can be told: the database is embedded, is reached by loopback
/// or a local socket, or an observing agent runs on a driving agent's machine. A SQL Server is observed from anywhere, so
/// that its observer has to be on the host that the study names.
fn shared_host(pilot: &Pilot, driving: &[&Agent], observers: &[Agent]) -> bool {
    let target = &pilot.study.target;
    match target.kind {
        TargetKind::Simulated => return false,
        TargetKind::Sqlite => return true,
        TargetKind::Mysql | TargetKind::Mssql => {}
    }
    let host = target.host.as_deref().unwrap_or_default();
    let loopback = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_there = |observer: &&Agent| target.kind != TargetKind::Mssql || same_host(host, &observer.hello.hostname);
    let mut there = observers.iter().filter(is_there);
    let together = there.any(|observer| driving.iter().any(|driver| driver.hello.machine == observer.hello.machine));
    target.socket.is_some() || loopback || together
}

/// Whether a name in a study is that of a host, with or without its domain.
fn same_host(named: &str, hostname: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_address = named.parse::<std::net::IpAddr>().is_ok();
    !is_address && !hostname.is_empty() && short(named) == short(hostname)
}

#[cfg(test)]
mod tests {
    use super::same_host;

    #[test]
    fn a_host_is_known_with_and_without_its_domain() {
        for (named, hostname, same) in [
            ("db-1", "db-1", true),
            ("DB-1.lab.example", "db-1", true),
            ("db-1", "db-1.lab.example", true),
            ("db-1", "db-2", false),
            ("10.0.0.1", "10.0.0.2", false),
            ("", "", false),
        ] {
            assert_eq!(same_host(named, hostname), same, "{named} {hostname}");
        }
    }
}
