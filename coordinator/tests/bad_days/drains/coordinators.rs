//! A coordinator that is told to end.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::super::lab::fleet::{agent, is_here, listed};
use super::super::lab::{Ended, Job, files};
use super::super::variants::{BEFORE, at_work, flush, only_lazy};
use super::{CONNECT, Coordinator, Fleet, MANY_ROWS, RAMP_UP, RESET, WINDOW, eventually};

/// Tells the coordinator to end while a job is at hand, and waits for both.
fn told_to_end(coordinator: Job, job: Job, code: i32) -> Ended {
    coordinator.signal(Signal::SIGTERM);
    coordinator.end().expect(0).says(&["no more jobs are taken"]);
    job.end().expect(code).says(&["the coordinator was told to end"])
}

/// In a phase of a run: it is marked interrupted, its load is gone, and the next coordinator goes on with the study.
fn in_a_run(phase: &str, long: &str, also: &str) {
    let mut fleet = Fleet::new(also);
    let job = fleet.start(&format!("run study.toml {long} --out out"), phase);
    let Fleet { coordinator, ref lab, ref server, ref mut load, .. } = fleet;
    let (address, url) = (coordinator.address().to_owned(), coordinator.url);
    told_to_end(coordinator.job, job, 130).says(&["to go on: vufleet run --resume"]);
    super::assert_no_session(server);
    let log = lab.path("vufleet-data/ledger.sqlite3-wal");
    assert!(!log.exists() || log.metadata().unwrap().len() == 0, "the ledger is one file");
    load[0].await_words("the coordinator was told to end");
    let results = files::results(&lab.path("out"));
    assert_eq!(results["state"], "interrupted", "{results:#}");
    let cut = &files::runs(&results)[0];
    assert!(files::reasons(cut).contains("the coordinator was told to end"), "{cut:#}");

    let _again = Coordinator::listen(lab, &address, "--lease 3s");
    let all_here = || {
        let lines = listed(lab, &url);
        ["load-1", "load-2", "db-1"].iter().all(|name| lines.iter().any(|line| is_here(line, name)))
    };
    eventually("the agents are at the next one", all_here);
    assert!(lab.run("studies").expect(0).out.contains("interrupted"));
}

#[test]
fn while_agents_connect() {
    in_a_run("connect", CONNECT, "");
}

#[test]
fn while_they_ramp_up() {
    in_a_run("ramp-up", RAMP_UP, "");
}

#[test]
fn in_the_window() {
    in_a_run("measure", WINDOW, "");
}

#[test]
fn while_the_data_is_brought_back() {
    in_a_run("loading", MANY_ROWS, RESET);
}

#[test]
fn while_tables_are_filled() {
    let fleet = Fleet::new("");
    let job = fleet.start(&format!("schema build study.toml --replace {MANY_ROWS}"), "loading");
    told_to_end(fleet.coordinator.job, job, 130).says(&["the workload's tables are incomplete"]);
    super::assert_no_session(&fleet.server);
}

#[test]
fn with_nothing_to_do() {
    let fleet = Fleet::new("");
    let begun = Instant::now();
    fleet.coordinator.job.signal(Signal::SIGTERM);
    fleet.coordinator.job.end().expect(0);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// What was measured before counts when the study goes on.
#[test]
fn the_next_one_makes_what_is_missing() {
    let fleet = Fleet::new("");
    let Fleet { coordinator, lab, page, .. } = fleet;
    let run = format!("run study.toml --set schedule.repetitions=2 --coordinator {}", coordinator.url);
    let mut job = lab.start(&format!("{run} --wait-for-agents 3 --out out"));
    job.await_that("one run is made", || {
        page.metrics().get("vufleet_coordinator_runs{state=\"valid\"}").is_some_and(|made| *made >= 1.0)
    });
    let address = coordinator.address().to_owned();
    told_to_end(coordinator.job, job, 130);
    let again = Coordinator::listen(&lab, &address, "--lease 3s");
    let resumed = format!("run --resume last --coordinator {} --wait-for-agents 3 --out out", again.url);
    lab.run(&resumed).expect(0).says(&["1 of 2 runs are there"]);
    assert_eq!(files::results(&lab.path("out"))["cells"][0]["n"], 2);
}

/// A revert that takes a while: meanwhile nobody begins anything else, and a second signal ends the wait.
#[test]
fn while_it_undoes_a_variant() {
    let slow = only_lazy().replace("revert = [", "revert = [\"SELECT SLEEP(6)\", ");
    let (server, lab) = at_work(&slow);
    let mut coordinator = Coordinator::start(&lab, "--lease 3s");
    let _load = agent(&lab, &coordinator, "drive,observe", "load-1");
    let run = format!("run study.toml --coordinator {} {WINDOW}", coordinator.url);
    let mut job = lab.start(&run);
    lab.await_load(&mut job, 1, 1);
    coordinator.job.signal(Signal::SIGTERM);
    coordinator.job.await_words("no more jobs are taken");
    lab.run(&run).refused(&["this coordinator was told to end and takes no more jobs"]);
    assert_eq!(flush(&server), "0", "it is still being undone");
    coordinator.job.end().expect(0);
    assert_eq!(flush(&server), BEFORE);
    job.end().expect(130).says(&["the coordinator was told to end"]);
    assert!(!lab.run("show last").expect(0).out.contains("may still be on"));
}

#[test]
fn twice_it_waits_for_nothing() {
    let slow = only_lazy().replace("revert = [", "revert = [\"SELECT SLEEP(30)\", ");
    let (_server, lab) = at_work(&slow);
    let mut coordinator = Coordinator::start(&lab, "--lease 3s");
    let _load = agent(&lab, &coordinator, "drive,observe", "load-1");
    let mut job = lab.start(&format!("run study.toml --coordinator {} {WINDOW}", coordinator.url));
    lab.await_load(&mut job, 1, 1);
    coordinator.job.signal(Signal::SIGTERM);
    coordinator.job.await_words("no more jobs are taken");
    coordinator.job.signal(Signal::SIGTERM);
    let begun = Instant::now();
    coordinator.job.end().expect(130);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    job.end().refused(&["went away", "--resume"]);
}
