//! Links that are down for a while.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::audit::{Audit, assert_agrees, assert_truthful};
use super::hosts::{COORD, DB, Net, OP, has_nft, left_out};
use super::lab::{Job, eventually, files};
use super::site::Site;
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::phase;

/// Two driving agents and one beside the database.
pub fn fleet(site: &Site) -> [Job; 3] {
    [site.agent("load1", "drive"), site.agent("load2", "drive"), site.agent(DB, "observe")]
}

/// Fails unless a study of one run had nothing to complain about and nothing was lost.
#[track_caller]
fn assert_nothing_happened(site: &Site, commits: u64) {
    let results = assert_truthful(&site.lab, "out");
    let [run] = files::exactly(&results);
    assert!(files::counts(run), "{run:#}");
    let audit = Audit::of(&site.data());
    assert_agrees(audit.assert_whole().counted(), commits);
}

/// A variant that shows in a variable of the server.
pub fn with_variant(study: String) -> String {
    format!(
        "{study}\n[[variants]]\nname = \"slow-log\"\napply = [\"SET GLOBAL long_query_time = 7\"]\n\
         verify = [{{ sql = \"SELECT @@GLOBAL.long_query_time\", equals = \"7\" }}]\n\
         revert = [\"SET GLOBAL long_query_time = 10\"]\n"
    )
}

pub fn is_undone(site: &Site) -> bool {
    site.db.sql("SELECT @@GLOBAL.long_query_time").unwrap().trim() == "10.000000"
}

/// A link that is down for five seconds, well within the lease.
fn short_partition(host: &str) {
    let Some(site) = Site::new() else { return };
    let coordinator = site.coordinator("--lease 10s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=10s");
    site.await_load(&mut job, 1, 4);
    site.hosts.unplug(host, Net::Control);
    sleep(Duration::from_secs(5));
    site.hosts.plug(host, Net::Control);
    job.end().expect(0);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    assert_nothing_happened(&site, commits);
}

#[test]
fn five_seconds_without_a_driving_agent_lose_nothing() {
    short_partition("load1");
}

#[test]
fn five_seconds_without_the_observer_lose_nothing() {
    short_partition(DB);
}

/// Its study goes on, and its terminal says so.
#[test]
fn five_seconds_without_the_operators_terminal_lose_nothing() {
    let Some(site) = Site::new() else { return };
    let coordinator = site.coordinator("--lease 10s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=12s");
    site.await_load(&mut job, 1, 4);
    site.hosts.unplug(OP, Net::Control);
    sleep(Duration::from_secs(5));
    site.hosts.plug(OP, Net::Control);
    let ended = job.end();
    if ended.code == 0 {
        ended.says(&["valid"]); // the connection was there again before anybody missed it
    } else {
        ended.expect(1).says(&["goes on there without this terminal", "vufleet report 2", "vufleet stop 2"]);
    }
    eventually("the study is finished", || site.lab.run("studies").out.contains("finished"));
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    site.lab.run("export last --out out").expect(0);
    assert_nothing_happened(&site, commits);
}

/// What the load may go on for beyond the lease: a look at it, the end of what is under way, and a busy machine.
pub const SLACK: Duration = Duration::from_secs(3);

#[test]
fn thirty_seconds_without_a_driving_agent_stop_the_load_and_repeat_the_run() {
    let Some(site) = Site::with(with_variant) else { return };
    let coordinator = site.coordinator("--lease 10s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=14s");
    site.await_load(&mut job, 1, 4);
    site.hosts.unplug("load1", Net::Control);
    let cut = Instant::now();
    sleep(Duration::from_secs(30));
    let ended = pulse.last_commit() - cut;
    assert!(
        ended > Duration::from_secs(8) && ended < Duration::from_secs(10) + SLACK,
        "the load ended after {ended:?}"
    );
    assert!(is_undone(&site), "the variant is undone while nobody knows of load1");
    site.hosts.plug("load1", Net::Control);
    job.end().expect(0).says(&["agent load1 was lost", "it has not been heard of for 10 s", "runs again"]);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    let results = assert_truthful(&site.lab, "out");
    let (first, last) = files::ends(&results);
    assert_eq!(files::verdict(first), "invalid");
    assert!(files::counts(last), "{}", files::story(&results));
    let audit = Audit::of(&site.data());
    assert_agrees(audit.assert_whole().counted(), commits);
    assert!(audit.said(1, "load1", is_lease_lost), "it told when it was back");
    assert!(is_undone(&site));
}

fn is_lease_lost(body: &Body) -> bool {
    matches!(body, Body::Phase(phase) if phase.kind() == phase::Kind::LeaseLost)
}

/// Nobody reaches the coordinator, and the agents are on their own.
#[test]
fn thirty_seconds_without_the_coordinator_leave_neither_load_nor_variant() {
    let Some(site) = Site::with(with_variant) else { return };
    let coordinator = site.coordinator("--lease 10s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run_on(COORD, "--wait-for-agents 3 --set schedule.measure=14s");
    site.await_load(&mut job, 1, 4);
    assert!(!is_undone(&site));
    site.hosts.unplug(COORD, Net::Control);
    let cut = Instant::now();
    sleep(Duration::from_secs(15));
    assert!(is_undone(&site), "the agent beside the database has undone it by itself");
    sleep(Duration::from_secs(15));
    let ended = pulse.last_commit() - cut;
    assert!(
        ended > Duration::from_secs(8) && ended < Duration::from_secs(10) + SLACK,
        "the load ended after {ended:?}"
    );
    site.hosts.plug(COORD, Net::Control);
    job.end().expect(0);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    let results = assert_truthful(&site.lab, "out");
    let (first, last) = files::ends(&results);
    assert_eq!(files::verdict(first), "invalid");
    assert!(files::reasons(first).contains("was lost"), "{first:#}");
    assert!(files::counts(last), "{}", files::story(&results));
    assert_agrees(Audit::of(&site.data()).assert_whole().counted(), commits);
    assert!(is_undone(&site));
}

/// The fleet is whole, and one agent's sessions hang.
#[test]
fn a_driving_agent_without_its_database_is_seen() {
    let Some(site) = Site::new() else { return };
    let coordinator = site.coordinator("--lease 10s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=14s");
    site.await_load(&mut job, 1, 6);
    site.hosts.unplug("load1", Net::Data);
    sleep(Duration::from_secs(6));
    site.hosts.plug("load1", Net::Data);
    job.end().expect(0);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    let results = assert_truthful(&site.lab, "out");
    let [run] = files::exactly(&results);
    // Two sessions might wait for locks: of eight it would be invalid.
    assert_eq!(files::verdict(run), "degraded", "{run:#}");
    assert!(files::reasons(run).contains("no transaction of agent load1 (2 sessions) succeeded for"), "{run:#}");
    assert_agrees(Audit::of(&site.data()).assert_whole().counted(), commits);
}

/// A direction is closed for longer than the lease: what nobody hears counts as silence on both sides.
fn one_way(host: &str, hears: &str) {
    let Some(site) = Site::new() else { return };
    if !has_nft() {
        return left_out("one direction cannot be closed without nft");
    }
    let coordinator = site.coordinator("--lease 4s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run_on(COORD, "--wait-for-agents 3 --set schedule.measure=10s");
    site.await_load(&mut job, 1, 4);
    site.hosts.filter(host, hears, "");
    let cut = Instant::now();
    sleep(Duration::from_secs(12));
    let ended = pulse.last_commit() - cut;
    assert!(ended < Duration::from_secs(4) + SLACK, "the load ended after {ended:?}");
    site.hosts.filter(host, "", "");
    job.end().expect(0).says(&["agent load1 was lost"]);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    let results = assert_truthful(&site.lab, "out");
    let (first, last) = files::ends(&results);
    assert_eq!(files::verdict(first), "invalid");
    assert!(files::counts(last), "{}", files::story(&results));
    assert_agrees(Audit::of(&site.data()).assert_whole().counted(), commits);
}

#[test]
fn a_coordinator_that_does_not_hear_an_agent_does_not_count_on_it() {
    one_way(COORD, &format!("ip saddr {} drop", Net::Control.address("load1")));
}

#[test]
fn an_agent_that_does_not_hear_its_coordinator_stops() {
    one_way("load1", &format!("ip saddr {} drop", Net::Control.address(COORD)));
}

/// A firewall that says no breaks the connection at once; the agent is back before its lease has run out.
#[test]
fn a_connection_that_is_reset_is_dialled_again_and_loses_nothing() {
    let Some(site) = Site::new() else { return };
    if !has_nft() {
        return left_out("no connection is reset without nft");
    }
    let coordinator = site.coordinator("--lease 10s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=8s");
    site.await_load(&mut job, 1, 4);
    let coord = Net::Control.address(COORD);
    site.hosts.filter("load1", "", &format!("ip daddr {coord} ip protocol tcp reject with tcp reset"));
    sleep(Duration::from_secs(3));
    site.hosts.filter("load1", "", "");
    job.end().expect(0);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    assert_nothing_happened(&site, commits);
}
