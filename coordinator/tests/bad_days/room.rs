//! A disk without room for the ledger: known before there is any load, and the end of the load when it happens later.

use std::path::{Path, PathBuf};
use std::process::Command;

use vufleet_testbed::MariaDb;

use super::lab::{Job, Lab, eventually, study};

/// Runs `vufleet` with a `vufleet-data` that is a disk of that size, which only it and its children see.
fn start_on_small_disk(lab: &Lab, size: &str, line: &str) -> Job {
    std::fs::create_dir_all(lab.path("vufleet-data")).unwrap();
    let script = format!("mount -t tmpfs -o size={size} none vufleet-data && exec \"$@\"");
    let vufleet = lab.vufleet(line);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]).arg(vufleet.get_program()).args(vufleet.get_args());
    lab.spawn(command)
}

/// Mounting takes privileges. Without them the ledger's own tests still fill a ledger up.
fn may_mount() -> bool {
    let allowed = Command::new("unshare").args(["--mount", "true"]).output();
    let allowed = allowed.is_ok_and(|output| output.status.success());
    if !allowed {
        eprintln!("not done: mounting a small disk takes root or CAP_SYS_ADMIN");
    }
    allowed
}

/// The disk as its owner sees it.
fn inside(job: &Job, path: &Path) -> PathBuf {
    let mut seen = PathBuf::from(format!("/proc/{}/root", job.pid()));
    seen.extend(path.components().skip(1));
    seen
}

#[test]
fn too_little_room_is_refused_before_any_load() {
    if !may_mount() {
        return;
    }
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run("schema build study.toml --data elsewhere").expect(0);
    let before = server.sql("SHOW GLOBAL STATUS LIKE 'Com_commit'").unwrap();
    for (size, verb) in [("40k", "run"), ("1m", "run"), ("8m", "run"), ("8m", "check"), ("8m", "run --smoke")] {
        let ended = start_on_small_disk(&lab, size, &format!("{verb} study.toml")).end();
        ended.refused(&["vufleet-data", "free some space", "--data"]);
        lab.assert_deserted();
    }
    // What a study needs grows with its hours: three agents over ten hours are 1.2 GB.
    let long = "run study.toml --set schedule.measure=10h";
    start_on_small_disk(&lab, "500m", long).end().refused(&["about 12", "free some space"]);
    assert_eq!(server.sql("SHOW GLOBAL STATUS LIKE 'Com_commit'").unwrap(), before, "no transaction was run");
    assert!(!lab.entries().contains(&"results".to_owned()));
}

#[test]
fn a_disk_that_fills_up_ends_the_study_and_its_load() {
    if !may_mount() {
        return;
    }
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run("schema build study.toml --data elsewhere").expect(0);
    let mut job =
        start_on_small_disk(&lab, "40m", "run study.toml --set schedule.measure=60s --set monitor.interval=100ms");
    let sessions = "SELECT count(*) FROM information_schema.processlist WHERE user = 'bench'";
    let sessions = || server.sql(sessions).unwrap().trim().parse::<u32>().unwrap();
    job.await_that("sessions are connected", || sessions() >= 4);
    std::fs::write(inside(&job, &lab.path("vufleet-data/filler")), vec![0; 64 << 20]).unwrap_err();
    job.end().refused(&["the disk is full", "--data"]);
    lab.assert_deserted();
    eventually("no session is left", || sessions() == 0);
}
