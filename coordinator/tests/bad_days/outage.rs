//! A database that goes away in mid-run or refuses everything, and a single connection that goes.

use vufleet_testbed::MariaDb;

use super::lab::{Lab, files, study};

#[test]
fn a_killed_database_is_seen_in_the_samples_and_its_run_is_repeated() {
    let mut server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run("schema build study.toml").expect(0);
    let mut job = lab.start("run study.toml --set schedule.measure=10s --set monitor.interval=500ms --out out");
    lab.await_load(&mut job, 1, 8);
    server.kill9().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    server.restart().unwrap();
    job.end().expect(0).says(&["run 1 ", "is invalid", "the database", "runs again"]);
    let results = files::results(&lab.path("out"));
    let (first, last) = files::ends(&results);
    assert_eq!(files::verdict(first), "invalid", "{first:#}");
    assert!(files::reasons(first).contains("the database"), "{first:#}");
    assert!(files::count(first, "/reconnects") >= 4, "every session came back: {first:#}");
    assert!(files::counts(last), "{last:#}");
    assert_eq!(results["cells"][0]["n"], 1, "{results:#}");

    let samples = files::samples(&lab.path("out"));
    let sessions: Vec<u32> = samples
        .iter()
        .filter(|sample| sample["run"].parse().ok() == first["run"].as_u64() && sample["agent"] == "drive-1")
        .filter(|sample| sample["role"] == "drive" && sample["in_window"] == "true")
        .map(|sample| sample["sessions"].parse().unwrap())
        .collect();
    let gone = sessions.iter().position(|count| *count == 0).unwrap_or_else(|| panic!("never gone: {sessions:?}"));
    assert_eq!(sessions[0], 2, "{sessions:?}");
    assert_eq!(sessions[gone..].iter().max(), Some(&2), "they came back: {sessions:?}");
}

#[test]
fn a_killed_connection_is_reopened_and_counted_once() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb_with_control(&server)));
    lab.run("schema build study.toml").expect(0);
    let mut job = lab.start("run study.toml --set schedule.measure=6s --out out");
    lab.await_load(&mut job, 1, 4);
    // Spare connections have been idle since the start; a session never is for long.
    let busy = "SELECT id FROM information_schema.processlist WHERE user = 'bench' AND time_ms < 300 LIMIT 1";
    let id = server.sql(busy).unwrap();
    server.sql(&format!("KILL {id}")).unwrap();
    job.end().expect(0);
    let results = files::results(&lab.path("out"));
    let [run] = files::exactly(&results);
    assert!(files::counts(run), "{run:#}");
    assert_eq!(files::count(run, "/reconnects"), 1, "{run:#}");
    assert_eq!(files::count(run, "/transactions/read_write/errors/connection_lost"), 1, "{run:#}");
}

#[test]
fn a_run_in_which_everything_fails_does_not_count() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run("schema build study.toml").expect(0);
    let set = "--set schedule.ramp_up=8s --set profiles.0.pacing=none --set schedule.max_repeats=0";
    let mut job = lab.start(&format!("run study.toml {set} --out out"));
    lab.await_load(&mut job, 1, 2);
    server.sql("SET GLOBAL read_only = 1").unwrap();
    job.end().expect(3);
    let results = files::results(&lab.path("out"));
    let [run] = files::exactly(&results);
    assert_eq!(files::verdict(run), "invalid", "{run:#}");
    assert!(files::reasons(run).contains("no transaction succeeded inside the window"), "{run:#}");
    assert!(files::count(run, "/transactions/read_write/failed") > 0, "{run:#}");
    assert!(files::count(run, "/whole_run/read_write/client") > 0, "before, all went well: {run:#}");
    assert_eq!(results["cells"][0]["n"], 0, "{results:#}");
}
