//! Programs that were given certificates which they cannot use end at once, before they bind or dial.

use vufleet_trust::identity::Role;
use vufleet_trust::validity::Validity;

use super::certs::{Certs, agent_command, expired, pair};
use crate::lab::{Lab, study};

#[test]
fn a_certificate_of_another_role_is_refused_by_its_own_holder() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let (agent, operator) = (certs.good(&lab, Role::Agent, "a"), certs.good(&lab, Role::Operator, "alice"));
    let url = "https://127.0.0.1:9";
    lab.spawn(agent_command(url, &operator, "drive")).end().expect(2).says(&["that of operator alice", "issue agent"]);
    let mut renamed = agent_command(url, &agent, "drive");
    renamed.args(["--name", "b"]);
    lab.spawn(renamed).end().expect(2).says(&["that of agent a", "cannot join as \"b\"", "issue agent b"]);
    lab.run(&format!("agents --coordinator {url} --certs {}", agent.display()))
        .refused(&["that of agent a", "issue operator"]);
    let coordinator = format!("coordinator --listen 127.0.0.1:0 --certs {}", operator.display());
    lab.run(&coordinator).refused(&["that of operator alice", "issue coordinator"]);
    assert!(!lab.path("vufleet-data").exists(), "nothing was begun");
}

#[test]
fn an_expired_certificate_is_refused_by_its_own_holder() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let old = certs.save(&lab, "old", &pair(&certs.ours, Role::Agent, "a", expired()));
    lab.spawn(agent_command("https://127.0.0.1:9", &old, "drive")).end().expect(2).says(&["tls.crt has expired on "]);
    let foreign = certs.save(&lab, "foreign", &pair(&certs.other, Role::Operator, "a", Validity::days(9)));
    lab.run(&format!("stop --coordinator 127.0.0.1:9 --certs {}", foreign.display()))
        .refused(&["not issued by the authority"]);
}
