//! A SQL Server's limits, permissions and settings, against 64 sessions of a study.

use super::*;

/// A server on which nothing is wrong, but for the given answers.
fn on(study: &Study, changes: &[(&str, Answer)]) -> Vec<(Severity, String)> {
    let named = |names: &[&str]| Answer::Rows(names.iter().map(|name| vec![Some((*name).to_owned())]).collect());
    let version = "Microsoft SQL Server 2022 (RTM-CU12) - 16.0.4115.5 (X64) \n\tMar 4 2024";
    let mut answers = Answers::from([
        ("tables".to_owned(), named(&["sbtest1", "sbtest2"])),
        ("server".to_owned(), answer(&[&["16.0.4115.5", "Developer Edition (64-bit)", "3", "32767", version]])),
        (
            "server settings".to_owned(),
            answer(&[&["max degree of parallelism", "1"], &["max worker threads", "0"], &["lightweight pooling", "0"]]),
        ),
        ("database settings".to_owned(), answer(&[&["sbtest", "0", "FULL", "DISABLED"]])),
        ("permission to see the server's state".to_owned(), answer(&[&["1", "1", "bench"]])),
        ("performance counters".to_owned(), answer(&[&["2000"]])),
        ("connected sessions".to_owned(), answer(&[&["3"]])),
    ]);
    answers.extend(changes.iter().map(|(id, answer)| ((*id).to_owned(), answer.clone())));
    for question in questions(study) {
        answers.entry(question.id).or_insert_with(|| answer(&[&["10000"]]));
    }
    found(study, &answers, &[agent("a", 32), agent("b", 32), observer()])
}

fn of_mssql() -> Study {
    study_on(TargetKind::Mssql, 64)
}

/// What is found beside the two notes that every server has.
fn beside_notes(study: &Study, changes: &[(&str, Answer)]) -> Vec<(Severity, String)> {
    on(study, changes).into_iter().filter(|(severity, _)| *severity != Severity::Note).collect()
}

fn failed(words: &str) -> Answer {
    Answer::Failed(words.to_owned())
}

#[test]
fn a_sound_server_is_named_and_its_settings_are() {
    let found = on(&of_mssql(), &[]);
    let severities: Vec<Severity> = found.iter().map(|(severity, _)| *severity).collect();
    assert_eq!(severities, [Severity::Note; 2], "{found:#?}");
    let all = found.iter().map(|(_, text)| text.as_str()).collect::<String>();
    for words in [
        "Microsoft SQL Server 2022 (RTM-CU12) - 16.0.4115.5 (X64), version 16.0.4115.5, Developer",
        "READ_COMMITTED_SNAPSHOT OFF, recovery model FULL, MAXDOP 1, lightweight pooling 0",
    ] {
        assert!(all.contains(words), "{words}: {all}");
    }
}

#[test]
fn settings_that_the_study_requires_are_not_noted() {
    let mut study = of_mssql();
    for sql in [
        "SELECT is_read_committed_snapshot_on FROM sys.databases WHERE name = 'sbtest'",
        "SELECT recovery_model_desc FROM sys.databases WHERE name = 'sbtest'",
        "SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = 'max degree of parallelism'",
        "SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = 'lightweight pooling'",
    ] {
        study.require.push(Require { sql: sql.to_owned(), equals: "10000".to_owned() });
    }
    let found = on(&study, &[]);
    assert_eq!(found.len(), 1, "the server is still named: {found:#?}");
}

#[test]
fn sessions_must_fit_beside_those_of_others() {
    let server = |most: &str| answer(&[&["15.0.2000.5", "Standard Edition", "2", most, "Microsoft SQL Server 2019"]]);
    // 64 sessions, a spare one of each of two agents and two for control, beside 2 of others.
    assert_eq!(beside_notes(&of_mssql(), &[("server", server("70"))]), []);
    assert_one(
        &beside_notes(&of_mssql(), &[("server", server("69"))]),
        Severity::Fatal,
        &["64vu needs 68 connections", "@@MAX_CONNECTIONS is 69", "others use 2", "'user connections', 70"],
    );
}

#[test]
fn sessions_that_never_pause_need_a_worker_each() {
    let workers = |count: &str| [("server settings", answer(&[&["max worker threads", count]]))];
    assert_eq!(beside_notes(&of_mssql(), &workers("64")), []);
    let words = ["64vu has 64 sessions", "63 workers", "THREADPOOL", "'max worker threads', 64"];
    assert_one(&beside_notes(&of_mssql(), &workers("63")), Severity::Warning, &words);
    let mut paced = of_mssql();
    paced.profiles.iter_mut().for_each(|profile| profile.pacing = Pacing::Wait(Duration::from_secs(1)));
    assert_eq!(beside_notes(&paced, &workers("63")), []);
}

#[test]
fn a_login_that_may_not_see_the_state_is_told_what_to_type() {
    let permission = |row: Vec<Option<&str>>| {
        let row = row.into_iter().map(|cell| cell.map(str::to_owned)).collect();
        ("permission to see the server's state", Answer::Rows(vec![row]))
    };
    let denied = failed("VIEW SERVER STATE permission was denied on object 'server', database 'master'. (300)");
    let counters = ("performance counters", denied);
    let found = beside_notes(&of_mssql(), &[permission(vec![Some("0"), Some("0"), Some("be]nch")]), counters.clone()]);
    let words = ["be]nch may not see", "no TPM", "GRANT VIEW SERVER PERFORMANCE STATE TO [be]]nch]"];
    assert_one(&found, Severity::Warning, &words);
    // Before 2022 there is no such permission, and its name gives NULL.
    let old = ("server", answer(&[&["15.0.2000.5", "Standard Edition", "2", "32767", "Microsoft SQL Server 2019"]]));
    let none = permission(vec![Some("0"), None, Some("bench")]);
    assert_one(
        &beside_notes(&of_mssql(), &[old, none, counters]),
        Severity::Warning,
        &["GRANT VIEW SERVER STATE TO [b"],
    );
    let part = permission(vec![Some("0"), Some("1"), Some("bench")]);
    assert_eq!(beside_notes(&of_mssql(), &[part]), [], "on 2022 the smaller permission is enough");
}

#[test]
fn looking_at_requests_without_the_permission_is_refused() {
    let mut study = of_mssql();
    study.monitor.requests = true;
    let denied = [("permission to see the server's state", answer(&[&["0", "0", "bench"]]))];
    let found = beside_notes(&study, &denied);
    assert_eq!(found.iter().map(|it| it.0).collect::<Vec<_>>(), [Severity::Fatal, Severity::Warning], "{found:#?}");
    assert!(found[0].1.contains("monitor.requests is true"), "{found:#?}");
    assert_eq!(beside_notes(&study, &[]), []);
}

#[test]
fn an_engine_without_the_views_is_told_of_and_runs() {
    let changes = [
        ("performance counters", failed("relation \"sys.dm_os_performance_counters\" does not exist (208)")),
        ("server settings", answer(&[])),
        ("permission to see the server's state", Answer::Rows(vec![vec![Some("0".to_owned()), None, None]])),
        ("database settings", Answer::Rows(vec![vec![Some("sbtest".to_owned()), Some("1".to_owned()), None, None]])),
        (
            "server",
            answer(&[&[
                "12.0.2000.8",
                "Standard Edition",
                "2",
                "500",
                "Babelfish for PostgreSQL with SQL Server\nDec 1",
            ]]),
        ),
    ];
    let found = beside_notes(&of_mssql(), &changes);
    assert_one(&found, Severity::Warning, &["counters cannot be read: relation", "NOPM is counted all the same"]);
    let told = on(&of_mssql(), &changes);
    assert!(told.iter().any(|(_, text)| text.contains("SQL Server, version 12.0.2000.8")), "{told:#?}");
    let mut looking = of_mssql();
    looking.monitor.requests = true;
    assert_eq!(beside_notes(&looking, &changes)[0].0, Severity::Fatal);
    let disabled = [("performance counters", answer(&[&["0"]]))];
    assert_one(&beside_notes(&of_mssql(), &disabled), Severity::Warning, &["counters are disabled", "3409"]);
}

#[test]
fn editions_with_limits_and_lax_commits_are_told() {
    let edition = |number: &str| [("server", answer(&[&["16.0.1", "Some Edition", number, "32767", "A product"]]))];
    for (number, words) in [("4", "at most 4 cores"), ("5", "Azure SQL Database gives them other names")] {
        assert_one(&beside_notes(&of_mssql(), &edition(number)), Severity::Warning, &["Some Edition", words]);
    }
    let database = [("database settings", answer(&[&["sbtest", "1", "SIMPLE", "FORCED"]]))];
    let found = on(&of_mssql(), &database);
    let lax = found.iter().find(|(_, text)| text.contains("delayed durability")).expect("a finding");
    assert!(lax.0 == Severity::Note && lax.1.contains("equals = \"FORCED\""), "{lax:?}");
    assert!(found.iter().any(|(_, text)| text.contains("READ_COMMITTED_SNAPSHOT ON, recovery model SIMPLE")));
}
