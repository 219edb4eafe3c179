//! What the fleet reports against what a server counts, looked at from outside: whole runs to the transaction, windows
//! within what a witness may differ by. The processes are the real ones, the server is a MariaDB of the test's own.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use vufleet_testbed::MariaDb;

fn vufleet(dir: &Path, line: &str) -> Option<i32> {
    let vufleet = Path::new(env!("CARGO_BIN_EXE_vufleet"));
    let agent = vufleet.with_file_name("vufleet-agent");
    assert!(agent.is_file(), "{} is missing: cargo build --workspace", agent.display());
    let output = Command::new(vufleet).args(line.split_whitespace()).current_dir(dir).output().unwrap();
    print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    output.status.code()
}

/// Rows of samples.csv, by column.
fn samples(dir: &Path) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(dir.join("out/samples.csv")).unwrap().deserialize().collect::<Result<_, _>>().unwrap()
}

/// A server, and a directory with a study for it.
struct Lab {
    server: MariaDb,
    dir: tempfile::TempDir,
}

/// What a run left behind, and by how much the server's counters grew meanwhile.
struct Told {
    results: Value,
    samples: Vec<BTreeMap<String, String>>,
    grown: BTreeMap<String, u64>,
}

impl Lab {
    /// `workload` and `profile` are keys of their sections.
    fn new(server: MariaDb, workload: &str, profile: &str, schedule: &str) -> Lab {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("password"), MariaDb::BENCH.password).unwrap();
        let study = format!(
            "name = \"truth\"\nseed = 11\n[target]\nkind = \"mysql\"\nport = {}\ndatabase = \"{}\"\nuser = \"{}\"\n\
             password = {{ file = \"password\" }}\n[workload]\nkind = \"oltp\"\n{workload}\n[[profiles]]\n{profile}\n\
             [schedule]\n{schedule}\nsettle = \"0s\"\nrepetitions = 1\nmax_repeats = 0\n",
            server.port(),
            MariaDb::DATABASE,
            MariaDb::BENCH.user,
        );
        std::fs::write(dir.path().join("study.toml"), study).unwrap();
        assert_eq!(vufleet(dir.path(), "schema build study.toml -q"), Some(0));
        Lab { server, dir }
    }

    /// The server's counters; the statement that reads them moves Questions alone.
    fn counters(&self) -> BTreeMap<String, u64> {
        let rows = self.server.sql("SHOW GLOBAL STATUS").unwrap();
        let pairs = rows.lines().filter_map(|line| line.split_once('\t'));
        pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
    }

    fn run(&self) -> Told {
        let before = self.counters();
        let code = vufleet(self.dir.path(), "run study.toml --agents 2 --out out");
        let after = self.counters();
        assert!(matches!(code, Some(0 | 3)), "{code:?}");
        let results = std::fs::read(self.dir.path().join("out/results.json")).unwrap();
        Told {
            results: serde_json::from_slice(&results).unwrap(),
            samples: samples(self.dir.path()),
            grown: after.iter().map(|(name, now)| (name.clone(), now.saturating_sub(before[name]))).collect(),
        }
    }
}

impl Told {
    fn run(&self) -> &Value {
        &self.results["runs"][0]
    }

    /// Sum of a column of samples.csv over the whole run.
    fn sum(&self, column: &str) -> u64 {
        self.samples.iter().filter_map(|row| row[column].parse::<u64>().ok()).sum()
    }

    /// Whatever is found against the run on a busy machine, its witnesses agree.
    #[track_caller]
    fn assert_witnessed(&self, metrics: &[&str]) {
        let run = self.run();
        let found: Vec<_> =
            run["witness"].as_array().unwrap().iter().map(|it| it["metric"].as_str().unwrap()).collect();
        assert_eq!(found, metrics, "{run:#}");
        assert!(!run["reasons"].to_string().contains("anybody else"), "{run:#}");
    }
}

#[test]
fn transactions_are_counted_as_the_server_counts_them() {
    let workload = "script = \"read_write\"\ntables = 2\ntable_size = 2000";
    let profile = "vus = 4\npacing = { wait = \"5ms\" }";
    let lab = Lab::new(MariaDb::start().unwrap(), workload, profile, "ramp_up = \"500ms\"\nmeasure = \"3s\"");
    let told = lab.run();
    let whole = &told.run()["whole_run"]["read_write"];
    assert!(told.grown["Com_commit"] > 0);
    for count in [&whole["client"], &whole["database"]] {
        assert_eq!(count, told.grown["Com_commit"], "{whole}");
    }
    assert_eq!(told.sum("read_write_ok"), told.grown["Com_commit"]);
    assert_eq!(told.sum("read_write_faults"), told.grown["Com_rollback"], "each fault is followed by a ROLLBACK");
    told.assert_witnessed(&["tps", "qps"]);
}

#[test]
fn autocommitted_statements_are_counted_as_the_server_counts_them() {
    let workload = "script = \"update_index\"\ntables = 2\ntable_size = 2000";
    let schedule = "ramp_up = \"500ms\"\nmeasure = \"3s\"";
    let lab = Lab::new(MariaDb::start().unwrap(), workload, "vus = 4\npacing = { rate = 300 }", schedule);
    let told = lab.run();
    assert_eq!(told.grown["Com_commit"], 0);
    assert_eq!(told.sum("update_index_ok"), told.grown["Com_update"]);
    assert_eq!(told.sum("update_index_statements"), told.grown["Com_update"]);
    told.assert_witnessed(&["tps", "qps"]);
}

#[test]
fn nothing_of_a_deadlocked_transaction_is_left_or_counted() {
    let server = MariaDb::builder().option("innodb-lock-wait-timeout", "1").start().unwrap();
    let workload = "script = \"write_only\"\ntables = 1\ntable_size = 8\nrange_size = 5\ndistribution = \"uniform\"\n\
                    index_updates = 3\ndelete_inserts = 2";
    let lab = Lab::new(server, workload, "vus = 8", "transactions = 150");
    let told = lab.run();
    let run = &told.run()["transactions"]["write_only"];
    let count = |pointer: &str| run.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let deadlocks = count("/errors/deadlock");
    let faults: u64 = run["errors"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert!(deadlocks > 0, "eight users on eight rows meet: {run:#}");
    assert_eq!(count("/ok") + count("/failed"), 8 * 150, "{run:#}");
    assert_eq!(count("/ok"), told.grown["Com_commit"], "{run:#}");
    assert_eq!(deadlocks, told.grown["Innodb_deadlocks"], "{run:#}");
    assert_eq!(faults, told.grown["Com_rollback"], "{run:#}");
    let rows = lab.server.sql("SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest.sbtest1").unwrap();
    assert_eq!(rows.trim(), "8\t1\t8", "a DELETE without its INSERT would be missing");
}

#[test]
fn counted_transactions_take_the_time_that_they_take() {
    let dir = tempfile::tempdir().unwrap();
    // A tenth of a second of work, in intervals of ten seconds.
    let study = "name = \"counted\"\n[target]\nkind = \"simulated\"\nservice_time = \"5ms\"\n\
                 [workload]\nkind = \"oltp\"\nscript = \"point_select\"\n[[profiles]]\nvus = 4\n\
                 [schedule]\ntransactions = 20\nsettle = \"0s\"\nrepetitions = 1\n[monitor]\ninterval = \"10s\"\n";
    std::fs::write(dir.path().join("study.toml"), study).unwrap();
    assert_eq!(vufleet(dir.path(), "run study.toml --agents 2 --out out"), Some(0));
    let results: Value = serde_json::from_slice(&std::fs::read(dir.path().join("out/results.json")).unwrap()).unwrap();
    let metric = |name: &str| results.pointer(&format!("/runs/0/metrics/{name}")).and_then(Value::as_f64).unwrap();
    assert_eq!(results["runs"][0]["transactions"]["point_select"]["ok"], 80, "{results:#}");
    // Four users without a pause are always in a transaction (Little's law), but for the end of the faster ones.
    let busy = metric("tps") * metric("service_mean_ms") / 1e3;
    assert!((1.0..4.2).contains(&busy), "{busy} of 4 users were busy: {results:#}");
}

#[test]
fn statements_are_counted_in_the_interval_of_the_attempt_that_sent_them() {
    let dir = tempfile::tempdir().unwrap();
    // Every attempt fails, and ten retries take longer than an interval.
    let study = "name = \"attempts\"\n[target]\nkind = \"simulated\"\nservice_time = \"1ms\"\nfaults = { deadlock = 1.0 }\n\
                 [workload]\nkind = \"oltp\"\nscript = \"write_only\"\n[[profiles]]\nvus = 2\n\
                 [schedule]\nramp_up = \"0s\"\nmeasure = \"1s\"\nsettle = \"0s\"\nrepetitions = 1\nmax_repeats = 0\n";
    std::fs::write(dir.path().join("study.toml"), study).unwrap();
    assert!(vufleet(dir.path(), "run study.toml --agents 1 --out out").is_some());
    let count = |row: &BTreeMap<String, String>, column: &str| row[column].parse::<u64>().unwrap_or(0);
    let rows = samples(dir.path());
    assert!(rows.iter().any(|row| count(row, "write_only_faults") > 0));
    for row in rows {
        // BEGIN, six statements with COMMIT among them, ROLLBACK; one attempt of each user may lie across the edge.
        let (faults, sent) = (count(&row, "write_only_faults"), count(&row, "write_only_statements"));
        assert!(sent + 2 * 7 >= 7 * faults, "{faults} faults and {sent} statements: {row:?}");
    }
}

#[test]
fn another_fleet_inserts_the_same_rows() {
    let workload = "script = \"insert\"\nauto_inc = false\ntables = 1\ntable_size = 100";
    let lab = Lab::new(MariaDb::start().unwrap(), workload, "vus = 4", "transactions = 25");
    let rows = |agents: u32| {
        assert_eq!(vufleet(lab.dir.path(), &format!("run study.toml --agents {agents} -q")), Some(0));
        let rows = lab.server.sql("SELECT id, k, c FROM sbtest.sbtest1 WHERE id > 100 ORDER BY id").unwrap();
        assert_eq!(vufleet(lab.dir.path(), "schema build study.toml --replace -q"), Some(0));
        rows
    };
    // The second run has another number in the same ledger.
    let (one, three) = (rows(1), rows(3));
    assert_eq!(one.lines().count(), 100);
    assert_eq!(one, three);
}

/// Set when it goes, be it by a panic: the other client must not go on for ever.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn another_client_is_noticed() {
    let workload = "script = \"read_write\"\ntables = 2\ntable_size = 2000";
    let profile = "vus = 2\npacing = { rate = 40 }";
    let lab = Lab::new(MariaDb::start().unwrap(), workload, profile, "ramp_up = \"500ms\"\nmeasure = \"3s\"");
    let over = AtomicBool::new(false);
    // In batches, so that starting the client is not what takes the time.
    let batch = "BEGIN; COMMIT; DO SLEEP(0.01);".repeat(20);
    let told = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                lab.server.sql(&batch).unwrap();
            }
        });
        let _end = OnDrop(&over);
        lab.run()
    });
    let run = told.run();
    assert_eq!(run["verdict"], "invalid", "{run:#}");
    assert!(run["reasons"].to_string().contains("Com_commit; does anybody else use this database?"), "{run:#}");
}
