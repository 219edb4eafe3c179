//! Data that is brought back between runs, and everything that can go wrong with that.

mod commands;
mod copies;
mod rebuilt;
mod restarted;

use std::path::Path;

use prost::Message;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use vufleet_proto::v1::{Event, event::Body};

use super::lab::{Lab, files, study};

/// Rows come and none goes.
const INSERTS: &str = "--set workload.script=\"insert\"";

fn reset(method: &str) -> String {
    format!("\n[reset]\nbefore = \"run\"\nmethod = {method}\n")
}

/// A study on a file, two runs of it.
fn on_file(method: &str) -> String {
    twice(&study::small("kind = \"sqlite\"\npath = \"bench.db\"")) + &reset(method)
}

fn twice(study: &str) -> String {
    study.replace("repetitions = 1", "repetitions = 2")
}

fn rows(lab: &Lab, sql: &str) -> i64 {
    let connection = Connection::open(lab.path("bench.db")).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

const INSERTED: &str = "SELECT count(*) FROM sbtest1";

/// Names of what a copy of the data has left.
fn left_behind(lab: &Lab) -> Vec<String> {
    lab.entries().into_iter().filter(|name| name.contains(".vufleet-")).collect()
}

/// The orders that a database had taken when each run of a ledger was first looked at.
fn orders_at_first(data: &Path) -> Vec<u64> {
    let ledger = Connection::open_with_flags(data.join("ledger.sqlite3"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut statement =
        ledger.prepare("SELECT run, payload FROM events WHERE kind = 'counters' ORDER BY run, seq").unwrap();
    let readings = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))).unwrap();
    let mut first = Vec::new();
    let mut last_run = 0;
    for (run, payload) in readings.map(Result::unwrap) {
        let Some(Body::Counters(counters)) = Event::decode(payload.as_slice()).unwrap().body else { continue };
        if let Some(orders) = counters.values.get("sum(d_next_o_id)").filter(|_| run != last_run) {
            first.push(*orders);
            last_run = run;
        }
    }
    first
}

/// Every run that counts has been reset before.
#[track_caller]
fn assert_reset(results: &Value) {
    for run in files::runs(results) {
        assert!(run["reset_s"].as_f64().is_some_and(|seconds| seconds > 0.0), "{run:#}");
    }
}
