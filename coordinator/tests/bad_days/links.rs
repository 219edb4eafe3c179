//! Connections between agents and their coordinator that break, and agents that are gone when it matters most.

use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use vufleet_proto::v1::{self, command, event::Body};

use super::lab::fleet::{Coordinator, agent, agent_command, is_here, listed};
use super::lab::link::Link;
use super::lab::puppet::Puppet;
use super::lab::{Lab, eventually, files, study};

/// An agent that dials through a link.
fn far_agent(lab: &Lab, coordinator: &Coordinator, link: &Link) -> super::lab::Job {
    let mut far = lab.spawn(agent_command(&link.url(), "drive", "far"));
    far.await_that("it joins", || listed(lab, &coordinator.url).iter().any(|line| is_here(line, "far")));
    far
}

/// How many events an agent has in the ledger, and the number of the last one.
fn events_of(lab: &Lab, agent: &str) -> (i64, i64) {
    let path = lab.path("vufleet-data").join("ledger.sqlite3");
    let ledger = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let sql = "SELECT count(*), max(seq) FROM events WHERE agent = ?1";
    ledger.query_row(sql, [agent], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

/// Up to a twentieth of the intervals vanished without a word when an agent came back, and steps that it had done.
#[test]
fn an_agent_that_comes_back_within_its_lease_has_lost_nothing() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "--lease 30s");
    let _near = agent(&lab, &coordinator, "observe", "near");
    let link = Link::to(coordinator.address());
    let _far = far_agent(&lab, &coordinator, &link);
    let mut job = lab.start(&format!(
        "run study.toml --coordinator {} --set schedule.measure=8s --set monitor.interval=100ms --out out",
        coordinator.url
    ));
    for intervals in [5, 25, 45] {
        lab.await_load(&mut job, 1, intervals);
        link.stall();
        std::thread::sleep(Duration::from_millis(500));
        link.cut();
        std::thread::sleep(Duration::from_millis(500));
        link.mend();
    }
    job.end().expect(0);
    let results = files::results(&lab.path("out"));
    let [run] = files::exactly(&results);
    assert!(files::counts(run), "{run:#}");
    let (count, last) = events_of(&lab, "far");
    assert!(count > 80 && count == last, "{count} events, numbered up to {last}");
}

#[test]
fn load_that_was_out_of_reach_when_it_was_told_to_stop_ends_when_it_comes_back() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "--lease 120s");
    let link = Link::to(coordinator.address());
    let _far = far_agent(&lab, &coordinator, &link);
    let mut job =
        lab.start(&format!("run study.toml --coordinator {} --on-agent-loss stop --out out", coordinator.url));
    lab.await_load(&mut job, 1, 1);
    link.cut();
    job.end().expect(3).says(&["agent far was lost"]);
    link.mend();
    let far = || listed(&lab, &coordinator.url).into_iter().find(|line| is_here(line, "far"));
    eventually("the agent is back without its load", || far().is_some_and(|line| line.contains("idle")));
}

#[test]
fn who_works_on_something_that_is_not_at_hand_is_told_to_stop() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "");
    let mut puppet = Puppet::join(&coordinator.url, "puppet", 7);
    puppet.say(Body::Heartbeat(v1::Heartbeat { run: 99, jobs: vec![98], ..Default::default() }));
    let mut cancelled = Vec::new();
    while cancelled.len() < 2 {
        if let command::Body::Cancel(order) = puppet.hear().unwrap() {
            cancelled.push(order.run);
        }
    }
    assert_eq!(cancelled, [98, 99]);
}

fn notice() -> Body {
    Body::Notice(v1::Notice::default())
}

#[test]
fn an_event_that_does_not_follow_the_last_one_is_asked_for_again() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "");
    let mut puppet = Puppet::join(&coordinator.url, "puppet", 7);
    for seq in [1, 3, 4] {
        puppet.send(seq, 1, notice());
    }
    let mut recorded = 0;
    while let Some(order) = puppet.hear() {
        if let command::Body::Ack(ack) = order {
            recorded = ack.seq;
        }
    }
    assert_eq!(recorded, 1, "nothing beyond the gap is acknowledged, and the stream ends");
    let mut again = Puppet::join(&coordinator.url, "puppet", 7);
    let Some(command::Body::Welcome(welcome)) = again.hear() else { panic!("a welcome comes first") };
    assert_eq!(welcome.last_seq, 1);
}

/// It had sent all but the last twentieth of its intervals, and nobody missed it.
#[test]
fn an_agent_that_is_lost_at_the_very_end_of_the_window_is_missed() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "--lease 5s");
    let mut puppet = Puppet::join(&coordinator.url, "late", 7);
    let job = lab.start(&format!(
        "run study.toml --coordinator {} --on-agent-loss stop --set schedule.ramp_up=0s --set schedule.measure=2s \
         --set monitor.interval=100ms --out out",
        coordinator.url
    ));
    puppet.obey_until(20, |order| matches!(order, command::Body::Start(_)));
    let mut acknowledged = 0;
    while acknowledged < 22 {
        if let Some(command::Body::Ack(ack)) = puppet.hear() {
            acknowledged = acknowledged.max(ack.seq);
        }
    }
    drop(puppet);
    job.end().expect(3).says(&["agent late was lost, and --on-agent-loss is stop"]);
    let results = files::results(&lab.path("out"));
    let [run] = files::exactly(&results);
    assert_eq!(files::verdict(run), "invalid", "{run:#}");
    assert!(files::reasons(run).contains("agent late was lost"), "{run:#}");
}

/// The next run went without it, and nobody was told.
#[test]
fn an_agent_that_is_gone_between_two_runs_is_missed() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "--lease 5s");
    let _stays = agent(&lab, &coordinator, "drive", "stays");
    let mut puppet = Puppet::join(&coordinator.url, "goes", 7);
    let job = lab.start(&format!(
        "run study.toml --coordinator {} --wait-for-agents 2 --on-agent-loss stop --set schedule.repetitions=2 \
         --set schedule.settle=4s --set schedule.ramp_up=0s --out out",
        coordinator.url
    ));
    puppet.obey_until(8, |order| matches!(order, command::Body::Stop(_)));
    std::thread::sleep(Duration::from_secs(1));
    drop(puppet);
    job.end().expect(3).says(&["agent goes was lost, and --on-agent-loss is stop"]);
    let results = files::results(&lab.path("out"));
    let [run] = files::exactly(&results);
    let names: Vec<_> = run["driving"].as_array().unwrap().iter().map(|agent| agent["agent"].clone()).collect();
    assert_eq!(names, ["goes", "stays"], "{run:#}");
}
