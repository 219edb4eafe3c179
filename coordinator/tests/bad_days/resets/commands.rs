//! Restores that are a command of an agent's host.

use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::Signal;

use super::super::lab::fleet::{Coordinator, agent_command, is_here, listed};
use super::super::lab::{Ended, Job, Lab, eventually, files};
use super::{INSERTED, INSERTS, assert_reset, on_file, rows};

const RESTORED: &str = "rm -f bench.db-wal bench.db-shm; cp saved.db bench.db";

/// A fleet whose observing agent has a command `restore`, and tables that it may bring back.
struct Site {
    lab: Lab,
    coordinator: Coordinator,
    _agent: Job,
}

impl Site {
    fn new(script: &str) -> Site {
        let lab = Lab::new(&on_file("{ command = \"restore\", agent = { host = \"db\" } }"));
        let program = lab.path("restore.sh");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let config = format!("allow_control = true\n[commands]\nrestore = [{:?}]\n", program.to_str().unwrap());
        std::fs::write(lab.path("agent.toml"), config).unwrap();
        lab.run("schema build study.toml").expect(0);
        std::fs::copy(lab.path("bench.db"), lab.path("saved.db")).unwrap();
        let coordinator = Coordinator::start(&lab, "--data data");
        let mut command = agent_command(&coordinator.url, "drive,observe", "db-1");
        command.args(["--label", "host=db", "--config", "agent.toml"]);
        let agent = lab.spawn(command);
        eventually("the agent is here", || listed(&lab, &coordinator.url).iter().any(|line| is_here(line, "db-1")));
        Site { lab, coordinator, _agent: agent }
    }

    fn line(&self, rest: &str) -> String {
        format!("run study.toml {INSERTS} --coordinator {} {rest}", self.coordinator.url)
    }

    fn run(&self, rest: &str) -> Ended {
        self.lab.run(&self.line(rest))
    }
}

#[test]
fn a_command_brings_the_data_back_before_each_run() {
    let site = Site::new(RESTORED);
    site.run("--out out").expect(0);
    let results = files::results(&site.lab.path("out"));
    assert_reset(&results);
    assert!(rows(&site.lab, INSERTED) > 1_000, "the last run's");
    // Nobody else has it.
    site.lab.run("run study.toml").expect(1).says(&["the reset runs command restore", "no agent"]);
}

#[test]
fn a_command_that_fails_ends_the_study_with_its_own_words_and_keeps_what_was_measured() {
    let site = Site::new(&format!("{RESTORED}\n[ -e once ] && {{ echo tape 7 is missing >&2; exit 1; }}\ntouch once"));
    let ended = site.run("--out out").expect(1);
    ended.says(&[
        "is tried once more",
        "failed twice",
        "command restore: it ended with exit code 1: tape 7 is missing",
    ]);
    let results = files::results(&site.lab.path("out"));
    let [counted, failed] = files::exactly(&results);
    assert!(files::counts(counted) && !files::counts(failed), "{}", files::story(&results));
}

#[test]
fn a_command_that_hangs_is_killed_with_its_children_and_told() {
    let site = Site::new("echo waiting for tape 7; sleep 600 & sleep 600");
    let ended = site.run("--set reset.timeout=1s").expect(1);
    ended.says(&["failed twice", "still running after 1s and was killed", "waiting for tape 7"]);
    let sleeps = || site.lab.processes().iter().filter(|process| process.arguments[0].ends_with("sleep")).count();
    eventually("nobody sleeps any more", || sleeps() == 0);
}

#[test]
fn a_command_that_brings_nothing_back_is_found_out_by_the_rows() {
    let site = Site::new("exit 0");
    let ended = site.run("").expect(1);
    ended.says(&["did not bring the data back", "sbtest1 has", "after the first reset of the study it had 1000"]);
    let other = Site::new(
        "echo 'DELETE FROM sbtest2 WHERE id = 7' | python3 -c 'import sqlite3, sys; \
                           c = sqlite3.connect(\"bench.db\"); c.execute(sys.stdin.read()); c.commit()'",
    );
    let ended = other.run("--set workload.script=\"read_write\"").expect(1);
    ended.says(&["sbtest2 has 999 rows instead of 1000", "correct what [reset] does"]);
    let withheld = other.run("--set workload.script=\"read_write\" --set report.relative_only=true").expect(1);
    assert!(withheld.err.contains("(sbtest2)") && !withheld.err.contains("998"), "{withheld}");
}

#[test]
fn an_interrupt_waits_for_the_command() {
    let site = Site::new(&format!("touch begun; sleep 3; {RESTORED}; touch ended"));
    let mut job = site.lab.start(&site.line(""));
    job.await_that("the command is under way", || site.lab.path("begun").exists());
    job.signal(Signal::SIGINT);
    job.end().expect(130).says(&["command restore before each run) is waited for, 60 min at most"]);
    assert!(site.lab.path("ended").exists());
    assert_eq!(rows(&site.lab, INSERTED), 1_000);
}
