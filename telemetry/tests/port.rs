//! Who may read a page that is shown beyond loopback.

use std::fmt;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use vufleet_telemetry::port::Port;
use vufleet_telemetry::sheet::{Sheet, Source};
use vufleet_trust::address::{Plaintext, Security};
use vufleet_trust::authority::{Authority, Order};
use vufleet_trust::files::Existing;
use vufleet_trust::identity::{Identity, Role};
use vufleet_trust::validity::Validity;

#[derive(Debug)]
struct Well;

impl Source for Well {
    fn tell(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        sheet.gauge("vufleet_well", "Whether it is well", 1.0)
    }

    fn ailment(&self) -> Option<String> {
        None
    }
}

const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

fn issue(authority: &Authority, role: Role, dir: &Path) {
    let identity = Identity::new(role, "one").unwrap();
    let order = Order { identity, hosts: vec!["localhost".parse().unwrap()], validity: Validity::days(3) };
    authority.issue(&order).unwrap().save(dir, authority, Existing::Keep).unwrap();
}

/// What whoever shows these certificates gets; none where the connection is refused.
fn read(port: u16, certs: Option<&Path>, trusts: &Path) -> Option<String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusts.join("ca.crt")).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match certs {
        None => builder.with_no_client_auth(),
        Some(dir) => {
            let chain = CertificateDer::pem_file_iter(dir.join("tls.crt")).unwrap().map(Result::unwrap).collect();
            let key = PrivateKeyDer::from_pem_file(dir.join("tls.key")).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    stream.write_all(REQUEST).ok()?;
    let mut answer = String::new();
    // Whoever closes without a farewell has still answered.
    let read = stream.read_to_string(&mut answer);
    (read.is_ok() || !answer.is_empty()).then_some(answer)
}

fn shown(address: &str, security: &Security) -> u16 {
    let port = Port::bind(address.parse().unwrap(), security, Role::Coordinator).unwrap();
    let at = port.show(Arc::new(Well)).unwrap();
    at.rsplit(':').next().unwrap().parse().unwrap()
}

#[test]
fn beyond_loopback_readers_show_who_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::create("lab", Validity::days(30)).unwrap();
    let of = |role: Role| dir.path().join(role.name());
    for role in [Role::Coordinator, Role::Agent, Role::Operator, Role::Monitor] {
        issue(&authority, role, &of(role));
    }
    let stranger = dir.path().join("stranger");
    issue(&Authority::create("other", Validity::days(30)).unwrap(), Role::Monitor, &stranger);
    let port = shown("0.0.0.0:0", &Security::Certificates(of(Role::Coordinator)));
    let trusts = of(Role::Monitor);
    for role in [Role::Monitor, Role::Operator, Role::Coordinator] {
        let answer = read(port, Some(&of(role)), &trusts).unwrap_or_default();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("vufleet_well 1.0"), "{role:?}: {answer}");
    }
    for certs in [Some(of(Role::Agent)), Some(stranger), None] {
        let answer = read(port, certs.as_deref(), &trusts);
        assert!(!answer.as_ref().is_some_and(|it| it.contains("vufleet_well")), "{certs:?}: {answer:?}");
    }
    let mut plain = TcpStream::connect(("127.0.0.1", port)).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    plain.write_all(REQUEST).unwrap();
    let mut answer = Vec::new();
    // Closed or reset, but not answered.
    plain.read_to_end(&mut answer).ok();
    assert!(!String::from_utf8_lossy(&answer).contains("vufleet_well"));
}

#[test]
fn on_loopback_it_is_plaintext_whatever_certificates_there_are() {
    let security = Security::Certificates("/nowhere".into());
    for security in [security, Security::Plaintext(Plaintext::Loopback)] {
        let mut stream = TcpStream::connect(("127.0.0.1", shown("127.0.0.1:0", &security))).unwrap();
        stream.write_all(REQUEST).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("vufleet_well 1.0"), "{answer}");
    }
}

#[test]
fn certificates_that_cannot_be_used_are_told_before_anything_is_begun() {
    let security = Security::Certificates("/nowhere".into());
    let error = Port::bind("0.0.0.0:0".parse().unwrap(), &security, Role::Agent).unwrap_err();
    assert!(format!("{error:#}").contains("/nowhere"), "{error:#}");
}
