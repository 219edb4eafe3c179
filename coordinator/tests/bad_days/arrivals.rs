//! Open arrivals on a target of known capacity, below it and beyond.

use serde_json::Value;

use super::lab::{Lab, files, study};

/// Twenty virtual users whose transactions take 20 ms: at most 1000 a second.
fn arrive(rate: u32, times: &str) -> Value {
    let text = study::small("kind = \"simulated\"\nservice_time = \"20ms\"");
    let lab =
        Lab::new(&text.replace("vus = 4", "vus = 20").replace("{ wait = \"10ms\" }", &format!("{{ rate = {rate} }}")));
    lab.run(&format!("run study.toml {times} --out out")).expect(0);
    let results = files::results(&lab.path("out"));
    files::counted(&results).clone()
}

#[test]
fn below_capacity_what_is_asked_is_achieved() {
    let run = arrive(400, "--set schedule.measure=12s");
    let tps = files::figure(&run, "/metrics/tps");
    // 4800 arrivals: a standard deviation of 1.4 %. The seed fixes them, so that only time's edges vary.
    assert!((tps - 400.0).abs() < 12.0, "{run:#}");
    assert!(files::count(&run, "/not_started") < 5, "{run:#}");
    let (response, service) = (files::figure(&run, "/metrics/p50_ms"), files::figure(&run, "/metrics/service_p50_ms"));
    assert!(service >= 20.0, "{run:#}");
    assert!(response >= service && response < 2.0 * service, "nobody waits: {run:#}");
}

#[test]
fn beyond_capacity_the_wait_and_what_could_not_start_are_told() {
    let run = arrive(4_000, "--set schedule.measure=4s");
    let tps = files::figure(&run, "/metrics/tps");
    assert!(tps < 1_050.0, "{run:#}");
    let (response, service) = (files::figure(&run, "/metrics/p50_ms"), files::figure(&run, "/metrics/service_p50_ms"));
    assert!(response > 10.0 * service, "a transaction takes what it takes, but it comes late: {run:#}");
    assert_eq!(files::verdict(&run), "degraded", "{run:#}");
    assert!(files::reasons(&run).contains("add virtual users or lower the rate"), "{run:#}");
    // Of some 18 000 arrivals at most 4 500 started.
    assert!(files::count(&run, "/not_started") > 10_000, "{run:#}");
}
