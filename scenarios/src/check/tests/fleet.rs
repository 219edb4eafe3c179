//! The agents' hosts.

use super::*;

#[test]
fn an_agent_must_be_able_to_open_its_sessions() {
    for (kind, sessions, open_files, enough) in [
        (TargetKind::Mysql, 936, 1000, true),
        (TargetKind::Mysql, 937, 1000, false),
        (TargetKind::Sqlite, 74, 512, true),
        (TargetKind::Sqlite, 75, 512, false),
        (TargetKind::Simulated, 50_000, 1024, true),
        (TargetKind::Mysql, 0, 1, true),
    ] {
        let agents = [AgentFacts { open_files, ..agent("a", sessions) }];
        let mut answers = answers(&[("max_connections", "100000"), ("back_log", "1000")]);
        answers.insert("tables".to_owned(), answer(&[&["sbtest1"], &["sbtest2"]]));
        let found = found(&study_on(kind, 1), &answers, &agents);
        if enough {
            assert_eq!(found, [], "{kind:?} {sessions}");
        } else {
            let limit = format!("{open_files} files");
            assert_one(&found, Severity::Fatal, &["agent a may open", &limit, "ulimit -n ", "LimitNOFILE="]);
        }
    }
}

#[test]
fn sessions_take_local_ports() {
    let on = |machine: &str, name: &str, sessions| AgentFacts {
        machine: machine.to_owned(),
        ports: (1000, 1099),
        ..agent(name, sessions)
    };
    let found = |study: &Study, agents: &[AgentFacts]| found(study, &answers(&[]), agents);
    assert_eq!(found(&study(4), &[on("m", "a", 100), on("n", "b", 100)]), []);
    let words = ["(a)", "101 sessions", "leaves 100 local ports", "ip_local_port_range='1024 65535'"];
    assert_one(&found(&study(4), &[on("m", "a", 101)]), Severity::Fatal, &words);
    assert_one(
        &found(&study(4), &[on("m", "a", 60), on("m", "b", 41)]),
        Severity::Warning,
        &["(a, b)", "101 sessions"],
    );
    assert_one(&found(&study(4), &[on("m", "a", 160), on("m", "b", 41)]), Severity::Fatal, &["(a, b)"]);
    let mut local = study(4);
    local.target.socket = Some("/run/db.sock".into());
    assert_eq!(found(&local, &[on("m", "a", 101)]), [], "a unix socket takes no ports");
    assert_eq!(found(&study_on(TargetKind::Sqlite, 4), &[on("m", "a", 101)]), []);
}

#[test]
fn ports_of_the_run_before_may_not_be_free_yet() {
    let found = |sessions, tw_reuse, settle: u64, host: &str| {
        let mut study = study(4);
        study.schedule.settle = Duration::from_secs(settle);
        study.target.host = Some(host.to_owned());
        found(&study, &answers(&[]), &[AgentFacts { ports: (1000, 1099), tw_reuse, ..agent("a", sessions) }])
    };
    for (sessions, tw_reuse, settle, host) in
        [(50, 2, 1, "db"), (51, 1, 1, "db"), (51, 2, 60, "db"), (51, 2, 1, "127.0.0.1"), (51, 2, 1, "localhost")]
    {
        assert_eq!(found(sessions, tw_reuse, settle, host), [], "{sessions} {tw_reuse} {settle} {host}");
    }
    let words = ["agent a opens 51 sessions of 100 local ports", "TIME_WAIT", "tcp_tw_reuse=1", "settle = \"60s\""];
    assert_one(&found(51, 2, 59, "db"), Severity::Warning, &words);
    assert_one(&found(100, 0, 1, "127.0.0.1"), Severity::Warning, &["100 sessions of 100"]);
    assert_one(&found(101, 0, 1, "db"), Severity::Fatal, &["leaves 100 local ports"]);
}

#[test]
fn load_beside_the_database_is_worth_a_note() {
    let beside = |name: &str, sessions| AgentFacts { machine: observer().machine, ..agent(name, sessions) };
    let found = |agents: &[AgentFacts]| found(&study(4), &answers(&[]), agents);
    assert_eq!(found(&[agent("a", 4), beside("idle", 0), observer()]), []);
    assert_one(&found(&[beside("a", 4), observer()]), Severity::Note, &["agents a and db", "compete for its cores"]);
    let both = AgentFacts { observes: true, ..agent("all", 4) };
    assert_one(&found(&[both]), Severity::Note, &["agent all drives load on the machine that it observes"]);
}

#[test]
fn the_clocks_must_be_known_as_well_as_the_window_needs() {
    let found = |measure: Measure, known: Option<Duration>| {
        let mut study = study(4);
        study.schedule.measure = measure;
        found(&study, &answers(&[]), &[AgentFacts { clock_uncertainty: known, ..agent("far", 4) }])
    };
    let (ms, minute) = (Duration::from_millis, Measure::Duration(Duration::from_secs(60)));
    assert_eq!(found(minute, Some(ms(50))), []);
    let words = ["clock of agent far is known to 50.1 ms", "needs 50.0 ms", "measure for longer"];
    assert_one(&found(minute, Some(Duration::from_micros(50_100))), Severity::Warning, &words);
    let short = Measure::Duration(Duration::from_secs(4));
    assert_one(&found(short, Some(ms(21))), Severity::Warning, &["21.0 ms", "needs 20.0 ms"]);
    assert_eq!(found(Measure::Transactions(3), Some(ms(21))), []);
    assert_eq!(found(short, None), [], "nobody knows yet");
}
