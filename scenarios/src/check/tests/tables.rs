//! Whether tables that are there fit the study.

use super::*;
use crate::tprocc;

/// A study of four warehouses, one of its profiles with statements, the others with procedures.
fn orders(kind: TargetKind) -> Study {
    let mut study = study_on(kind, 2);
    let shape = |calls| Workload::Tprocc(tprocc::Shape::new(4, calls));
    study.workload = shape(tprocc::Calls::Procedures);
    study.profiles.iter_mut().for_each(|profile| profile.workload = shape(tprocc::Calls::Procedures));
    study.profiles[0].workload = shape(tprocc::Calls::Statements);
    study
}

const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "item", "new_order", "orders", "order_line", "stock"];

/// Answers on which nothing is wrong but for what is given.
fn sound(changes: &[(&str, Answer)]) -> Answers {
    let tables: Vec<[&str; 1]> = TABLES.map(|table| [table]).to_vec();
    let mut answers = answers(&[]);
    answers.insert("tables".to_owned(), answer(&tables.iter().map(|row| row.as_slice()).collect::<Vec<_>>()));
    answers.insert("readiness 1".to_owned(), answer(&[&["0"]]));
    answers.insert("readiness 2".to_owned(), answer(&[&["4"]]));
    answers.insert("readiness 3".to_owned(), answer(&[]));
    answers.insert("orders counter".to_owned(), answer(&[&["12001"]]));
    answers.extend(changes.iter().map(|(id, answer)| ((*id).to_owned(), answer.clone())));
    answers
}

fn found_in(study: &Study, changes: &[(&str, Answer)]) -> Vec<(Severity, String)> {
    found(study, &sound(changes), &[agent("a", 2), observer()])
}

#[test]
fn each_readiness_is_asked_once_whatever_the_number_of_profiles() {
    let asked = |study: &Study| questions(study).iter().filter(|question| question.id.starts_with("readiness")).count();
    assert_eq!(asked(&orders(TargetKind::Mysql)), 3, "mark, size and procedures");
    assert_eq!(asked(&orders(TargetKind::Sqlite)), 2);
    let mut study = orders(TargetKind::Mysql);
    study.profiles.truncate(1);
    assert_eq!(asked(&study), 2, "nobody calls a procedure");
}

#[test]
fn tables_that_the_first_reset_makes_need_not_be_there() {
    let reset = |method| Study { reset: Some(Reset::new(ResetBefore::Run, method)), ..orders(TargetKind::Sqlite) };
    let none = [("tables", answer(&[]))];
    let other = [("readiness 2", answer(&[&["3"]]))];
    let rebuilt = reset(ResetMethod::Rebuild);
    assert_eq!(found_in(&rebuilt, &none), []);
    let dropped = ["the first reset drops", "4 warehouses; found 3", "choose another target.database"];
    assert_one(&found_in(&rebuilt, &other), Severity::Warning, &dropped);
    let restored = reset(ResetMethod::Actions(vec![Action::Sql("EXEC restore".to_owned())]));
    assert_eq!(found_in(&restored, &none), []);
    assert_eq!(found_in(&restored, &other), []);
    let copied = reset(ResetMethod::Snapshot);
    assert_one(&found_in(&copied, &none), Severity::Fatal, &["9 of 9 tables are missing"]);
    assert_one(&found_in(&copied, &other), Severity::Fatal, &["4 warehouses; found 3"]);
}

#[test]
fn tables_that_do_not_fit_are_fatal() {
    let study = orders(TargetKind::Mysql);
    assert_eq!(found_in(&study, &[]), []);
    for (id, rows, words) in [
        ("readiness 1", answer(&[&["1"]]), ["build of the tables is complete", "schema build STUDY"]),
        ("readiness 2", answer(&[&["3"]]), ["4 warehouses; found 3", "workload.warehouses"]),
        ("readiness 3", answer(&[&["SLEV"]]), ["no procedure SLEV", "calls = \"statements\""]),
        ("readiness 2", Answer::Failed("no such column".to_owned()), ["found no such column", "workload.warehouses"]),
    ] {
        assert_one(&found_in(&study, &[(id, rows)]), Severity::Fatal, &words);
    }
}

#[test]
fn a_control_login_that_cannot_count_orders_costs_the_nopm() {
    let mut study = orders(TargetKind::Mysql);
    study.target.database = Some("tpcc-640".to_owned());
    let asked = questions(&study).into_iter().find(|question| question.id == "orders counter").unwrap();
    assert_eq!(asked.login, Login::Control);
    assert_eq!(asked.sql, "SELECT SUM(d_next_o_id) FROM `tpcc-640`.district");
    let denied = Answer::Failed("SELECT command denied to user 'monitor'".to_owned());
    let words = ["no run will have a NOPM", "denied to user 'monitor'", "GRANT SELECT ON `tpcc-640`.district"];
    assert_one(&found_in(&study, &[("orders counter", denied.clone())]), Severity::Warning, &words);
    // Where the tables are missing that says enough.
    let changes = [("orders counter", denied), ("tables", answer(&[]))];
    assert_one(&found_in(&study, &changes), Severity::Fatal, &["9 of 9 tables are missing"]);
}

#[test]
fn tables_that_are_not_there_are_told_once() {
    let nothing = Answer::Failed("no such table".to_owned());
    let changes = [("tables", answer(&[])), ("readiness 2", nothing), ("readiness 1", answer(&[&["1"]]))];
    assert_one(&found_in(&orders(TargetKind::Mysql), &changes), Severity::Fatal, &["9 of 9 tables are missing"]);
}
