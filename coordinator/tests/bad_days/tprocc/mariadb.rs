//! MariaDB: the conditions, what a run needs, and a disk that is too small.

use vufleet_scenarios::session::Dialect;
use vufleet_testbed::MariaDb;

use super::spoilt::{self, AS_HAMMERDB, Answer, SPOILT};
use crate::lab::{Lab, study};

/// Runs statements in one transaction that is given up; what the last one returns.
fn after(server: &MariaDb, changes: &[&str], sql: &str) -> Answer {
    let text = format!("USE {}; START TRANSACTION; {}; {sql}; ROLLBACK", MariaDb::DATABASE, changes.join("; "));
    let cell = |cell: &str| (cell != "NULL").then(|| cell.to_owned());
    server.sql(&text).unwrap().lines().map(|line| line.split('\t').map(cell).collect()).collect()
}

#[test]
fn every_change_is_found_and_whatever_a_run_needs() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::orders(&study::mariadb(&server), 1, "procedures"));
    // A table of the same name that is somebody else's.
    server.sql("CREATE TABLE sbtest.orders (id INT)").unwrap();
    lab.run("schema build study.toml").expect(1).says(&["table orders exists already", "--replace"]);
    server.sql("DROP TABLE sbtest.orders").unwrap();
    build_without_and_with_procedures(&server, &lab);
    lab.run("schema verify study.toml").expect(0).says(&["all 9 tables hold what the study says"]);
    for spoilt in SPOILT {
        spoilt::assert_found(spoilt, Dialect::Mysql, |sql| after(&server, &[spoilt.1], sql));
    }
    lab.run("check study.toml").expect(0).says(&["can run"]);
    let larger = lab.run("check study.toml --set workload.warehouses=3").expect(1);
    larger.says(&["the size of the database is 3 warehouses; found 1 instead of 3", "workload.warehouses"]);
    server.sql("USE sbtest; DROP PROCEDURE SLEV; DROP INDEX customer_c_last ON customer").unwrap();
    server.sql("USE sbtest; ALTER PROCEDURE OSTAT COMMENT 'of somebody else'").unwrap();
    lab.run("run study.toml --out none")
        .expect(1)
        .says(&["all five stored procedures exist", "found (no procedure SLEV)"]);
    lab.run("check study.toml --set workload.calls=\"statements\"").expect(0).says(&["can run"]);
    let mended = lab.run("schema build study.toml").expect(0);
    mended.says(&["made what was missing, 1 procedure and 1 index; the rows are as they were"]);
    let comment = "SELECT routine_comment FROM information_schema.routines WHERE routine_name = 'OSTAT'";
    assert_eq!(server.sql(comment).unwrap().trim(), "of somebody else", "what is there is left alone");
    lab.run("schema verify study.toml").expect(0);

    server.sql(&format!("USE sbtest; {}", AS_HAMMERDB.join("; "))).unwrap();
    let judged = lab.run("schema verify study.toml --set workload.calls=\"statements\"").expect(0);
    judged.says(&["loaded by HammerDB", "conditions 10 and 12 cannot hold", "hold what the study says"]);
    lab.run("schema drop study.toml").expect(0).says(&["dropped 9 tables"]);
    let left = "SELECT count(*) FROM information_schema.routines WHERE routine_schema = 'sbtest'";
    assert_eq!(server.sql(left).unwrap().trim(), "0");
}

/// Tables by a login that may not make procedures, and what they lack by one that may.
fn build_without_and_with_procedures(server: &MariaDb, lab: &Lab) {
    let (user, password) = ("plain", MariaDb::BENCH.password);
    let rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER";
    server
        .sql(&format!("CREATE USER {user}@'%' IDENTIFIED BY '{password}'; GRANT {rights} ON sbtest.* TO {user}@'%'"))
        .unwrap();
    let refused = lab.run(&format!("schema build study.toml --set target.user={user}")).expect(1);
    refused.says(&["CREATE PROCEDURE NEWORD", "GRANT CREATE ROUTINE", "calls = \"statements\""]);
    assert_eq!(server.sql("SHOW TABLES FROM sbtest").unwrap(), "", "it is refused before anything is made");
    lab.run(&format!("schema build study.toml --set target.user={user} --set workload.calls=\"statements\""))
        .expect(0)
        .says(&["note: the stored procedures", "CREATE PROCEDURE NEWORD", "built 9 tables"]);
    lab.run("run study.toml --out none").expect(1).says(&["(no procedure NEWORD)", "makes those that are missing"]);
    let mended = lab.run("schema build study.toml").expect(0);
    mended.says(&["made what was missing, 5 procedures and 0 indexes; the rows are as they were"]);
    lab.run("schema build study.toml").expect(1).says(&["9 tables (warehouse to stock) exist already", "--replace"]);
}

#[test]
fn a_disk_that_fills_up_ends_the_build_and_says_so() {
    let small = "ibdata1:12M:autoextend:max:48M";
    let server = MariaDb::builder().option("innodb_file_per_table", "0").option("innodb_data_file_path", small);
    let server = server.start().unwrap();
    let lab = Lab::new(&study::orders(&study::mariadb(&server), 1, "procedures"));
    let said = lab.run("schema build study.toml").expect(1);
    said.says(&["loading warehouse 1", "is full", "free some space on the server", "the same command goes on"]);
}
