//! What a coordinator says to those who dial it with certificates that they should not have, and writes into its log.

use vufleet_trust::identity::Role;
use vufleet_trust::validity::Validity;

use super::certs::{Certs, expired, listed, not_yet, pair};
use super::raw;
use crate::lab::{Lab, study};

/// The alert that tells why.
fn alert(error: &std::io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::AlertReceived(alert)) => format!("{alert:?}"),
        _ => panic!("no alert, but {error}"),
    }
}

#[test]
fn whoever_is_no_member_of_the_fleet_is_refused_with_a_reason() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let mut coordinator = certs.coordinator(&lab, "");
    let address = coordinator.url.strip_prefix("https://").unwrap().to_owned();
    let now = Validity::days(9);
    let stranger = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let nobody = nobody_of_the_lab(&certs);
    let leafs: Vec<_> = [
        (pair(&certs.ours, Role::Agent, "old", expired()), "CertificateExpired", "expired on "),
        (pair(&certs.ours, Role::Agent, "early", not_yet()), "CertificateExpired", "is valid from "),
        (pair(&certs.other, Role::Agent, "a", now), "DecryptError", "of another authority"),
    ]
    .into_iter()
    .map(|(pair, alert, log)| (Some((pair.certificate_pem().to_owned(), pair.key_pem().to_owned())), alert, log))
    .chain([
        (None, "CertificateRequired", "showed no certificate"),
        (Some((stranger.cert.pem(), stranger.signing_key.serialize_pem())), "UnknownCA", "of another authority"),
        (Some(nobody), "CertificateUnknown", "names no role of a fleet"),
    ])
    .collect();
    for (shown, expected, log) in &leafs {
        let shown = shown.as_ref().map(|(certificate, key)| (certificate.as_str(), key.as_str()));
        let refusal = raw::dial(&address, shown).expect_err(expected);
        assert_eq!(&alert(&refusal), expected, "{log}");
        coordinator.job.await_words(log);
    }
    let good = pair(&certs.ours, Role::Agent, "a", now);
    let heard = raw::dial(&address, Some((good.certificate_pem(), good.key_pem()))).unwrap();
    assert_eq!(heard[3], 4, "settings of HTTP/2");
    let operator = certs.good(&lab, Role::Operator, "alice");
    assert_eq!(listed(&lab, &coordinator.url, &operator).len(), 1, "nobody has joined");
}

/// Our authority's, but without a role: what an authority that serves other things too would issue.
fn nobody_of_the_lab(certs: &Certs) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    certs.ours.save(dir.path(), vufleet_trust::files::Existing::Keep).unwrap();
    let key = std::fs::read_to_string(dir.path().join("ca.key")).unwrap();
    let key = rcgen::KeyPair::from_pem(&key).unwrap();
    let issuer = rcgen::Issuer::from_ca_cert_pem(certs.ours.certificates_pem(), key).unwrap();
    let leaf = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    (params.signed_by(&leaf, &issuer).unwrap().pem(), leaf.serialize_pem())
}

#[test]
fn other_protocols_on_the_port_are_refused_with_a_reason() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let mut coordinator = certs.coordinator(&lab, "");
    let address = coordinator.url.strip_prefix("https://").unwrap().to_owned();
    let good = pair(&certs.ours, Role::Operator, "alice", Validity::days(9));
    let shown = Some((good.certificate_pem(), good.key_pem()));
    let mut old = raw::connect(&address, shown, &rustls::version::TLS12, b"h2");
    std::io::Write::write_all(&mut old, raw::PREFACE).expect_err("TLS 1.2");
    coordinator.job.await_words("speaks no TLS 1.3");
    let mut browser = raw::connect(&address, shown, &rustls::version::TLS13, b"http/1.1");
    std::io::Write::write_all(&mut browser, b"GET / HTTP/1.1\r\n\r\n").expect_err("HTTP/1.1");
    coordinator.job.await_words("not the protocol of this port");
    // The real programs in plaintext, to the port that speaks TLS.
    lab.run(&format!("agents --coordinator http://{address}")).refused(&["speaks TLS", "--certs DIR"]);
    coordinator.job.await_words("does not speak TLS");
}
