//! Programs of several versions in one fleet: where they might misunderstand each other they do not begin, and both sides say why; where
//! they understand each other, both say that they differ, and so do the results.

use tokio::runtime::Runtime;
use tonic::{Code, Request, Status};
use vufleet_proto::v1::operator_client::OperatorClient;
use vufleet_proto::v1::{AgentsRequest, Job, StopRequest, command};
use vufleet_proto::{PROTOCOL, PROTOCOL_KEY, VERSION_KEY};

use super::lab::fleet::{Coordinator, agent_command, is_here, listed};
use super::lab::other::{Other, Words};
use super::lab::puppet::Puppet;
use super::lab::{Lab, files, study};

const OURS: &str = env!("CARGO_PKG_VERSION");
const NEWER: Words = Words { protocol: Some(PROTOCOL + 1), version: "9.9.9", refuses: None };

fn new_lab() -> Lab {
    Lab::new(&study::small(study::SIMULATED))
}

/// How a sentence about ours and another protocol begins.
fn mismatch(their: &str, speaks: u32, own: &str) -> String {
    format!("{their} 9.9.9 speaks protocol {speaks}, {own} {OURS} speaks {PROTOCOL}: upgrade the ")
}

#[test]
fn an_agent_of_another_protocol_is_refused_and_both_sides_are_told() {
    let lab = new_lab();
    let mut coordinator = Coordinator::start(&lab, "");
    for (protocol, older) in [(PROTOCOL - 1, "agent old"), (PROTOCOL + 1, "coordinator")] {
        let mut hello = Puppet::hello("old", 7);
        (hello.protocol, hello.version) = (protocol, "9.9.9".to_owned());
        let refusal = Puppet::introduced(&coordinator.url, hello).map(drop).unwrap_err();
        let sentence = mismatch("agent old", protocol, "coordinator") + older;
        assert_eq!((refusal.code(), refusal.message()), (Code::FailedPrecondition, sentence.as_str()));
        coordinator.job.await_words(&sentence);
    }
    assert!(!listed(&lab, &coordinator.url).iter().any(|line| line.contains("old")), "it has not joined");
}

/// One question of an operator who says this of itself.
fn asked(url: &str, said: Option<(u32, &str)>) -> Vec<Result<(), Status>> {
    fn introduced<T>(message: T, said: Option<(u32, &str)>) -> Request<T> {
        let mut request = Request::new(message);
        if let Some((protocol, version)) = said {
            request.metadata_mut().insert(PROTOCOL_KEY, protocol.into());
            request.metadata_mut().insert(VERSION_KEY, version.parse().unwrap());
        }
        request
    }
    Runtime::new().unwrap().block_on(async {
        let mut client = OperatorClient::connect(url.to_owned()).await.unwrap();
        vec![
            client.agents(introduced(AgentsRequest {}, said)).await.map(drop),
            client.stop(introduced(StopRequest::default(), said)).await.map(drop),
            client.submit(introduced(Job::default(), said)).await.map(drop),
        ]
    })
}

#[test]
fn an_operator_of_another_protocol_is_refused_and_both_sides_are_told() {
    let lab = new_lab();
    let mut coordinator = Coordinator::start(&lab, "");
    for (said, sentence) in [
        (Some((PROTOCOL - 1, "9.9.9")), mismatch("operator", PROTOCOL - 1, "coordinator") + "operator"),
        (Some((PROTOCOL + 1, "9.9.9")), mismatch("operator", PROTOCOL + 1, "coordinator") + "coordinator"),
        (None, format!("operator of an unknown version speaks a protocol older than {PROTOCOL}")),
    ] {
        for refusal in asked(&coordinator.url, said) {
            let refusal = refusal.expect_err("every call is refused");
            assert_eq!(refusal.code(), Code::FailedPrecondition);
            assert!(refusal.message().starts_with(&sentence), "{refusal}");
        }
        coordinator.job.await_words(&sentence);
    }
    // Of this protocol, it is heard whatever its version.
    asked(&coordinator.url, Some((PROTOCOL, "9.9.9"))).remove(0).unwrap();
    coordinator.job.await_words(&format!("an operator is of version 9.9.9, this coordinator of {OURS}"));
}

#[test]
fn a_coordinator_of_another_protocol_is_left_alone() {
    let lab = new_lab();
    for (protocol, older) in [(PROTOCOL + 1, ["vufleet", "agent"]), (PROTOCOL - 1, ["coordinator", "coordinator"])] {
        let other = Other::serve(&Words { protocol: Some(protocol), ..NEWER });
        let [operator, agent] = [("vufleet", older[0]), ("agent", older[1])]
            .map(|(own, older)| mismatch("coordinator", protocol, own) + older);
        for verb in ["agents", "stop", "run study.toml", "check study.toml"] {
            lab.run(&format!("{verb} --coordinator {}", other.url)).refused(&[&operator, &other.url]);
            assert_eq!((other.call(), other.calls()), ("agents", vec![]), "nothing else is asked of it");
        }
        let ended = lab.spawn(agent_command(&other.url, "drive", "one")).end().says(&[&agent]);
        assert_ne!(ended.code, 0, "{ended}");
        assert_eq!((other.call(), other.calls()), ("join", vec![]), "it does not try again");
    }
}

/// Before protocol 4 nobody said anything in metadata, and an agent was refused by what it said in its first event.
#[test]
fn a_coordinator_that_says_nothing_of_itself_is_older() {
    let lab = new_lab();
    let why = "agent one speaks protocol 4, this coordinator speaks 3: upgrade the coordinator";
    let other = Other::serve(&Words { protocol: None, refuses: Some(why), ..NEWER });
    let older = format!("of an unknown version speaks a protocol older than {PROTOCOL}");
    lab.run(&format!("agents --coordinator {}", other.url)).refused(&[&older, "upgrade the coordinator"]);
    let ended = lab.spawn(agent_command(&other.url, "drive", "one")).end().says(&[why]);
    assert_ne!(ended.code, 0, "{ended}");
}

#[test]
fn a_coordinator_of_another_version_of_the_same_protocol_is_worked_with_and_told_of() {
    let lab = new_lab();
    let other = Other::serve(&Words { protocol: Some(PROTOCOL), ..NEWER });
    let mut agent = lab.spawn(agent_command(&other.url, "drive", "one"));
    agent.await_words(&format!("the coordinator is of version 9.9.9, this agent of {OURS}"));
    let words = format!("the coordinator at {} is of version 9.9.9, this vufleet of {OURS}", other.url);
    let ended = lab.run(&format!("agents --coordinator {}", other.url)).expect(0).says(&[&words]);
    assert!(ended.err.contains(&words), "{ended}");
    let ours = Coordinator::start(&lab, "");
    let ended = lab.run(&format!("agents --coordinator {}", ours.url)).expect(0);
    assert!(!ended.err.contains("version"), "{ended}");
}

#[test]
fn an_agent_of_another_version_of_the_same_protocol_is_worked_with_and_told_of() {
    let lab = new_lab();
    let mut coordinator = Coordinator::start(&lab, "--lease 60s");
    let mut ours = lab.spawn(agent_command(&coordinator.url, "drive,observe", "ours"));
    ours.await_that("it joins", || listed(&lab, &coordinator.url).iter().any(|line| is_here(line, "ours")));
    assert!(!listed(&lab, &coordinator.url).iter().any(|line| line.contains("versions differ")));
    let mut hello = Puppet::hello("puppet", 7);
    hello.version = "0.0.9".to_owned();
    let mut puppet = Puppet::introduced(&coordinator.url, hello).unwrap();
    coordinator.job.await_words(&format!("agent puppet is of version 0.0.9, this coordinator of {OURS}"));
    let lines = listed(&lab, &coordinator.url);
    let told = format!("versions differ: the coordinator is {OURS}, puppet is 0.0.9; measure with one version");
    assert_eq!(lines.last(), Some(&told), "{lines:?}");
    assert!(lines.iter().any(|line| is_here(line, "puppet") && line.contains("0.0.9")), "{lines:?}");

    let job = lab.start(&format!(
        "run study.toml --coordinator {} --wait-for-agents 2 --set schedule.ramp_up=0s --set schedule.max_repeats=0 --out out",
        coordinator.url
    ));
    puppet.obey_until(4, |order| matches!(order, command::Body::Stop(_)));
    let ended = job.end();
    let results = files::results(&lab.path("out"));
    assert_eq!(results["fleet"], serde_json::json!({ "other_versions": { "puppet": "0.0.9" } }), "{ended}");
    let doubt = "agents were of another version of vufleet than the coordinator: puppet 0.0.9";
    assert!(std::fs::read_to_string(lab.path("out/report.html")).unwrap().contains(doubt));
    let terminal = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(terminal.contains(doubt), "{ended}");
}
