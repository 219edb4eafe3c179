//! Variants: on during their own runs, off after them, and off whatever happens in between.

mod applied;
mod switched;
mod undone;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use vufleet_testbed::MariaDb;

use super::lab::fleet::{Coordinator, agent};
use super::lab::{Job, Lab, files, study};

/// A baseline, and a setting of the whole server that is remembered, changed and put back.
const LAZY: &str = r#"
[[variants]]
name = "baseline"

[[variants]]
name = "lazy"
remember = { flush = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit" }
apply = ["SET GLOBAL innodb_flush_log_at_trx_commit = 0"]
verify = [{ sql = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit", equals = "0" }]
revert = ["SET GLOBAL innodb_flush_log_at_trx_commit = {remembered:flush}"]
undone = [{ sql = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit", equals = "{remembered:flush}" }]
"#;

/// The lazy variant alone: every run is its.
pub fn only_lazy() -> String {
    LAZY.replace("[[variants]]\nname = \"baseline\"\n", "")
}

/// What the setting is when nobody has changed it: not the server's default, so that remembering it matters.
pub const BEFORE: &str = "2";

pub fn flush(server: &MariaDb) -> String {
    let answer = server.sql("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit").unwrap();
    answer.split_whitespace().last().unwrap().to_owned()
}

/// A server with its tables, and a study of these variants on it.
pub fn at_work(variants: &str) -> (MariaDb, Lab) {
    let server = MariaDb::start().unwrap();
    server.sql(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {BEFORE}")).unwrap();
    let lab = Lab::new(&(study::small(&study::mariadb_with_control(&server)) + variants));
    lab.run("schema build study.toml").expect(0);
    (server, lab)
}

/// The variant of a run, as the ledger has it.
fn variant_of(lab: &Lab, run: i64) -> String {
    let path = lab.path("vufleet-data").join("ledger.sqlite3");
    let ledger = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    ledger.query_row("SELECT variant FROM runs WHERE id = ?1", [run], |row| row.get(0)).unwrap()
}

/// A fleet of its own processes at a coordinator.
fn fleet(lab: &Lab, coordinator: &Coordinator) -> [Job; 2] {
    [agent(lab, coordinator, "drive", "load-1"), agent(lab, coordinator, "observe", "db-1")]
}

fn of_variant<'a>(results: &'a Value, variant: &str) -> Vec<&'a Value> {
    files::runs(results).iter().filter(|run| run["variant"] == variant).collect()
}
