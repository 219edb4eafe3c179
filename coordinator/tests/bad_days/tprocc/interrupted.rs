//! A build that is interrupted in every way, against one that is not.

use nix::sys::signal::Signal;
use vufleet_testbed::MariaDb;

use crate::lab::{Job, Lab, procs, study};

const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "item", "new_order", "orders", "order_line", "stock"];

/// More than threads load at once: on two cores, the last begins when others are complete.
const WAREHOUSES: u32 = 3;

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
    // No seed: every command draws another one, and none but the first one's may count.
    let lab = Lab::new(&study::orders(&study::mariadb(&server), WAREHOUSES, "statements").replace("seed = 42\n", ""));

    let complete = |server: &MariaDb| number(server, "SELECT COUNT(*) FROM sbtest.warehouse");
    let mut build = lab.start("schema build study.toml --agents 1");
    build.await_that("one warehouse is complete and another one is not", || {
        complete(&server) > 0 && half_loaded(&server) > 0
    });
    build.signal(Signal::SIGINT);
    build.end().expect(130).says(&["incomplete", "the same command goes on where it ended"]);
    let there = complete(&server);
    assert!((1..WAREHOUSES.into()).contains(&there), "{there}");
    let mark = server.sql("SELECT build FROM sbtest.vufleet_build").unwrap();
    let seed = mark.trim().strip_prefix("3 warehouses from seed ").expect("a mark that names the seed");
    let other = if seed == "1" { "2" } else { "1" };
    lab.run(&format!("schema build study.toml --set seed={other}")).refused(&[mark.trim(), "--replace"]);

    let build = go_on(&lab, &server);
    procs::agent(&lab.processes(), "drive-1").kill();
    let so_far = format!("{there} of {WAREHOUSES} warehouses are there");
    let taken_over = format!("seed {seed}: the unfinished build's");
    build.end().expect(1).says(&[&taken_over, &so_far, "drive-1 was lost", "the same command goes on"]);

    // No agent of this one has completed a warehouse yet when the server goes.
    let build = go_on(&lab, &server);
    server.restart().unwrap();
    build.end().expect(0).says(&[&taken_over, "built 9 tables"]);
    lab.run("schema verify study.toml").expect(0).says(&["all 9 tables hold what the study says"]);

    let in_pieces = checksums(&server);
    assert!(!in_pieces.contains("NULL"), "{in_pieces}");
    lab.run(&format!("schema build study.toml --agents 2 --replace --set seed={seed}")).expect(0);
    assert_eq!(checksums(&server), in_pieces);
}
