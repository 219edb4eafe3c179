//! Ctrl-C, once and twice.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use vufleet_testbed::MariaDb;

use super::lab::{Lab, eventually, files, study};

#[test]
fn once_stops_the_load_and_keeps_what_was_measured() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run("schema build study.toml").expect(0);
    let mut job = lab.start("run study.toml --set schedule.repetitions=3 --out out");
    lab.await_load(&mut job, 2, 2);
    job.signal(Signal::SIGINT);
    let ended = job.end().expect(130).says(&["stopping; what was measured is kept"]);
    assert!(ended.out.contains("TPS") && ended.out.contains("4vu"), "the table so far:\n{ended}");
    for name in ["results.json", "runs.csv", "samples.csv", "histograms.hgrm"] {
        assert!(lab.path("out").join(name).is_file(), "{name}");
    }
    let results = files::results(&lab.path("out"));
    let (_, cut) = files::ends(&results);
    assert!(files::reasons(cut).contains("stopped by the operator"), "{cut:#}");
    assert_eq!(results["state"], "interrupted", "{results:#}");
    lab.assert_deserted();
    let sessions = "SELECT count(*) FROM information_schema.processlist WHERE user = 'bench'";
    eventually("no session is left", || server.sql(sessions).unwrap().trim() == "0");
}

#[test]
fn twice_leaves_at_once_and_without_agents() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    // Transactions that take longer than the stop is patient.
    let mut job = lab.start("run study.toml --set target.service_time=1m --set schedule.measure=60s --out out");
    lab.await_load(&mut job, 1, 2);
    let agents: Vec<_> = lab.processes().into_iter().filter(|process| process.agent_name().is_some()).collect();
    assert_eq!(agents.len(), 3, "{agents:?}");
    let begun = Instant::now();
    job.signal(Signal::SIGINT);
    job.await_words("Ctrl-C again leaves at once");
    job.signal(Signal::SIGINT);
    job.end().expect(130);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    lab.assert_deserted();
    assert!(!lab.path("out").exists(), "what was not complete is not kept");
}

#[test]
fn a_build_ends_in_the_middle_of_a_table_and_can_be_done_again() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    let mut job = lab.start("schema build study.toml --set workload.table_size=5000000");
    let rows = "SELECT count(*) FROM sbtest.sbtest1 LIMIT 1";
    job.await_that("rows arrive", || server.sql(rows).is_ok_and(|count| count.trim() != "0"));
    job.signal(Signal::SIGINT);
    let ended = job.end().expect(130);
    assert!(ended.took < Duration::from_secs(60), "{ended}");
    assert!(ended.err.contains("--replace"), "it says what became of the tables:\n{ended}");
    lab.assert_deserted();
    let busy = "SELECT count(*) FROM information_schema.processlist WHERE user = 'bench'";
    eventually("no session is left", || server.sql(busy).unwrap().trim() == "0");
    lab.run("schema build study.toml").refused(&["exist", "--replace"]);
    lab.run("schema build study.toml --replace").expect(0);
    lab.run("schema verify study.toml").expect(0);
}

#[test]
fn a_check_that_waits_for_a_silent_server_ends() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = MariaDb::shared().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    let port = silent.local_addr().unwrap().port();
    let job = lab.start(&format!("check study.toml --set target.port={port}"));
    let (_knocked, _) = silent.accept().unwrap();
    job.signal(Signal::SIGINT);
    let begun = Instant::now();
    job.end().expect(130);
    assert!(begun.elapsed() < Duration::from_secs(8), "it does not wait for the answer: {:?}", begun.elapsed());
    lab.assert_deserted();
}
