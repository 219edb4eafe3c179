//! Refused within seconds: one sentence with the remedy, exit code 1, nothing left behind.

use std::net::TcpListener;

use vufleet_testbed::MariaDb;

use super::lab::{Lab, eventually, study};

/// Runs a verb that is to be refused with these words, and looks for what may be left.
#[track_caller]
fn refused(lab: &Lab, line: &str, words: &[&str]) {
    lab.run(line).refused(words);
    lab.assert_deserted();
    let left = lab.entries();
    assert!(left.iter().all(|name| ["study.toml", "vufleet-data"].contains(&name.as_str())), "{line} left {left:?}");
}

#[test]
fn a_database_that_does_not_let_us_in() {
    let server = MariaDb::shared().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = deaf.local_addr().unwrap().port();
    drop(deaf);
    let port = format!("target.port={closed}");
    for (set, words) in [
        ("target.password.env=WRONG_PASSWORD", ["user 'bench' may not log in", "check target.user"]),
        ("target.user=nobody", ["user 'nobody' may not log in", "CREATE USER"]),
        ("target.host=no-such-host.invalid", ["no-such-host.invalid", "check target.host"]),
        (port.as_str(), ["nothing listens at 127.0.0.1", "start the server"]),
        ("target.database=nowhere", ["nowhere", "correct target.database"]),
    ] {
        for verb in ["run", "check", "schema build"] {
            refused(&lab, &format!("{verb} study.toml --set {set}"), &words);
        }
    }
    assert_eq!(server.sql("SHOW TABLES FROM sbtest").unwrap(), "");
}

#[test]
fn tables_that_are_not_there() {
    let server = MariaDb::shared().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    for verb in ["run", "run --smoke", "check"] {
        let words = ["2 of 2 tables are missing from database sbtest: sbtest1, sbtest2", "vufleet schema build"];
        refused(&lab, &format!("{verb} study.toml"), &words);
    }
    refused(&lab, "schema verify study.toml", &["sbtest1"]);
    assert_eq!(server.sql("SHOW TABLES FROM sbtest").unwrap(), "");
}

#[test]
fn an_sqlite_file_that_is_not_there_stays_so() {
    let lab = Lab::new(&study::small("kind = \"sqlite\"\npath = \"bench.db\""));
    for verb in ["run", "check"] {
        refused(&lab, &format!("{verb} study.toml"), &["bench.db", "schema build"]);
    }
}

#[test]
fn more_than_the_server_allows() {
    let server = MariaDb::builder().option("max_connections", "20").option("max_prepared_stmt_count", "200");
    let server = server.start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run("schema build study.toml").expect(0);
    let crowd = ["needs 34 connections", "max_connections is 20", "SET GLOBAL max_connections"];
    let statements = ["prepared statements", "max_prepared_stmt_count is 200", "SET GLOBAL max_prepared_stmt_count"];
    for verb in ["run", "check"] {
        refused(&lab, &format!("{verb} study.toml --set profiles.0.vus=30"), &crowd);
        refused(&lab, &format!("{verb} study.toml --set profiles.0.vus=14"), &statements);
    }
    // One at a time they are few enough.
    lab.run("run study.toml --smoke").expect(0);
}

#[test]
fn more_than_the_account_is_allowed() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb_with_control(&server)));
    lab.run("schema build study.toml").expect(0);
    server.sql("GRANT USAGE ON *.* TO bench@'%' WITH MAX_USER_CONNECTIONS 3").unwrap();
    refused(&lab, "run study.toml", &["max_user_connections allows it 3", "ALTER USER"]);
}

/// Agents that were refused in the middle of connecting have to stop, and those that never got so far have nothing to
/// stop: neither is waited for in vain.
#[test]
fn a_server_that_changes_its_mind_while_sessions_open() {
    let server = MariaDb::start().unwrap();
    let setup = "setup = [\"GRANT USAGE ON *.* TO bench@'%' WITH MAX_USER_CONNECTIONS 3\"]\n\n[schedule]";
    let text = study::small(&study::mariadb_with_control(&server)).replace("\n[schedule]", setup);
    let lab = Lab::new(&text);
    lab.run("schema build study.toml").expect(0);
    let ended = lab.run("run study.toml --out out").refused(&["accepts no more connections of user 'bench'"]);
    assert!(ended.took.as_secs() < 12, "{ended}");
    lab.assert_deserted();
    let sessions = "SELECT count(*) FROM information_schema.processlist WHERE user = 'bench'";
    eventually("no session is left", || server.sql(sessions).unwrap().trim() == "0");
}

#[test]
fn studies_that_make_no_sense() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    for (set, words) in [
        ("workload.tabels=2", ["workload.tabels", "tables"]),
        ("profiles.0.vus=0", ["profiles.0.vus", "write a whole number from 1"]),
        ("schedule.measure=0s", ["schedule.measure", "400ms"]),
    ] {
        for verb in ["run", "check", "schema build", "plan"] {
            let ended = lab.run(&format!("{verb} study.toml --set {set}")).expect(1).says(&words);
            assert!(ended.took.as_secs() < 10, "{ended}");
        }
    }
    assert_eq!(lab.entries(), ["study.toml"], "not even a ledger");
}
