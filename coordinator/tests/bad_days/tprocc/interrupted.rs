//! A build that is interrupted in every way, against one that is not.

use nix::sys::signal::Signal;
use vufleet_testbed::MariaDb;

use crate::lab::{Job, Lab, procs, study};

const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "item", "new_order", "orders", "order_line", "stock"];

/// What every table holds, whatever the order of its rows.
fn checksums(server: &MariaDb) -> String {
    let tables = TABLES.map(|table| format!("sbtest.{table}")).join(", ");
    server.sql(&format!("CHECKSUM TABLE {tables} EXTENDED")).unwrap()
}

fn number(server: &MariaDb, sql: &str) -> u64 {
    server.sql(sql).ok().and_then(|answer| answer.trim().parse().ok()).unwrap_or_default()
}

/// Stocks of warehouses that are half there.
fn half_loaded(server: &MariaDb) -> u64 {
    number(server, "SELECT COUNT(*) FROM sbtest.stock WHERE s_w_id NOT IN (SELECT w_id FROM sbtest.warehouse)")
}

/// Starts a build on top of an unfinished one and waits until it has done something of its own.
fn go_on(lab: &Lab, server: &MariaDb) -> Job {
    let before = half_loaded(server);
    let mut build = lab.start("schema build study.toml --agents 1");
    build.await_that("it goes on", || half_loaded(server) != before);
    build
}

#[test]
fn it_goes_on_where_it_ended_and_comes_out_the_same() {
    let mut server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::orders(&study::mariadb(&server), 2, "statements"));
    lab.run("schema build study.toml --agents 2").expect(0);
    let whole = checksums(&server);
    assert!(!whole.contains("NULL"), "{whole}");
    lab.run("schema drop study.toml").expect(0);

    let complete = |server: &MariaDb| number(server, "SELECT COUNT(*) FROM sbtest.warehouse");
    let mut build = lab.start("schema build study.toml --agents 1");
    build.await_that("one warehouse is complete and another one is not", || {
        complete(&server) > 0 && half_loaded(&server) > 0
    });
    build.signal(Signal::SIGINT);
    build.end().expect(130).says(&["incomplete", "the same command goes on where it ended"]);
    assert_eq!(complete(&server), 1);

    let build = go_on(&lab, &server);
    procs::agent(&lab.processes(), "drive-1").kill();
    build.end().expect(1).says(&["1 of 2 warehouses are there", "drive-1 was lost", "the same command goes on"]);

    let build = go_on(&lab, &server);
    server.restart().unwrap();
    // It may have outlasted the restart.
    let ended = build.end();
    assert!(ended.code <= 1, "{ended}");
    if ended.code == 1 {
        ended.says(&["the same command goes on"]);
        lab.run("schema build study.toml").expect(0);
    }
    assert_eq!(checksums(&server), whole);
    lab.run("schema verify study.toml").expect(0).says(&["all 9 tables hold what the study says"]);
}
