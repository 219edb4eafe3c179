//! What coordinator and agents show of themselves while they work, and what their logs are.

use std::os::unix::net::UnixDatagram;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::lab::fleet::{Coordinator, agent_command, is_here, listed};
use super::lab::page::Page;
use super::lab::{Job, Lab, PATIENCE, eventually, study};

const METRICS: &str = "--metrics 127.0.0.1:0";

/// An agent with a page, and the page.
pub fn showing(lab: &Lab, url: &str, roles: &str, name: &str) -> (Job, Page) {
    let mut command = agent_command(url, roles, name);
    command.args(METRICS.split(' '));
    let mut job = lab.spawn(command);
    let page = Page::of(&mut job);
    (job, page)
}

#[test]
fn a_fleet_at_work_shows_what_it_does() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let mut coordinator = Coordinator::start(&lab, METRICS);
    let page = Page::of(&mut coordinator.job);
    let (_load, load) = showing(&lab, &coordinator.url, "drive", "load-1");
    let (_db, db) = showing(&lab, &coordinator.url, "observe", "db-1");
    eventually("both agents are healthy", || load.get("/health").status == 200 && db.get("/health").status == 200);
    assert_eq!(load.get("/health").body, "{\"status\":\"ok\"}\n");
    assert_eq!(page.metric("vufleet_coordinator_job{kind=\"run\"}"), 0.0);
    let run =
        format!("run study.toml --coordinator {} --wait-for-agents 2 --set schedule.measure=60s", coordinator.url);
    let mut job = lab.start(&run);
    let ok = "vufleet_agent_transactions_total{kind=\"read_write\",outcome=\"ok\"}";
    job.await_that("transactions are shown", || load.metrics().get(ok).is_some_and(|count| *count > 10.0));
    let metrics = load.metrics();
    for (sample, value) in [
        ("vufleet_agent_connected", 1.0),
        ("vufleet_agent_sessions", 4.0),
        ("vufleet_agent_virtual_users", 4.0),
        ("vufleet_agent_run", 1.0),
        ("vufleet_agent_joins_total", 1.0),
        ("vufleet_agent_figures_withheld", 0.0),
        ("vufleet_agent_lease_seconds", 10.0),
    ] {
        assert_eq!(metrics.get(sample), Some(&value), "{sample}: {metrics:#?}");
    }
    assert!(metrics["process_resident_memory_bytes"] > 1e6 && metrics["process_open_fds"] > 3.0, "{metrics:#?}");
    let metrics = page.metrics();
    for (sample, value) in [
        ("vufleet_coordinator_agents{role=\"drive\",state=\"connected\"}", 1.0),
        ("vufleet_coordinator_agents{role=\"observe\",state=\"silent\"}", 0.0),
        ("vufleet_coordinator_agent_sessions{agent=\"load-1\"}", 4.0),
        ("vufleet_coordinator_job{kind=\"run\"}", 1.0),
        ("vufleet_coordinator_runs{state=\"planned\"}", 1.0),
        ("vufleet_coordinator_runs{state=\"left\"}", 1.0),
        ("vufleet_coordinator_run", 1.0),
        ("vufleet_coordinator_ledger_failures_total", 0.0),
    ] {
        assert_eq!(metrics.get(sample), Some(&value), "{sample}: {metrics:#?}");
    }
    for sample in [
        "vufleet_coordinator_events_recorded_total",
        "vufleet_coordinator_ledger_bytes",
        "vufleet_coordinator_ledger_write_seconds_count",
        "vufleet_coordinator_agent_clock_uncertainty_seconds{agent=\"db-1\"}",
    ] {
        assert!(metrics.get(sample).is_some_and(|value| *value > 0.0), "{sample}: {metrics:#?}");
    }
    let silence = metrics["vufleet_coordinator_agent_silence_seconds{agent=\"load-1\"}"];
    assert!(silence < 10.0, "{silence}");
    let phases: Vec<_> = metrics.keys().filter(|sample| sample.starts_with("vufleet_coordinator_phase{")).collect();
    assert!(phases.len() == 1 && (phases[0].contains("ramp-up") || phases[0].contains("measure")), "{phases:?}");
    job.signal(Signal::SIGINT);
    job.end().expect(130);
    eventually("the job is over", || page.metric("vufleet_coordinator_job{kind=\"run\"}") == 0.0);
}

/// Nothing that can be turned into a rate of transactions.
#[test]
fn figures_that_are_nobodys_to_see_are_not_shown() {
    let lab = Lab::new(&(study::small(study::SIMULATED) + "\n[report]\nrelative_only = true\n"));
    let mut coordinator = Coordinator::start(&lab, METRICS);
    let page = Page::of(&mut coordinator.job);
    let (_load, load) = showing(&lab, &coordinator.url, "drive,observe", "load-1");
    let mut job = lab.start(&format!("run study.toml --coordinator {} --set schedule.measure=60s", coordinator.url));
    job.await_that("intervals come in", || {
        load.metrics().get("vufleet_agent_intervals_total").is_some_and(|n| *n >= 2.0)
    });
    let metrics = load.metrics();
    assert_eq!(metrics["vufleet_agent_figures_withheld"], 1.0);
    for told in ["transactions", "statements", "retries", "faults"] {
        let name = format!("vufleet_agent_{told}_total");
        assert!(!metrics.keys().any(|sample| sample.starts_with(&name)), "{name}: {metrics:#?}");
    }
    let told = page.metrics().into_keys().chain(metrics.into_keys());
    for sample in told {
        assert!(!["tps", "latency", "_rows"].iter().any(|figure| sample.contains(figure)), "{sample}");
    }
    job.signal(Signal::SIGINT);
    job.end().expect(130);
}

#[test]
fn an_agent_without_a_coordinator_is_alive_and_not_healthy() {
    let lab = Lab::new("");
    let coordinator = Coordinator::start(&lab, "");
    let (agent, page) = showing(&lab, &coordinator.url, "drive", "load-1");
    eventually("it is healthy", || page.get("/health").status == 200);
    coordinator.job.kill();
    eventually("it is not any more", || page.get("/health").status == 503);
    let health = page.get("/health");
    let told: Value = serde_json::from_str(&health.body).unwrap();
    assert_eq!((health.content_type.as_str(), &told["status"]), ("application/json", &"unable".into()));
    assert!(told["reason"].as_str().unwrap().contains("no coordinator"), "{told}");
    assert_eq!(page.get("/live").status, 200);
    assert_eq!(page.metric("vufleet_agent_connected"), 0.0);
    assert_eq!(page.get("/secrets").status, 404);
    drop(agent);
}

#[test]
fn a_coordinator_whose_ledger_has_gone_is_not_healthy() {
    let lab = Lab::new("");
    let mut coordinator = Coordinator::start(&lab, METRICS);
    let page = Page::of(&mut coordinator.job);
    assert_eq!(page.get("/health").status, 200);
    std::fs::remove_file(lab.path("vufleet-data/ledger.sqlite3")).unwrap();
    eventually("it is not healthy any more", || page.get("/health").status == 503);
    assert!(page.get("/health").body.contains("ledger.sqlite3"), "{:?}", page.get("/health"));
    assert_eq!(page.get("/live").status, 200);
}

#[test]
fn a_log_for_machines_is_an_object_a_line() {
    let lab = Lab::new("");
    let mut coordinator = Coordinator::start(&lab, "--log-format json");
    let mut command = agent_command(&coordinator.url, "drive", "load-1");
    command.args(["--log-format", "json"]);
    let agent = lab.spawn(command);
    eventually("it joins", || listed(&lab, &coordinator.url).iter().any(|line| is_here(line, "load-1")));
    agent.signal(Signal::SIGTERM);
    let agent = agent.end().expect(0);
    coordinator.job.await_words("left");
    coordinator.job.signal(Signal::SIGTERM);
    let coordinator = coordinator.job.end().expect(0);
    for (log, words) in [(&agent.err, "ended in good order"), (&coordinator.err, "was told to end (SIGTERM)")] {
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()), "{log}");
        assert!(lines.iter().any(|line| line["message"].as_str().is_some_and(|said| said.contains(words))), "{log}");
    }
}

#[test]
fn a_page_elsewhere_than_here_is_refused() {
    let lab = Lab::new("");
    lab.run("coordinator --listen 127.0.0.1:0 --metrics 0.0.0.0:0")
        .expect(2)
        .says(&["--metrics 0.0.0.0:0", "loopback"]);
    let mut command = agent_command("http://127.0.0.1:1", "drive", "load-1");
    command.args(["--metrics", "0.0.0.0:0"]);
    lab.spawn(command).end().expect(2).says(&["--metrics 0.0.0.0:0", "loopback"]);
}

/// As a unit of `Type=notify` has it.
#[test]
fn systemd_is_told_when_it_is_ready_and_when_it_ends() {
    let lab = Lab::new("");
    let heard_at = lab.path("notify");
    let heard = UnixDatagram::bind(&heard_at).unwrap();
    heard.set_read_timeout(Some(PATIENCE)).unwrap();
    let hear = || {
        let mut words = [0; 256];
        let length = heard.recv(&mut words).unwrap();
        String::from_utf8(words[..length].to_vec()).unwrap()
    };
    let mut command = lab.vufleet("coordinator --listen 127.0.0.1:0");
    command.env("NOTIFY_SOCKET", &heard_at);
    let coordinator = Coordinator::of(lab.spawn(command));
    assert_eq!(hear(), "READY=1");
    assert!(hear().starts_with("STATUS=serving agents and operators at http://"));
    let mut command = agent_command(&coordinator.url, "drive", "load-1");
    command.env("NOTIFY_SOCKET", &heard_at);
    let agent = lab.spawn(command);
    assert_eq!(hear(), "READY=1");
    assert!(hear().starts_with("STATUS=joined the coordinator at http://"));
    agent.signal(Signal::SIGTERM);
    assert_eq!(hear(), "STOPPING=1");
    agent.end().expect(0);
    coordinator.job.signal(Signal::SIGTERM);
    assert_eq!(hear(), "STOPPING=1");
    coordinator.job.end().expect(0);
}
