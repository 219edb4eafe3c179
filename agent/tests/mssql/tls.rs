//! TDS 8.0, where everything is encrypted from the first byte. The mock's older kind of TLS does not get through a handshake;
//! that one is tested on a real server.

use std::path::{Path, PathBuf};

use mssql_mock_tds::{MockTdsServer, create_test_identity};
use vufleet_scenarios::session::{FaultKind, Session};
use vufleet_scenarios::sql::Protocol;
use vufleet_testbed::create_certificates;

use crate::mock::{Mock, open, plain, run, target};
use crate::{is_usable, scripted};

/// A server with a certificate for localhost and 127.0.0.1, and the authority that vouches for it.
async fn strict_server(directory: &Path) -> (Mock, PathBuf) {
    create_certificates(directory).unwrap();
    let pem = std::fs::read(directory.join("server.pem")).unwrap();
    let key = std::fs::read(directory.join("server.key")).unwrap();
    let identity = create_test_identity(&pem, &key).expect("a certificate and its key");
    let mock = Mock::make(async move { MockTdsServer::new_with_strict_tls("127.0.0.1:0", identity).await }).await;
    (mock, directory.join("ca.pem"))
}

#[test]
fn strict_wants_the_right_authority_and_the_right_name() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let (mock, file) = strict_server(directory.path()).await;
        let good = format!("tls = 'strict'\nca_file = '{}'", file.display());
        for keys in [&good, &format!("{good}\nserver_name = 'localhost'")] {
            let mut session = open(&target(mock.port, keys), Protocol::Text, &[]).await.unwrap();
            assert_eq!(session.describe(), "tcp, TLS (strict)");
            is_usable(&mut session).await;
        }
        for keys in ["tls = 'strict'", &format!("{good}\nserver_name = 'db1'")] {
            let fault = open(&target(mock.port, keys), Protocol::Text, &[]).await.err().expect(keys);
            assert_eq!(fault.kind, FaultKind::Refused, "{keys}: {fault}");
            for part in ["no TLS with", "target.ca_file", "target.server_name"] {
                assert!(fault.message.contains(part), "{keys}: {fault}");
            }
        }
    });
}

#[test]
fn a_server_that_knows_only_one_kind_of_tls_is_told_from_a_broken_one() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let (strict, _) = strict_server(directory.path()).await;
        let older = scripted::serve(scripted::Then::Close).await;
        for (target, words) in [
            (plain(strict.port), "whether it only takes tls = \"strict\""),
            (target(older, "tls = 'strict'"), "needs SQL Server 2022"),
        ] {
            let fault = open(&target, Protocol::Text, &[]).await.err().expect("no common language");
            assert!(fault.message.contains(words), "{words}: {fault}");
        }
    });
}

#[test]
fn a_server_without_tls_is_refused_where_it_is_wanted() {
    run(async {
        let mock = Mock::start().await;
        for (keys, refused) in [
            ("tls = 'required'", true),
            ("tls = 'verify'", true),
            ("trust_server_certificate = true", true),
            ("tls = 'disabled'", false),
        ] {
            let result = open(&target(mock.port, keys), Protocol::Text, &[]).await;
            match result.err() {
                Some(fault) => assert!(refused && fault.message.contains("offers no TLS"), "{keys}: {fault}"),
                None => assert!(!refused, "{keys}"),
            }
        }
    });
}

#[test]
fn an_authority_that_cannot_be_read_is_named() {
    run(async {
        let keys = "tls = 'verify'\nca_file = '/no/such/ca.pem'";
        let mock = Mock::start().await;
        let fault = open(&target(mock.port, keys), Protocol::Text, &[]).await.err().expect("no file");
        assert_eq!(fault.kind, FaultKind::Refused);
        assert!(fault.message.contains("cannot read target.ca_file = /no/such/ca.pem"), "{fault}");
    });
}
