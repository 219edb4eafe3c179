//! Open arrivals on a target of known capacity, below it and beyond.

use serde_json::Value;

use super::lab::{Lab, files, study};

/// A machine that does other things may hold one run up.
const ATTEMPTS: usize = 3;

/// Twenty virtual users whose transactions take 20 ms: at most 1000 a second.
fn lab(rate: u32) -> Lab {
    let text = study::small("kind = \"simulated\"\nservice_time = \"20ms\"");
    let pacing = format!("{{ rate = {rate} }}");
    Lab::new(&text.replace("vus = 4", "vus = 20").replace("{ wait = \"10ms\" }", &pacing))
}

fn arrive(lab: &Lab, times: &str) -> Value {
    lab.run(&format!("run study.toml {times} --out out")).expect(0);
    files::counted(&files::results(&lab.path("out"))).clone()
}

fn latencies(run: &Value) -> (f64, f64) {
    (files::figure(run, "/metrics/p50_ms"), files::figure(run, "/metrics/service_p50_ms"))
}

/// What was asked is achieved, and nobody waits.
fn keeps_up(run: &Value) -> bool {
    let (response, service) = latencies(run);
    assert!(service >= 20.0 && response >= service, "{run:#}");
    // 4800 arrivals: a standard deviation of 1.4 %. The seed fixes them, so that only time's edges vary.
    let tps = files::figure(run, "/metrics/tps");
    (tps - 400.0).abs() < 12.0 && response < 1.5 * service && files::count(run, "/not_started") < 5
}

#[test]
fn below_capacity_what_is_asked_is_achieved() {
    let lab = lab(400);
    let mut runs = Vec::new();
    while runs.len() < ATTEMPTS && !runs.last().is_some_and(keeps_up) {
        runs.push(arrive(&lab, "--set schedule.measure=12s"));
    }
    assert!(runs.last().is_some_and(keeps_up), "{runs:#?}");
}

#[test]
fn beyond_capacity_the_wait_and_what_could_not_start_are_told() {
    let run = arrive(&lab(4_000), "--set schedule.measure=4s");
    assert!(files::figure(&run, "/metrics/tps") < 1_050.0, "{run:#}");
    let (response, service) = latencies(&run);
    assert!(response > 10.0 * service, "a transaction takes what it takes, but it comes late: {run:#}");
    assert_eq!(files::verdict(&run), "degraded", "{run:#}");
    assert!(files::reasons(&run).contains("add virtual users or lower the rate"), "{run:#}");
    // Of some 20 000 arrivals at most 5 000 started.
    assert!(files::count(&run, "/not_started") > 10_000, "{run:#}");
}
