//! The verbs that read a ledger, on one that a coordinator left behind in the middle of a run.

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::CommandCargoExt;
use assert_cmd::prelude::OutputAssertExt;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use vufleet::ledger::{Ledger, StudyFacts};
use vufleet_scenarios::plan;
use vufleet_scenarios::study::{self, Edits};

const STUDY: &str = "name = \"kept\"\nseed = 7\n[target]\nkind = \"simulated\"\n[workload]\nkind = \"oltp\"\n\
                     script = \"point_select\"\n[[profiles]]\nvus = 2\n";

/// A data directory with one study and one run that never ended; also the study's id.
fn left_behind() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let study = study::read(STUDY, &Edits::default()).unwrap();
    let mut ledger = Ledger::open(&dir.path().join("vufleet-data")).unwrap();
    let facts = StudyFacts { begun_ns: 1_700_000_000_000_000_000, vufleet: "0.1.0".into() };
    let id = ledger.begin_study(&study, &facts).unwrap();
    ledger.begin_run(&id, &plan::expand(&study)[0], 1).unwrap();
    drop(ledger);
    // The next coordinator notices that nobody works on it any more.
    Ledger::open(&dir.path().join("vufleet-data")).unwrap();
    (dir, id.to_string())
}

fn vufleet(dir: &Path, line: &str) -> Command {
    let mut command = Command::cargo_bin("vufleet").unwrap();
    command.current_dir(dir).args(line.split_whitespace());
    command
}

#[test]
fn studies_are_listed() {
    let (dir, id) = left_behind();
    vufleet(dir.path(), "studies")
        .assert()
        .code(0)
        .stdout(contains(id).and(contains("kept")).and(contains("interrupted")).and(contains("2023-11-14T22:13:20Z")));
}

#[test]
fn a_study_is_shown_with_its_runs_and_what_is_against_them() {
    let (dir, id) = left_behind();
    for wanted in ["last", &id, &id[..id.len() - 1]] {
        vufleet(dir.path(), &format!("show {wanted}"))
            .assert()
            .code(0)
            .stdout(contains(&id).and(contains("seed 7")).and(contains("invalid")).and(contains("run 1: ")));
    }
}

#[test]
fn a_report_is_computed_anew() {
    let (dir, id) = left_behind();
    vufleet(dir.path(), "report last").assert().code(0).stdout(contains(id).and(contains("invalid, left out")));
}

#[test]
fn an_export_writes_every_file_and_names_it() {
    let (dir, id) = left_behind();
    let output = vufleet(dir.path(), "export last").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let named = String::from_utf8(output.stdout).unwrap();
    for name in vufleet::render::FILE_NAMES {
        let path = Path::new("results").join(&id).join(name);
        assert!(named.contains(path.to_str().unwrap()), "{named}");
        assert!(dir.path().join(path).exists(), "{name}");
    }
    let results = std::fs::read_to_string(dir.path().join("results").join(&id).join("results.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&results).unwrap()["seed"], 7);
    vufleet(dir.path(), "export last --out vufleet-data").assert().code(1).stderr(contains("--out"));
}

#[test]
fn what_is_not_there_is_named() {
    let (dir, _) = left_behind();
    for verb in ["show", "report", "export"] {
        vufleet(dir.path(), &format!("{verb} nothing")).assert().code(1).stdout("").stderr(contains("nothing"));
        vufleet(dir.path(), &format!("{verb} last --data elsewhere"))
            .assert()
            .code(1)
            .stderr(contains("elsewhere").and(contains("--data")));
    }
    vufleet(dir.path(), "studies --data elsewhere").assert().code(1).stderr(contains("elsewhere"));
    assert!(!dir.path().join("elsewhere").exists(), "reading makes nothing");
    assert!(!dir.path().join("results").exists());
}
