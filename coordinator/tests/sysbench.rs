//! Tables as sysbench 1.0.20 prepares them, and every script on them. Its definition differs from ours only in how it is
//! written down; what counts are types, defaults, keys and the form of the texts.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use vufleet_testbed::MariaDb;

const TABLES: u32 = 2;
const ROWS: u32 = 1_000;

/// A table as `sysbench oltp_common` leaves it behind `prepare`.
fn prepare(server: &MariaDb, table: u32) {
    let digits = |groups: u32| {
        let group = "LPAD(FLOOR(RAND() * 99999999999), 11, '0')";
        format!("CONCAT_WS('-', {})", vec![group; groups as usize].join(", "))
    };
    server
        .sql(&format!(
            "CREATE TABLE sbtest.sbtest{table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = InnoDB; \
             INSERT INTO sbtest.sbtest{table} (k, c, pad) \
             SELECT 1 + FLOOR(RAND() * {ROWS}), {}, {} FROM sbtest.seq_1_to_{ROWS}; \
             CREATE INDEX k_{table} ON sbtest.sbtest{table} (k)",
            digits(10),
            digits(5)
        ))
        .unwrap();
}

fn vufleet(dir: &Path, line: &str) -> (Option<i32>, String) {
    let vufleet = Path::new(env!("CARGO_BIN_EXE_vufleet"));
    let agent = vufleet.with_file_name("vufleet-agent");
    assert!(agent.is_file(), "{} is missing: cargo build --workspace", agent.display());
    let output = Command::new(vufleet).args(line.split_whitespace()).current_dir(dir).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code(), text)
}

#[test]
fn tables_that_sysbench_prepared_serve_every_script() {
    let server = MariaDb::start().unwrap();
    (1..=TABLES).for_each(|table| prepare(&server, table));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("password"), MariaDb::BENCH.password).unwrap();
    let scripts = [
        "read_only",
        "read_write",
        "write_only",
        "point_select",
        "update_index",
        "update_non_index",
        "insert",
        "delete",
    ];
    let profiles: String = scripts
        .map(|script| format!("[[profiles]]\nlabel = \"{script}\"\nworkload = {{ script = \"{script}\" }}\nvus = 2\n"))
        .concat();
    let study = format!(
        "name = \"sysbench\"\nseed = 3\n[target]\nkind = \"mysql\"\nport = {}\ndatabase = \"{}\"\nuser = \"{}\"\n\
         password = {{ file = \"password\" }}\n[workload]\nkind = \"oltp\"\nscript = \"read_write\"\ntables = {TABLES}\n\
         table_size = {ROWS}\n{profiles}[schedule]\ntransactions = 50\nsettle = \"0s\"\nrepetitions = 1\n",
        server.port(),
        MariaDb::DATABASE,
        MariaDb::BENCH.user,
    );
    std::fs::write(dir.path().join("study.toml"), study).unwrap();

    let (code, said) = vufleet(dir.path(), "schema verify study.toml -q");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = vufleet(dir.path(), "run study.toml --agents 1 --out out -q");
    assert_eq!(code, Some(0), "{said}");
    let results: Value = serde_json::from_slice(&std::fs::read(dir.path().join("out/results.json")).unwrap()).unwrap();
    for script in scripts {
        let of_script = |run: &&Value| run["transactions"][script].is_object() && run["verdict"] != "invalid";
        let run = results["runs"].as_array().unwrap().iter().find(of_script);
        let counts = &run.unwrap_or_else(|| panic!("no run of {script}: {results:#}"))["transactions"][script];
        assert_eq!((&counts["ok"], &counts["failed"]), (&100.into(), &0.into()), "{script}: {counts:#}");
    }
    let grown = server.sql("SELECT MAX(id) > 1000 FROM sbtest.sbtest1").unwrap();
    assert_eq!(grown.trim(), "1", "a row without an id is numbered by the table");
}
