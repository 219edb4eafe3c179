//! The user's own SQL from the study to the database and back: the real executables on a MariaDB of the test's own, and
//! on SQLite.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;
use vufleet_testbed::MariaDb;

/// A directory with a study in it.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new(study: &str) -> Lab {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("study.toml"), study).unwrap();
        std::fs::write(dir.path().join("password"), MariaDb::BENCH.password).unwrap();
        Lab(dir)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Runs `vufleet` to its end; returns its exit code and all that it said.
    fn vufleet(&self, line: &str) -> (i32, String) {
        let vufleet = Path::new(env!("CARGO_BIN_EXE_vufleet"));
        let agent = vufleet.with_file_name("vufleet-agent");
        assert!(agent.is_file(), "{} is missing: cargo build --workspace", agent.display());
        let mut command = Command::new(vufleet);
        let output = command.args(line.split_whitespace()).current_dir(self.0.path()).output().unwrap();
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        println!("$ vufleet {line}\n{said}");
        (output.status.code().unwrap(), said)
    }

    #[track_caller]
    fn refused(&self, line: &str, words: &[&str]) {
        let (code, said) = self.vufleet(line);
        assert_eq!(code, 1, "{line}: {said}");
        words.iter().for_each(|word| assert!(said.contains(word), "no {word:?} in {said}"));
    }

    /// Runs the study, whatever a busy machine has against the run, and returns it.
    fn run(&self, options: &str) -> Value {
        let (code, said) = self.vufleet(&format!("run study.toml --out out {options}"));
        assert!([0, 3].contains(&code), "{said}");
        self.results()["runs"][0].take()
    }

    fn results(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.path("out/results.json")).unwrap()).unwrap()
    }
}

fn mariadb(server: &MariaDb) -> String {
    format!(
        "kind = \"mysql\"\nport = {}\ndatabase = \"{}\"\nuser = \"{}\"\npassword = {{ file = \"password\" }}",
        server.port(),
        MariaDb::DATABASE,
        MariaDb::BENCH.user
    )
}

fn study(target: &str, transactions: &str, schedule: &str) -> String {
    format!(
        "name = \"own\"\nseed = 11\n[target]\n{target}\n[workload]\nkind = \"sql\"\n{transactions}\n[[profiles]]\nvus = 4\n\
         [schedule]\n{schedule}\nsettle = \"0s\"\nrepetitions = 1\nmax_repeats = 0\n"
    )
}

const TIMED: &str = "ramp_up = \"500ms\"\nmeasure = \"3s\"";

const TABLES: &str = "CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL);
                      CREATE TABLE transfer (a INTEGER, b INTEGER, amount INTEGER, note VARCHAR(40), made DATETIME(6));
                      CREATE TABLE rate (r BIGINT); INSERT INTO rate VALUES (100);";

/// A server with a bank of a thousand accounts.
fn bank(builder: vufleet_testbed::Builder) -> MariaDb {
    let server = builder.start().unwrap();
    server.sql(&format!("USE sbtest; {TABLES} INSERT INTO account SELECT seq, 100 FROM seq_1_to_1000")).unwrap();
    server
}

/// The server's counters; the statement that reads them moves Questions alone.
fn counters(server: &MariaDb) -> BTreeMap<String, u64> {
    let rows = server.sql("SHOW GLOBAL STATUS").unwrap();
    let pairs = rows.lines().filter_map(|line| line.split_once('\t'));
    pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

fn metrics(run: &Value) -> Vec<&str> {
    run["witness"].as_array().unwrap().iter().map(|witness| witness["metric"].as_str().unwrap()).collect()
}

/// Both counts of the window agree, however busy the machine was otherwise.
#[track_caller]
fn assert_witnessed(run: &Value, expected: &[&str]) {
    assert_eq!(metrics(run), expected, "{run:#}");
    assert!(!run["reasons"].to_string().contains("anybody else"), "{run:#}");
}

const TRANSFER: &str = r#"[[workload.transactions]]
name = "transfer"
transaction = true
file = "transfer.sql"
[workload.transactions.parameters]
a = { uniform = [1, 500] }
b = { zipfian = [501, 1000], exponent = 0.5 }
amount = { choice = [1, 2, 5] }
note = { text = 40 }
made = "now"
"#;

const TRANSFER_SQL: &str = "-- money moves\nUPDATE account SET balance = balance - :amount WHERE id = :a;
UPDATE account SET balance = balance + :amount WHERE id = :b;\nINSERT INTO transfer VALUES (:a, :b, :amount, :note, :made);\n";

#[test]
fn enclosed_transactions_are_counted_as_the_server_counts_them_by_both_protocols() {
    let server = bank(MariaDb::builder());
    let lab = Lab::new(&study(&mariadb(&server), TRANSFER, TIMED));
    std::fs::write(lab.path("transfer.sql"), TRANSFER_SQL).unwrap();
    for protocol in ["prepared", "text"] {
        server.sql("TRUNCATE sbtest.transfer").unwrap();
        let before = counters(&server);
        let run = lab.run(&format!("--agents 2 --set workload.protocol={protocol}"));
        let after = counters(&server);
        let grown = |name: &str| after[name] - before[name];
        let whole = &run["whole_run"]["transfer"];
        assert!(grown("Com_commit") > 0);
        for count in [&whole["client"], &whole["database"]] {
            assert_eq!(count, grown("Com_commit"), "{run:#}");
        }
        assert_eq!(grown("Com_stmt_execute") > 0, protocol == "prepared");
        let rows = "SELECT COUNT(*), COUNT(DISTINCT note), MIN(LENGTH(note)), MIN(made) > NOW() - INTERVAL 5 MINUTE";
        let rows = server.sql(&format!("{rows} FROM sbtest.transfer")).unwrap();
        let commits = grown("Com_commit");
        assert_eq!(rows.trim(), format!("{commits}\t{commits}\t40\t1"), "what was committed is there");
        assert_witnessed(&run, &["tps", "qps"]);
        assert_eq!(lab.results()["workload"]["protocol"], protocol);
    }
    let balance = server.sql("SELECT SUM(balance), MIN(id), MAX(id) FROM sbtest.account").unwrap();
    assert_eq!(balance.trim(), "100000\t1\t1000", "no money is made or lost");
    let results = lab.results();
    let told = serde_json::json!({ "transfer": { "weight": 1, "statements": 3, "transaction": true } });
    assert_eq!((&results["workload"]["kind"], &results["workload"]["transactions"]), (&"sql".into(), &told));
}

#[test]
fn autocommitted_kinds_of_different_lengths_are_counted_as_the_server_counts_them() {
    let server = bank(MariaDb::builder());
    let transactions = r#"[[workload.transactions]]
name = "look"
weight = 3
statements = ["SELECT balance FROM account WHERE id = :id"]
parameters = { id = { nurand = [1, 1000], a = 255 } }
[[workload.transactions]]
name = "swap"
statements = [
    "REPLACE INTO account VALUES (:id, 100)",
    "UPDATE account, rate SET account.balance = rate.r WHERE account.id = :id",
    "INSERT INTO transfer SELECT id, id, 0, '', NOW() FROM account WHERE id = :id",
]
parameters = { id = { uniform = [1, 1000] } }
"#;
    let study = study(&mariadb(&server), transactions, TIMED).replace("vus = 4", "vus = 4\npacing = { rate = 400 }");
    let lab = Lab::new(&study);
    let before = counters(&server);
    let run = lab.run("--agents 2");
    let after = counters(&server);
    let grown = |name: &str| after[name] - before[name];
    let ok = |kind: &str| run["whole_run"][kind]["client"].as_u64().unwrap();
    assert_eq!(grown("Com_commit"), 0);
    assert_eq!(ok("swap"), grown("Com_replace"), "{run:#}");
    assert_eq!(ok("swap"), grown("Com_update_multi"));
    assert_eq!(ok("swap"), grown("Com_insert_select"));
    assert!(ok("look").abs_diff(3 * ok("swap")) <= 4 * 4, "three of four in every deck of a session");
    assert_witnessed(&run, &["tps", "qps"]);
}

#[test]
fn one_agent_and_three_send_the_same_values() {
    let server = bank(MariaDb::builder());
    let transactions = r#"[[workload.transactions]]
name = "log"
statements = ["INSERT INTO transfer VALUES (:a, :b, :n, :note, NULL)"]
[workload.transactions.parameters]
a = { uniform = [1, 1000000] }
b = { zipfian = [1, 1000000] }
n = { sequence = [1, 100000] }
note = { text = 20 }
[[workload.transactions]]
name = "count"
statements = ["INSERT INTO transfer VALUES (:a, 0, 0, :word, NULL)"]
parameters = { a = { nurand = [1, 100000], a = 8191 }, word = { choice = ["x", "it's", ''] } }
"#;
    let study =
        study(&mariadb(&server), transactions, "transactions = 20").replace("vus = 4", "vus = 3\nsessions_per_vu = 2");
    let lab = Lab::new(&study);
    let rows = |agents: u32| {
        server.sql("TRUNCATE sbtest.transfer").unwrap();
        let run = lab.run(&format!("--agents {agents}"));
        assert_eq!((&run["transactions"]["log"]["ok"], &run["transactions"]["count"]["ok"]), (&60.into(), &60.into()));
        server.sql("SELECT a, b, amount, note FROM sbtest.transfer ORDER BY amount, a, b, note").unwrap()
    };
    let (one, three) = (rows(1), rows(3));
    assert_eq!(one.lines().count(), 120);
    assert_eq!(one, three);
    let numbered =
        server.sql("SELECT COUNT(DISTINCT amount), MIN(amount), MAX(amount) FROM sbtest.transfer WHERE b > 0");
    assert_eq!(numbered.unwrap().trim(), "60\t1\t60", "a sequence is walked by all sessions together");
}

#[test]
fn a_statement_that_the_server_does_not_understand_is_refused_before_the_run() {
    let server = bank(MariaDb::builder());
    let transactions = r#"[[workload.transactions]]
name = "look"
statements = ["SELECT 1", "SELECT 'it\\'s', balance FROM acount WHERE id = :id"]
parameters = { id = { uniform = [1, 2] } }
"#;
    let lab = Lab::new(&study(&mariadb(&server), transactions, TIMED));
    let words =
        ["statement 2 of transaction look does not prepare", "acount' doesn't exist", "[[workload.transactions]]"];
    lab.refused("check study.toml", &words);
    lab.refused("run study.toml", &words);
    let set_up = "profiles.0.setup=[\"CREATE_TABLE\"]";
    let (code, said) = lab.vufleet(&format!("check study.toml --set {set_up}"));
    assert_eq!(code, 0, "a setup may make the table: {said}");
    assert!(said.contains("it has to once the setup of profile 4vu has run"), "{said}");
    lab.refused("schema build study.toml", &["the workload sql has no tables of its own", "setup of its profiles"]);
    lab.refused("schema drop study.toml", &["the workload sql has no tables of its own"]);
}

#[test]
fn the_cpu_loop_runs_as_it_comes() {
    let server = MariaDb::start().unwrap();
    let ready = vufleet_scenarios::study::ready("cpu-loop-mariadb").unwrap();
    let lab = Lab::new(ready);
    let target = format!("--set target.port={} --set target.password={{file=\"password\"}}", server.port());
    let run = lab.run(&format!(
        "--agents 1 {target} --set target.database=sbtest --set profiles.0.vus=2 --set schedule.ramp_up=200ms \
         --set schedule.measure=2s --set schedule.settle=0s --set schedule.repetitions=1 --set schedule.max_repeats=0"
    ));
    assert!(run["transactions"]["loop"]["ok"].as_u64().unwrap() > 0, "{run:#}");
    assert_witnessed(&run, &["qps"]);
    let calls = counters(&server)["Com_call_procedure"];
    assert_eq!(run["whole_run"]["loop"]["client"], calls, "{run:#}");
}

const ON_SQLITE: &str = r#"[[workload.transactions]]
name = "transfer"
weight = 2
transaction = true
statements = [
    "UPDATE account SET balance = balance - :amount WHERE id = :a",
    "UPDATE account SET balance = balance + :amount WHERE id = :b",
    "INSERT INTO transfer VALUES (:a, :b, :amount, :note, :made)",
]
[workload.transactions.parameters]
a = { uniform = [1, 100] }
b = { uniform = [101, 200] }
amount = { choice = [1, 2, 5] }
note = { text = 8 }
made = "now"

[[workload.transactions]]
name = "look"
statements = ["SELECT balance FROM account WHERE id = :id"]
parameters = { id = { zipfian = [1, 200] } }
"#;

#[test]
fn on_sqlite_every_row_is_one_that_was_counted() {
    let lab = Lab::new(&study("kind = \"sqlite\"\npath = \"bank.db\"", ON_SQLITE, TIMED));
    let connection = Connection::open(lab.path("bank.db")).unwrap();
    connection.execute_batch(TABLES).unwrap();
    for id in 1..=200 {
        connection.execute("INSERT INTO account VALUES (?1, 100)", [id]).unwrap();
    }
    let (code, said) = lab.vufleet("check study.toml");
    assert_eq!(code, 0, "{said}");
    for protocol in ["prepared", "text"] {
        connection.execute("DELETE FROM transfer", []).unwrap();
        let run = lab.run(&format!("--agents 1 --set workload.protocol={protocol}"));
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let transfers = run["whole_run"]["transfer"]["client"].as_i64().unwrap();
        assert!(transfers > 0 && run["transactions"]["look"]["ok"].as_u64() > Some(0), "{run:#}");
        assert_eq!(count("SELECT count(*) FROM transfer"), transfers, "{run:#}");
        assert_eq!(count("SELECT sum(balance) FROM account"), 20_000);
        assert_eq!(count("SELECT count(*) FROM transfer WHERE made > datetime('now', '-5 minutes')"), transfers);
        assert!(run["witness"].is_null(), "SQLite keeps no counts");
        let (tps, qps) = (run["metrics"]["tps"].as_f64().unwrap(), run["metrics"]["qps"].as_f64().unwrap());
        let statements: u64 =
            ["transfer", "look"].iter().map(|kind| run["transactions"][*kind]["statements"].as_u64().unwrap()).sum();
        assert!(
            (qps * run["measured_s"].as_f64().unwrap() - statements as f64).abs() < 1e-3 * statements as f64,
            "{run:#}"
        );
        assert!((3.0..4.0).contains(&(qps / tps)), "two of five statements to one of one: {run:#}");
    }
    lab.refused(
        "check study.toml --set target.path=other.db",
        &["statement 1 of transaction transfer", "no such table"],
    );
}

#[test]
fn the_plan_shows_what_is_sent_and_files_are_looked_for_beside_the_study() {
    let lab = Lab::new(&study("kind = \"sqlite\"\npath = \"bank.db\"", ON_SQLITE, TIMED));
    let (code, said) = lab.vufleet("plan study.toml --sql");
    assert_eq!(code, 0, "{said}");
    let transfer = "-- transaction transfer of profile 4vu (prepared, weight 2 in decks of 3)\nBEGIN;\n\
                    UPDATE account SET balance = balance - ? WHERE id = ?;\n";
    let look = "-- transaction look of profile 4vu (prepared, weight 1 in decks of 3)\n\
                SELECT balance FROM account WHERE id = ?;\n";
    for words in [transfer, "strftime('%Y-%m-%d %H:%M:%f', 'now'));\nCOMMIT;\n", look, "sql, 2 transactions"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    assert!(
        said.contains("reads and writes what the study's own statements name") && !said.contains("rows after"),
        "{said}"
    );

    let lab = Lab::new("");
    let text = study("kind = \"simulated\"", TRANSFER, TIMED);
    std::fs::create_dir(lab.path("lab")).unwrap();
    std::fs::write(lab.path("lab/study.toml"), text).unwrap();
    lab.refused(
        "plan lab/study.toml",
        &["line 10: workload.transactions.0.file: cannot be read: lab/transfer.sql: No such"],
    );
    std::fs::write(lab.path("lab/transfer.sql"), TRANSFER_SQL).unwrap();
    let (code, said) = lab.vufleet("run lab/study.toml --agents 2 --out out --set schedule.measure=1s");
    assert_eq!(code, 0, "{said}");
    let run = lab.results()["runs"][0].take();
    assert!(run["transactions"]["transfer"]["ok"].as_u64() > Some(0), "{run:#}");
    let (code, said) = lab.vufleet("run lab/study.toml --smoke");
    assert!(code == 0 && said.contains("ok, 5 statements"), "{said}");
}
