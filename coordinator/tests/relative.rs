//! `relative_only` on a real study with real processes: what is written and printed, the ledger aside, holds no figure of how much
//! the database did.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;

const STUDY: &str = r#"name = "held back"
seed = 11

[target]
kind = "sqlite"
path = "bench.db"

[workload]
kind = "oltp"
script = "point_select"
tables = 1
table_size = 1000

[[profiles]]
vus = [1, 2]

[schedule]
ramp_up = "500ms"
measure = "2s"
settle = "100ms"
repetitions = 2

[[variants]]
name = "plain"

[[variants]]
name = "marked"
apply = ["CREATE TABLE marked (x)"]
verify = [{ sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'marked'", equals = "1" }]
revert = ["DROP TABLE marked"]
undone = [{ sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'marked'", equals = "0" }]

[report]
relative_only = true
"#;

/// What no word of a form that withholds may name.
const FORBIDDEN_KEYS: [&str; 12] = [
    "transactions",
    "witness",
    "whole_run",
    "connect_s",
    "not_started",
    "reconnects",
    "requests",
    "waits",
    "tps",
    "qps",
    "p95_ms",
    "cpu_ms_per_txn",
];

fn vufleet(dir: &Path, line: &str) -> Output {
    let agent = assert_cmd::cargo::cargo_bin("vufleet").with_file_name("vufleet-agent");
    assert!(agent.is_file(), "{} is missing: cargo build --workspace", agent.display());
    let mut command = Command::cargo_bin("vufleet").unwrap();
    command.current_dir(dir).args(line.split_whitespace()).stdin(Stdio::null()).env_remove("VUFLEET_LOG");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    output
}

/// Everything under a directory but the ledger's own files and the database.
fn written(dir: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            written(&path, found);
        } else if !name.starts_with("ledger.") && !name.starts_with("bench.db") && name != "study.toml" {
            found.push((
                path.display().to_string(),
                String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned(),
            ));
        }
    }
}

/// A figure in the forms in which somebody may write it: to every precision, and with separators.
fn forms(figure: f64) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    for decimals in 0..=6 {
        let plain = format!("{figure:.decimals$}");
        let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
        for separator in ["", ",", " ", "\u{2009}", "\u{202f}", "_", "'"] {
            let digits: Vec<char> = whole.chars().collect();
            let groups: Vec<String> = digits.rchunks(3).rev().map(|group| group.iter().collect()).collect();
            forms.insert(format!("{}{rest}", groups.join(separator)));
        }
    }
    forms.insert(figure.to_string());
    // Of fewer digits there are too many for one to be a sign of anything: p values, percentages, places in a chart.
    let enough = if figure >= 1000.0 { 4 } else { 5 };
    let significant = |form: &String| form.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
    forms.retain(|form| significant(form) >= enough);
    forms
}

/// Whether a number stands in a text by itself, not as a part of a longer one.
fn holds(text: &str, number: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    text.match_indices(number).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + number.len()..].chars().next());
        let decimal = |letter: Option<char>| letter == Some('.');
        let inside = is_part(before)
            || (decimal(before) && text[..at - 1].ends_with(|letter: char| letter.is_ascii_digit()))
            || is_part(after);
        !inside
    })
}

/// The absolute figures of a study by name, as `export --absolute` has them.
fn figures(results: &Value) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    let mut put = |name: String, value: &Value| figures.extend(value.as_f64().map(|figure| (name, figure)));
    for cell in results["cells"].as_array().unwrap() {
        for (metric, summary) in cell["metrics"].as_object().unwrap() {
            if !metric.ends_with("cpu_percent") {
                put(format!("mean {metric}"), &summary["mean"]);
                put(format!("low {metric}"), &summary["ci"][0]);
            }
        }
    }
    for run in results["runs"].as_array().unwrap() {
        for (metric, value) in run["metrics"].as_object().unwrap() {
            if !metric.ends_with("cpu_percent") {
                put(format!("run's {metric}"), value);
            }
        }
        for (kind, counts) in run["transactions"].as_object().unwrap() {
            for (name, value) in counts.as_object().unwrap() {
                put(format!("{kind} {name}"), value);
            }
        }
        put("connect_s".to_owned(), &run["connect_s"]);
    }
    figures.retain(|(_, figure)| *figure != 0.0);
    figures
}

/// Every text in a value.
fn texts(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(all.insert(text.clone())),
        Value::Array(values) => values.iter().for_each(|value| texts(value, all)),
        Value::Object(values) => values.values().for_each(|value| texts(value, all)),
        _ => {}
    }
}

fn json(dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join("results.json")).unwrap()).unwrap()
}

#[test]
fn nothing_written_or_printed_tells_how_much_the_database_did() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("study.toml"), STUDY).unwrap();
    vufleet(dir.path(), "schema build study.toml --replace");
    let mut said = Vec::new();
    for line in ["run study.toml --out out", "report last", "show last", "studies", "export last --out again"] {
        let output = vufleet(dir.path(), line);
        let words = [output.stdout, output.stderr].concat();
        said.push((line.to_owned(), String::from_utf8(words).unwrap()));
    }
    written(dir.path(), &mut said);
    let names: Vec<&str> = said.iter().map(|(name, _)| name.as_str()).collect();
    for file in ["report.html", "results.json", "runs.csv", "samples.csv", "histograms.hgrm", ".log"] {
        assert!(names.iter().any(|name| name.ends_with(file)), "{file} was not searched: {names:?}");
    }
    vufleet(dir.path(), "export last --absolute --out absolute");
    let absolute = dir.path().join("absolute");
    let figures = figures(&json(&absolute));
    assert!(figures.len() > 100, "{}", figures.len());
    // A disk that writes 2,048 bytes a second happens to say what a setting of the host says.
    let mut settings = BTreeSet::new();
    texts(&json(&absolute)["settings"], &mut settings);
    for (name, figure) in &figures {
        for form in forms(*figure).difference(&settings) {
            for (place, text) in &said {
                assert!(!holds(text, form), "{name} {figure} is in {place} as {form}");
            }
        }
    }
    let withheld = json(&dir.path().join("out"));
    for thing in ["cells", "runs"] {
        for item in withheld[thing].as_array().unwrap() {
            let keys: BTreeSet<&String> = item.as_object().unwrap().keys().collect();
            let metrics = item["metrics"].as_object().unwrap();
            for key in FORBIDDEN_KEYS {
                assert!(!keys.contains(&key.to_owned()) && !metrics.contains_key(key), "{thing}: {key}");
            }
        }
    }
    let page = std::fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("marked") && page.contains("<td>tps</td>"), "changes are told");
    for axis in ["transactions/s", "statements/s", "Latency percentiles", "Distribution of"] {
        assert!(!page.contains(axis), "{axis}");
    }
}

#[test]
fn absolute_lifts_it_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let study = STUDY.replace("measure = \"2s\"", "measure = \"1s\"").replace("vus = [1, 2]", "vus = 1");
    std::fs::write(dir.path().join("study.toml"), study).unwrap();
    vufleet(dir.path(), "schema build study.toml --replace");
    vufleet(dir.path(), "run study.toml --out out --quiet");
    let printed = String::from_utf8(vufleet(dir.path(), "report last --absolute").stdout).unwrap();
    vufleet(dir.path(), "export last --absolute --out absolute");
    let page = std::fs::read_to_string(dir.path().join("absolute/report.html")).unwrap();
    let cell = &json(&dir.path().join("absolute"))["cells"][0];
    let tps = cell["metrics"]["tps"]["mean"].as_f64().unwrap();
    let found = |text: &str| forms(tps).iter().any(|form| holds(text, form));
    assert!(found(&printed) && found(&page), "{tps} is in neither\n{printed}");
    assert!(page.contains("transactions/s") && page.contains("Latency percentiles"));
}
