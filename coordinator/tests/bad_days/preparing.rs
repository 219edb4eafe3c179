//! What comes before the runs: tables, checks and smoke tests, on good days and bad.

use vufleet_testbed::MariaDb;

use super::lab::{Lab, eventually, files, procs, study};

fn checksums(server: &MariaDb) -> String {
    server.sql("CHECKSUM TABLE sbtest.sbtest1, sbtest.sbtest2").unwrap()
}

#[test]
fn builds_of_one_seed_are_identical_whoever_makes_them() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    let size = "--set workload.table_size=30000";
    lab.run(&format!("schema build study.toml {size}")).expect(0);
    let first = checksums(&server);
    lab.run(&format!("schema build study.toml {size}")).refused(&["2 tables (sbtest1 to sbtest2)", "--replace"]);
    assert_eq!(checksums(&server), first, "a refused build changes nothing");
    for agents in [2, 1, 3] {
        lab.run(&format!("schema build study.toml {size} --replace --agents {agents}")).expect(0);
        assert_eq!(checksums(&server), first, "built by {agents} agents");
    }
    lab.run(&format!("schema build study.toml {size} --replace --set seed=43")).expect(0);
    assert_ne!(checksums(&server), first, "another seed makes other rows");
    lab.run(&format!("schema verify study.toml {size}")).expect(0);
    server.sql("DELETE FROM sbtest.sbtest2 WHERE id = 77").unwrap();
    lab.run(&format!("schema verify study.toml {size}")).refused(&["sbtest2", "29999", "schema build"]);
    lab.run("schema drop study.toml").expect(0);
    assert_eq!(server.sql("SHOW TABLES FROM sbtest").unwrap(), "");
}

#[test]
fn a_build_that_loses_an_agent_fails_and_can_be_repeated() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    let mut job = lab.start("schema build study.toml --set workload.table_size=5000000");
    let rows = "SELECT count(*) FROM (SELECT 1 FROM sbtest.sbtest1 LIMIT 1) AS some";
    job.await_that("rows arrive", || server.sql(rows).is_ok_and(|count| count.trim() == "1"));
    procs::agent(&lab.processes(), "drive-1").kill();
    job.end().refused(&["agent drive-1 was lost during the build", "again with --replace"]);
    lab.assert_deserted();
    let busy = "SELECT count(*) FROM information_schema.processlist WHERE user = 'bench'";
    eventually("no session is left", || server.sql(busy).unwrap().trim() == "0");
    lab.run("schema build study.toml").refused(&["sbtest1", "--replace"]);
    lab.run("schema build study.toml --replace").expect(0);
    lab.run("schema verify study.toml").expect(0);
}

#[test]
fn a_smoke_test_tells_what_works_and_what_does_not() {
    let server = MariaDb::start().unwrap();
    let text = study::small(&study::mariadb(&server)).replace(
        "[schedule]",
        "[[profiles]]\nlabel = \"selects\"\nvus = 2\nworkload = { script = \"point_select\" }\n\n[schedule]",
    );
    let lab = Lab::new(&text);
    lab.run("schema build study.toml").expect(0);
    let before = checksums(&server);
    let ended = lab.run("run study.toml --smoke").expect(0);
    assert!(ended.out.contains("baseline 4vu: ok") && ended.out.contains("selects-2vu: ok"), "{ended}");
    assert!(!lab.path("results").exists(), "a smoke test has no results");

    // Reading goes on, writing does not.
    server.sql("ALTER TABLE sbtest.sbtest1 DROP COLUMN pad; ALTER TABLE sbtest.sbtest2 DROP COLUMN pad").unwrap();
    let ended = lab.run("run study.toml --smoke").refused(&["baseline 4vu", "pad", "1 of 2 smoke runs failed"]);
    assert!(ended.out.contains("selects-2vu: ok"), "{ended}");
    lab.run("schema build study.toml --replace").expect(0);
    assert_eq!(checksums(&server), before);
    lab.assert_deserted();
}

#[test]
fn a_check_looks_from_every_agent_and_at_required_settings() {
    let server = MariaDb::start().unwrap();
    let require = "[[require]]\nsql = \"SELECT @@innodb_flush_log_at_trx_commit\"\nequals = \"2\"\n";
    let lab = Lab::new(&format!("{}\n{require}", study::small(&study::mariadb(&server))));
    lab.run("schema build study.toml").expect(0);
    let ended = lab.run("check study.toml").expect(0);
    assert!(ended.out.contains("bad-day can run"), "{ended}");
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1").unwrap();
    let words = ["returns \"1\"", "requires \"2\"", "SET GLOBAL innodb_flush_log_at_trx_commit = 2"];
    lab.run("check study.toml").refused(&words);
    lab.run("run study.toml --out out").refused(&words);
    assert!(!lab.path("out").exists());
    lab.assert_deserted();
}

#[test]
fn a_table_that_vanishes_between_runs_is_told_in_the_databases_words() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run("schema build study.toml").expect(0);
    let options = "--set schedule.repetitions=2 --set schedule.settle=4s --set schedule.max_repeats=0";
    let mut job = lab.start(&format!("run study.toml {options} --out out"));
    job.await_words("settle");
    server.sql("DROP TABLE sbtest.sbtest2").unwrap();
    job.end().expect(3).says(&["run 2 ", "is invalid", "sbtest2"]);
    let results = files::results(&lab.path("out"));
    let (_, second) = files::ends(&results);
    assert_eq!((files::verdict(second), &second["repetition"]), ("invalid", &2.into()), "{second:#}");
}
