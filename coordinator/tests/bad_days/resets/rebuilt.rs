//! Tables that are dropped and built again, and statements that undo what a run has done.

use nix::sys::signal::Signal;
use vufleet_testbed::MariaDb;

use super::super::lab::{Lab, files, study};
use super::{INSERTED, INSERTS, assert_reset, on_file, orders_at_first, reset, rows, twice};

#[test]
fn orders_are_built_anew_before_each_run_with_the_same_rows() {
    let study = study::orders("kind = \"sqlite\"\npath = \"bench.db\"", 1, "statements");
    let lab = Lab::new(&(twice(&study) + &reset("\"rebuild\"")));
    lab.run("plan study.toml").expect(0).says(&["DROPS the workload's tables and builds them again before each run"]);
    // Nobody has built them before.
    lab.run("run study.toml --agents 1 --out out").expect(0);
    let first = orders_at_first(&lab.path("vufleet-data"));
    assert!(first.len() >= 2 && first.iter().all(|orders| *orders == 30_010), "{first:?}");
    assert_reset(&files::results(&lab.path("out")));
}

#[test]
fn an_interrupted_rebuild_is_begun_again_by_the_next_run() {
    let lab = Lab::new(&on_file("\"rebuild\""));
    let large = "--set workload.table_size=400000";
    let mut job = lab.start(&format!("run study.toml {large}"));
    job.await_words("loading");
    job.signal(Signal::SIGINT);
    job.end().expect(130).says(&["tables are incomplete", "the next `vufleet run` of this study builds them again"]);
    lab.run(&format!("run study.toml {INSERTS}")).expect(0);
    assert!(rows(&lab, INSERTED) > 1_000, "a rebuild leaves what the last run has made of it");
}

#[test]
fn before_a_variant_means_when_it_changes() {
    let variants = "[[variants]]\nname = \"a\"\n[[variants]]\nname = \"b\"\n";
    let study = on_file("\"rebuild\"").replace("before = \"run\"", "before = \"variant\"");
    let lab = Lab::new(&format!("{study}{variants}"));
    lab.run(&format!("run study.toml {INSERTS} --set schedule.order=\"grouped\" --out out")).expect(0);
    let results = files::results(&lab.path("out"));
    let mut last = "";
    for run in files::runs(&results) {
        let variant = run["variant"].as_str().unwrap();
        assert_eq!(run["reset_s"].is_number(), variant != last, "{}", files::story(&results));
        last = variant;
    }
}

#[test]
fn ones_own_statements_bring_the_rows_back_or_the_study_ends() {
    let server = MariaDb::start().unwrap();
    let study = twice(&study::small(&study::mariadb_with_control(&server)));
    let delete = |table: u32| format!("\"DELETE FROM sbtest.sbtest{table} WHERE id > 1000\"");
    let lab = Lab::new(&(study.clone() + &reset(&format!("{{ sql = [{}, {}] }}", delete(1), delete(2)))));
    lab.run("schema build study.toml").expect(0);
    lab.run("plan study.toml --sql").expect(0).says(&["-- reset before each run\n", "DELETE FROM sbtest.sbtest1"]);
    lab.run(&format!("run study.toml {INSERTS} --out out")).expect(0);
    assert_reset(&files::results(&lab.path("out")));

    let forgetful = Lab::new(&(study + &reset(&format!("{{ sql = [{}] }}", delete(1)))));
    let ended = forgetful.run(&format!("run study.toml {INSERTS} --out out")).expect(1);
    // What the study before it has left in the second table is where this one begins.
    let ended =
        ended.says(&["the reset (SQL of the study before each run) did not bring the data back", "sbtest2 has"]);
    assert!(!ended.err.contains("sbtest1 has"), "{ended}");
    assert!(ended.err.contains("sbtest2 have been written to since"), "{ended}");
    let results = files::results(&forgetful.path("out"));
    assert!(files::runs(&results).iter().any(files::counts), "{}", files::story(&results));
    let broken = Lab::new(&(std::fs::read_to_string(lab.path("study.toml")).unwrap().replace("DELETE", "DELIT")));
    broken.run("run study.toml").expect(1).says(&["failed twice: agent observe-1: DELIT FROM", "syntax"]);
    let slow = std::fs::read_to_string(lab.path("study.toml"))
        .unwrap()
        .replace("DELETE FROM sbtest.sbtest1 WHERE id > 1000", "DO SLEEP(600)");
    let ended = Lab::new(&slow).run("run study.toml --set reset.timeout=1s").expect(1);
    ended.says(&["DO SLEEP(600): it took longer than the 1s that it may, and was stopped", "is not tried again"]);
    let asleep = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'DO SLEEP%'";
    assert_eq!(server.sql(asleep).unwrap().trim(), "0", "the server does it no more");
}
