//! What a study leaves: its result files and its ledger.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// `results.json` of an output directory.
pub fn results(directory: &Path) -> Value {
    let path = directory.join("results.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// The runs in it.
pub fn runs(results: &Value) -> &[Value] {
    results["runs"].as_array().unwrap()
}

/// The only run in it, or as many as a test is about.
#[track_caller]
pub fn exactly<const N: usize>(results: &Value) -> [&Value; N] {
    let runs: Vec<&Value> = runs(results).iter().collect();
    runs.try_into().unwrap_or_else(|runs: Vec<&Value>| panic!("{N} runs, not {}:\n{}", runs.len(), story(results)))
}

/// The first run and the last one: a busy machine may have cost one in between.
pub fn ends(results: &Value) -> (&Value, &Value) {
    let [first, .., last] = runs(results) else { panic!("two runs at least:\n{}", story(results)) };
    (first, last)
}

/// The run that counts in the only cell of the results.
pub fn counted(results: &Value) -> &Value {
    runs(results).iter().rfind(|run| counts(run)).unwrap_or_else(|| panic!("none counts:\n{}", story(results)))
}

/// What became of every run, a line each.
pub fn story(results: &Value) -> String {
    let line =
        |run: &Value| format!("run {} attempt {}: {} {}\n", run["run"], run["attempt"], verdict(run), reasons(run));
    runs(results).iter().map(line).collect()
}

/// A run's verdict.
pub fn verdict(run: &Value) -> &str {
    run["verdict"].as_str().unwrap()
}

/// Whether it counts.
pub fn counts(run: &Value) -> bool {
    ["valid", "degraded"].contains(&verdict(run))
}

/// Its reasons as one text.
pub fn reasons(run: &Value) -> String {
    run["reasons"].to_string()
}

/// A count in it, 0 where it is absent: `count(run, "/transactions/read_write/errors/deadlock")`.
pub fn count(run: &Value, pointer: &str) -> u64 {
    run.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// A figure in it.
pub fn figure(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {value:#}"))
}

/// `samples.csv` by column.
pub fn samples(directory: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(directory.join("samples.csv")).unwrap();
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

/// Intervals of a run that the ledger in a data directory has so far.
pub fn intervals(data: &Path, run: u64) -> u64 {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(ledger) = Connection::open_with_flags(data.join("ledger.sqlite3"), flags) else { return 0 };
    let sql = "SELECT count(*) FROM events WHERE run = ?1 AND kind = 'interval'";
    ledger.query_row(sql, [run.cast_signed()], |row| row.get::<_, i64>(0)).unwrap_or(0).cast_unsigned()
}
