//! Each finding in both directions: what brings it up, and the nearest thing that does not.

mod custom;
mod fleet;
mod mssql;
mod room;
mod server;
mod tables;

use std::time::Duration;

use super::*;
use crate::oltp::{Prepare, Shape};
use crate::sql::Protocol;
use crate::study::*;

fn study_on(kind: TargetKind, vus: u32) -> Study {
    let target = match kind {
        TargetKind::Mysql | TargetKind::Mssql => {
            "host = 'db'\ndatabase = 'sbtest'\nuser = 'bench'\npassword = { env = 'P' }"
        }
        TargetKind::Sqlite => "path = 'bench.db'",
        TargetKind::Simulated => "service_time = '2ms'",
    };
    let text = format!(
        "name = 'check'\nseed = 1\n[target]\nkind = '{}'\n{target}\n[workload]\nkind = 'oltp'\nscript = 'read_write'\n\
         tables = 2\n[[profiles]]\nvus = {vus}\n[schedule]\nramp_up = '1s'\nmeasure = '1m'\n\
         settle = '1s'\nrepetitions = 1\n",
        kind.name(),
    );
    let mut study = read(&text, &Edits::default()).expect("the tests' study is right");
    let level = |vus: u32| Profile { id: format!("{vus}vu"), vus, ..study.profiles[0].clone() };
    study.profiles = vec![level(1), level(vus), level(2)];
    study
}

pub(super) fn study(vus: u32) -> Study {
    study_on(TargetKind::Mysql, vus)
}

fn answer(rows: &[&[&str]]) -> Answer {
    let row = |row: &&[&str]| row.iter().map(|cell| Some((*cell).to_owned())).collect();
    Answer::Rows(rows.iter().map(row).collect())
}

/// A server on which nothing is wrong for 64 sessions, but for the given values.
fn answers(changes: &[(&str, &str)]) -> Answers {
    let value = |name: &'static str, usual: &'static str| {
        changes.iter().find(|(changed, _)| *changed == name).map_or(usual, |(_, value)| *value).to_owned()
    };
    let rows = |names: &[(&'static str, &'static str)]| {
        let row = |&(name, usual): &(&'static str, &'static str)| vec![Some(name.to_owned()), Some(value(name, usual))];
        Answer::Rows(names.iter().map(row).collect())
    };
    let account = vec![Some("bench@%".to_owned()), Some(value("max_user_connections", "0"))];
    Answers::from([
        ("readiness 1".to_owned(), answer(&[&["10000"]])),
        (
            "server limits".to_owned(),
            rows(&[
                ("back_log", "80"),
                ("innodb_flush_log_at_trx_commit", "1"),
                ("max_connections", "151"),
                ("max_prepared_stmt_count", "16382"),
                ("open_files_limit", "20000"),
                ("version", "10.11.19-MariaDB"),
                ("wait_timeout", "28800"),
            ]),
        ),
        (
            "server status".to_owned(),
            rows(&[("Com_commit", "0"), ("Prepared_stmt_count", "0"), ("Threads_connected", "1")]),
        ),
        ("account limits".to_owned(), Answer::Rows(vec![account])),
        ("tables".to_owned(), answer(&[&["sbtest1"], &["sbtest2"]])),
    ])
}

pub(super) fn agent(name: &str, sessions: u64) -> AgentFacts {
    AgentFacts {
        name: name.to_owned(),
        machine: format!("machine of {name}"),
        hostname: format!("host of {name}"),
        snapshot: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        labels: BTreeMap::new(),
        allow_control: true,
        commands: Vec::new(),
        observes: false,
        open_files: 524_288,
        somaxconn: 4096,
        ports: (32_768, 60_999),
        tw_reuse: 1,
        syn_backlog: None,
        tasks: Some(100_000),
        memory_bytes: 64 << 30,
        memory_limit_bytes: None,
        host_cores: 8,
        affinity_cores: 8,
        quota_cores: None,
        sessions_wanted: sessions,
        clock_uncertainty: Some(Duration::from_micros(200)),
    }
}

fn observer() -> AgentFacts {
    AgentFacts { observes: true, ..agent("db", 0) }
}

fn found(study: &Study, answers: &Answers, agents: &[AgentFacts]) -> Vec<(Severity, String)> {
    findings(study, answers, agents).iter().map(|finding| (finding.severity, finding.to_string())).collect()
}

/// Exactly one finding, of that severity, with these words.
#[track_caller]
fn assert_one(found: &[(Severity, String)], severity: Severity, words: &[&str]) {
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].0, severity, "{found:#?}");
    words.iter().for_each(|word| assert!(found[0].1.contains(word), "{word:?} is not in {:?}", found[0].1));
}

fn on_server(study: &Study, changes: &[(&str, &str)]) -> Vec<(Severity, String)> {
    found(study, &answers(changes), &[agent("a", 32), agent("b", 32), observer()])
}

#[test]
fn a_sound_server_and_fleet_bring_nothing_up() {
    assert_eq!(on_server(&study(64), &[]), []);
}

#[test]
fn every_question_has_an_id_of_its_own_and_somebody_to_ask() {
    let mut study = study(64);
    study.require = vec![Require { sql: "SELECT @@port".to_owned(), equals: "1".to_owned() }; 2];
    let questions = questions(&study);
    let ids: std::collections::BTreeSet<&str> = questions.iter().map(|question| question.id.as_str()).collect();
    assert_eq!(ids.len(), questions.len());
    let login = |id: &str| questions.iter().find(|question| question.id == id).unwrap().login;
    assert_eq!((login("account limits"), login("tables")), (Login::Target, Login::Target));
    assert_eq!((login("server status"), login("requirement 2")), (Login::Control, Login::Control));
    assert!(super::questions(&study_on(TargetKind::Simulated, 1)).is_empty());
    let sqlite = super::questions(&study_on(TargetKind::Sqlite, 1));
    assert_eq!((sqlite.len(), sqlite[0].sql.contains("('sbtest1', 'sbtest2')")), (2, true));
}

/// 250 tables and 64 sessions, all prepared at once or each on first use.
fn many_tables(change: impl Fn(&mut Shape)) -> (Study, Answers) {
    let mut study = study(64);
    let Workload::Oltp(shape) = &mut study.workload else { panic!("an OLTP workload") };
    shape.tables = 250;
    for profile in &mut study.profiles {
        let Workload::Oltp(shape) = &mut profile.workload else { panic!("an OLTP workload") };
        shape.tables = 250;
        change(shape);
    }
    let mut answers = answers(&[("Prepared_stmt_count", "100"), ("max_prepared_stmt_count", "144099")]);
    let names: Vec<String> = (1..=250).map(|table| format!("sbtest{table}")).collect();
    answers.insert("tables".to_owned(), Answer::Rows(names.into_iter().map(|name| vec![Some(name)]).collect()));
    (study, answers)
}

#[test]
fn what_could_not_be_asked_is_told() {
    let mut answers = answers(&[]);
    answers.insert("account limits".to_owned(), Answer::Failed("Unknown system variable".to_owned()));
    let words = ["account limits could not be checked", "Unknown system variable", "SELECT CURRENT_USER()"];
    assert_one(&found(&study(1), &answers, &[]), Severity::Warning, &words);
    answers.remove("account limits");
    assert_one(&found(&study(1), &answers, &[]), Severity::Warning, &["could not be checked: nobody asked"]);
}

#[test]
fn missing_tables_are_counted_and_named() {
    for (kind, there, words) in [
        (TargetKind::Mysql, answer(&[&["SBTEST1"], &["sbtest2"]]), &[] as &[&str]),
        (
            TargetKind::Mysql,
            answer(&[&["sbtest1"]]),
            &["1 of 2 tables", "from database sbtest: sbtest2;", "schema build STUDY"],
        ),
        (TargetKind::Sqlite, answer(&[]), &["2 of 2 tables", "sbtest1, sbtest2;"]),
        (TargetKind::Sqlite, answer(&[&["sbtest1"], &["sbtest2"]]), &[]),
    ] {
        let mut answers = answers(&[]);
        answers.insert("tables".to_owned(), there);
        let found = found(&study_on(kind, 4), &answers, &[]);
        match words {
            [] => assert_eq!(found, [], "{kind:?}"),
            words => assert_one(&found, Severity::Fatal, words),
        }
    }
    let (study, mut answers) = many_tables(|shape| shape.protocol = Protocol::Text);
    answers.insert("tables".to_owned(), answer(&[]));
    assert_one(&found(&study, &answers, &[]), Severity::Fatal, &["250 of 250", "sbtest4, sbtest5, ...;"]);
    answers.insert("tables".to_owned(), Answer::Failed("no such database".to_owned()));
    assert_one(&found(&study, &answers, &[]), Severity::Fatal, &["cannot be looked up: no such database"]);
}

#[test]
fn requirements_must_hold() {
    let null = Answer::Rows(vec![vec![None]]);
    for (sql, equals, given, words) in [
        ("SELECT @@port", "1", answer(&[&["1"]]), &[] as &[&str]),
        ("SELECT @@port", " 1", answer(&[&["1 "]]), &[]),
        ("SELECT @@port", "1", answer(&[&["2"]]), &["returns \"2\"", "requires \"1\"", "SET GLOBAL port = 1,"]),
        ("select @@GLOBAL.x_y;", "ON", answer(&[&["OFF"]]), &["SET GLOBAL x_y = 'ON',"]),
        ("SELECT COUNT(*) FROM t", "1", answer(&[&["2"]]), &["change the database's setting"]),
        ("SELECT @@port + 1", "1", answer(&[&["2"]]), &["change the database's setting"]),
        ("SELECT @@port+1", "1", answer(&[&["2"]]), &["change the database's setting"]),
        ("SELECT x", "1", null, &["returns NULL"]),
        ("SELECT x", "1", answer(&[]), &["returns no row"]),
        ("SELECT x", "1", Answer::Failed("no column x".to_owned()), &["cannot be read: no column x", "[[require]]"]),
    ] {
        let mut study = study(4);
        study.require = vec![Require { sql: sql.to_owned(), equals: equals.to_owned() }];
        let mut answers = answers(&[]);
        answers.insert("requirement 1".to_owned(), given);
        let found = found(&study, &answers, &[]);
        match words {
            [] => assert_eq!(found, [], "{sql}"),
            words => assert_one(&found, Severity::Fatal, words),
        }
    }
}

#[test]
fn the_worst_comes_first() {
    let agents = [AgentFacts { observes: true, open_files: 8, ..agent("a", 64) }];
    let found = found(&study(64), &answers(&[("open_files_limit", "10")]), &agents);
    let severities: Vec<Severity> = found.iter().map(|(severity, _)| *severity).collect();
    assert_eq!(severities, [Severity::Fatal, Severity::Warning, Severity::Note]);
}
