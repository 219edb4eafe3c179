//! What agents and operators say to a coordinator that is none of theirs. They tell it nothing.

use std::time::Duration;

use vufleet_trust::identity::Role;
use vufleet_trust::validity::Validity;

use super::certs::{Certs, agent_command, expired, not_yet, pair, pair_for};
use super::raw;
use crate::lab::fleet::Coordinator;
use crate::lab::{Lab, study};

#[test]
fn whoever_is_no_coordinator_of_the_lab_is_refused_with_a_reason() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let (agent, operator) = (certs.good(&lab, Role::Agent, "a"), certs.good(&lab, Role::Operator, "alice"));
    let now = Validity::days(9);
    for (server, words) in [
        (pair(&certs.ours, Role::Coordinator, "lab", expired()), "has expired on "),
        (pair(&certs.ours, Role::Coordinator, "lab", not_yet()), "compare the clocks"),
        (pair(&certs.other, Role::Coordinator, "lab", now), "of another authority"),
        (pair(&certs.ours, Role::Agent, "b", now), "that of agent b"),
        (pair(&certs.ours, Role::Operator, "bob", now), "that of operator bob"),
        (pair(&certs.ours, Role::Monitor, "prometheus", now), "that of monitor prometheus"),
        (
            pair_for(&certs.ours, Role::Coordinator, "lab", &["db1", "10.0.0.1"], now),
            "not hold for 127.0.0.1, but for db1, 10.0.0.1",
        ),
    ] {
        let (address, heard) = raw::serve((server.certificate_pem(), server.key_pem()));
        let url = format!("https://{address}");
        lab.run(&format!("agents --coordinator {url} --certs {}", operator.display())).refused(&[words]);
        assert_eq!(heard.recv_timeout(Duration::from_secs(20)).unwrap(), 0, "{words}");
        lab.spawn(agent_command(&url, &agent, "drive")).await_words(words);
        assert_eq!(heard.recv_timeout(Duration::from_secs(20)).unwrap(), 0, "{words}");
    }
}

#[test]
fn plaintext_and_silence_are_told_apart_from_tls() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let operator = certs.good(&lab, Role::Operator, "alice");
    let mut plain = Coordinator::start(&lab, "");
    let ask = |address: &str| lab.run(&format!("agents --coordinator {address} --certs {}", operator.display()));
    ask(plain.address()).refused(&["does not speak TLS", "--certs"]);
    plain.job.await_words("speaks TLS, but this port is plaintext");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    ask(&address).refused(&["said nothing for 5 s"]);
    lab.run(&format!("agents --coordinator {address}")).refused(&["said nothing for 5 s"]);
    drop(silent);
    ask(&address).refused(&["nobody listens there", "vufleet coordinator"]);
    ask("no-such-host.invalid:7411").refused(&["name is not known"]);
}
