//! Observer presets on a real MariaDB: switched on, seen to be on, seen to observe, and the server as it was afterwards.

mod audit;
mod lab;

use lab::{Lab, assert_same, state};
use vufleet_testbed::MariaDb;

/// Statements of the target's user, each on a connection of its own.
fn load(db: &MariaDb) {
    db.sql("CREATE TABLE IF NOT EXISTS sbtest.seen (id INT)").unwrap();
    for _ in 0..3 {
        db.sql("INSERT INTO sbtest.seen VALUES (4711)").unwrap();
    }
}

fn file(db: &MariaDb, name: &str) -> String {
    std::fs::read_to_string(db.data().join(name)).unwrap_or_default()
}

/// Every preset, with what a file of the data directory has to hold afterwards.
const PRESETS: [(&str, Option<(&str, &str)>); 9] = [
    ("preset = 'mariadb-server-audit', file = 'audit''s.log'", Some(("audit's.log", "4711"))),
    ("preset = 'mariadb-server-audit', events = ['TABLE'], rotations = 0", Some(("server_audit.log", "seen"))),
    ("preset = 'mariadb-server-audit', keep_plugin = false, exclude_users = ['nobody']", None),
    ("preset = 'general-log', file = 'general.log'", Some(("general.log", "4711"))),
    ("preset = 'general-log', output = 'table'", None),
    ("preset = 'slow-log', long_query_time = '0s', file = 'slow.log'", Some(("slow.log", "4711"))),
    ("preset = 'slow-log', long_query_time = '1500us', output = 'table'", None),
    ("preset = 'performance-schema', instruments = ['%'], consumers = ['events_%']", None),
    ("preset = 'userstat'", None),
];

fn with_performance_schema() -> MariaDb {
    MariaDb::builder().option("performance_schema", "ON").start().unwrap()
}

/// Literal strings of TOML have no escapes, so that a quote needs the other kind.
fn toml(observer: &str) -> String {
    observer.replace("'audit''s.log'", "\"audit's.log\"")
}

#[test]
fn every_preset_is_seen_on_and_leaves_the_server_as_it_was() {
    let db = with_performance_schema();
    for (observer, written) in PRESETS {
        let lab = Lab::new(&db, &toml(observer));
        for round in 1..=2 {
            let before = state(&db);
            let applied = lab.apply_all();
            lab.assert_on();
            let first = lab.footprint();
            load(&db);
            lab.assert_on();
            let last = lab.footprint();
            for (name, figure) in &last {
                let growth = figure - first[name];
                // On a busy machine some statement or other takes a millisecond and a half.
                let expected = match *name {
                    "events_recorded" if observer.contains("1500us") => true,
                    "events_recorded" => growth >= 3,
                    _ => growth == 0,
                };
                assert!(expected, "{observer}: {name} grew by {growth}");
            }
            if let Some((name, words)) = written {
                assert!(file(&db, name).contains(words), "{observer}: {name} has no {words}");
            }
            lab.revert(&applied);
            assert_same(&before, &state(&db), &format!("{observer}, round {round}"));
        }
    }
}

#[test]
fn settings_that_were_not_the_default_are_put_back_too() {
    let db = with_performance_schema();
    for sql in [
        "INSTALL SONAME 'server_audit'",
        "SET GLOBAL server_audit_events = 'CONNECT', GLOBAL server_audit_excl_users = 'o''neil', GLOBAL \
         server_audit_file_rotations = 3, GLOBAL server_audit_file_path = 'mine.log', GLOBAL server_audit_logging = ON",
        "SET GLOBAL log_output = 'TABLE', GLOBAL general_log = ON, GLOBAL slow_query_log = ON, GLOBAL long_query_time = 2.5",
        "SET GLOBAL userstat = ON",
        "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'NO' WHERE NAME LIKE 'wait/lock/%'",
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_waits_history'",
    ] {
        db.sql(sql).unwrap();
    }
    let off =
        "preset = 'performance-schema', instruments = ['wait/%', 'statement/%'], consumers = ['%'], state = 'off'";
    let before = state(&db);
    for observer in PRESETS.map(|(observer, _)| observer).into_iter().chain([off]) {
        let lab = Lab::new(&db, &toml(observer));
        let applied = lab.apply_all();
        lab.assert_on();
        lab.revert(&applied);
        assert_same(&before, &state(&db), observer);
    }
}

#[test]
fn wherever_applying_stops_undoing_is_harmless_and_it_can_be_applied_again() {
    let db = with_performance_schema();
    for (observer, _) in PRESETS {
        let lab = Lab::new(&db, &toml(observer));
        let before = state(&db);
        for actions in 0..lab.change.apply.len() {
            let applied = lab.remember();
            lab.apply(actions).unwrap();
            lab.revert(&applied);
            assert_same(&before, &state(&db), &format!("{observer} after {actions} actions"));
        }
        let applied = lab.apply_all();
        // Whoever finds it applied applies it again, and undoes it with what was remembered first.
        lab.apply_all();
        lab.assert_on();
        lab.revert(&applied);
        assert_same(&before, &state(&db), &format!("{observer} applied twice"));
    }
}

#[test]
fn a_log_whose_file_cannot_be_made_is_refused_by_the_server() {
    let db = MariaDb::start().unwrap();
    for observer in [
        "preset = 'general-log', file = '/no/such/directory/x.log'",
        "preset = 'slow-log', long_query_time = '1s', file = '/no/such/directory/x.log'",
    ] {
        let lab = Lab::new(&db, observer);
        let before = state(&db);
        let applied = lab.remember();
        let error = lab.apply(usize::MAX).unwrap_err();
        assert!(error.contains("can't be set to the value"), "{error}");
        lab.revert(&applied);
        assert_same(&before, &state(&db), observer);
    }
}

#[test]
fn a_performance_schema_that_is_off_cannot_be_switched_on() {
    let db = MariaDb::start().unwrap();
    let lab = Lab::new(&db, "preset = 'performance-schema', instruments = ['statement/%']");
    let applied = lab.apply_all();
    let differences = lab.differences(&lab.change.verify);
    assert!(
        differences[0].contains("Some(\"0\")") && differences[0].contains("@@global.performance_schema"),
        "{differences:?}"
    );
    lab.revert(&applied);
}
