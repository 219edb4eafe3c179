//! A fleet of dozens of agents, all of them processes: every one of them joins, begins, and is counted.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;
use vufleet::ledger::Ledger;
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::phase;

const AGENTS: usize = 40;
const VUS: usize = 20 * AGENTS;
/// Far above what such a fleet takes, far below what a queue takes that nobody empties.
const MOST_BYTES: u64 = 300_000_000;

const STUDY: &str = "name = \"crowd\"\nseed = 1\n[target]\nkind = \"simulated\"\nservice_time = \"2ms\"\n[workload]\nkind = \"oltp\"\n\
                     script = \"point_select\"\n[[profiles]]\nvus = 800\npacing = { wait = \"1s\" }\n[schedule]\nramp_up = \"2s\"\n\
                     measure = \"6s\"\nsettle = \"0ms\"\nrepetitions = 1\nmax_repeats = 0\n";

fn peak_resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"))?;
    Some(kilobytes.trim().parse::<u64>().ok()? * 1_024)
}

#[test]
fn everybody_joins_begins_and_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name);
    std::fs::write(file("study.toml"), STUDY).unwrap();
    let mut command = Command::cargo_bin("vufleet").unwrap();
    command.current_dir(dir.path()).args(["run", "study.toml", "--out", "out", "--quiet", "--agents"]);
    command.arg(AGENTS.to_string()).stdout(Stdio::null()).stderr(std::fs::File::create(file("log")).unwrap());
    let mut run = command.spawn().unwrap();
    let mut peak_bytes = 0;
    let status = loop {
        peak_bytes = peak_resident_bytes(run.id()).unwrap_or(0).max(peak_bytes);
        if let Some(status) = run.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(status.success(), "{status}: {}", std::fs::read_to_string(file("log")).unwrap());
    assert!((1..MOST_BYTES).contains(&peak_bytes), "the coordinator took {peak_bytes} bytes");

    let results: Value = serde_json::from_slice(&std::fs::read(file("out/results.json")).unwrap()).unwrap();
    let run = &results["runs"][0];
    // The machine may be busy, and that may be told. Nothing else may.
    assert_ne!(run["verdict"], "invalid", "{}", run["reasons"]);
    assert_eq!((run["driving"].as_array().unwrap().len(), &run["sessions"]), (AGENTS, &Value::from(VUS)));
    assert!(run["start_late_ms"].is_number(), "{run}");

    let ledger = Ledger::read_only(&file("vufleet-data")).unwrap();
    let (mut begun, mut counted) = (BTreeSet::new(), BTreeSet::new());
    let recorded = ledger.runs(&ledger.study("last").unwrap().id).unwrap();
    for recorded in ledger.events(recorded[0].id).unwrap() {
        match recorded.event.body {
            Some(Body::Phase(told)) if told.kind() == phase::Kind::Started => {
                begun.insert((recorded.agent, told.at_ns > 0))
            }
            Some(Body::Interval(interval)) if !interval.kinds.is_empty() => counted.insert(recorded.agent),
            _ => false,
        };
    }
    assert_eq!((begun.len(), counted.len()), (AGENTS, AGENTS));
    assert!(begun.iter().all(|(_, told)| *told));
}
