//! One warehouse in a SQLite file.

use nix::sys::signal::Signal;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use vufleet_scenarios::session::Dialect;

use super::spoilt::{self, AS_HAMMERDB, Answer, SPOILT};
use crate::lab::{Lab, study};

fn answer(connection: &Connection, sql: &str) -> Answer {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let text = |value: ValueRef<'_>| match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) | ValueRef::Blob(text) => Some(String::from_utf8_lossy(text).into_owned()),
    };
    let rows = statement.query_map([], |row| (0..columns).map(|column| Ok(text(row.get_ref(column)?))).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_build_meets_all_twelve_conditions_and_every_change_is_found() {
    let lab = Lab::new(&study::orders("kind = \"sqlite\"\npath = \"orders.db\"", 1, "statements"));
    // Ctrl-C first, then a fault in the very last row: what has been loaded by then is not there twice afterwards.
    let mut build = lab.start("schema build study.toml");
    let rows = |table: &str| {
        let count = format!("SELECT count(*) FROM {table}");
        let connection = Connection::open(lab.path("orders.db")).unwrap();
        connection.query_row(&count, [], |row| row.get::<_, i64>(0)).unwrap_or_default()
    };
    build.await_that("customers arrive", || rows("customer") > 0);
    build.signal(Signal::SIGINT);
    build.end().expect(130).says(&["incomplete", "the same command goes on"]);
    let trigger = "CREATE TRIGGER last BEFORE INSERT ON warehouse BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    Connection::open(lab.path("orders.db")).unwrap().execute_batch(trigger).unwrap();
    lab.run("schema build study.toml").expect(1).says(&["loading warehouse 1: not this one", "once that is mended"]);
    assert_eq!(rows("history"), 0, "payments come and go with their warehouse");
    Connection::open(lab.path("orders.db")).unwrap().execute_batch("DROP TRIGGER last").unwrap();
    lab.run("schema verify study.toml").expect(1).says(&["the build of the tables is complete", "schema build STUDY"]);
    lab.run("run study.toml --out none").expect(1).says(&["the build of the tables is complete"]);
    lab.run("schema build study.toml --set seed=43")
        .expect(1)
        .says(&["an unfinished build of 1 warehouse from seed 42"]);
    lab.run("schema build study.toml").expect(0).says(&["going on with an unfinished build: 0 of 1", "built 9 tables"]);
    lab.run("schema verify study.toml").expect(0).says(&["all 9 tables hold what the study says"]);
    lab.run("schema build study.toml").expect(1).says(&["9 tables (warehouse to stock) exist already", "--replace"]);
    let larger = lab.run("schema build study.toml --set workload.warehouses=2").expect(1);
    larger.says(&["--replace", "the size of the database is 2 warehouses; found 1 instead of 2"]);

    let mut connection = Connection::open(lab.path("orders.db")).unwrap();
    assert!(answer(&connection, "SELECT name FROM sqlite_master WHERE name = 'vufleet_build'").is_empty());
    for spoilt in SPOILT {
        let change = connection.transaction().unwrap();
        change.execute(spoilt.1, []).unwrap();
        spoilt::assert_found(spoilt, Dialect::Sqlite, |sql| answer(&change, sql));
    }
    let change = connection.transaction().unwrap();
    AS_HAMMERDB.iter().for_each(|sql| assert!(change.execute(sql, []).unwrap() > 0));
    let inspection = spoilt::inspection(Dialect::Sqlite, |sql| answer(&change, sql));
    assert!(inspection.notes[0].contains("loaded by HammerDB"), "{:?}", inspection.notes);
    assert_eq!(spoilt::wrong(&inspection, |sql| answer(&change, sql)), [""; 0]);
    drop(change);

    connection.execute("UPDATE warehouse SET w_ytd = w_ytd + 1", []).unwrap();
    lab.run("schema verify study.toml").expect(1).says(&["condition 1,", "condition 8,", "(w_id 1, w_ytd 300001"]);
    lab.run("schema drop study.toml").expect(0).says(&["dropped 9 tables"]);
    assert!(answer(&connection, "SELECT name FROM sqlite_master").is_empty());
}
