//! What the authority issues, as rustls sees it: the library that verifies it in every process of a fleet.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use vufleet_trust::authority::{Authority, Order, Pair};
use vufleet_trust::files::Existing;
use vufleet_trust::identity::{Identity, Role};
use vufleet_trust::validity::{DAY, Validity};

fn authority() -> Authority {
    Authority::create("test lab", Validity::days(30)).unwrap()
}

fn order(hosts: &[&str], validity: Validity) -> Order {
    let identity = Identity::new(Role::Agent, "load-1").unwrap();
    Order { identity, hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(), validity }
}

fn roots(pem: &str) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for der in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(der.unwrap()).unwrap();
    }
    Arc::new(roots)
}

fn as_client(authority: &Authority, pair: &Pair, at: SystemTime) -> Result<(), rustls::Error> {
    let verifier =
        WebPkiClientVerifier::builder_with_provider(roots(authority.certificates_pem()), Arc::new(default_provider()));
    let der = CertificateDer::from_pem_slice(pair.certificate_pem().as_bytes()).unwrap();
    verifier.build().unwrap().verify_client_cert(&der, &[], time(at)).map(drop)
}

fn as_server(authority: &Authority, pair: &Pair, host: &str) -> Result<(), rustls::Error> {
    let verifier =
        WebPkiServerVerifier::builder_with_provider(roots(authority.certificates_pem()), Arc::new(default_provider()));
    let der = CertificateDer::from_pem_slice(pair.certificate_pem().as_bytes()).unwrap();
    let name = ServerName::try_from(host.to_owned()).unwrap();
    verifier.build().unwrap().verify_server_cert(&der, &[], &name, &[], time(SystemTime::now())).map(drop)
}

fn time(at: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(at.duration_since(SystemTime::UNIX_EPOCH).unwrap())
}

#[test]
fn what_it_issues_is_good_for_clients_and_servers_and_names_its_holder() {
    let authority = authority();
    let hosts = ["db1.lab", "*.agents.lab", "10.0.0.7", "fd00::7"];
    let pair = authority.issue(&order(&hosts, Validity::days(3))).unwrap();
    as_client(&authority, &pair, SystemTime::now()).unwrap();
    for host in ["db1.lab", "load-1.agents.lab", "10.0.0.7", "fd00::7"] {
        as_server(&authority, &pair, host).unwrap();
    }
    as_server(&authority, &pair, "db2.lab").unwrap_err();
    let der = CertificateDer::from_pem_slice(pair.certificate_pem().as_bytes()).unwrap();
    let (_, certificate) = x509_parser::parse_x509_certificate(&der).unwrap();
    let names = &certificate.subject_alternative_name().unwrap().unwrap().value.general_names;
    assert!(names.contains(&x509_parser::extensions::GeneralName::URI("spiffe://vufleet/agent/load-1")), "{names:?}");
}

#[test]
fn its_certificates_hold_for_their_span_and_no_longer_than_itself() {
    let authority = authority();
    let now = SystemTime::now();
    let pair = authority.issue(&order(&[], Validity::days(365))).unwrap();
    assert_eq!(pair.validity.until, authority.validity().until);
    as_client(&authority, &pair, now - Duration::from_secs(3_500)).expect("clocks of a lab differ");
    let past = authority.issue(&order(&[], Validity { from: now - DAY * 2, until: now - DAY })).unwrap();
    as_client(&authority, &past, now - Duration::from_secs(3_600 * 36)).unwrap();
    let expired = as_client(&authority, &past, now).unwrap_err().to_string();
    assert!(expired.contains("expired"), "{expired}");
    let future = authority.issue(&order(&[], Validity { from: now + DAY, until: now + DAY * 2 })).unwrap();
    let early = as_client(&authority, &future, now).unwrap_err().to_string();
    assert!(early.contains("not valid yet"), "{early}");
}

#[test]
fn another_authority_of_the_same_name_is_another() {
    let (here, there) = (authority(), authority());
    let pair = there.issue(&order(&[], Validity::days(3))).unwrap();
    as_client(&there, &pair, SystemTime::now()).unwrap();
    as_client(&here, &pair, SystemTime::now()).unwrap_err();
}

#[test]
fn what_it_issued_issues_nothing() {
    let authority = authority();
    let pair = authority.issue(&order(&[], Validity::days(3))).unwrap();
    let leaf = CertificateDer::from_pem_slice(pair.certificate_pem().as_bytes()).unwrap();
    let key = rcgen::KeyPair::from_pem(pair.key_pem()).unwrap();
    let issuer = rcgen::Issuer::from_ca_cert_der(&leaf, key).unwrap();
    let forged_key = rcgen::KeyPair::generate().unwrap();
    let forged =
        rcgen::CertificateParams::new(vec!["db1".to_owned()]).unwrap().signed_by(&forged_key, &issuer).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(roots(authority.certificates_pem()), Arc::new(default_provider()));
    verifier.build().unwrap().verify_client_cert(forged.der(), &[leaf], time(SystemTime::now())).unwrap_err();
}

#[test]
fn one_that_was_saved_goes_on_issuing() {
    let dir = tempfile::tempdir().unwrap();
    let made = authority();
    made.save(dir.path(), Existing::Keep).unwrap();
    let loaded = Authority::load(dir.path()).unwrap();
    assert_eq!(loaded.certificates_pem(), made.certificates_pem());
    let difference = made.validity().until.duration_since(loaded.validity().until).unwrap();
    assert!(difference < Duration::from_secs(1), "certificates count in seconds: {difference:?}");
    let pair = loaded.issue(&order(&[], Validity::days(3))).unwrap();
    as_client(&made, &pair, SystemTime::now()).unwrap();

    let process = dir.path().join("agent-load-1");
    pair.save(&process, &loaded, Existing::Keep).unwrap();
    let read = |name: &str| std::fs::read(process.join(name)).unwrap();
    assert_eq!(read("ca.crt"), made.certificates_pem().as_bytes());
    assert_eq!(read("tls.crt"), pair.certificate_pem().as_bytes());
    PrivateKeyDer::from_pem_slice(&read("tls.key")).unwrap();
}

#[test]
fn a_successor_issues_while_what_came_before_is_trusted() {
    let former = authority();
    let old = former.issue(&order(&[], Validity::days(3))).unwrap();
    let mut expired =
        Authority::create("long ago", Validity { from: SystemTime::now() - DAY * 2, until: SystemTime::now() - DAY })
            .unwrap();
    expired.trust_beside(former.certificates_pem()).unwrap();
    let mut successor = authority();
    successor.trust_beside("a text").unwrap_err();
    successor.trust_beside(expired.certificates_pem()).unwrap();
    assert_eq!(roots(successor.certificates_pem()).len(), 2, "its own and the former one, which has not expired");
    let dir = tempfile::tempdir().unwrap();
    successor.save(dir.path(), Existing::Keep).unwrap();
    let new = Authority::load(dir.path()).unwrap().issue(&order(&[], Validity::days(3))).unwrap();
    as_client(&successor, &old, SystemTime::now()).unwrap();
    as_client(&successor, &new, SystemTime::now()).unwrap();
    as_client(&former, &new, SystemTime::now()).unwrap_err();
}

#[test]
fn nothing_is_written_over_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let first = authority();
    first.save(dir.path(), Existing::Keep).unwrap();
    let error = authority().save(dir.path(), Existing::Keep).unwrap_err().to_string();
    assert!(error.contains("holds an authority already"), "{error}");
    assert_eq!(Authority::load(dir.path()).unwrap().certificates_pem(), first.certificates_pem());
    let pair = first.issue(&order(&[], Validity::days(3))).unwrap();
    pair.save(&dir.path().join("a"), &first, Existing::Keep).unwrap();
    let error = pair.save(&dir.path().join("a"), &first, Existing::Keep).unwrap_err().to_string();
    assert!(error.contains("holds a certificate already"), "{error}");
    pair.save(&dir.path().join("a"), &first, Existing::Replace).unwrap();
}

#[test]
fn a_key_and_a_certificate_of_two_authorities_are_refused() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    authority().save(one.path(), Existing::Keep).unwrap();
    authority().save(other.path(), Existing::Keep).unwrap();
    std::fs::copy(other.path().join("ca.key"), one.path().join("ca.key")).unwrap();
    let error = refusal(one.path());
    assert!(error.contains("no certificate of the key"), "{error}");
    std::fs::remove_file(one.path().join("ca.key")).unwrap();
    let error = refusal(one.path());
    assert!(error.contains("ca.key cannot be read"), "{error}");
}

fn refusal(dir: &Path) -> String {
    match Authority::load(dir) {
        Ok(_) => panic!("{} was taken for an authority", dir.display()),
        Err(error) => format!("{error:#}"),
    }
}
