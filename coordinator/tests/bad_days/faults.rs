//! Faults inside transactions, caused from outside: locks that somebody else holds.

use std::time::Duration;

use vufleet_testbed::MariaDb;

use super::lab::locks::Held;
use super::lab::{Lab, files, study};

/// Transactions that only ever add one to k, four times.
const FOUR_UPDATES: &str = "--set workload.script=write_only --set workload.index_updates=4 \
    --set workload.non_index_updates=0 --set workload.delete_inserts=0 --set workload.table_size=50";

fn sum_of_k(server: &MariaDb) -> i64 {
    let sql = "SELECT (SELECT sum(k) FROM sbtest.sbtest1) + (SELECT sum(k) FROM sbtest.sbtest2)";
    server.sql(sql).unwrap().trim().parse().unwrap()
}

#[test]
fn nothing_of_a_transaction_that_timed_out_is_left() {
    let server = MariaDb::builder().option("innodb_lock_wait_timeout", "1").start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run(&format!("schema build study.toml {FOUR_UPDATES}")).expect(0);
    let before = sum_of_k(&server);
    // Transactions get as far as their first row of the upper half: what they did to the lower one has to go.
    let held = Held::by(
        &server,
        &["sbtest1", "sbtest2"].map(|table| format!("UPDATE {table} SET k = k + 1000 WHERE id > 25")),
    );
    let counted = "--set schedule.transactions=50 --set profiles.0.pacing=none --set workload.distribution=uniform";
    let mut job = lab.start(&format!("run study.toml {FOUR_UPDATES} {counted} --out out"));
    lab.await_load(&mut job, 1, 2);
    std::thread::sleep(Duration::from_secs(1));
    held.release();
    job.end().expect(0);
    let results = files::results(&lab.path("out"));
    let [run] = files::exactly(&results);
    let count = |name: &str| files::count(run, &format!("/transactions/write_only/{name}"));
    assert!(count("errors/lock_timeout") >= 4, "{run:#}");
    assert!(count("retries") >= 4, "{run:#}");
    assert_eq!(count("ok") + count("failed"), 200, "{run:#}");
    assert_eq!(sum_of_k(&server) - before, 4 * count("ok").cast_signed(), "whole transactions only: {run:#}");
}

#[test]
fn a_transaction_past_its_deadline_is_stopped_by_the_database() {
    let server = MariaDb::builder().option("innodb_lock_wait_timeout", "60").start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run(&format!("schema build study.toml {FOUR_UPDATES}")).expect(0);
    let before = sum_of_k(&server);
    let held = Held::by(&server, &["UPDATE sbtest1 SET k = k + 1000"]);
    let set =
        "--set target.deadline=2s --set schedule.measure=7s --set schedule.ramp_up=0s --set schedule.max_repeats=0";
    let job = lab.start(&format!("run study.toml {FOUR_UPDATES} {set} --out out"));
    let ended = job.end();
    let leftover = "SELECT id, info FROM information_schema.processlist WHERE user = 'bench'";
    assert_eq!(server.sql(leftover).unwrap(), "", "no query is left behind");
    held.release();
    let results = files::results(&lab.path("out"));
    let run = &files::runs(&results)[0];
    let count = |name: &str| files::count(run, &format!("/transactions/write_only/{name}"));
    assert!(count("errors/deadline") >= 4, "{ended}\n{run:#}");
    assert_eq!(count("errors/deadline"), count("failed"), "they are given up: {run:#}");
    assert_eq!((count("errors/connection_lost"), files::count(run, "/reconnects")), (0, 0), "{run:#}");
    let committed = files::count(run, "/whole_run/write_only/client");
    assert_eq!(sum_of_k(&server) - before, 4 * committed.cast_signed(), "{run:#}");
}
