//! The forms of a report: every file and the terminal's table.

mod synthetic;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde_json::Value;
use synthetic::audit::{all_files, lab, told};
use synthetic::{AGENTS, LOAD_S, Lab, RAMP_UP_S, STUDY, Tape, WINDOW_S, near};
use vufleet::analysis::{self, Options, RunReport};
use vufleet::render::{FILE_NAMES, files, text};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

#[test]
fn every_file_is_written_in_order_and_in_pieces() {
    let report = told(&lab(1, false), false);
    let mut names: Vec<String> = Vec::new();
    let mut pieces = 0;
    files(&report, &mut |run| Ok(run.clone()), &mut |name, bytes| {
        if names.last().is_none_or(|last| last != name) {
            names.push(name.to_owned());
        }
        pieces += 1;
        assert!(!bytes.is_empty());
        Ok(())
    })
    .unwrap();
    assert_eq!(names, FILE_NAMES);
    assert!(pieces > FILE_NAMES.len(), "the time series does not fit one piece");
}

#[test]
fn a_sink_that_fails_ends_the_writing() {
    let report = told(&lab(1, false), false);
    let mut calls = 0;
    let result = files(&report, &mut |run| Ok(run.clone()), &mut |_, _| {
        calls += 1;
        Err(io::Error::other("the operator is gone"))
    });
    assert_eq!(result.unwrap_err().to_string(), "the operator is gone");
    assert_eq!(calls, 1);
}

/// Every path of keys in a JSON value; arrays are `[]`.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| paths(value, &format!("{at}.{key}"), found)),
        Value::Array(items) => items.iter().for_each(|value| paths(value, &format!("{at}[]"), found)),
        Value::Null => panic!("{at} is null"),
        _ => drop(found.insert(at.to_owned())),
    }
}

#[test]
fn results_json_has_the_keys_of_its_contract() {
    let files = all_files(&told(&lab(1, false), false));
    let results: Value = serde_json::from_str(&files["results.json"]).unwrap();
    let mut found = BTreeSet::new();
    paths(&results, "", &mut found);
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut add = |at: &str, keys: &str| known.extend(keys.split_whitespace().map(|key| format!("{at}.{key}")));
    add("", "schema study study_id state vufleet seed relative_only baseline confidence repetitions interval_s");
    for metric in ["tps", "p95_ms", "db_process_cpu_percent", "cpu_ms_per_txn"] {
        add(&format!(".drift.{metric}"), "percent ci[] p blocks");
    }
    add(".workload", "kind script protocol distribution tables table_size");
    add(".target", "kind version connection shared_host");
    add(".profiles[]", "id vus sessions_per_vu pacing");
    add(".cells[]", "variant profile n");
    let metrics = "tps qps p50_ms p95_ms p99_ms mean_ms service_p50_ms service_p95_ms service_p99_ms service_mean_ms \
        errors_per_s db_host_cpu_percent db_process_cpu_percent driver_host_cpu_percent cpu_ms_per_txn \
        db_disk_read_bytes_per_s db_disk_write_bytes_per_s db_net_rx_bytes_per_s db_net_tx_bytes_per_s";
    for metric in metrics.split_whitespace() {
        add(&format!(".cells[].metrics.{metric}"), "mean sd ci[]");
    }
    let without_zeros = metrics.split_whitespace().filter(|metric| {
        !["errors_per_s", "db_disk_read_bytes_per_s", "db_net_rx_bytes_per_s", "db_net_tx_bytes_per_s"].contains(metric)
    });
    for metric in without_zeros {
        let keys = "percent ci[] p p_holm conclusion method n welch.percent welch.ci[] detectable_percent";
        add(&format!(".cells[].change.{metric}"), keys);
    }
    add(".runs[]", "run variant profile repetition attempt verdict reasons[] started measured_s sessions connect_s");
    add(".runs[].driving[]", "agent vus");
    add(".runs[]", "superseded not_started reconnects drift_percent steady.percent steady.p");
    add(".runs[].metrics", metrics);
    add(".runs[].transactions.read_write", "ok rollback unknown failed retries statements");
    add(".runs[].transactions.read_write", "p50_ms p95_ms p99_ms service_p95_ms");
    add(".runs[].witness[]", "metric client database source difference_percent");
    add(".runs[].witness[]", "client_count database_count over_s allowance_count");
    add(".runs[].whole_run.read_write", "client unknown database");
    let missing: Vec<_> = known.difference(&found).collect();
    let unknown: Vec<_> = found.difference(&known).filter(|path| !path.ends_with("not_after_correction_for")).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing {missing:?}, not in the contract {unknown:?}");
}

#[test]
fn results_json_holds_the_figures_of_the_report() {
    let files = all_files(&told(&lab(1, false), false));
    let results: Value = serde_json::from_str(&files["results.json"]).unwrap();
    assert_eq!((&results["schema"], &results["seed"]), (&Value::from(1), &Value::from(42)));
    assert_eq!(results["target"]["version"], "10.11.19-MariaDB");
    let cell = &results["cells"][0];
    assert_eq!((&cell["profile"], &cell["variant"], &cell["n"]), (&"4vu".into(), &"baseline".into(), &3.into()));
    near(cell["metrics"]["tps"]["mean"].as_f64().unwrap(), 2.0 * (40.0 + 40.0 + 41.0) / 3.0, 1e-9);
    let run = &results["runs"][0];
    assert_eq!(run["started"], "2026-05-28T20:26:42.000Z");
    near(run["metrics"]["tps"].as_f64().unwrap(), 80.0, 1e-9);
    assert_eq!(run["transactions"]["read_write"]["errors"], serde_json::json!({}));
    let change = &results["cells"][1]["change"]["tps"];
    assert_eq!(change["conclusion"], "lower");
}

#[test]
fn one_variant_and_one_run_have_neither_change_nor_interval() {
    let mut lab = Lab::new();
    lab.record(Tape::new(1));
    let files = all_files(&lab.report());
    let results: Value = serde_json::from_str(&files["results.json"]).unwrap();
    let cell = results["cells"][0].as_object().unwrap();
    assert!(!cell.contains_key("change") && !cell.contains_key("hosts"));
    assert_eq!(cell["metrics"]["tps"], serde_json::json!({ "mean": 200.0 }));
    let run = results["runs"][0].as_object().unwrap();
    assert!(!run.contains_key("not_started") && !run.contains_key("superseded"));
    assert_eq!(run["reasons"], serde_json::json!([]));
}

fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
}

#[test]
fn runs_csv_reads_back() {
    let report = told(&lab(1, false), false);
    let rows = rows(&all_files(&report)["runs.csv"]);
    assert_eq!(rows.len(), report.runs.len());
    let last = &rows[rows.len() - 1];
    assert_eq!(
        (last["variant"].as_str(), last["profile"].as_str(), last["repetition"].as_str()),
        ("audit", "16vu", "3")
    );
    near(last["tps"].parse().unwrap(), 2.0 * 95.0, 1e-9);
    let broken = rows.iter().find(|row| row["verdict"] == "invalid").unwrap();
    assert!(broken["reasons"].starts_with("stopped by the operator; "), "{}", broken["reasons"]);
}

#[test]
fn samples_csv_has_a_row_for_each_agent_and_interval() {
    let mut lab = Lab::new();
    let mut tape = Tape::new(1);
    tape.interval("load-b", 9).kinds[0].ok = 77;
    lab.record(tape);
    let rows = rows(&all_files(&lab.report())["samples.csv"]);
    let of = |agent: &str| rows.iter().filter(|row| row["agent"] == agent).collect::<Vec<_>>();
    for agent in AGENTS {
        assert_eq!(of(agent).len() as u64, LOAD_S + 1);
    }
    let row = of("load-b").into_iter().find(|row| row["start_s"] == "9").unwrap();
    for (column, value) in [
        ("role", "drive"),
        ("end_s", "10"),
        ("in_window", "true"),
        ("sessions", "8"),
        ("read_write_ok", "77"),
        ("read_write_statements", "2000"),
        ("host_cpu_percent", "30"),
        ("clock_uncertainty_ms", "0.02"),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    near(row["read_write_p95_ms"].parse().unwrap(), 10.5, 0.001);
    let observed: Vec<_> = of("observer").into_iter().filter(|row| row["role"] == "observe").collect();
    assert_eq!(observed.len() as u64, LOAD_S + 2);
    assert_eq!((observed[0]["role"].as_str(), observed[0]["process_cpu_percent"].as_str()), ("observe", "50"));
    assert_eq!(observed[0]["read_write_ok"], "");
    let inside = rows.iter().filter(|row| row["agent"] == "load-a" && row["in_window"] == "true").count() as u64;
    assert_eq!(inside, WINDOW_S);
    assert!(of("load-a").iter().any(|row| row["start_s"] == RAMP_UP_S.to_string()));
}

#[test]
fn samples_csv_has_all_that_was_observed() {
    let mut tape = Tape::new(1);
    for sample in tape.hosts("observer") {
        let second = sample.at_ns / 1_000_000_000 % 1_000;
        let core = |user: u64| v1::CpuTimes { user: second * user, idle: second * (100 - user), ..Default::default() };
        sample.cores = vec![core(25), core(75)];
        (sample.load1, sample.memory_total, sample.memory_available) = (1.5, 8 << 30, 3 << 30);
    }
    let mut lab = Lab::new();
    lab.record(tape);
    let rows = rows(&all_files(&lab.report())["samples.csv"]);
    let at = |role: &str, start: &str| {
        let found =
            rows.iter().find(|row| row["agent"] == "observer" && row["role"] == role && row["start_s"] == start);
        found.unwrap_or_else(|| panic!("no {role} at {start}"))
    };
    for (column, value) in [
        ("host_cpu_percent", "60"),
        ("user_percent", "50"),
        ("system_percent", "10"),
        ("steal_percent", "0"),
        ("iowait_percent", "5"),
        ("core_percent", "25.0 75.0"),
        ("load1", "1.5"),
        ("memory_total_bytes", "8589934592"),
        ("memory_available_bytes", "3221225472"),
        ("process_cpu_percent", "50"),
        ("Com_commit", ""),
    ] {
        assert_eq!(at("observe", "9")[column], value, "{column}");
    }
    for (column, value) in [
        ("end_s", "9.001"),
        ("in_window", "true"),
        ("Com_commit", "6800"),
        ("Com_select", "26200"),
        ("host_cpu_percent", ""),
        ("sessions", ""),
    ] {
        assert_eq!(at("counters", "8.999")[column], value, "{column}");
    }
    assert_eq!(rows.iter().filter(|row| row["role"] == "counters").count() as u64, LOAD_S + 3);
}

#[test]
fn an_agent_in_both_roles_has_its_host_and_its_own_process_in_its_rows() {
    let mut tape = Tape::new(1);
    tape.events.retain(|(_, body)| !matches!(body, Body::Host(sample) if sample.role == "drive"));
    tape.events.iter_mut().filter(|(agent, _)| agent == "observer").for_each(|(agent, _)| *agent = "load-a".to_owned());
    for sample in tape.hosts("load-a") {
        sample.processes[0].cpu_ticks = sample.processes[1].cpu_ticks / 5;
        sample.processes[0].rss_bytes = 7 << 20;
    }
    let mut lab = Lab::new();
    lab.record(tape);
    let rows = rows(&all_files(&lab.report())["samples.csv"]);
    let of =
        |role: &str| rows.iter().find(|row| row["agent"] == "load-a" && row["role"] == role && row["start_s"] == "9");
    let told = |role: &str| {
        let row = of(role).unwrap();
        ["host_cpu_percent", "process_cpu_percent", "process_rss_bytes"].map(|column| row[column].clone())
    };
    assert_eq!(told("drive"), ["60", "10", "7340032"]);
    assert_eq!(told("observe"), ["60", "50", "1073741824"]);
}

#[test]
fn an_agent_without_host_samples_is_not_given_its_neighbours() {
    let mut lab = Lab::new();
    let mut tape = Tape::new(1);
    tape.events.retain(|(agent, body)| agent != "load-b" || !matches!(body, Body::Host(_)));
    lab.record(tape);
    let rows = rows(&all_files(&lab.report())["samples.csv"]);
    assert!(rows.iter().filter(|row| row["agent"] == "load-b").all(|row| row["host_cpu_percent"].is_empty()));
    assert!(rows.iter().filter(|row| row["agent"] == "load-a").all(|row| row["host_cpu_percent"] == "30"));
}

#[test]
fn histograms_are_percentile_distributions_between_comments() {
    let mut lab = Lab::new();
    lab.record(Tape::new(1));
    let text = all_files(&lab.report()).remove("histograms.hgrm").unwrap();
    let sections: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# variant ")).collect();
    assert_eq!(
        sections,
        [
            "baseline profile 16vu all runs read_write response",
            "baseline profile 16vu all runs read_write service",
            "baseline profile 16vu run 1 read_write response",
            "baseline profile 16vu run 1 read_write service",
        ]
    );
    let service = text.split("# variant baseline profile 16vu run 1 read_write service\n").nth(1).unwrap();
    let steps: Vec<Vec<f64>> = service
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<f64>>())
        .filter(|numbers| numbers.len() >= 3)
        .collect();
    assert!(steps.is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2]));
    let last = steps.last().unwrap();
    near(last[0], 10.0, 0.001);
    assert_eq!((last[1], last[2] as u64), (1.0, 2 * 100 * WINDOW_S));
    let median = steps.iter().find(|step| step[1] >= 0.5).unwrap();
    near(median[0], 5.0, 0.03);
    assert!(service.contains("#[Mean    =        5.0"), "{service}");
}

#[test]
fn a_simulated_target_is_named_once() {
    let mut lab = Lab::of(&STUDY.replace("\"mysql\"", "\"simulated\""));
    let mut tape = Tape::new(1);
    (tape.facts().target_version, tape.facts().connection) =
        (Some("simulated".to_owned()), Some("simulated".to_owned()));
    lab.record(tape);
    let text = text(&lab.report(), 80);
    assert!(text.contains("target: simulated\n"), "{text}");
}

#[test]
fn the_table_fits_the_terminal() {
    let lab = lab(1, false);
    let report = told(&lab, false);
    for width in [80, 120] {
        let text = text(&report, width);
        for line in text.lines() {
            assert!(line.chars().count() <= usize::from(width), "{} at {width}: {line}", line.chars().count());
        }
        assert!(text.contains("TPS") && text.contains("p95 ms") && text.contains("verdict"), "{text}");
        assert!(text.contains("run 10 (16vu audit, repetition 2): invalid, left out:"), "{text}");
    }
    assert!(text(&report, 120).contains("QPS"));
}

/// What a report of hundreds of runs leaves out until it is wanted is written all the same.
#[test]
fn runs_found_one_by_one_make_the_same_files() {
    let lab = lab(1, false);
    for absolute in [true, false] {
        let whole = told(&lab, absolute);
        let brief = analysis::brief(&lab.ledger, "last", Options { absolute }).unwrap();
        assert!(brief.runs.iter().all(|run| run.samples.is_empty() && run.host_series.is_empty()));
        let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut series = |told: &RunReport| Ok(analysis::run_of(&lab.ledger, &brief, told).unwrap());
        files(&brief, &mut series, &mut |name, bytes| {
            found.entry(name.to_owned()).or_default().extend(bytes);
            Ok(())
        })
        .unwrap();
        for (name, text) in all_files(&whole) {
            assert_eq!(String::from_utf8(found.remove(&name).unwrap()).unwrap(), text, "{name}");
        }
    }
}
