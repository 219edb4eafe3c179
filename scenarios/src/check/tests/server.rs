//! The server's limits, against 64 sessions of a study.

use super::*;
use crate::tprocc;

#[test]
fn sessions_must_fit_beside_those_of_others() {
    // 64 sessions, a spare one of each of two agents and two for control, beside 2 of others; the third connection is
    // the one that asks.
    let server = |max, connected| [("max_connections", max), ("Threads_connected", connected)];
    assert_eq!(on_server(&study(64), &server("70", "3")), []);
    assert_one(
        &on_server(&study(64), &server("69", "3")),
        Severity::Fatal,
        &["64vu needs 68 connections", "max_connections is 69", "others use 2", "SET GLOBAL max_connections = 70"],
    );
    let mut crowd = study(16);
    crowd.profiles[1].sessions_per_vu = 4;
    assert_eq!(on_server(&crowd, &server("70", "3")), []);
    assert_eq!(on_server(&crowd, &server("69", "3")).len(), 1);
}

#[test]
fn each_driving_agent_takes_a_connection_of_its_own() {
    let fleet: Vec<AgentFacts> = (0..16).map(|number| agent(&format!("load-{number}"), 4)).collect();
    let on = |max: &str| found(&study(64), &answers(&[("max_connections", max), ("Threads_connected", "1")]), &fleet);
    assert_eq!(on("82"), []);
    assert_one(
        &on("81"),
        Severity::Fatal,
        &["needs 82 connections", "64 sessions, 16 spare of the driving agents, and 2"],
    );
}

#[test]
fn an_account_may_be_limited_by_itself() {
    assert_eq!(on_server(&study(64), &[("max_user_connections", "68")]), []);
    assert_one(
        &on_server(&study(64), &[("max_user_connections", "67")]),
        Severity::Fatal,
        &["'bench'@'%'", "allows it 67", "WITH MAX_USER_CONNECTIONS 68"],
    );
    let mut own_control = study(64);
    own_control.control =
        Some(Control { user: "root".to_owned(), password_source: None, password: None, database: None });
    assert_eq!(on_server(&own_control, &[("max_user_connections", "66")]), [], "control has an account of its own");
    assert_eq!(on_server(&own_control, &[("max_user_connections", "65")]).len(), 1);
}

#[test]
fn prepared_statements_must_fit() {
    let (study, mut answers) = many_tables(|shape| shape.prepare = Prepare::Eager);
    assert_one(
        &found(&study, &answers, &[]),
        Severity::Fatal,
        &["64vu needs 144000 prepared", "max_prepared_stmt_count is 144099", "count = 144100", "prepare = \"lazy\""],
    );
    limit(&mut answers, "144100");
    assert_eq!(found(&study, &answers, &[]), []);

    let (study, answers) = many_tables(|shape| shape.prepare = Prepare::Lazy);
    let words = ["up to 144000", "first use", "SET GLOBAL max_prepared_stmt_count = 144100"];
    assert_one(&found(&study, &answers, &[]), Severity::Warning, &words);

    let (study, answers) = many_tables(|shape| shape.protocol = Protocol::Text);
    assert_eq!(found(&study, &answers, &[]), []);

    // Procedures are called prepared, all five from the start: there is nothing else to write.
    let mut study = study_on(TargetKind::Mysql, 64);
    let procedures = Workload::Tprocc(tprocc::Shape::new(4, tprocc::Calls::Procedures));
    study.profiles.iter_mut().for_each(|profile| profile.workload = procedures.clone());
    let remedy = |study: &Study| {
        let found = on_server(study, &[("max_prepared_stmt_count", "100")]);
        found.into_iter().find(|it| it.1.contains("prepared")).unwrap().1
    };
    assert!(remedy(&study).ends_with("or lower the profile's vus"), "{}", remedy(&study));
    let statements = Workload::Tprocc(tprocc::Shape::new(4, tprocc::Calls::Statements));
    study.profiles.iter_mut().for_each(|profile| profile.workload = statements.clone());
    assert!(remedy(&study).ends_with("or protocol = \"text\" in [workload]"), "{}", remedy(&study));

    // A profile that is certain to fail is told before a larger one that may.
    let (mut study, mut answers) = many_tables(|shape| shape.prepare = Prepare::Lazy);
    let Workload::Oltp(shape) = &mut study.profiles[2].workload else { panic!("an OLTP workload") };
    shape.prepare = Prepare::Eager;
    limit(&mut answers, "4000");
    assert_one(&found(&study, &answers, &[]), Severity::Fatal, &["2vu needs 4500 prepared"]);
}

fn limit(answers: &mut Answers, max_prepared_stmt_count: &str) {
    let Some(Answer::Rows(rows)) = answers.get_mut("server limits") else { panic!("the server answered") };
    rows[3][1] = Some(max_prepared_stmt_count.to_owned());
}

#[test]
fn the_server_must_be_able_to_open_its_files() {
    // 64 + 4 connections, 2 tables, 100 of its own.
    assert_eq!(on_server(&study(64), &[("open_files_limit", "170")]), []);
    let words = ["may open 169 files", "takes about 170", "LimitNOFILE"];
    assert_one(&on_server(&study(64), &[("open_files_limit", "169")]), Severity::Warning, &words);
}

#[test]
fn new_connections_must_find_room_in_the_queue() {
    let agents = |somaxconn| [agent("a", 500), agent("b", 500), AgentFacts { somaxconn, ..observer() }];
    let server = |back_log| {
        answers(&[("back_log", back_log), ("max_connections", "2000"), ("max_prepared_stmt_count", "20000")])
    };
    assert_eq!(found(&study(1000), &server("40"), &agents(40)), []);
    let words = ["2 agents open 400 sessions a second", "only 39", "(the server's back_log)", "connect_rate = 195"];
    assert_one(&found(&study(1000), &server("39"), &agents(40)), Severity::Warning, &words);
    let words = ["only 20", "net.core.somaxconn of the database's host", "connect_rate = 100"];
    assert_one(&found(&study(1000), &server("40"), &agents(20)), Severity::Warning, &words);
    let mut half_open = agents(40);
    half_open[2].syn_backlog = Some(30);
    let words = ["only 30", "net.ipv4.tcp_max_syn_backlog of the database's host", "raise it to 40"];
    assert_one(&found(&study(1000), &server("40"), &half_open), Severity::Warning, &words);
    let few = [agent("a", 10), agent("b", 10)];
    assert_eq!(found(&study(20), &server("20"), &few), [], "fewer sessions than the queue is long");
}

#[test]
fn a_paced_session_must_outlive_its_wait() {
    let paced = |pacing| {
        let mut study = study(64);
        study.profiles[1].pacing = pacing;
        on_server(&study, &[("wait_timeout", "30")])
    };
    let fatal = |pacing, words: &[&str]| assert_one(&paced(pacing), Severity::Fatal, words);
    assert_eq!(paced(Pacing::None), []);
    assert_eq!(paced(Pacing::Wait(Duration::from_secs(29))), []);
    fatal(
        Pacing::Wait(Duration::from_secs(30)),
        &["64vu waits 30s", "(wait_timeout)", "SET GLOBAL wait_timeout = 120"],
    );
    assert_eq!(paced(Pacing::Rate(2.2)), []);
    fatal(Pacing::Rate(2.0), &["on average, 32s", "SET GLOBAL wait_timeout = 124"]);
    fatal(Pacing::Rate(1e-300), &["on average"]);
}

#[test]
fn commits_that_are_not_durable_are_worth_a_note_unless_required() {
    let lax = [("innodb_flush_log_at_trx_commit", "2")];
    let words = ["innodb_flush_log_at_trx_commit is 2", "equals = \"2\""];
    assert_one(&on_server(&study(64), &lax), Severity::Note, &words);
    let mut pinned = study(64);
    let sql = "SELECT @@innodb_flush_log_at_trx_commit".to_owned();
    pinned.require = vec![Require { sql, equals: "2".to_owned() }];
    let mut answers = answers(&lax);
    answers.insert("requirement 1".to_owned(), answer(&[&["2"]]));
    assert_eq!(found(&pinned, &answers, &[]), []);
}

#[test]
fn a_server_that_hides_its_counters_has_no_witness() {
    let mut answers = answers(&[]);
    answers.insert("server status".to_owned(), answer(&[&["Threads_connected", "1"]]));
    assert_one(&found(&study(1), &answers, &[]), Severity::Warning, &["no Com_commit", "no witness"]);
}
