//! Observers, control statements and the checks before a run, against real databases.

use std::time::{Duration, Instant};

use vufleet_agent::allow::Allowance;
use vufleet_agent::observe::control;
use vufleet_agent::observe::database::{DatabaseObserver, Reading};
use vufleet_agent::observe::host::{HostRole, HostSampler};
use vufleet_agent::observe::process::ProcessChoice;
use vufleet_agent::session::{MysqlAsyncSession, install_tls_provider};
use vufleet_proto::v1;
use vufleet_scenarios::check::{self, Answer, Answers, Finding, Login, Severity};
use vufleet_scenarios::counters::mysql;
use vufleet_scenarios::study::{self, Edits, Study};
use vufleet_testbed::MariaDb;

fn text(target: &str, more: &str) -> String {
    format!(
        "name = 'observers'\nseed = 1\n[target]\n{target}\n[workload]\nkind = 'oltp'\nscript = 'read_write'\ntables = 2\n\
         [[profiles]]\nvus = 4\n[schedule]\nmeasure = '1s'\n{more}"
    )
}

fn text_on(db: &MariaDb, more: &str) -> String {
    let target = format!(
        "kind = 'mysql'\nhost = '127.0.0.1'\nport = {}\ndatabase = 'sbtest'\nuser = 'bench'\ntls = 'disabled'\n\
         password = {{ env = 'UNUSED' }}",
        db.port()
    );
    text(&target, more)
}

fn read(text: &str) -> Study {
    study::read(text, &Edits::default()).unwrap()
}

fn observer(db: &MariaDb) -> DatabaseObserver<MysqlAsyncSession> {
    install_tls_provider();
    let mut target = read(&text_on(db, "")).control_target();
    target.password = Some("bench-password".into());
    DatabaseObserver::new(target, mysql::parts())
}

fn growth(name: &str, before: &Reading, after: &Reading) -> u64 {
    after.values[name] - before.values[name]
}

#[tokio::test]
async fn counters_grow_by_what_was_done_and_by_the_observers_own_statements() {
    let db = MariaDb::start().unwrap();
    let mut observer = observer(&db);
    let first = observer.read().await;
    assert_eq!(first.error, None);
    let idle = observer.read().await;
    assert_eq!(growth("Questions", &first, &idle), idle.own_statements - first.own_statements);
    assert_eq!(growth("Com_select", &first, &idle), 0, "a witness must not move by being read");

    db.sql("CREATE TABLE sbtest.t (id INT PRIMARY KEY)").unwrap();
    let before = observer.read().await;
    db.sql("BEGIN; INSERT INTO sbtest.t VALUES (1); COMMIT; BEGIN; UPDATE sbtest.t SET id = 2; ROLLBACK").unwrap();
    let after = observer.read().await;
    for (name, expected) in [("Com_commit", 1), ("Com_rollback", 1), ("Com_insert", 1), ("Com_update", 1)] {
        assert_eq!(growth(name, &before, &after), expected, "{name}");
    }
    assert!(growth("Questions", &before, &after) > 6, "six statements and the reading");
    assert!(after.before <= after.after && after.uptime_s >= first.uptime_s);
    observer.close().await;
}

#[tokio::test]
async fn a_killed_server_is_told_and_read_again_when_it_is_back() {
    let mut db = MariaDb::start().unwrap();
    let mut observer = observer(&db);
    let before = observer.read().await;
    assert_eq!(before.error, None);
    db.kill9().unwrap();
    for _ in ["on the old connection", "on a new one"] {
        let reading = observer.read().await;
        assert!(reading.error.is_some() && reading.values.is_empty(), "{reading:?}");
    }
    db.restart().unwrap();
    let again = observer.read().await;
    assert_eq!((again.error, again.own_statements), (None, 1));
    observer.close().await;
}

#[test]
fn the_database_process_is_found_by_port_and_socket_and_found_again() {
    let mut db = MariaDb::start().unwrap();
    for choice in [ProcessChoice::Socket(db.socket()), ProcessChoice::of(&read(&text_on(&db, "")))] {
        let mut sampler = HostSampler::new(HostRole::Observe, choice).unwrap();
        let pid = |sampler: &mut HostSampler| {
            let sample = sampler.sample().unwrap();
            sample.processes.iter().find(|process| process.role == "database").map(|process| process.pid as u32)
        };
        assert_eq!(pid(&mut sampler), db.pid());
        db.kill9().unwrap();
        assert_eq!(pid(&mut sampler), None);
        assert!(sampler.take_notice().unwrap().contains("is gone"));
        db.restart().unwrap();
        let give_up = Instant::now() + Duration::from_secs(30);
        while pid(&mut sampler).is_none() {
            assert!(Instant::now() < give_up, "a process that is there is looked for once a second");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(pid(&mut sampler), db.pid());
        assert!(sampler.take_notice().unwrap().contains("is back"));
    }
}

/// Sends a study's questions as the coordinator would, over one agent.
fn ask(text: &str, password: &str) -> Result<Answers, v1::ControlResult> {
    install_tls_provider();
    let mut answers = Answers::new();
    for login in [Login::Target, Login::Control] {
        let questions: Vec<_> = check::questions(&read(text)).into_iter().filter(|q| q.login == login).collect();
        let result = control::run(
            &v1::Control {
                id: 7,
                study: text.to_owned(),
                secrets: Some(v1::Secrets { password: Some(password.to_owned()), control_password: None }),
                as_control: login == Login::Control,
                statements: questions.iter().map(|question| question.sql.clone()).collect(),
                keep_going: true,
                ..Default::default()
            },
            Allowance::ALL,
        );
        assert_eq!(result.id, 7);
        if result.version.is_empty() {
            return Err(result);
        }
        for (question, table) in questions.into_iter().zip(result.tables) {
            let cells = |row: v1::TableRow| row.cells.into_iter().map(|cell| (!cell.null).then_some(cell.text));
            let answer = match table.columns.into_iter().next() {
                Some(error) => Answer::Failed(error),
                None => Answer::Rows(table.rows.into_iter().map(|row| cells(row).collect()).collect()),
            };
            answers.insert(question.id, answer);
        }
    }
    Ok(answers)
}

fn whats(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.what.as_str()).collect()
}

#[test]
fn checks_of_a_real_server_find_what_is_wrong_with_it() {
    let db =
        MariaDb::builder().option("max_connections", "12").option("max_prepared_stmt_count", "71").start().unwrap();
    let require = "[[require]]\nsql = 'SELECT @@max_connections'\nequals = '12'\n\
                   [[require]]\nsql = 'SELECT @@max_connections'\nequals = '13'\n\
                   [[require]]\nsql = 'SELECT @@no_such_setting'\nequals = '1'\n";
    let text = text_on(&db, require);
    db.sql("CREATE TABLE sbtest.sbtest2 (id INT)").unwrap();
    let findings = check::findings(&read(&text), &ask(&text, "bench-password").unwrap(), &[]);
    let fatal: Vec<&Finding> = findings.iter().filter(|finding| finding.severity == Severity::Fatal).collect();
    let expected = [
        "needs 72 prepared statements",
        "1 of 2 tables are missing from database sbtest: sbtest1",
        "requires \"13\"",
        "no_such_setting",
    ];
    assert_eq!(fatal.len(), expected.len(), "{findings:#?}");
    for (finding, words) in fatal.iter().zip(expected) {
        assert!(finding.what.contains(words), "{words}: {finding}");
    }
    // What it says to type has to work.
    let remedy = fatal[0].remedy.split(" (and").next().unwrap();
    db.sql(remedy).unwrap();
    db.sql("CREATE TABLE sbtest.sbtest1 (id INT)").unwrap();
    db.sql("INSERT INTO sbtest.sbtest1 VALUES (10000)").unwrap();
    let text_short = text_on(&db, "");
    let findings = check::findings(&read(&text_short), &ask(&text_short, "bench-password").unwrap(), &[]);
    let short =
        findings.iter().find(|finding| finding.severity == Severity::Fatal).map(|finding| finding.what.as_str());
    assert!(short.is_some_and(|what| what.contains("found 0 instead of 10000")), "an empty table is told: {short:?}");
    db.sql("INSERT INTO sbtest.sbtest2 VALUES (10000)").unwrap();
    let text = text_on(&db, "");
    let findings = check::findings(&read(&text), &ask(&text, "bench-password").unwrap(), &[]);
    assert!(findings.iter().all(|finding| finding.severity > Severity::Warning), "{:?}", whats(&findings));
}

#[test]
fn a_wrong_password_is_told_without_showing_it() {
    let db = MariaDb::start().unwrap();
    let text = text_on(&db, "");
    let result = ask(&text, "not-it").unwrap_err();
    assert_eq!(result.fault(), v1::FaultKind::FaultRefused);
    assert!(result.error.contains("Access denied") && !result.error.contains("not-it"), "{}", result.error);
}

#[test]
fn an_embedded_database_is_asked_for_its_tables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.db");
    let text = text(&format!("kind = 'sqlite'\npath = '{}'", path.display()), "");
    let command = |statements: &[&str]| v1::Control {
        study: text.clone(),
        statements: statements.iter().map(|sql| (*sql).to_owned()).collect(),
        ..Default::default()
    };
    let result = control::run(&command(&["CREATE TABLE sbtest1 (id INTEGER)", "SELECT NULL, 1"]), Allowance::ALL);
    assert_eq!((result.error.as_str(), result.tables.len()), ("", 2));
    assert!(result.tables[1].rows[0].cells[0].null);
    assert_eq!(result.tables[1].rows[0].cells[1].text, "1");
    let findings = check::findings(&read(&text), &ask(&text, "").unwrap(), &[]);
    let missing = format!("1 of 2 tables are missing from {}: sbtest2", path.display());
    assert_eq!(whats(&findings), [missing.as_str()]);
}
