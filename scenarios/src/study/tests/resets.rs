//! Resets: what is read of them, and which are refused.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::*;
use super::refusals::assert_refusals;
use super::{LEAST, good};
use crate::census::Population;

fn on(target: &str) -> String {
    format!(
        "name = 'r'\nseed = 1\n[target]\n{target}\n[workload]\nkind = 'tprocc'\nwarehouses = 2\n[[profiles]]\nvus = 4\n"
    )
}

const MSSQL: &str = "kind = 'mssql'\nhost = 'db'\ndatabase = 'tpcc'\nuser = 'bench'\npassword = { env = 'P' }";
const SQLITE: &str = "kind = 'sqlite'\npath = 'orders.db'";

fn reset(target: &str, keys: &str) -> Option<Reset> {
    good(&on(target), &[&format!("reset={{ {keys} }}")]).reset
}

fn method(target: &str, method: &str) -> ResetMethod {
    reset(target, &format!("before = 'run', method = {method}")).unwrap().method
}

#[test]
fn every_way_is_read() {
    let full = reset(SQLITE, "before = 'variant', method = 'snapshot', timeout = '2h', warm_up = '30s'").unwrap();
    assert_eq!(
        full,
        Reset {
            before: ResetBefore::Variant,
            method: ResetMethod::Snapshot,
            timeout: Duration::from_secs(7200),
            warm_up: Duration::from_secs(30),
        }
    );
    let least = reset(SQLITE, "before = 'run', method = 'rebuild'").unwrap();
    assert_eq!((least.timeout, least.warm_up), (Duration::from_secs(3600), Duration::ZERO));
    let sql = ResetMethod::Actions(vec![Action::Sql("DELETE FROM t".to_owned()), Action::Sql("SELECT 1".to_owned())]);
    assert_eq!(method(SQLITE, "{ sql = ['DELETE FROM t', 'SELECT 1'] }"), sql);
    let agent = BTreeMap::from([("host".to_owned(), "db".to_owned())]);
    let command = ResetMethod::Actions(vec![Action::Command { name: "restore".to_owned(), agent }]);
    assert_eq!(method(SQLITE, "{ command = 'restore', agent = { host = 'db' } }"), command);
    let one = Backup { files: vec!["/b/tpcc.bak".to_owned()], moves: BTreeMap::new() };
    assert_eq!(method(MSSQL, "{ backup = '/b/tpcc.bak' }"), ResetMethod::Backup(one));
    let moves = BTreeMap::from([("tpcc".to_owned(), "D:\\t.mdf".to_owned())]);
    let striped = Backup { files: vec!["a".to_owned(), "b".to_owned()], moves };
    assert_eq!(method(MSSQL, "{ backup = ['a', 'b'], move = { tpcc = 'D:\\t.mdf' } }"), ResetMethod::Backup(striped));
    assert_eq!(reset(SQLITE, "before = 'never'"), None);
    assert_eq!(reset("kind = 'simulated'", "before = 'run', method = 'rebuild'"), None, "a rehearsal");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    assert_refusals(
        LEAST,
        &[
            ("reset={ method = 'rebuild' }", "reset.before", "write before = \"run\", \"variant\" or \"never\""),
            ("reset={ before = 'runs', method = 'rebuild' }", "reset.before", "write \"run\"?"),
            ("reset={ before = 'run' }", "reset.method", "is missing; write \"rebuild\", \"snapshot\""),
            ("reset={ before = 'never', method = 'rebuild' }", "reset.method", "remove it, or write before"),
            ("reset={ before = 'never', warm_up = '1s' }", "reset.warm_up", "remove it, or write before"),
            ("reset={ before = 'run', method = 'restore' }", "reset.method", "\"restore\" is not known here"),
            ("reset={ before = 'run', method = 7 }", "reset.method", "not a word or a table"),
            ("reset={ before = 'run', method = {} }", "reset.method", "says no way"),
            ("reset={ before = 'run', method = { sql = [] } }", "reset.method", "sql is an empty list"),
            ("reset={ before = 'run', method = { sql = 'DELETE' } }", "reset.method", "sql is no list of texts"),
            ("reset={ before = 'run', method = { sql = ['x'], agent = {} } }", "reset.method", "has no key agent"),
            ("reset={ before = 'run', method = { sql = ['x'], command = 'c' } }", "reset.method", "sql and command"),
            ("reset={ before = 'run', method = { command = 'c' } }", "reset.method", "a command needs agent"),
            ("reset={ before = 'run', method = { backup = '/b' } }", "reset.method", "only SQL Server restores"),
            ("reset={ before = 'run', method = 'rebuild', timeout = '0s' }", "reset.timeout", "1s to 24h"),
            ("reset={ before = 'run', method = 'rebuild', keep = true }", "reset.keep", "no such key"),
        ],
    );
    let mssql = on(MSSQL);
    assert_refusals(
        &mssql,
        &[
            ("reset={ before = 'run', method = 'snapshot' }", "reset.method", "write { backup = "),
            ("reset={ before = 'run', method = { backup = [] } }", "reset.method", "backup is an empty list"),
            ("reset={ before = 'run', method = { backup = 'a', move = 'b' } }", "reset.method", "move = { name ="),
        ],
    );
    let own = "name = 'o'\n[target]\nkind = 'sqlite'\npath = 'o.db'\n[workload]\nkind = 'sql'\n[[workload.transactions]]\nname = \
               'a'\nstatements = ['SELECT 1']\n[[profiles]]\nvus = 1\n";
    assert_refusals(
        own,
        &[("reset={ before = 'run', method = 'rebuild' }", "reset.method", "has no tables of its own")],
    );
}

#[test]
fn tables_that_some_profile_lets_grow_may_have_grown() {
    let rows = |set: &[&str]| good(LEAST, set).census()[0].rows;
    assert_eq!(rows(&[]), Population::Fixed(10_000));
    assert_eq!(
        rows(&["profiles=[{ vus = 1 }, { vus = 2, workload = { script = 'insert' } }]"]),
        Population::Built(10_000)
    );
    let orders = good(&on(SQLITE), &[]).census();
    let of = |table: &str| orders.iter().find(|headcount| headcount.table == table).unwrap().rows;
    assert_eq!(
        (of("stock"), of("new_order"), of("order_line")),
        (Population::Fixed(200_000), Population::Built(18_000), Population::Drawn)
    );
}
