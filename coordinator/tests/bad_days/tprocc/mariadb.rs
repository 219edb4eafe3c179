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
    lab.run("schema build study.toml").expect(0);
    lab.run("schema verify study.toml").expect(0).says(&["all 9 tables hold what the study says"]);
    for spoilt in SPOILT {
        spoilt::assert_found(spoilt, Dialect::Mysql, |sql| after(&server, &[spoilt.1], sql));
    }
    lab.run("check study.toml").expect(0).says(&["can run"]);
    let larger = lab.run("check study.toml --set workload.warehouses=3").expect(1);
    larger.says(&["the size of the database is 3 warehouses; found 1 instead of 3", "workload.warehouses"]);
    server.sql("DROP PROCEDURE sbtest.SLEV").unwrap();
    lab.run("run study.toml --out none")
        .expect(1)
        .says(&["all five stored procedures exist", "found (no procedure SLEV)"]);
    lab.run("check study.toml --set workload.calls=\"statements\"").expect(0).says(&["can run"]);

    server.sql(&format!("USE sbtest; {}", AS_HAMMERDB.join("; "))).unwrap();
    let judged = lab.run("schema verify study.toml --set workload.calls=\"statements\"").expect(0);
    judged.says(&["loaded by HammerDB", "conditions 10 and 12 cannot hold", "hold what the study says"]);
    lab.run("schema drop study.toml").expect(0).says(&["dropped 9 tables"]);
    let left = "SELECT count(*) FROM information_schema.routines WHERE routine_schema = 'sbtest'";
    assert_eq!(server.sql(left).unwrap().trim(), "0");
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
