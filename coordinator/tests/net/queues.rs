//! A coordinator that does not take what its agents have to tell.

use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::audit::{Audit, assert_agrees, assert_truthful};
use super::hosts::{COORD, DB, Net, WAN};
use super::lab::{Job, files};
use super::partitions::{SLACK, fleet};
use super::relay::{Lateness, Relay};
use super::site::{PORT, Site};

/// Everything ten times a second.
const MUCH: &str = "--wait-for-agents 3 --set monitor.interval=100ms --set schedule.measure=12s";

/// Memory of a process, MiB.
fn memory_mib(job: &Job) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", job.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn a_coordinator_that_stands_still_within_the_lease_misses_nothing() {
    // In plaintext for once.
    let Some(site) = Site::insecure() else { return };
    let coordinator = site.coordinator("--lease 15s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run(MUCH);
    site.await_load(&mut job, 1, 20);
    coordinator.signal(Signal::SIGSTOP);
    sleep(Duration::from_secs(6));
    coordinator.signal(Signal::SIGCONT);
    let ended = job.end();
    if ended.code != 0 {
        // Its terminal may have given it up in between.
        ended.expect(1).says(&["goes on there without this terminal"]);
        super::lab::eventually("the study is finished", || site.lab.run("studies").out.contains("finished"));
        site.lab.run("export last --out out").expect(0);
    }
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    let results = assert_truthful(&site.lab, "out");
    let [run] = files::exactly(&results);
    assert!(files::counts(run), "{run:#}");
    assert_agrees(Audit::of(&site.data()).assert_whole().counted(), commits);
}

#[test]
fn a_coordinator_that_stands_still_for_longer_loses_the_load_and_nothing_else() {
    let Some(site) = Site::new() else { return };
    let coordinator = site.coordinator("--lease 5s");
    let _fleet = fleet(&site);
    let pulse = site.pulse();
    let mut job = site.run(MUCH);
    site.await_load(&mut job, 1, 20);
    coordinator.signal(Signal::SIGSTOP);
    let stopped = Instant::now();
    sleep(Duration::from_secs(14));
    let ended = pulse.last_commit() - stopped;
    assert!(ended < Duration::from_secs(5) + SLACK, "the load ended after {ended:?}");
    coordinator.signal(Signal::SIGCONT);
    job.end();
    super::lab::eventually("the study is finished", || site.lab.run("studies").out.contains("finished"));
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    site.lab.run("export last --out out").expect(0);
    let results = assert_truthful(&site.lab, "out");
    let (first, last) = files::ends(&results);
    assert_eq!(files::verdict(first), "invalid", "{first:#}");
    assert!(files::counts(last), "{}", files::story(&results));
    assert_agrees(Audit::of(&site.data()).assert_whole().counted(), commits);
}

/// A network that is too slow for what there is to tell: the lease is long, the memory for it is not.
#[test]
fn a_send_queue_that_is_full_ends_the_load_and_loses_nothing() {
    let Some(site) = Site::with(many_kinds) else { return };
    let way = Relay::start(
        &site.hosts.place(WAN),
        format!("{}:{PORT}", Net::Control.address(WAN)),
        format!("{}:{PORT}", Net::Control.address(COORD)),
        Lateness::ms(0, 0),
    );
    site.hosts.name_to("load2", WAN, DB);
    let coordinator = site.coordinator("--lease 120s");
    let _near = site.agent(DB, "observe");
    let mut command = site.agent_command("load2", "drive");
    command.args(["--send-queue-mib", "1"]);
    let mut far = site.joined("load2", command);
    let pulse = site.pulse();
    let mut job = site.run("--wait-for-agents 2 --set monitor.interval=100ms --set schedule.measure=60s");
    site.await_load(&mut job, 1, 20);
    let before = memory_mib(&far);
    way.hold();
    far.await_words("its send queue is full (1 MiB)");
    sleep(Duration::from_secs(3));
    let after = memory_mib(&far);
    // Far more than the queue, for a busy machine's allocator; without a bound it goes on.
    assert!(after < before + 400, "{before} MiB before, {after} after");
    way.release();
    job.await_words("its send queue is full (1 MiB)");
    job.signal(Signal::SIGINT);
    job.end().expect(130);
    site.await_quiet();
    let commits = pulse.commits();
    site.dismiss(coordinator);
    let results = assert_truthful(&site.lab, "out");
    let run = &files::runs(&results)[0];
    assert_eq!(files::verdict(run), "invalid");
    assert!(files::reasons(run).contains("agent load2 gave up: its send queue is full"), "{run:#}");
    assert_agrees(Audit::of(&site.data()).assert_whole().counted(), commits);
}

/// Thirty kinds of transactions with long names: each interval tells of each.
fn many_kinds(study: String) -> String {
    let oltp = "kind = \"oltp\"\nscript = \"read_write\"\ntables = 2\ntable_size = 1000\n";
    let rest = "x".repeat(30);
    let kind = |number: u32| {
        format!(
            "\n[[workload.transactions]]\nname = \"kind_{number}_{rest}\"\nstatements = [\"SELECT {number}\"]\ntransaction = true\n"
        )
    };
    let kinds: String = (0..30).map(kind).collect();
    assert!(study.contains(oltp));
    study
        .replace(oltp, &format!("kind = \"sql\"\n{kinds}"))
        .replace("pacing = { wait = \"10ms\" }", "pacing = \"none\"")
}
