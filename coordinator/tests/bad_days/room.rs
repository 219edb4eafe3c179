//! A disk without room for the ledger: known before there is any load, and the end of the load when it happens later.

use std::path::{Path, PathBuf};
use std::process::Command;

use vufleet_testbed::MariaDb;

use super::lab::fleet::{Coordinator, agent};
use super::lab::{Job, Lab, eventually, files, study};

/// `vufleet` with a `vufleet-data` that is a disk of that size, which only it and its children see.
fn on_small_disk(lab: &Lab, size: &str, line: &str) -> Command {
    std::fs::create_dir_all(lab.path("vufleet-data")).unwrap();
    let script = format!("mount -t tmpfs -o size={size} none vufleet-data && exec \"$@\"");
    let vufleet = lab.vufleet(line);
    let mut command = Command::new("unshare");
    command.args(with_mounts()).args(["sh", "-c", &script, "sh"]).arg(vufleet.get_program()).args(vufleet.get_args());
    command
}

fn start_on_small_disk(lab: &Lab, size: &str, line: &str) -> Job {
    lab.spawn(on_small_disk(lab, size, line))
}

/// Leaves no byte free. Returns what is to be removed to free them.
fn fill(job: &Job, lab: &Lab) -> PathBuf {
    let filler = inside(job, &lab.path("vufleet-data/filler"));
    std::fs::write(&filler, vec![0; 64 << 20]).unwrap_err();
    filler
}

/// What `unshare` needs to be allowed to mount: nothing more for root, a user namespace for everybody else.
pub fn with_mounts() -> &'static [&'static str] {
    let ways: [&[&str]; 2] = [&["--mount"], &["--mount", "--user", "--map-root-user"]];
    let allowed = |way: &&&[&str]| {
        let tried = Command::new("unshare").args(**way).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    ways.iter().find(allowed).expect(
        "mounting a small disk takes root, CAP_SYS_ADMIN or user namespaces (sysctl kernel.unprivileged_userns_clone=1); \
         `cargo test -- --skip room` leaves these tests out",
    )
}

/// The disk as its owner sees it.
fn inside(job: &Job, path: &Path) -> PathBuf {
    let mut seen = PathBuf::from(format!("/proc/{}/root", job.pid()));
    seen.extend(path.components().skip(1));
    seen
}

#[test]
fn too_little_room_is_refused_before_any_load() {
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
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run("schema build study.toml --data elsewhere").expect(0);
    let mut job =
        start_on_small_disk(&lab, "40m", "run study.toml --set schedule.measure=60s --set monitor.interval=100ms");
    let sessions = "SELECT count(*) FROM information_schema.processlist WHERE user = 'bench'";
    let sessions = || server.sql(sessions).unwrap().trim().parse::<u32>().unwrap();
    job.await_that("sessions are connected", || sessions() >= 4);
    fill(&job, &lab);
    job.end().refused(&["the disk is full", "--data"]);
    lab.assert_deserted();
    eventually("no session is left", || sessions() == 0);
}

/// A coordinator that cannot record must not leave the load to itself: it goes on answering its agents, so that no
/// lease runs out. It is of use again as soon as there is space.
#[test]
fn a_service_whose_disk_fills_up_stops_the_load_and_goes_on_when_there_is_space() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let line = "coordinator --listen 127.0.0.1:0 --lease 3s";
    let coordinator = Coordinator::of(lab.spawn(on_small_disk(&lab, "40m", line)));
    let _agents = [agent(&lab, &coordinator, "drive", "one"), agent(&lab, &coordinator, "drive,observe", "two")];
    let run = format!("run study.toml --coordinator {} --wait-for-agents 2", coordinator.url);
    let mut job = lab.start(&format!("{run} --set schedule.measure=60s --set monitor.interval=100ms"));
    job.await_words("measure run 1/1");
    let filler = fill(&coordinator.job, &lab);
    job.end().refused(&["the disk is full", "--data"]);
    let idle = || {
        let listed = lab.run(&format!("agents --coordinator {}", coordinator.url)).expect(0);
        listed.out.matches("idle").count() == 2
    };
    eventually("both agents are idle", idle);
    std::fs::remove_file(filler).unwrap();
    eventually("what the agents held back is recorded", || {
        let ended = lab.run(&format!("{run} --out out"));
        ended.code == 0
    });
    assert_eq!(files::count(files::counted(&files::results(&lab.path("out"))), "/sessions"), 4);
}

/// What was recorded before is there, and what was not is made when there is space.
#[test]
fn a_study_whose_ledger_filled_up_goes_on_when_there_is_space() {
    let lab = Lab::new(&study::small(study::SIMULATED).replace("repetitions = 1", "repetitions = 3"));
    let line = "coordinator --listen 127.0.0.1:0 --lease 3s";
    let coordinator = Coordinator::of(lab.spawn(on_small_disk(&lab, "40m", line)));
    let _agents = [agent(&lab, &coordinator, "drive", "one"), agent(&lab, &coordinator, "drive,observe", "two")];
    let at = format!("--coordinator {} --wait-for-agents 2", coordinator.url);
    let mut job = lab.start(&format!("run study.toml {at} --set schedule.measure=4s --set monitor.interval=100ms"));
    job.await_words("measure run 2/3");
    let filler = fill(&coordinator.job, &lab);
    job.end().refused(&["the disk is full", "--data"]);
    std::fs::remove_file(filler).unwrap();
    let again = || lab.run(&format!("run --resume last {at} --out out")).code == 0;
    eventually("the study goes on", again);
    let results = files::results(&lab.path("out"));
    assert_eq!(results["cells"][0]["n"], 3, "{}", files::story(&results));
    let first: Vec<_> = files::runs(&results).iter().filter(|run| run["repetition"] == 1).collect();
    assert!(files::counts(first.last().unwrap()), "{}", files::story(&results));
    assert_eq!(results["state"], "finished");
}
