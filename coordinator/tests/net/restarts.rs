//! Programs that are killed in mid-run, and come back.

use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::audit::{Audit, assert_agrees, assert_agrees_but_for, assert_truthful};
use super::hosts::DB;
use super::lab::{Job, eventually, files};
use super::partitions::{SLACK, fleet, is_undone, with_variant};
use super::site::Site;

/// What an agent that is killed may have had committed and not told of: its last interval and the one it was in.
const UNTOLD: u64 = 400;

fn assert_repeated(results: &Value, reason: &str) {
    let (first, last) = files::ends(results);
    assert_eq!(files::verdict(first), "invalid");
    assert!(files::reasons(first).contains(reason), "{first:#}");
    assert!(files::counts(last), "{}", files::story(results));
}

#[test]
fn an_agent_that_is_killed_is_another_one_when_it_is_back() {
    let Some(site) = Site::new() else { return };
    let coordinator = site.coordinator("--lease 10s");
    let [load1, _load2, _observer] = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=8s");
    site.await_load(&mut job, 1, 6);
    load1.kill();
    let _again = site.lab.spawn(site.agent_command("load1", "drive"));
    job.end().expect(0).says(&["runs again"]);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    assert_repeated(&assert_truthful(&site.lab, "out"), "agent load1 was lost");
    assert_agrees_but_for(Audit::of(&site.data()).assert_whole().counted(), commits, UNTOLD);
}

/// It tells all it has done before it goes.
#[test]
fn an_agent_that_is_told_to_end_leaves_nothing_untold() {
    let Some(site) = Site::new() else { return };
    let coordinator = site.coordinator("--lease 10s");
    let [load1, _load2, _observer] = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=8s");
    site.await_load(&mut job, 1, 6);
    load1.signal(Signal::SIGTERM);
    load1.end().expect(0);
    let _again = site.lab.spawn(site.agent_command("load1", "drive"));
    job.end().expect(0).says(&["runs again"]);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    assert_repeated(&assert_truthful(&site.lab, "out"), "agent load1 was lost");
    assert_agrees(Audit::of(&site.data()).assert_whole().counted(), commits);
}

/// A study whose coordinator is killed in its load and comes back after `away`, as its ledger has it in the end.
fn without_a_coordinator(away: Duration) -> Option<()> {
    let site = Site::with(with_variant)?;
    let coordinator = site.coordinator("--lease 5s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=8s");
    site.await_load(&mut job, 1, 6);
    let killed = Instant::now();
    coordinator.kill();
    sleep(away);
    let coordinator = site.coordinator("--lease 5s");
    let back = Instant::now();
    job.end().expect(1).says(&["went away", "vufleet run --resume"]);
    eventually("nobody works for the coordinator that is gone", || is_undone(&site));
    let ended = pulse.last_commit();
    let bound = (killed + Duration::from_secs(5)).min(back) + SLACK;
    assert!(ended < bound, "the load ended {:?} after its coordinator, {away:?} away", ended - killed);
    eventually("everybody is back", || ["load1", "load2", DB].iter().all(|name| site.is_here(name)));
    site.resume().expect(0);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    assert_repeated(&assert_truthful(&site.lab, "out"), "the coordinator ended before the run did");
    assert_agrees(Audit::of(&site.data()).assert_whole().counted(), commits);
    assert!(is_undone(&site));
    Some(())
}

#[test]
fn a_coordinator_that_is_back_at_once_finds_its_agents_idle() {
    without_a_coordinator(Duration::from_secs(1));
}

#[test]
fn a_coordinator_that_is_away_for_longer_than_the_lease_leaves_nothing_behind() {
    without_a_coordinator(Duration::from_secs(10));
}

impl Site {
    /// Goes on with the last study.
    pub fn resume(&self) -> super::lab::Ended {
        let job: Job = self.vufleet(super::hosts::OP, &format!("run --resume last {} --out out", self.reached()));
        job.end()
    }
}
