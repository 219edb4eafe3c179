//! Runs of TPROC-C against what the database holds, looked at from outside: to the order over a whole run, in either
//! spelling, and whatever was killed meanwhile.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde_json::Value;
use vufleet_testbed::MariaDb;

use crate::lab::{Lab, files, procs, study};

/// A name that only quotes make one.
const DATABASE: &str = "tpcc-640";

const RUN: &str = "--out out --set profiles.0.pacing=none --set schedule.max_repeats=0";

/// Server counters, and the sum of the next order numbers.
fn counters(server: &MariaDb) -> BTreeMap<String, u64> {
    let orders = format!("SELECT 'orders', SUM(d_next_o_id) FROM `{DATABASE}`.district");
    let rows = server.sql(&format!("SHOW GLOBAL STATUS LIKE 'Com_%'; {orders}")).unwrap();
    let pairs = rows.lines().filter_map(|line| line.split_once('\t'));
    pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

fn growth(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>, name: &str) -> u64 {
    after[name] - before[name]
}

/// A count of the whole run, over all intervals and kinds of transactions.
fn sum(lab: &Lab, count: &str) -> u64 {
    let rows = files::samples(&lab.path("out"));
    // The database's own counters have rows of their own, and names that end alike.
    let of_users = rows.iter().filter(|row| row["role"] == "drive");
    let cells = of_users.flatten().filter(|(column, _)| column.ends_with(count) && *column != "connect_faults");
    cells.filter_map(|(_, cell)| cell.parse::<u64>().ok()).sum()
}

/// What the only run says of its orders from its first session to its last: client, unknown, database.
fn whole_run(run: &Value) -> [u64; 3] {
    let orders = &run["whole_run"]["new_order"];
    ["client", "unknown", "database"].map(|key| orders[key].as_u64().unwrap_or_else(|| panic!("no {key}: {run:#}")))
}

/// What is true of every run that nobody disturbed.
#[track_caller]
fn assert_exact(run: &Value, taken: u64) {
    assert!(taken > 50, "{taken} orders are few:\n{run:#}");
    assert_eq!(whole_run(run), [taken, 0, taken], "{run:#}");
    assert!(files::figure(run, "/metrics/nopm") > 0.0 && files::figure(run, "/metrics/tpm") > 0.0, "{run:#}");
}

fn exact_on_mariadb(lab: &Lab, server: &MariaDb, calls: &str) {
    let before = counters(server);
    let ended = lab.run(&format!("run study.toml {RUN} --set workload.calls={calls}"));
    let after = counters(server);
    assert!(matches!(ended.code, 0 | 3), "{ended}");
    let results = files::results(&lab.path("out"));
    let [run] = files::exactly(&results);
    assert_exact(run, growth(&before, &after, "orders"));
    assert_eq!(growth(&before, &after, "Com_commit"), sum(lab, "_ok"), "{run:#}");
    // A procedure that meets a deadlock rolls back inside, and its session does once more.
    let (intended, faults) = (sum(lab, "_rollback"), sum(lab, "_faults"));
    let of_faults = growth(&before, &after, "Com_rollback") - intended;
    assert!((faults..=2 * faults).contains(&of_faults), "{of_faults} rollbacks after {faults} faults:\n{run:#}");
    let witnesses: Vec<&str> =
        run["witness"].as_array().unwrap().iter().map(|it| it["metric"].as_str().unwrap()).collect();
    assert!(witnesses.contains(&"nopm") && witnesses.contains(&"tpm"), "{run:#}");
    lab.run("schema verify study.toml")
        .expect(0)
        .says(&["transactions have run since the load", "hold what the study"]);
}

/// Whatever the verdict, the orders are those that the database has, but for calls that nobody answered.
fn killed_on_mariadb(lab: &Lab, server: &mut MariaDb, calls: &str) {
    let before = counters(server)["orders"];
    let mut job = lab.start(&format!("run study.toml {RUN} --set workload.calls={calls} --set schedule.measure=4s"));
    job.await_words("measure run 1/1");
    server.restart().unwrap();
    let ended = job.end();
    assert!(matches!(ended.code, 0 | 3), "{ended}");
    let results = files::results(&lab.path("out"));
    let [run] = files::exactly(&results);
    let [client, unknown, database] = whole_run(run);
    assert_eq!(database, counters(server)["orders"] - before, "{run:#}");
    assert!((client..=client + unknown).contains(&database), "{run:#}");
    lab.run("schema verify study.toml").expect(0);
}

#[test]
fn orders_on_mariadb_are_counted_to_the_last() {
    let mut server = MariaDb::start().unwrap();
    server.sql(&format!("CREATE DATABASE `{DATABASE}`; GRANT ALL ON `{DATABASE}`.* TO bench@'%'")).unwrap();
    let target =
        study::mariadb_with_control(&server).replace("database = \"sbtest\"", &format!("database = \"{DATABASE}\""));
    let lab = Lab::new(&study::orders(&target, 1, "procedures"));
    lab.run("schema build study.toml").expect(0);
    lab.run("check study.toml").expect(0);
    for calls in ["procedures", "statements"] {
        exact_on_mariadb(&lab, &server, calls);
        killed_on_mariadb(&lab, &mut server, calls);
    }
}

#[test]
fn orders_on_sqlite_are_counted_to_the_last() {
    let lab = Lab::new(&study::orders("kind = \"sqlite\"\npath = \"orders.db\"", 1, "statements"));
    lab.run("schema build study.toml").expect(0);
    let orders = || {
        let file = Connection::open(lab.path("orders.db")).unwrap();
        file.query_row("SELECT SUM(d_next_o_id) FROM district", [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs()
    };
    let before = orders();
    let ended = lab.run(&format!("run study.toml {RUN}"));
    assert!(matches!(ended.code, 0 | 3), "{ended}");
    let results = files::results(&lab.path("out"));
    let [run] = files::exactly(&results);
    assert_exact(run, orders() - before);
    lab.run("schema verify study.toml").expect(0).says(&["transactions have run since the load"]);

    let mut job = lab.start(&format!("run study.toml {RUN} --set schedule.measure=4s"));
    job.await_words("measure run 1/1");
    procs::agent(&lab.processes(), "drive-1").kill();
    job.end().expect(3);
    lab.run("schema verify study.toml").expect(0);
}
