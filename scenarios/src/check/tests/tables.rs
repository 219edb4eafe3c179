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
fn tables_that_are_not_there_are_told_once() {
    let nothing = Answer::Failed("no such table".to_owned());
    let changes = [("tables", answer(&[])), ("readiness 2", nothing), ("readiness 1", answer(&[&["1"]]))];
    assert_one(&found_in(&orders(TargetKind::Mysql), &changes), Severity::Fatal, &["9 of 9 tables are missing"]);
}
