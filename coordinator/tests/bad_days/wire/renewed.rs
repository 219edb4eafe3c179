//! Certificates that are renewed while everything runs.

use std::time::Duration;

use vufleet_trust::identity::Role;
use vufleet_trust::validity::Validity;

use super::certs::{Certs, listed, pair};
use super::raw;
use crate::lab::{Lab, eventually, study};

#[test]
fn renewed_files_are_used_without_a_restart() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let mut coordinator = certs.coordinator(&lab, "");
    let operator = certs.good(&lab, Role::Operator, "alice");
    let address = coordinator.url.strip_prefix("https://").unwrap().to_owned();
    // A copy that was cut off: the old one is used on.
    std::fs::write(lab.path("coordinator-lab/tls.crt"), "-----BEGIN CERTI").unwrap();
    std::thread::sleep(Duration::from_millis(1_200));
    listed(&lab, &coordinator.url, &operator);
    coordinator.job.await_words("the ones that were read before are still used");
    // Both authorities are trusted while a lab goes from one to the other.
    let pair_of_other = pair(&certs.other, Role::Operator, "bob", Validity::days(9));
    let shown = Some((pair_of_other.certificate_pem(), pair_of_other.key_pem()));
    raw::dial(&address, shown).expect_err("of another authority");
    certs.save(&lab, "coordinator-lab", &pair(&certs.ours, Role::Coordinator, "lab", Validity::days(99)));
    let both = format!("{}{}", certs.ours.certificates_pem(), certs.other.certificates_pem());
    std::fs::write(lab.path("coordinator-lab/ca.crt"), both).unwrap();
    eventually("the other authority is trusted", || raw::dial(&address, shown).is_ok());
    coordinator.job.await_words("renewed certificate of coordinator lab");
    listed(&lab, &coordinator.url, &operator);
}
