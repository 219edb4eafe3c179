//! Plaintext beyond loopback, by `--insecure`: the results say so wherever they are read, and say nothing of it where there was none.

use super::lab::fleet::{Coordinator, agent};
use super::lab::{Lab, files, study};
use super::wire::certs::{Certs, agent_command, listed};
use vufleet_trust::identity::Role;

const DOUBT: &str = "spoke plaintext beyond loopback (--insecure)";

/// What a study says of it: in results.json, in report.html, on the terminal.
fn told(lab: &Lab, terminal: &str) -> (bool, bool, bool) {
    let results = files::results(&lab.path("out"));
    let html = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(results["fleet"].get("other_versions").is_none(), "{}", results["fleet"]);
    let plaintext = results.pointer("/fleet/plaintext").map(|value| value.as_bool().unwrap());
    assert_ne!(plaintext, Some(false), "absent where there is nothing to tell");
    // Where a terminal ends a line is its own affair.
    let terminal = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    (plaintext.is_some(), html.contains(DOUBT), terminal.contains(DOUBT))
}

#[test]
fn a_port_that_anybody_could_reach_is_told_of() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    lab.run("coordinator --listen 0.0.0.0:0").expect(2).says(&["--insecure"]);
    let coordinator = Coordinator::listen(&lab, "0.0.0.0:0", "--insecure");
    let (_, port) = coordinator.url.rsplit_once(':').unwrap();
    // The peers here happen to come by loopback; whoever else was on the wire is not known.
    let near = Coordinator { url: format!("http://127.0.0.1:{port}"), ..coordinator };
    let _agent = agent(&lab, &near, "drive,observe", "one");
    let ended = lab.run(&format!("run study.toml --coordinator {} --out out", near.url)).expect(0);
    assert_eq!(told(&lab, &ended.out), (true, true, true), "{ended}");
    // It is in the ledger, and so in every report made of it later.
    lab.run("export last --out out").expect(0);
    let ended = lab.run("report last").expect(0);
    assert_eq!(told(&lab, &ended.out), (true, true, true), "{ended}");
    let relative = "--set report.relative_only=true";
    let ended = lab.run(&format!("run study.toml --coordinator {} {relative} --out out", near.url)).expect(0);
    assert_eq!(told(&lab, &ended.out), (true, true, true), "{ended}");
}

#[test]
fn loopback_and_certificates_are_not() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let ended = lab.run("run study.toml --out out").expect(0);
    assert_eq!(told(&lab, &ended.out), (false, false, false), "{ended}");

    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let (holder, operator) = (certs.good(&lab, Role::Coordinator, "lab"), certs.good(&lab, Role::Operator, "alice"));
    let mut job = lab.start(&format!("coordinator --listen 0.0.0.0:0 --certs {}", holder.display()));
    job.await_words("coordinator at https://");
    let said = job.err();
    let (_, rest) = said.split_once("coordinator at https://0.0.0.0").unwrap();
    let url = format!("https://127.0.0.1{}", rest.split_once(';').unwrap().0);
    let mut agent = lab.spawn(agent_command(&url, &certs.good(&lab, Role::Agent, "one"), "drive,observe"));
    agent.await_that("it joins", || listed(&lab, &url, &operator).len() == 2);
    let run = format!("run study.toml --coordinator {url} --certs {} --out out", operator.display());
    let ended = lab.run(&run).expect(0);
    assert_eq!(told(&lab, &ended.out), (false, false, false), "{ended}");
}
