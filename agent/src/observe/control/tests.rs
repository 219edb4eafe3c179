//! Control statements against a scripted server.

use secrecy::ExposeSecret;

use super::*;
use crate::observe::scripted::{Scripted, Step, script, take_sent, target};

fn command(sql: &[&str], keep_going: bool) -> v1::Control {
    let statements = sql.iter().map(|sql| (*sql).to_owned()).collect();
    v1::Control { statements, keep_going, ..Default::default() }
}

fn missing() -> Fault {
    Fault::with_code(FaultKind::Statement, 1146, "Table 'sbtest.sbtest1' doesn't exist")
}

fn texts(table: &v1::Table) -> Vec<Vec<&str>> {
    table.rows.iter().map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect()).collect()
}

#[tokio::test]
async fn answers_come_as_text_one_table_a_statement() {
    let row = vec![
        Value::Int(-3),
        Value::Text("x"),
        Value::Bytes(b"1"),
        Value::Bytes(&[0xff, 0x00]),
        Value::Float(0.5),
        Value::Decimal(-105, 2),
        Value::Null,
        Value::Text(""),
    ];
    script([Step::Answer(vec![]), Step::Answer(vec![row.clone(), row]), Step::Answer(vec![])]);
    let result = execute::<Scripted>(&target(), &command(&["SELECT 1", "SET x = 1"], false), &Guards::default()).await;
    assert_eq!((result.tables.len(), result.error.as_str(), result.version.as_str()), (2, "", "1.0-scripted"));
    assert_eq!(texts(&result.tables[0])[1], ["-3", "x", "1", "0xFF00", "0.5", "-1.05", "", ""]);
    let nulls: Vec<bool> = result.tables[0].rows[0].cells.iter().map(|cell| cell.null).collect();
    assert_eq!(nulls, [false, false, false, false, false, false, true, false]);
    assert!(result.tables[0].columns.is_empty() && result.tables[1].rows.is_empty());
    assert_eq!(take_sent(), ["connect", "SELECT 1", "SET x = 1", "close"]);
}

#[tokio::test]
async fn only_the_first_result_set_is_kept() {
    let set = |text| vec![vec![Value::Text(text)]];
    script([Step::Answer(vec![]), Step::Sets(vec![set("first"), set("second")])]);
    let result = execute::<Scripted>(&target(), &command(&["CALL two()"], false), &Guards::default()).await;
    assert_eq!(texts(&result.tables[0]), [["first"]]);
}

#[tokio::test]
async fn a_failure_ends_the_command() {
    script([Step::Answer(vec![]), Step::Answer(vec![]), Step::Fail(missing())]);
    let result = execute::<Scripted>(&target(), &command(&["A", "B", "C"], false), &Guards::default()).await;
    assert_eq!((result.failed, result.fault()), (1, v1::FaultKind::FaultStatement));
    assert_eq!(result.error, "Table 'sbtest.sbtest1' doesn't exist (1146)");
    assert_eq!(result.tables.len(), 2);
    assert_eq!(take_sent(), ["connect", "A", "B", "close"]);
}

#[tokio::test]
async fn with_keep_going_a_failure_takes_its_place_among_the_tables() {
    let answer = || Step::Answer(vec![vec![Value::Int(1)]]);
    let denied = Fault::new(FaultKind::Statement, "denied");
    script([Step::Answer(vec![]), answer(), Step::Fail(missing()), answer(), Step::Fail(denied)]);
    let result = execute::<Scripted>(&target(), &command(&["A", "B", "C", "D"], true), &Guards::default()).await;
    assert_eq!((result.failed, result.tables.len()), (1, 4), "the first failure is the one that is told");
    assert!(result.error.ends_with("(1146)"));
    assert_eq!(result.tables[1].columns, ["Table 'sbtest.sbtest1' doesn't exist (1146)"]);
    assert!(result.tables[1].rows.is_empty());
    assert_eq!(texts(&result.tables[2]), [["1"]]);
    assert_eq!(result.tables[3].columns, ["denied"]);
}

#[tokio::test]
async fn a_lost_connection_fails_the_rest_and_is_not_used_again() {
    let lost = Fault::new(FaultKind::ConnectionLost, "gone");
    script([Step::Answer(vec![]), Step::Answer(vec![]), Step::Fail(lost)]);
    let result = execute::<Scripted>(&target(), &command(&["A", "B", "C"], true), &Guards::default()).await;
    assert_eq!((result.failed, result.fault()), (1, v1::FaultKind::FaultConnectionLost));
    assert_eq!((result.tables[1].columns[0].as_str(), result.tables[2].columns[0].as_str()), ("gone", "gone"));
    assert_eq!(take_sent(), ["connect", "A", "B", "discard"]);
}

#[tokio::test]
async fn a_refused_connection_has_no_tables_and_no_version() {
    script([Step::Fail(Fault::with_code(FaultKind::Refused, 1045, "Access denied for user 'bench'"))]);
    let result = execute::<Scripted>(&target(), &command(&["A"], true), &Guards::default()).await;
    assert_eq!(
        (result.error.as_str(), result.fault()),
        ("Access denied for user 'bench' (1045)", v1::FaultKind::FaultRefused)
    );
    assert!(result.tables.is_empty() && result.version.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_silent_host_is_given_up_with_its_name() {
    script([Step::Silence]);
    let result = execute::<Scripted>(&target(), &command(&["A"], false), &Guards::default()).await;
    assert!(result.error.contains("no answer from db.example:3306 within 15s"), "{}", result.error);
    assert_eq!(result.fault(), v1::FaultKind::FaultConnectionLost);
}

#[tokio::test(start_paused = true)]
async fn statements_that_take_longer_than_they_may_are_stopped_or_their_connection_is_lost() {
    let limited = |keep_going| v1::Control { limit_ns: 5_000_000_000, ..command(&["A", "B", "C"], keep_going) };
    script([Step::Answer(vec![]), Step::Answer(vec![]), Step::Silence]);
    let result = execute::<Scripted>(&target(), &limited(true), &Guards::default()).await;
    assert_eq!((result.failed, result.fault(), result.tables.len()), (1, v1::FaultKind::FaultDeadline, 3));
    assert!(result.error.contains("longer than the 5s that it may, and was not to be stopped"), "{}", result.error);
    assert_eq!(take_sent(), ["connect", "A", "B", "discard"]);
    script([Step::Answer(vec![]), Step::Answer(vec![]), Step::Silence]);
    let result = execute::<Scripted>(&target(), &limited(false), &Guards::default()).await;
    assert_eq!((result.failed, result.tables.len()), (1, 2));
    take_sent();
}

#[test]
fn a_query_of_a_file_is_stopped_at_its_limit_and_what_comes_after_it_is_done() {
    let lab = tempfile::tempdir().unwrap();
    let path = lab.path().join("a.db");
    let study = format!(
        "name = 'a'\nseed = 1\n[target]\nkind = 'sqlite'\npath = {path:?}\n[workload]\nkind = 'oltp'\nscript = \
         'read_only'\n[[profiles]]\nvus = 1\n"
    );
    let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let limit_ns = 300_000_000;
    let statements = command(&["SELECT 1", endless, "CREATE TABLE after (a)"], true);
    let result = run(&v1::Control { study, limit_ns, ..statements }, Allowance::ALL);
    assert_eq!((result.failed, result.fault()), (1, v1::FaultKind::FaultDeadline), "{result:?}");
    assert!(result.error.contains("longer than the 300ms that it may, and was stopped"), "{}", result.error);
    assert!(result.tables[2].columns.is_empty(), "{result:?}");
}

#[tokio::test]
async fn answers_too_long_for_a_message_are_refused_with_the_remedy() {
    let line: &'static str = "x".repeat(MAX_ANSWER_BYTES / 4).leak();
    let rows = |count| Step::Answer(vec![vec![Value::Text(line)]; count]);
    script([Step::Answer(vec![]), rows(3), rows(1)]);
    let result = execute::<Scripted>(&target(), &command(&["A", "B"], false), &Guards::default()).await;
    assert_eq!(result.failed, 1, "the bound is on all answers together");
    assert!(result.error.contains("LIMIT"), "{}", result.error);
}

#[test]
fn points_in_time_are_written_as_sql_does() {
    for (micros, text) in [
        (0, "1970-01-01 00:00:00"),
        (1_709_210_096_000_000, "2024-02-29 12:34:56"),
        (1_500_000, "1970-01-01 00:00:01.500000"),
        (-1, "1969-12-31 23:59:59.999999"),
    ] {
        assert_eq!(instant(micros), text);
    }
}

#[test]
fn every_kind_of_fault_has_its_own_name_on_the_wire() {
    let kinds: std::collections::BTreeSet<i32> = FaultKind::ALL.iter().map(|&kind| wire_kind(kind).into()).collect();
    assert_eq!(kinds.len(), FaultKind::ALL.len());
    assert!(!kinds.contains(&v1::FaultKind::FaultNone.into()));
}

#[test]
fn an_unreadable_study_says_what_to_do() {
    let command = v1::Control { study: "this is no study".to_owned(), ..Default::default() };
    let fault = target_of(&command).unwrap_err();
    assert!(fault.message.contains("run one version of vufleet"), "{fault}");
}

#[test]
fn a_command_is_sent_with_the_login_it_asks_for() {
    let study = |control: &str| {
        format!(
            "name = 'logins'\nseed = 1\n[target]\nkind = 'mysql'\nhost = 'db'\ndatabase = 'sbtest'\nuser = 'bench'\n{control}\n\
             [workload]\nkind = 'oltp'\nscript = 'read_only'\n[[profiles]]\nvus = 1\n[schedule]\nmeasure = '1s'\n"
        )
    };
    let own = study("[control]\nuser = 'root'\ndatabase = 'mysql'");
    let shared = study("");
    for (study, as_control, user, database, password) in [
        (&own, true, "root", "mysql", "of root"),
        (&own, false, "bench", "sbtest", "of bench"),
        (&shared, true, "bench", "sbtest", "of bench"),
        (&shared, false, "bench", "sbtest", "of bench"),
    ] {
        let secrets =
            Some(v1::Secrets { password: Some("of bench".to_owned()), control_password: Some("of root".to_owned()) });
        let command = v1::Control { study: study.clone(), secrets, as_control, ..Default::default() };
        let target = target_of(&command).unwrap();
        assert_eq!((target.user.as_deref(), target.database.as_deref()), (Some(user), Some(database)));
        assert_eq!(target.password.unwrap().expose_secret(), password);
    }
    let none = v1::Control { study: own, as_control: true, ..Default::default() };
    assert!(target_of(&none).unwrap().password.is_none());
}
