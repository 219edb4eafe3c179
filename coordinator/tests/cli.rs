//! The real executable in a temporary directory: what it says, where it says it, and how it exits.

mod scripted;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::CommandCargoExt;
use assert_cmd::prelude::OutputAssertExt;
use predicates::prelude::*;
use predicates::str::contains;
use vufleet_proto::v1::job::{Kind, OnAgentLoss};

const STUDY: &str = r#"name = "small"
seed = 7

[target]
kind = "sqlite"
path = "bench.db"

[workload]
kind = "oltp"
script = "read_write"
tables = 3
table_size = 1000

[[profiles]]
vus = [2, 4]

[schedule]
ramp_up = "1s"
measure = "5s"
settle = "500ms"
repetitions = 2
"#;

const WITH_PASSWORD: &str = r#"name = "guarded"

[target]
kind = "mysql"
database = "sbtest"
user = "bench"
password = { env = "VUFLEET_TEST_PASSWORD" }

[workload]
kind = "oltp"
script = "point_select"

[[profiles]]
vus = 1
"#;

/// A directory with a study in it.
fn lab(study: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("study.toml"), study).unwrap();
    dir
}

fn vufleet(dir: &Path, line: &str) -> Command {
    let mut command = Command::cargo_bin("vufleet").unwrap();
    command.current_dir(dir).args(line.split_whitespace()).env_remove("VUFLEET_TEST_PASSWORD").stdin(Stdio::null());
    command
}

fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_help_ends_with_commands_that_can_be_typed() {
    let dir = lab(STUDY);
    let verbs =
        ["run", "plan", "check", "schema build", "schema verify", "schema drop", "coordinator", "agents", "stop"];
    for verb in verbs.iter().chain(&["demo", "studies", "show", "report", "export"]) {
        let output = vufleet(dir.path(), &format!("{verb} --help")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{verb}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Exit codes:") && text.contains("130"), "{verb}: {text}");
        let (_, examples) = text.split_once("Examples:\n").expect(verb);
        assert!(examples.lines().all(|line| line.trim().is_empty() || line.starts_with("  vufleet")), "{examples}");
        for line in examples.lines().filter_map(|line| line.trim().strip_prefix("vufleet ")) {
            let typed = std::iter::once("vufleet").chain(line.split_whitespace());
            <vufleet::args::Cli as clap::Parser>::try_parse_from(typed)
                .unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }
}

#[test]
fn usage_errors_exit_with_2() {
    let dir = lab(STUDY);
    for (line, says) in [
        ("", "Usage"),
        ("rum study.toml", "run"),
        ("run", "STUDY"),
        ("run study.toml --agents 0", "--agents"),
        ("run study.toml --scale-time fast", "0.05"),
        ("run study.toml --set schedule.measure", "KEY=VALUE"),
        ("run study.toml --coordinator http://10.0.0.1:7411", "--insecure"),
        ("run study.toml --coordinator https://127.0.0.1:7411", "--certs DIR"),
        ("run study.toml --coordinator ftp://127.0.0.1:7411", "http://HOST:7411"),
        ("agents --coordinator http://db1:7411 --certs certs", "write https://db1:7411"),
        ("agents --certs certs --insecure", "--insecure"),
        ("agents --coordinator http://db1:7411", "--insecure"),
        ("stop --coordinator http://db1:7411", "--insecure"),
        ("coordinator --listen 0.0.0.0:0", "--insecure"),
        ("coordinator --lease 7", "for example 10s"),
    ] {
        vufleet(dir.path(), line).assert().code(2).stdout("").stderr(contains(says));
    }
    assert_eq!(entries(dir.path()), ["study.toml"], "nothing is touched");
}

#[test]
fn a_study_with_mistakes_is_refused_whole_before_anything_is_touched() {
    let dir = lab(&STUDY.replace("tables = 3", "tabels = 3").replace("vus = [2, 4]", "vus = [0]"));
    for line in ["run study.toml", "plan study.toml", "check study.toml", "schema build study.toml"] {
        vufleet(dir.path(), line).assert().code(1).stdout("").stderr(
            contains("study.toml is refused").and(contains("line 11: workload.tabels")).and(contains("line 15")),
        );
    }
    assert_eq!(entries(dir.path()), ["study.toml"]);
}

#[test]
fn a_study_that_is_not_there_is_named() {
    let dir = lab(STUDY);
    vufleet(dir.path(), "run nowhere.toml").assert().code(1).stderr(contains("nowhere.toml"));
}

#[test]
fn a_missing_password_names_its_variable() {
    let dir = lab(WITH_PASSWORD);
    for line in ["run study.toml", "check study.toml", "schema drop study.toml"] {
        vufleet(dir.path(), line)
            .assert()
            .code(1)
            .stderr(contains("target.password").and(contains("export VUFLEET_TEST_PASSWORD")));
    }
    assert_eq!(entries(dir.path()), ["study.toml"]);
    vufleet(dir.path(), "plan study.toml").assert().code(0);
}

#[test]
fn a_plan_lists_the_runs_and_what_they_touch() {
    let dir = lab(STUDY);
    let output = vufleet(dir.path(), "plan study.toml --set schedule.repetitions=3").assert().code(0).stderr("");
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(!text.contains("drawn"), "the study has a seed: {text}");
    assert!(text.contains("seed 7: 6 runs in 2 cells"), "{text}");
    assert!(text.contains("each run: 1 s ramp-up, 5 s measured, 500 ms settle"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("2vu ")).count(), 3, "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("4vu ")).count(), 3, "{text}");
    let database = dir.path().canonicalize().unwrap().join("bench.db");
    assert!(text.contains(database.to_str().unwrap()), "agents may work in another directory: {text}");
    assert!(text.contains("reads and writes 3 tables, sbtest1 to sbtest3; 3000 rows"), "{text}");
    assert!(!text.contains("SELECT"), "{text}");
    assert_eq!(entries(dir.path()), ["study.toml"]);
}

#[test]
fn a_plan_with_sql_prints_every_statement() {
    let dir = lab(&format!("{STUDY}\n[[require]]\nsql = \"PRAGMA page_size\"\nequals = \"4096\"\n"));
    vufleet(dir.path(), "plan study.toml --sql").assert().code(0).stdout(
        contains("PRAGMA page_size;")
            .and(contains("CREATE TABLE sbtest3"))
            .and(contains("DROP TABLE IF EXISTS sbtest1;"))
            .and(contains("SELECT c FROM sbtest2 WHERE id = ?;"))
            .and(contains("UPDATE sbtest1 SET k = k + 1 WHERE id = ?;")),
    );
    let output = vufleet(dir.path(), "plan study.toml --sql --set workload.script=read_only").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("reads 3 tables") && !text.contains("UPDATE sbtest"), "{text}");
}

#[test]
fn a_drawn_seed_is_told() {
    let dir = lab(&STUDY.replace("seed = 7\n", ""));
    let says = predicate::str::is_match(r"an example, drawn with seed \d+, and `run` draws its own").unwrap();
    vufleet(dir.path(), "plan study.toml").assert().code(0).stdout(says);
}

#[test]
fn an_output_directory_of_somebody_else_is_refused() {
    let dir = lab(STUDY);
    vufleet(dir.path(), "run study.toml --out .")
        .assert()
        .code(1)
        .stderr(contains("study.toml").and(contains("--out")));
    vufleet(dir.path(), "run study.toml --out study.toml").assert().code(1).stderr(contains("--out"));
    assert_eq!(entries(dir.path()), ["study.toml"]);
}

#[test]
fn nobody_at_the_coordinators_address_is_told() {
    let dir = lab(STUDY);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for line in ["run study.toml", "check study.toml", "schema verify study.toml", "agents", "stop"] {
        let line = format!("{line} --coordinator {url}");
        vufleet(dir.path(), &line).assert().code(1).stderr(contains(&url).and(contains("vufleet coordinator")));
    }
    assert_eq!(entries(dir.path()), ["study.toml"], "no empty results directory is left");
}

#[test]
fn a_port_in_use_is_told() {
    let dir = lab(STUDY);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    vufleet(dir.path(), &format!("coordinator --listen {address}"))
        .assert()
        .code(1)
        .stderr(contains(address.to_string()).and(contains("--listen")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_carries_the_checked_study_and_the_password() {
    let dir = lab(&WITH_PASSWORD.replace("vus = 1", "vus = 3"));
    let mut coordinator = scripted::serve().await;
    let line = format!(
        "run study.toml --coordinator {} --wait-for-agents 3 --on-agent-loss stop --set workload.tables=2 --out here",
        coordinator.url
    );
    let child = spawn(vufleet(dir.path(), &line).env("VUFLEET_TEST_PASSWORD", "s3cret"));
    let submitted = coordinator.job().await;
    let job = &submitted.job;
    assert_eq!((job.kind(), job.agents, job.on_agent_loss()), (Kind::Run, 3, OnAgentLoss::Stop));
    assert!(job.study.contains("tables = 2") && job.study.contains("seed = "), "{}", job.study);
    assert!(!job.study.contains("s3cret"));
    assert_eq!(job.secrets.as_ref().unwrap().password.as_deref(), Some("s3cret"));
    submitted.accept("20").await;
    submitted.line("the table").await;
    submitted.output("results.json", "{}").await;
    submitted.finish(0, "").await;
    let output = ended(child).await;
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("the table\n"));
    assert!(String::from_utf8(output.stderr).unwrap().contains("(drawn; write it into the study to repeat)"));
    assert_eq!(entries(&dir.path().join("here")), ["results.json"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verb_submits_its_own_kind_of_job() {
    let dir = lab(STUDY);
    let mut coordinator = scripted::serve().await;
    for (line, kind, replace, exit) in [
        ("run study.toml --smoke", Kind::Smoke, false, 0),
        ("check study.toml", Kind::Check, false, 1),
        ("schema build study.toml", Kind::Build, false, 1),
        ("schema build study.toml --replace", Kind::Build, true, 0),
        ("schema verify study.toml", Kind::Verify, false, 1),
        ("schema drop study.toml", Kind::Drop, false, 0),
    ] {
        let child = spawn(&mut vufleet(dir.path(), &format!("{line} --coordinator {}", coordinator.url)));
        let submitted = coordinator.job().await;
        assert_eq!((submitted.job.kind(), submitted.job.replace), (kind, replace), "{line}");
        submitted.finish(exit, "because").await;
        let output = ended(child).await;
        assert_eq!(output.status.code(), i32::try_from(exit).ok(), "{line}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("because"), "{line}");
    }
    assert_eq!(entries(dir.path()), ["study.toml"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_stop_a_run_once_and_leave_it_twice() {
    for signal in [nix::sys::signal::SIGINT, nix::sys::signal::SIGTERM] {
        let dir = lab(STUDY);
        let mut coordinator = scripted::serve().await;
        let line = format!("run study.toml --coordinator {}", coordinator.url);
        let child = spawn(&mut vufleet(dir.path(), &line));
        let submitted = coordinator.job().await;
        submitted.accept("5").await;
        send(&child, signal);
        assert_eq!(coordinator.stop().await, "5");
        submitted.line("table so far").await;
        submitted.output("runs.csv", "run\n").await;
        submitted.finish(130, "").await;
        let output = ended(child).await;
        assert_eq!(output.status.code(), Some(130));
        assert!(String::from_utf8(output.stdout).unwrap().contains("table so far"));
        assert_eq!(entries(&dir.path().join("results/5")), ["runs.csv"]);

        let child = spawn(&mut vufleet(dir.path(), &line));
        let submitted = coordinator.job().await;
        submitted.accept("6").await;
        send(&child, signal);
        assert_eq!(coordinator.stop().await, "6");
        send(&child, signal);
        assert_eq!(ended(child).await.status.code(), Some(130), "the coordinator never said that it ended");
        assert_eq!(entries(&dir.path().join("results")), ["5"]);
    }
}

fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(child: &Child, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
}

async fn ended(child: Child) -> std::process::Output {
    scripted::soon(tokio::task::spawn_blocking(move || child.wait_with_output().unwrap())).await.unwrap()
}
