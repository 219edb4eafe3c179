//! What is peculiar to MariaDB's audit plugin.

use std::time::{Duration, Instant};

use vufleet_testbed::MariaDb;

use super::lab::{Lab, assert_same, state};
use super::{file, load};

#[test]
fn an_audit_whose_file_cannot_be_made_is_caught() {
    let db = MariaDb::start().unwrap();
    let lab = Lab::new(&db, "preset = 'mariadb-server-audit', file = '/no/such/directory/audit.log'");
    let before = state(&db);
    let applied = lab.apply_all();
    let differences = lab.differences(&lab.change.verify);
    assert!(differences.iter().any(|it| it.contains("OFF") && it.contains("SERVER_AUDIT_ACTIVE")), "{differences:?}");
    lab.revert(&applied);
    assert_same(&before, &state(&db), "after the failed audit");
}

#[test]
fn the_audit_grows_by_what_the_load_does_and_not_by_the_control_login() {
    let db = MariaDb::start().unwrap();
    let lab = Lab::new(&db, "preset = 'mariadb-server-audit', events = ['QUERY']");
    let applied = lab.apply_all();
    load(&db);
    let first = file(&db, "server_audit.log");
    assert_eq!(first.matches("INSERT INTO sbtest.seen VALUES (4711)").count(), 3, "{first}");
    lab.ask(["SELECT 'of the control login'"]).unwrap();
    load(&db);
    let second = file(&db, "server_audit.log");
    assert!(second.len() > first.len() && !second.contains("of the control login"), "{second}");
    lab.revert(&applied);
    let undone = file(&db, "server_audit.log");
    load(&db);
    assert_eq!(file(&db, "server_audit.log"), undone, "nothing is written once it is undone");
}

#[test]
fn a_plugin_that_somebody_else_holds_is_told_and_waited_for() {
    let db = MariaDb::start().unwrap();
    let lab = Lab::new(&db, "preset = 'mariadb-server-audit'");
    let applied = lab.apply_all();
    std::thread::scope(|scope| {
        scope.spawn(|| db.sql("SELECT SLEEP(600) AS held_by_somebody_else"));
        let id = wait_for(&db, "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(600)%'");
        lab.revert(&applied);
        let told = "a connection that used it has ended: end it, or write keep_plugin = true";
        let waited = lab.ask([lab.change.remember[0].sql.as_str()]).unwrap_err();
        assert!(waited.contains(told), "{waited}");
        let applied = lab.apply(usize::MAX).unwrap_err();
        assert!(applied.contains(told), "{applied}");
        let db = &db;
        scope.spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            db.sql(&format!("KILL {id}")).unwrap();
        });
        // A connection that is there while the plugin is marked, and loads it afterwards, hangs the whole server.
        let again = lab.apply_all();
        lab.assert_on();
        lab.revert(&again);
    });
}

#[test]
fn a_plugin_that_is_kept_can_be_held_by_anybody() {
    let db = MariaDb::start().unwrap();
    let lab = Lab::new(&db, "preset = 'mariadb-server-audit', keep_plugin = true");
    let applied = lab.apply_all();
    std::thread::scope(|scope| {
        scope.spawn(|| db.sql("SELECT SLEEP(600) AS held_by_somebody_else"));
        let id = wait_for(&db, "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(600)%'");
        lab.revert(&applied);
        let again = lab.apply_all();
        lab.assert_on();
        lab.revert(&again);
        db.sql(&format!("KILL {id}")).unwrap();
    });
    assert_eq!(db.sql("SELECT @@global.server_audit_logging").unwrap().trim(), "0");
}

fn wait_for(db: &MariaDb, query: &str) -> String {
    let give_up = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = db.sql(query).unwrap();
        if !answer.trim().is_empty() {
            return answer.trim().to_owned();
        }
        assert!(Instant::now() < give_up, "{query} has no answer");
        std::thread::sleep(Duration::from_millis(20));
    }
}
