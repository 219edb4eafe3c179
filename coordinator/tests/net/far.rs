//! An agent at the end of a long and bad way: everything it says and hears is late, and some of it is lost.

use super::audit::{Audit, assert_agrees, assert_truthful};
use super::hosts::{COORD, DB, Net, WAN, has_nft, left_out};
use super::lab::files;
use super::relay::{Lateness, Relay};
use super::site::{PORT, Site};

/// Two packets in a hundred, in both directions.
const LOSS: &str = "ip protocol tcp numgen random mod 100 < 2 drop";

/// A hundred milliseconds there and back, 80 of them on the way there: the clocks are taken to be 30 ms apart, and known to 50.
const WAY: (u64, u64) = (80, 20);

#[test]
fn an_agent_far_away_is_known_no_better_than_its_way_allows() {
    let Some(site) = Site::new() else { return };
    let control = Relay::start(
        &site.hosts.place(WAN),
        format!("{}:{PORT}", Net::Control.address(WAN)),
        format!("{}:{PORT}", Net::Control.address(COORD)),
        Lateness::ms(WAY.0, WAY.1),
    );
    let _data = Relay::start(
        &site.hosts.place(WAN),
        format!("{}:{}", Net::Data.address(WAN), site.db.port()),
        format!("{}:{}", Net::Data.address(DB), site.db.port()),
        Lateness::ms(25, 25),
    );
    site.hosts.name_to("load2", WAN, WAN);
    if has_nft() {
        site.hosts.filter("load2", LOSS, LOSS);
    } else {
        left_out(
            "no packets are lost without nft; the relay holds them up instead, as a sender that repeats them would",
        );
    }
    let coordinator = site.coordinator("--lease 10s");
    let _near = [site.agent("load1", "drive"), site.agent(DB, "observe")];
    let _far = site.agent("load2", "drive");
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 3 --set schedule.measure=10s");
    site.await_load(&mut job, 1, 4);
    if !has_nft() {
        for _ in 0..8 {
            control.hold();
            std::thread::sleep(std::time::Duration::from_millis(300));
            control.release();
            std::thread::sleep(std::time::Duration::from_millis(700));
        }
    }
    let (offset, uncertainty) = site.clock_of("load2");
    assert!(offset.abs() <= uncertainty, "the clocks are one: {offset} ms, {uncertainty} either way");
    assert!((45.0..150.0).contains(&uncertainty), "half of the way: {uncertainty} ms");
    assert!(offset.abs() > 5.0, "a way that is longer in one direction looks like an offset: {offset} ms");
    job.end().expect(0);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    let results = assert_truthful(&site.lab, "out");
    let run = files::counted(&results);
    assert_eq!(files::verdict(run), "degraded", "{run:#}");
    let reasons = files::reasons(run);
    assert!(
        reasons.contains("the agents' clocks are known to") && reasons.contains("ms, the window needs"),
        "{reasons}"
    );
    let audit = Audit::of(&site.data());
    assert_agrees(audit.assert_whole().counted(), commits);
    assert!(audit.uncertainties_ms("load2").iter().all(|ms| *ms >= 45.0), "no interval claims to know better");
    let starts = audit.starts_ns(run["run"].as_u64().unwrap());
    let apart_ms = starts["load1"].abs_diff(starts["load2"]) as f64 / 1e6;
    assert!(apart_ms < 150.0, "both start at the appointed time, as far as each knows it: {apart_ms} ms apart");
}
