//! Settings that a study requires and that somebody changes between two of its runs.

use vufleet_testbed::MariaDb;

use super::lab::{Lab, files, study};

#[test]
fn a_required_setting_that_changed_makes_the_next_run_invalid() {
    let server = MariaDb::start().unwrap();
    let require = "\n[[require]]\nsql = \"SELECT @@innodb_lock_wait_timeout\"\nequals = \"50\"\n";
    let lab = Lab::new(&(study::small(&study::mariadb_with_control(&server)) + require));
    lab.run("schema build study.toml").expect(0);
    let mut job = lab.start("run study.toml --set schedule.repetitions=2 --set schedule.max_repeats=1 --out out");
    lab.await_load(&mut job, 1, 1);
    server.sql("SET GLOBAL innodb_lock_wait_timeout = 40").unwrap();
    job.end().expect(3).says(&[
        "the database was not in state",
        "returns \"40\"",
        "SET GLOBAL innodb_lock_wait_timeout",
    ]);
    let results = files::results(&lab.path("out"));
    let (_, last) = files::ends(&results);
    assert_eq!(files::verdict(last), "invalid", "{last:#}");
    assert!(last.get("transactions").is_none(), "there was no load: {last:#}");
    assert_eq!(
        files::reasons(last).matches("SET GLOBAL innodb_lock_wait_timeout").count(),
        1,
        "said once, with its remedy: {last:#}"
    );
}
