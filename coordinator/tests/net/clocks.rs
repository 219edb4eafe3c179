//! Hosts whose wall clocks are off: everything measured runs on monotonic clocks, so nothing changes but the offset that is shown.

use super::audit::{Audit, assert_agrees, assert_truthful};
use super::hosts::DB;
use super::lab::wall::Wall;
use super::lab::{Job, files};
use super::site::Site;

/// Ends a study of one run that nobody's clock has harmed.
fn assert_unharmed(site: &Site, job: Job, coordinator: Job, commits: impl FnOnce() -> u64) {
    job.end().expect(0);
    site.await_quiet();
    let commits = commits();
    site.dismiss(coordinator);
    let results = assert_truthful(&site.lab, "out");
    let run = files::counted(&results);
    assert!(!files::reasons(run).contains("clock"), "{run:#}");
    assert!((7.5..9.5).contains(&files::figure(run, "/measured_s")), "{run:#}");
    assert_agrees(Audit::of(&site.data()).assert_whole().counted(), commits);
}

/// Fails unless the clock of a host is known to be off by so much.
#[track_caller]
fn assert_off(site: &Site, job: &mut Job, name: &str, expected_ms: f64, give_or_take_ms: f64) {
    let what = format!("the clock of {name} is seen to be {expected_ms} ms off");
    job.await_that(&what, || (site.clock_of(name).0 - expected_ms).abs() < give_or_take_ms);
}

/// 3 s fast, and 500 ppm: half a millisecond a second.
#[test]
fn agents_whose_clocks_are_off_and_drift_measure_as_others_do() {
    let Some(site) = Site::new() else { return };
    let coordinator = site.coordinator("--lease 10s");
    let [fast, drifting] = ["load1", "load2"].map(|name| {
        let wall = Wall::of(&site.lab, name);
        wall.set(if name == "load1" { 3.0 } else { 0.0 }, if name == "load2" { 500.0 } else { 0.0 });
        let mut command = site.agent_command(name, "drive");
        wall.give(&mut command);
        (site.joined(name, command), wall)
    });
    let _observer = site.agent(DB, "observe");
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=8s");
    site.await_load(&mut job, 1, 4);
    assert_off(&site, &mut job, "load1", -3000.0, 30.0);
    let before = site.clock_of("load2").0;
    site.await_load(&mut job, 1, 12);
    let drifted = site.clock_of("load2").0 - before;
    assert!((-20.0..-0.5).contains(&drifted), "half a millisecond a second: {drifted} ms");
    fast.1.set(-30.0, 0.0);
    assert_off(&site, &mut job, "load1", 30_000.0, 30.0);
    assert_unharmed(&site, job, coordinator, || pulse.commits());
    drop((fast, drifting));
}

/// It tells everybody the time, by the wall clock it found at its start.
#[test]
fn a_coordinator_whose_clock_is_off_drifts_and_jumps_measures_as_others_do() {
    let Some(site) = Site::new() else { return };
    let wall = Wall::of(&site.lab, "coordinator");
    wall.set(3.0, 500.0);
    let coordinator = site.coordinator_with(|command| wall.give(command));
    let _fleet = super::partitions::fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=8s");
    site.await_load(&mut job, 1, 6);
    for name in ["load1", "load2", DB] {
        assert_off(&site, &mut job, name, 3000.0, 30.0);
    }
    wall.set(-30.0, 0.0);
    site.await_load(&mut job, 1, 12);
    assert_off(&site, &mut job, "load1", 3000.0, 30.0);
    assert_unharmed(&site, job, coordinator, || pulse.commits());
}
