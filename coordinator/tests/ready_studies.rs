//! The studies that come with vufleet: all of them planned, those for MariaDB really run, shortened and on small tables.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use vufleet_scenarios::study::READY;
use vufleet_testbed::MariaDb;

fn vufleet(dir: &Path, line: &[&str]) -> (Option<i32>, String) {
    let vufleet = Path::new(env!("CARGO_BIN_EXE_vufleet"));
    let agent = vufleet.with_file_name("vufleet-agent");
    assert!(agent.is_file(), "{} is missing: cargo build --workspace", agent.display());
    let mut command = Command::new(vufleet);
    command.args(line).current_dir(dir);
    command.env("VUFLEET_PASSWORD", MariaDb::BENCH.password).env("VUFLEET_CONTROL_PASSWORD", MariaDb::ADMIN.password);
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    println!("$ vufleet {}\n{said}", line.join(" "));
    (output.status.code(), said)
}

fn write(dir: &Path, name: &str) -> String {
    let file = format!("{name}.toml");
    std::fs::write(dir.join(&file), vufleet_scenarios::study::ready(name).unwrap()).unwrap();
    file
}

#[test]
fn every_study_is_planned_without_a_connection() {
    let dir = tempfile::tempdir().unwrap();
    for ready in READY {
        let file = write(dir.path(), ready.name);
        let (code, said) = vufleet(dir.path(), &["plan", &file]);
        assert!(code == Some(0) && said.contains("block"), "{}: {said}", ready.name);
        let (code, said) = vufleet(dir.path(), &["plan", &file, "--sql"]);
        assert_eq!(code, Some(0), "{}: {said}", ready.name);
    }
}

/// What makes a study of hours one of seconds.
struct Short<'a> {
    name: &'a str,
    set: &'a [&'a str],
    /// Whether it has tables of its own.
    builds: bool,
}

/// Runs a study on a server of its own, and returns its results.
fn run(short: &Short<'_>) -> Value {
    let server = MariaDb::builder().option("max_prepared_stmt_count", "1048576").start().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), short.name);
    let database = format!("target.database={}", MariaDb::DATABASE);
    let port = format!("target.port={}", server.port());
    let own = [port.as_str(), &database, "control.user=admin", "seed=7", "schedule.settle=0s"];
    let sets: Vec<&str> = own.iter().chain(short.set).flat_map(|set| ["--set", set]).collect();
    let line = |verb: &[&'static str], more: &[&'static str]| -> Vec<String> {
        let words = verb.iter().copied().chain([file.as_str()]).chain(sets.iter().copied()).chain(more.iter().copied());
        words.map(str::to_owned).collect()
    };
    let does = |line: Vec<String>| vufleet(dir.path(), &line.iter().map(String::as_str).collect::<Vec<_>>());
    if short.builds {
        let (code, said) = does(line(&["schema", "build"], &["--agents", "1", "-q"]));
        assert_eq!(code, Some(0), "{said}");
    }
    let (code, said) = does(line(&["run"], &["--scale-time", "0.02", "--agents", "1", "--out", "out", "-q"]));
    // A busy machine may have something against short runs; what is asked for here is that they are made.
    assert!([Some(0), Some(3)].contains(&code), "{said}");
    serde_json::from_slice(&std::fs::read(dir.path().join("out/results.json")).unwrap()).unwrap()
}

/// Every cell has a run that was measured and found nothing wrong with its variant.
fn assert_measured(results: &Value, cells: usize) {
    let found = results["cells"].as_array().unwrap();
    assert_eq!(found.len(), cells, "{found:#?}");
    for cell in found {
        let of_cell = |run: &&Value| run["variant"] == cell["variant"] && run["profile"] == cell["profile"];
        let runs: Vec<_> = results["runs"].as_array().unwrap().iter().filter(of_cell).collect();
        assert!(!runs.is_empty(), "no run of {cell:#}");
        let reasons = runs.iter().flat_map(|run| run["reasons"].as_array().unwrap()).map(|it| it.as_str().unwrap());
        let wrong: Vec<_> = reasons.filter(|it| it.contains("not in state") || it.contains("failed")).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert!(runs.iter().any(|run| run["measured_s"].as_f64().is_some_and(|s| s > 0.0)), "{runs:#?}");
    }
}

/// The change of a setting by a variant, as its report tells it.
fn changed_by<'a>(results: &'a Value, variant: &str, name: &str) -> &'a Value {
    let database = results["settings"].as_array().unwrap().iter().find(|it| it["source"] == "database");
    let database = database.unwrap_or_else(|| panic!("{:#}", results["settings"]));
    let mut changes = database["changes"].as_array().unwrap().iter();
    let found = changes.find(|it| it["name"] == name && it["variant"] == variant && it["cause"] == "variant");
    found.unwrap_or_else(|| panic!("no {name} of {variant} in {:#}", database["changes"]))
}

#[test]
fn the_audit_of_oltp_on_mariadb_runs_and_tells_what_it_changed() {
    let results = run(&Short {
        name: "mariadb-oltp-audit",
        set: &[
            "workload.tables=2",
            "workload.table_size=1000",
            "profiles.0.vus=4",
            "profiles.1.vus=4",
            "profiles.2.vus=4",
            "profiles.3.vus=[4,8]",
            "schedule.repetitions=1",
            "schedule.max_repeats=1",
            "schedule.measure=50s",
        ],
        builds: true,
    });
    assert_measured(&results, 15);
    let on = changed_by(&results, "on", "server_audit_logging");
    assert_eq!((&on["from"], &on["to"]), (&Value::Null, &"ON".into()), "the plugin brings its settings with it");
    let sources = results["settings"].as_array().unwrap();
    assert!(sources.len() > 1, "the hosts are there too");
    for settings in sources {
        let unasked: Vec<_> =
            settings["changes"].as_array().into_iter().flatten().filter(|it| it["cause"] != "variant").collect();
        assert!(unasked.is_empty(), "nothing else moved: {unasked:#?}");
        assert_eq!(settings["read_after"], true);
    }
    let before = sources[0]["before"].as_object().unwrap();
    assert!(before.contains_key("innodb_buffer_pool_size") && before.len() > 200, "{}", before.len());
    let secret = before.keys().find(|name| name.contains("passw") || name.ends_with("_key"));
    assert_eq!(secret, None);
}

#[test]
fn the_slow_log_at_load_levels_runs_on_mariadb() {
    let results = run(&Short {
        name: "mariadb-slow-log-levels",
        set: &[
            "workload.warehouses=1",
            "profiles.0.vus=[1,4]",
            "profiles.1.vus=2",
            "schedule.repetitions=1",
            "schedule.max_repeats=1",
            "schedule.measure=75s",
            "monitor.interval=1s",
        ],
        builds: true,
    });
    assert_measured(&results, 9);
    assert_eq!(changed_by(&results, "slow log", "slow_query_log")["to"], "ON");
}

#[test]
fn the_audit_of_a_read_only_load_runs_on_mariadb() {
    let results = run(&Short {
        name: "mariadb-audit-levels",
        set: &[
            "workload.warehouses=1",
            "profiles.0.vus=2",
            "profiles.1.vus=4",
            "schedule.repetitions=1",
            "schedule.max_repeats=1",
            "schedule.measure=75s",
            "switch.0.at=90s",
        ],
        builds: true,
    });
    assert_measured(&results, 8);
    let watched: Vec<_> = results["runs"].as_array().unwrap().iter().filter(|run| run["repetition"] == 0).collect();
    assert!(watched.len() >= 2, "one at each level in which the audit goes on: {watched:#?}");
    assert_eq!(changed_by(&results, "tables", "server_audit_logging")["to"], "ON");
    let tps = |cell: &Value| cell["metrics"]["tps"]["mean"].as_f64().unwrap();
    assert!(results["cells"].as_array().unwrap().iter().all(|cell| tps(cell) > 0.0));
}

#[test]
fn the_audit_of_a_counting_call_runs_on_mariadb() {
    let results = run(&Short {
        name: "mariadb-audit-cpu-loop",
        set: &[
            "workload.transactions.0.parameters.turns.choice=[300000]",
            "schedule.repetitions=1",
            "schedule.max_repeats=1",
        ],
        builds: false,
    });
    assert_measured(&results, 3);
    for run in results["runs"].as_array().unwrap() {
        assert_eq!(run["transactions"]["loop"]["ok"], 3, "{run:#}");
    }
}
