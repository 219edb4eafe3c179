//! Variants are on in their own runs, and those runs alone count.

use rusqlite::{Connection, OpenFlags};

use super::super::lab::fleet::{Coordinator, agent, agent_command, is_here, listed};
use super::super::lab::{Lab, eventually, files, study};
use super::{BEFORE, LAZY, at_work, flush, of_variant, only_lazy, variant_of};

#[test]
fn a_variant_is_on_in_its_own_runs_alone_and_its_change_has_an_interval() {
    let (server, lab) = at_work(LAZY);
    let mut job = lab.start("run study.toml --set schedule.repetitions=2 --set schedule.measure=4s --out out");
    let mut seen = Vec::new();
    for run in 1..=4 {
        lab.await_load(&mut job, run, 1);
        let variant = variant_of(&lab, run.cast_signed());
        assert_eq!(flush(&server), if variant == "lazy" { "0" } else { BEFORE }, "run {run} of {variant}");
        seen.push(variant);
    }
    job.end().expect(0);
    assert!(seen.contains(&"lazy".to_owned()) && seen.contains(&"baseline".to_owned()), "{seen:?}");
    assert_eq!(flush(&server), BEFORE);
    let results = files::results(&lab.path("out"));
    let cell = results["cells"].as_array().unwrap().iter().find(|cell| cell["variant"] == "lazy").unwrap();
    assert_eq!(cell["change"]["tps"]["n"], 2, "{cell:#}");
    assert!(cell["change"]["tps"]["ci"][0].is_number(), "{cell:#}");
    let shown = lab.run("show last").expect(0);
    assert!(!shown.out.contains("may still be on"), "{shown}");
}

#[test]
fn a_smoke_run_tries_each_variant_and_undoes_it() {
    let (server, lab) = at_work(LAZY);
    let ended = lab.run("run study.toml --smoke").expect(0).says(&["baseline 4vu: ok", "lazy 4vu: ok"]);
    assert_eq!(flush(&server), BEFORE, "{ended}");
}

#[test]
fn a_variant_that_somebody_else_ended_makes_its_run_invalid_and_the_group_runs_again() {
    let (server, lab) = at_work(LAZY);
    let mut job = lab.start("run study.toml --set schedule.measure=4s --out out");
    let mut run = 1;
    loop {
        lab.await_load(&mut job, run, 1);
        if variant_of(&lab, run.cast_signed()) == "lazy" {
            break;
        }
        run += 1;
    }
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1").unwrap();
    job.end().expect(0).says(&[
        "is invalid: the database was not in state \"lazy\": after the load, SELECT \
         @@GLOBAL.innodb_flush_log_at_trx_commit returned \"1\", expected \"0\"",
        "runs again",
    ]);
    let results = files::results(&lab.path("out"));
    let lazy = of_variant(&results, "lazy");
    assert_eq!(files::verdict(lazy[0]), "invalid", "{}", files::story(&results));
    assert!(files::counts(lazy.last().unwrap()), "{}", files::story(&results));
    assert!(of_variant(&results, "baseline").len() > 1, "the group is repeated: {}", files::story(&results));
    assert_eq!(flush(&server), BEFORE);
}

#[test]
fn a_study_that_ended_short_of_runs_makes_them_when_it_goes_on() {
    let (server, lab) = at_work(&only_lazy());
    let mut job = lab.start("run study.toml --set schedule.max_repeats=0 --set schedule.measure=4s");
    lab.await_load(&mut job, 1, 1);
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1").unwrap();
    job.end().expect(3).says(&["fewer valid runs than asked for: lazy 4vu has 0 of 1", "vufleet run --resume"]);
    lab.run("studies").expect(0).says(&["finished", "fewer valid runs than asked for", "can go on"]);
    eventually("the run is made", || lab.run("run --resume last --out out").code == 0);
    let results = files::results(&lab.path("out"));
    let (first, last) = files::ends(&results);
    assert!(first["attempt"] == 1 && !files::counts(first) && files::counts(last), "{}", files::story(&results));
    lab.run("run --resume last").refused(&["is finished, and each of its 1 runs counts"]);
    assert_eq!(flush(&server), BEFORE);
}

/// Repeating will not help a statement that the server does not understand.
#[test]
fn a_variant_that_cannot_be_applied_ends_the_study_and_is_undone_as_far_as_it_got() {
    let variants = only_lazy().replace("_commit = 0\"]", "_commit = 0\", \"SET GLOBAL no_such_variable = 1\"]");
    let (server, lab) = at_work(&variants);
    lab.run("run study.toml").expect(1).says(&["variant lazy could not be applied", "SET GLOBAL no_such_variable = 1"]);
    assert_eq!(flush(&server), BEFORE);
}

#[test]
fn what_cannot_be_remembered_is_not_changed() {
    let remembered = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit\" }";
    let (server, lab) = at_work(&only_lazy().replace(remembered, "SELECT NULL\" }"));
    lab.run("run study.toml").refused(&["cannot be remembered: SELECT NULL: it returns NULL"]);
    // An answer to the check, and none to the run.
    let once = "SELECT ELT(NEXTVAL(sbtest.memory), '2')";
    let (other, lab) = at_work(&only_lazy().replace(remembered, &format!("{once}\" }}")));
    other.sql("CREATE SEQUENCE sbtest.memory").unwrap();
    let words = format!("what was there before cannot be remembered: {once}: it returned nothing");
    lab.run("run study.toml --set schedule.max_repeats=0").expect(3).says(&[&words]);
    assert_eq!([flush(&server), flush(&other)], [BEFORE, BEFORE]);
}

#[test]
fn statements_for_single_sessions_have_their_ids() {
    let variants = r#"
[[variants]]
name = "watched"
when = "connected"
apply = [
    "CREATE OR REPLACE TABLE sbtest.watched AS SELECT id FROM information_schema.processlist WHERE id IN ({session_ids}) AND user = 'bench'",
]
verify = [{ sql = "SELECT count(*) FROM sbtest.watched", equals = "4" }]
revert = ["DROP TABLE IF EXISTS sbtest.watched"]
"#;
    let (server, lab) = at_work(variants);
    lab.run("run study.toml").expect(0);
    let left = server.sql("SELECT count(*) FROM information_schema.tables WHERE table_name = 'watched'").unwrap();
    assert_eq!(left.split_whitespace().last(), Some("0"));
}

/// Everything that SQLite lacks of a server: one process, no sessions' ids, no counters.
#[test]
fn a_trigger_is_a_variant_of_a_file() {
    let variants = r#"
[[variants]]
name = "baseline"

[[variants]]
name = "audited"
apply = [
    "CREATE TABLE IF NOT EXISTS audit (id INTEGER)",
    "CREATE TRIGGER IF NOT EXISTS audited AFTER UPDATE ON sbtest1 BEGIN INSERT INTO audit VALUES (new.id); END",
]
verify = [{ sql = "SELECT count(*) FROM sqlite_master WHERE name = 'audited'", equals = "1" }]
revert = ["DROP TRIGGER IF EXISTS audited", "DROP TABLE IF EXISTS audit"]
undone = [{ sql = "SELECT count(*) FROM sqlite_master WHERE name IN ('audited', 'audit')", equals = "0" }]
"#;
    let lab = Lab::new(&(study::small("kind = \"sqlite\"\npath = \"bench.db\"") + variants));
    lab.run("schema build study.toml").expect(0);
    let plan = lab.run("plan study.toml --sql").expect(0);
    for words in
        ["audited: before each of its runs connects: applied by 2 statements", "CREATE TRIGGER IF NOT EXISTS audited"]
    {
        assert!(plan.out.contains(words), "{words:?} in {plan}");
    }
    let mut job = lab.start("run study.toml --out out");
    let database = || Connection::open_with_flags(lab.path("bench.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let audited = || -> i64 {
        let rows = database().query_row("SELECT count(*) FROM audit", [], |row| row.get(0));
        rows.unwrap_or(0)
    };
    job.await_that("updates are audited", || audited() > 0);
    job.end().expect(0);
    let sql = "SELECT count(*) FROM sqlite_master WHERE name IN ('audited', 'audit')";
    assert_eq!(database().query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    let results = files::results(&lab.path("out"));
    assert_eq!(of_variant(&results, "audited").len(), of_variant(&results, "baseline").len());
}

#[test]
fn commands_of_a_host_apply_and_undo_a_variant_where_its_agent_allows_them() {
    let variants = r#"
[[variants]]
name = "flagged"
apply = [{ command = "raise", agent = { host = "db" } }]
revert = [{ command = "lower", agent = { host = "db" } }]
"#;
    let (_server, lab) = at_work(variants);
    let flag = lab.path("flag");
    let config = format!(
        "allow_control = true\n[commands]\nraise = [\"/bin/sh\", \"-c\", \"touch {0}\"]\nlower = [\"/bin/rm\", \"-f\", \"{0}\"]\n",
        flag.display()
    );
    std::fs::write(lab.path("agent.toml"), config).unwrap();
    let coordinator = Coordinator::start(&lab, "--lease 3s");
    let driver = agent(&lab, &coordinator, "drive", "load-1");
    let run = format!("run study.toml --coordinator {} --set schedule.measure=4s", coordinator.url);
    lab.run(&run).refused(&["variant flagged runs command raise", "no agent with the labels host=db"]);
    let mut command = agent_command(&coordinator.url, "observe", "db-1");
    command.args(["--label", "host=db", "--config"]).arg(lab.path("agent.toml"));
    let mut observer = lab.spawn(command);
    observer.await_that("it joins", || listed(&lab, &coordinator.url).iter().any(|line| is_here(line, "db-1")));
    let mut job = lab.start(&run);
    lab.await_load(&mut job, 1, 1);
    assert!(flag.exists(), "applied");
    job.end().expect(0);
    assert!(!flag.exists(), "undone");
    let mut job = lab.start(&format!("{run} --set schedule.measure=60s"));
    job.await_that("it is applied again", || flag.exists());
    coordinator.job.kill();
    job.end().expect(1);
    eventually("its agent undoes it when the lease has run out", || !flag.exists());
    drop(driver);
}

/// The whole way of a preset: from a line of the study to a file of the server, and back to a number in the results.
#[test]
fn a_presets_observer_observes_its_own_runs_and_its_losses_are_counted() {
    let variants = r#"
[[variants]]
name = "baseline"

[[variants]]
name = "audit"
observer = { preset = "mariadb-server-audit", file = "vufleet-audit.log" }
"#;
    let (server, lab) = at_work(variants);
    lab.run("run study.toml --out out").expect(0);
    let audited = std::fs::read_to_string(server.data().join("vufleet-audit.log")).unwrap();
    assert!(audited.contains("bench"), "the virtual users' statements are in it");
    let results = files::results(&lab.path("out"));
    let audit = of_variant(&results, "audit");
    assert_eq!(audit.last().unwrap()["observer"]["events_dropped"], 0, "{}", files::story(&results));
    assert!(of_variant(&results, "baseline")[0].get("observer").is_none());
    let logging = server.sql("SHOW GLOBAL VARIABLES LIKE 'server_audit_logging'").unwrap();
    assert!(!logging.contains("ON"), "{logging}");
}
