//! Encryption as the study says it, and what the report says it was.

use vufleet_scenarios::session::{FaultKind, Session};
use vufleet_scenarios::sql::Protocol;
use vufleet_scenarios::study::{Target, Tls};
use vufleet_testbed::{Login, MariaDb};

use crate::engine::{Kept, login, open, route, run, tcp, values};

async fn reached<S: Session>(target: &Target) -> Result<(String, bool), String> {
    let mut session: S = open(target, Protocol::Text, &[]).await.map_err(|fault| {
        assert_eq!(fault.kind, FaultKind::Refused, "{fault}");
        fault.message.into_string()
    })?;
    let cipher = values(&mut session, "SHOW SESSION STATUS LIKE 'Ssl_cipher'").await;
    Ok((route(&session), cipher[1] != Kept::Text(String::new())))
}

pub fn the_wire_is_encrypted_exactly_when_it_says_so<S: Session>() {
    let (plain, secure) = (MariaDb::shared().unwrap(), MariaDb::shared_tls().unwrap());
    run(async {
        for (server, tls, expected) in [
            (&plain, Tls::Disabled, ("tcp, no TLS", false)),
            (&plain, Tls::Preferred, ("tcp, no TLS", false)),
            (&secure, Tls::Disabled, ("tcp, no TLS", false)),
            (&secure, Tls::Preferred, ("tcp, TLS", true)),
            (&secure, Tls::Required, ("tcp, TLS", true)),
        ] {
            let (route, encrypted) = reached::<S>(&Target { tls, ..tcp(server) }).await.unwrap();
            assert_eq!((route.as_str(), encrypted), expected, "{tls:?}");
        }
        let refused = reached::<S>(&Target { tls: Tls::Required, ..tcp(&plain) }).await.unwrap_err();
        assert!(refused.contains("offers no TLS") && refused.contains("preferred"), "{refused}");
    });
}

pub fn a_server_without_tls_is_asked_once<S: Session>() {
    let server = MariaDb::start().unwrap();
    run(async {
        let target = Target { tls: Tls::Preferred, ..tcp(&server) };
        let mut ids = vec![];
        for _ in 0..4 {
            let session: S = open(&target, Protocol::Text, &[]).await.unwrap();
            ids.push(session.id().unwrap());
            session.close().await;
        }
        // The server numbers every attempt.
        assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
    });
}

pub fn verify_wants_the_right_authority_and_the_right_name<S: Session>() {
    let server = MariaDb::shared_tls().unwrap();
    run(async {
        let verify = Target { tls: Tls::Verify, ca_file: Some(server.ca_file()), ..tcp(&server) };
        assert_eq!(reached::<S>(&verify).await, Ok(("tcp, TLS".to_owned(), true)));
        let named = Target { server_name: Some("localhost".into()), ..verify.clone() };
        assert_eq!(reached::<S>(&named).await, Ok(("tcp, TLS".to_owned(), true)));

        for (target, part) in [
            (Target { server_name: Some("other.example".into()), ..verify.clone() }, "target.server_name"),
            (Target { ca_file: None, ..verify.clone() }, "target.ca_file"),
            (Target { ca_file: Some("/no/such/ca.pem".into()), ..verify.clone() }, "/no/such/ca.pem"),
        ] {
            let refused = reached::<S>(&target).await.unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
    });
}

pub fn a_client_certificate_is_shown_to_those_who_ask<S: Session>() {
    const CERTIFIED: Login = Login { user: "certified", password: "certified-password" };
    let server = MariaDb::shared_tls().unwrap();
    server
        .sql(
            "CREATE USER IF NOT EXISTS certified@'%' IDENTIFIED BY 'certified-password' REQUIRE X509; \
             GRANT ALL ON sbtest.* TO certified@'%'",
        )
        .unwrap();
    run(async {
        let bare = Target { tls: Tls::Required, ..login(tcp(&server), CERTIFIED) };
        let refused = reached::<S>(&bare).await.unwrap_err();
        assert!(refused.contains("'certified'"), "{refused}");
        let shown = Target { client_cert: Some(server.client_cert()), client_key: Some(server.client_key()), ..bare };
        assert_eq!(reached::<S>(&shown).await, Ok(("tcp, TLS".to_owned(), true)));
    });
}
