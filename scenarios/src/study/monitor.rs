//! `[monitor]`: what is sampled and how often.

use std::time::Duration;

use super::mistakes::Objection;
use super::section::Section;
use super::value::{flag, time, title};
use super::{Monitor, Profile, TargetKind};

const INTERVAL: Duration = Duration::from_secs(1);

/// Looking at one session costs the server little, at thousands it is a load of its own.
const FEW_SESSIONS: u32 = 32;

pub(super) fn monitor(root: &Section<'_>, kind: Option<TargetKind>, profiles: &[Profile]) -> Monitor {
    let section = root.section("monitor");
    let monitor = Monitor {
        interval: section
            .value("interval", time(Duration::from_millis(100)..=Duration::from_secs(60)))
            .unwrap_or(INTERVAL),
        process: section.value("process", title),
        requests: section.value("requests", flag).unwrap_or(false),
    };
    if monitor.requests {
        check_requests(&section, kind, profiles);
    }
    section.finish();
    monitor
}

fn check_requests(section: &Section<'_>, kind: Option<TargetKind>, profiles: &[Profile]) {
    // A study without a kind has been objected to, and a simulated database rehearses that of any other.
    if matches!(kind, Some(TargetKind::Mysql | TargetKind::Sqlite)) {
        let what = "only SQL Server tells the CPU time of a request while it runs";
        section.object("requests", Objection::new(what, "remove it, or write target.kind = \"mssql\""));
        return;
    }
    let largest = profiles.iter().filter(|profile| profile.sessions() > FEW_SESSIONS);
    if let Some(profile) = largest.max_by_key(|profile| profile.sessions()) {
        let what = format!(
            "profile {} has {} sessions, and at most {FEW_SESSIONS} can be looked at one by one",
            profile.id,
            profile.sessions()
        );
        section.object("requests", Objection::new(what, "lower the profile's vus, or remove it"));
    }
}
