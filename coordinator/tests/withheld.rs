//! `relative_only`: no form of a report tells how much the database did.

mod synthetic;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use synthetic::Lab;
use synthetic::audit::{all_files, lab, told};
use vufleet::render::text;

/// Equal but for the rounding of logarithms.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.keys().eq(other.keys()) && one.iter().all(|(key, value)| alike(value, &other[key]))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        _ => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(1.0),
            _ => one == other,
        },
    }
}

/// Two labs that differ in nothing but how much their databases do are told in the same words.
#[test]
fn what_is_withheld_leaves_no_trace_in_any_form() {
    let (small, large) = (lab(1, true), lab(2, true));
    let forms = |lab: &Lab, absolute: bool| {
        let report = told(lab, absolute);
        (text(&report, 120), all_files(&report))
    };
    let (small_text, small_files) = forms(&small, false);
    let (large_text, large_files) = forms(&large, false);
    assert_eq!(small_text, large_text);
    for name in ["runs.csv", "samples.csv", "histograms.hgrm", "report.html"] {
        assert_eq!(small_files[name], large_files[name], "{name}");
    }
    let json = |files: &BTreeMap<String, String>| serde_json::from_str::<Value>(&files["results.json"]).unwrap();
    assert!(alike(&json(&small_files), &json(&large_files)), "{}", small_files["results.json"]);
    assert_ne!(forms(&small, true), forms(&large, true), "the labs do differ");
    let results: Value = serde_json::from_str(&small_files["results.json"]).unwrap();
    assert_eq!(results["cells"][1]["change"]["tps"]["conclusion"], "lower");
    for run in results["runs"].as_array().unwrap() {
        let keys: BTreeSet<&str> = run["metrics"].as_object().unwrap().keys().map(String::as_str).collect();
        let cpu = ["db_host_cpu_percent", "db_process_cpu_percent", "driver_host_cpu_percent"];
        assert!(keys.iter().all(|key| cpu.contains(key)), "{keys:?}");
    }
}

#[test]
fn withheld_figures_are_lifted_only_when_asked_for() {
    let lab = lab(1, true);
    let withheld = told(&lab, false);
    assert!(withheld.withheld && withheld.relative_only);
    assert!(text(&withheld, 120).contains("--absolute shows them"));
    let lifted = told(&lab, true);
    assert!(!lifted.withheld && lifted.relative_only);
    let files = all_files(&lifted);
    let results: Value = serde_json::from_str(&files["results.json"]).unwrap();
    assert!(results["cells"][0]["metrics"]["tps"]["mean"].is_number());
    assert_eq!(results["relative_only"], true);
    assert_eq!(lifted.runs[0].sentences(true), withheld.runs[0].sentences(false));
    assert_ne!(lifted.runs[0].sentences(true), lifted.runs[0].sentences(false));
}
