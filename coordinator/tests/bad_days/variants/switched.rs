//! Variants that are turned on in mid-run, to be watched.

use nix::sys::signal::Signal;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::super::lab::{Lab, eventually, files};
use super::{BEFORE, LAZY, at_work, flush, of_variant};

const SWITCHES: &str = r#"
[[switch]]
at = "2900ms"
variant = "baseline"

[[switch]]
at = "2s"
variant = "lazy"
"#;

fn switched() -> String {
    format!("{LAZY}{SWITCHES}")
}

/// What a run's ledger says was switched, with the time that each took, in their order.
fn told(lab: &Lab, run: &Value) -> Vec<(String, u64)> {
    let path = lab.path("vufleet-data").join("ledger.sqlite3");
    let ledger = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let sql = "SELECT payload FROM events WHERE run = ?1 AND boot = 0 AND kind = 'fact' ORDER BY seq";
    let mut statement = ledger.prepare(sql).unwrap();
    let facts = statement.query_map([run["run"].as_i64().unwrap()], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    let facts = facts.map(|fact| serde_json::from_slice::<Value>(&fact.unwrap()).unwrap());
    facts
        .filter(|fact| fact["fact"] == "switched")
        .map(|fact| {
            let (from, to) = (fact["from_ns"].as_u64().unwrap(), fact["to_ns"].as_u64().unwrap());
            (fact["variant"].as_str().unwrap().to_owned(), to - from)
        })
        .collect()
}

#[test]
fn a_switch_turns_its_variant_on_and_off_under_load_in_a_run_of_no_cell() {
    let (server, lab) = at_work(&switched());
    let measure = "--set schedule.measure=5s --set switch.0.at=4s";
    lab.run(&format!("plan study.toml {measure}")).expect(0).says(&["switches: lazy at 2 s, baseline at 4 s"]);
    let mut job = lab.start(&format!("run study.toml {measure} --out out"));
    job.await_words("measure run 3/3");
    job.await_that("the variant is turned on", || flush(&server) == "0");
    job.await_that("and off again, under load", || flush(&server) == BEFORE);
    assert!(job.err().contains("baseline 4vu with switches"), "{}", job.err());
    job.end().expect(0);
    let results = files::results(&lab.path("out"));
    let shown: Vec<&Value> = files::runs(&results).iter().filter(|run| run["repetition"] == 0).collect();
    let last = shown.last().unwrap_or_else(|| panic!("{}", files::story(&results)));
    assert!(files::counts(last) && last["variant"] == "baseline", "{last:#}");
    let switches = told(&lab, last);
    let names: Vec<&str> = switches.iter().map(|(variant, _)| variant.as_str()).collect();
    assert_eq!(names, ["lazy", "baseline"]);
    assert!(switches.iter().all(|(_, took_ns)| *took_ns < 2_000_000_000), "{switches:?}");
    for cell in results["cells"].as_array().unwrap() {
        assert_eq!(cell["n"], 1, "of its block alone: {cell:#}");
    }
    let number = last["run"].to_string();
    let loaded = files::samples(&lab.path("out"));
    assert!(loaded.iter().any(|row| row["run"] == number && row["role"] == "drive"), "it has samples");
    assert_eq!(flush(&server), BEFORE);
    lab.run("show last").expect(0).says(&["-      baseline"]);
}

#[test]
fn a_switched_variant_is_undone_when_the_run_is_stopped() {
    let (server, lab) = at_work(&switched());
    let mut job = lab.start("run study.toml --set schedule.measure=6s --set switch.0.at=6500ms");
    job.await_words("measure run 3/3");
    job.await_that("the variant is on", || flush(&server) == "0");
    job.signal(Signal::SIGINT);
    job.end().expect(130);
    assert_eq!(flush(&server), BEFORE);
    lab.assert_deserted();
}

/// What a switch applied is in the ledger before it is applied, and so is what undoes it.
#[test]
fn a_switch_that_everybody_was_killed_over_is_undone_when_the_study_goes_on() {
    let (server, lab) = at_work(&switched());
    let mut job = lab.start("run study.toml --set schedule.measure=6s --set switch.0.at=6500ms");
    job.await_words("measure run 3/3");
    job.await_that("the variant is turned on", || flush(&server) == "0");
    let agents = lab.processes();
    job.signal(Signal::SIGSTOP);
    for agent in agents.iter().filter(|process| process.agent_name().is_some()) {
        agent.kill();
    }
    job.kill();
    lab.assert_deserted();
    assert_eq!(flush(&server), "0", "nobody has undone it");
    lab.run("run --resume last --out out").expect(0).says(&["was still on; it is undone", "2 of 3 runs are there"]);
    eventually("it is off", || flush(&server) == BEFORE);
    let results = files::results(&lab.path("out"));
    assert_eq!(of_variant(&results, "lazy").len(), 1, "{}", files::story(&results));
}

#[test]
fn a_smoke_test_switches_nothing() {
    let (server, lab) = at_work(&switched());
    let ended = lab.run("run study.toml --smoke").expect(0);
    assert_eq!(ended.out.matches(": ok").count(), 2, "{ended}");
    assert_eq!(flush(&server), BEFORE);
}
