//! A SQLite file that is copied once and put back before every run.

use std::process::Command;

use nix::sys::signal::Signal;
use rusqlite::Connection;

use super::super::lab::{Lab, files, study};
use super::super::room::with_mounts;
use super::{INSERTED, INSERTS, assert_reset, left_behind, on_file, orders_at_first, reset, rows, twice};

const SNAPSHOT: &str = "\"snapshot\"";

#[test]
fn orders_begin_where_they_began_and_the_file_is_as_it_was() {
    let study = study::orders("kind = \"sqlite\"\npath = \"bench.db\"", 1, "statements");
    let lab = Lab::new(&(twice(&study) + &reset(SNAPSHOT) + "warm_up = \"500ms\"\n"));
    lab.run("schema build study.toml --agents 1").expect(0);
    lab.run("check study.toml").expect(0).says(&["can run"]);
    lab.run("plan study.toml").expect(0).says(&["to a name beside it before the first run, and puts it back"]);
    lab.run("run study.toml --agents 1 --out out").expect(0);
    let first = orders_at_first(&lab.path("vufleet-data"));
    assert!(first.len() >= 2 && first.iter().all(|orders| *orders == 30_010), "{first:?}");
    let results = files::results(&lab.path("out"));
    assert_reset(&results);
    assert_eq!(rows(&lab, "SELECT sum(d_next_o_id) FROM district"), 30_010, "as before the study");
    assert_eq!(left_behind(&lab), [""; 0]);
    lab.run("run study.toml --agents 1 --smoke").expect(0);
    assert_eq!(rows(&lab, "SELECT sum(d_next_o_id) FROM district"), 30_010);
}

/// A lab whose second run cannot be reset: somebody has the file open.
fn held(lab: &Lab, line: &str) -> (super::super::lab::Job, Connection) {
    let mut job = lab.start(&format!("run study.toml {INSERTS} {line}"));
    job.await_words("measure run 1/2");
    let somebody = Connection::open(lab.path("bench.db")).unwrap();
    somebody.query_row("SELECT count(*) FROM sbtest1", [], |_| Ok(())).unwrap();
    job.await_words("reset, copying files run 2/2");
    (job, somebody)
}

#[test]
fn an_interrupt_or_a_kill_in_mid_reset_leaves_a_whole_file_and_the_next_run_goes_on() {
    let lab = Lab::new(&on_file(SNAPSHOT));
    lab.run("schema build study.toml").expect(0);
    let (job, somebody) = held(&lab, "");
    job.signal(Signal::SIGINT);
    let ended = job.end().expect(130).says(&["is waited for", "stays in", "bench.db.vufleet-snapshot-"]);
    drop(somebody);
    assert!(rows(&lab, INSERTED) > 1_000, "the used data, all of it:\n{ended}");
    assert_eq!(rows(&lab, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
    assert_eq!(left_behind(&lab).len(), 1, "the copy: {:?}", left_behind(&lab));
    assert_refused(&lab);

    lab.run("run --resume last").expect(0).says(&["goes back to the copy that this study has left"]);
    assert_eq!(rows(&lab, INSERTED), 1_000, "as before the study");
    assert_eq!(left_behind(&lab), [""; 0]);

    let (job, somebody) = held(&lab, "--set name=killed");
    job.kill();
    lab.assert_deserted();
    drop(somebody);
    assert!(rows(&lab, INSERTED) > 1_000);
    assert_refused(&lab);
    let again = lab.run("run --resume last").expect(0);
    let again = again.says(&["goes back to the copy that this study has left"]);
    assert_eq!(rows(&lab, INSERTED), 1_000, "as before both studies:\n{again}");
    assert_eq!(left_behind(&lab), [""; 0]);
    lab.run(&format!("run study.toml {INSERTS}")).expect(0);
}

/// Another study does not begin where a copy lies that it did not make, and touches neither that nor the data.
#[track_caller]
fn assert_refused(lab: &Lab) {
    let (before, left) = (rows(lab, INSERTED), left_behind(lab));
    for verb in ["check", "run", "run --smoke"] {
        let words = ["has left a copy of this data in", "made ", "go on with `vufleet run --resume", "or remove it"];
        lab.run(&format!("{verb} study.toml {INSERTS}")).expect(1).says(&words);
    }
    assert_eq!((rows(lab, INSERTED), left_behind(lab)), (before, left));
}

/// A lab whose last reset waits: somebody has the file open.
fn held_at_the_end(lab: &Lab) -> (super::super::lab::Job, Connection) {
    let mut job = lab.start(&format!("run study.toml {INSERTS}"));
    job.await_words("measure run 2/2");
    let somebody = Connection::open(lab.path("bench.db")).unwrap();
    somebody.query_row("SELECT count(*) FROM sbtest1", [], |_| Ok(())).unwrap();
    job.await_words("last reset");
    (job, somebody)
}

#[test]
fn the_last_reset_is_waited_for_and_made_up_for_after_a_kill() {
    let lab = Lab::new(&on_file(SNAPSHOT));
    lab.run("schema build study.toml").expect(0);
    let (mut job, somebody) = held_at_the_end(&lab);
    job.signal(Signal::SIGINT);
    job.await_words("is waited for");
    drop(somebody);
    job.end().expect(130);
    assert_eq!(rows(&lab, INSERTED), 1_000, "as before the study");
    assert_eq!(left_behind(&lab), [""; 0]);

    let (job, somebody) = held_at_the_end(&lab);
    job.kill();
    lab.assert_deserted();
    drop(somebody);
    assert!(rows(&lab, INSERTED) > 1_000);
    lab.run("run --resume last").expect(0).says(&["2 of 2 runs are there"]);
    assert_eq!(rows(&lab, INSERTED), 1_000, "as before the study");
    assert_eq!(left_behind(&lab), [""; 0]);
    lab.run("run --resume last").expect(1).says(&["is finished"]);
}

#[test]
fn a_copy_that_somebody_removes_ends_the_study_and_what_was_measured_is_kept() {
    let lab = Lab::new(&on_file(SNAPSHOT));
    lab.run("schema build study.toml").expect(0);
    let mut job = lab.start(&format!("run study.toml {INSERTS} --out out"));
    lab.await_load(&mut job, 1, 1);
    for name in left_behind(&lab) {
        std::fs::remove_file(lab.path(&name)).unwrap();
    }
    job.end().expect(1).says(&[
        "failed and is tried once more",
        "(snapshot before each run) failed twice",
        "has gone: somebody has removed it",
    ]);
    let results = files::results(&lab.path("out"));
    assert!(files::runs(&results).iter().any(files::counts), "{}", files::story(&results));
    assert!(rows(&lab, INSERTED) > 1_000);
}

#[test]
fn a_disk_without_room_for_copies_is_refused_before_anything_is_touched() {
    let lab = Lab::new(&on_file(SNAPSHOT).replace("bench.db", "small/bench.db"));
    std::fs::create_dir(lab.path("small")).unwrap();
    let sized = "--set workload.table_size=20000";
    let vufleet = lab.vufleet("");
    let script = format!(
        "mount -t tmpfs -o size=16m none small && \"$1\" schema build study.toml {sized} && exec \"$1\" run study.toml {sized}"
    );
    let mut command = Command::new("unshare");
    command.args(with_mounts()).args(["sh", "-c", &script, "sh"]).arg(vufleet.get_program());
    let ended = lab.spawn(command).end().expect(1);
    ended.says(&["the data cannot be copied", "copies of", "small/bench.db take", "free some space"]);
}
