//! Why a MySQL server does not let us in, in words that help.

use secrecy::SecretString;
use vufleet_scenarios::session::{Fault, FaultKind, Session};
use vufleet_scenarios::sql::Protocol;
use vufleet_scenarios::study::{Target, Tls};
use vufleet_testbed::MariaDb;

use crate::engine::{login, nowhere, open, route, run, tcp};

const SECRET: &str = "hunter2-is-secret";

/// What will be refused again.
async fn refusal<S: Session>(target: &Target) -> Fault {
    let fault = failure::<S>(target).await;
    assert_eq!((fault.kind, S::may_let_in(&fault)), (FaultKind::Refused, false), "{fault}");
    fault
}

/// What may well go right the next time.
async fn misfortune<S: Session>(target: &Target) -> Fault {
    let fault = failure::<S>(target).await;
    assert_eq!((fault.kind, S::may_let_in(&fault)), (FaultKind::ConnectionLost, true), "{fault}");
    fault
}

async fn failure<S: Session>(target: &Target) -> Fault {
    let fault = open::<S>(target, Protocol::Prepared, &[]).await.err().expect("a refusal");
    assert!(!fault.message.contains(SECRET) && !fault.message.contains("-password"), "{fault}");
    fault
}

#[track_caller]
fn says(fault: &Fault, parts: &[&str]) {
    for part in parts {
        assert!(fault.message.contains(part), "no '{part}' in: {fault}");
    }
}

pub fn a_refused_login_names_user_place_database_and_remedy<S: Session>() {
    let server = MariaDb::shared().unwrap();
    let place = format!("127.0.0.1:{}", server.port());
    run(async {
        let wrong = Target { password: Some(SecretString::from(SECRET)), ..tcp(&server) };
        let fault = refusal::<S>(&wrong).await;
        assert_eq!(fault.code, Some(1045));
        says(&fault, &["'bench'", &place, "'sbtest'", "target.password", "CREATE USER"]);

        let missing = Target { database: Some("no_such_db".into()), ..login(tcp(&server), MariaDb::ADMIN) };
        let fault = refusal::<S>(&missing).await;
        assert_eq!(fault.code, Some(1049));
        says(&fault, &[&place, "'no_such_db'", "CREATE DATABASE", "target.database"]);

        let fault = refusal::<S>(&login(tcp(&server), MariaDb::GUEST)).await;
        assert_eq!(fault.code, Some(1044));
        says(&fault, &["'guest'", &place, "'sbtest'", "GRANT"]);
    });
}

pub fn a_full_server_says_which_limit<S: Session>() {
    let server = MariaDb::builder().option("max_connections", "10").start().unwrap();
    run(async {
        let mut sessions = vec![];
        let fault = loop {
            match open::<S>(&tcp(&server), Protocol::Prepared, &[]).await {
                Ok(session) => sessions.push(session),
                Err(fault) => break fault,
            }
        };
        assert_eq!(sessions.len(), 10);
        assert_eq!((fault.kind, fault.code), (FaultKind::Refused, Some(1040)));
        assert!(S::may_let_in(&fault), "somebody may leave");
        says(&fault, &["max_connections", "fewer virtual users"]);
        for session in sessions {
            session.close().await;
        }
    });
}

pub fn a_place_without_a_server_is_named<S: Session>() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    run(async {
        let nobody = Target { host: Some("127.0.0.1".into()), port: closed, ..nowhere() };
        says(&misfortune::<S>(&nobody).await, &[&format!("127.0.0.1:{closed}"), "start the server", "target.port"]);
        let unknown = Target { host: Some("no-such-host.invalid".into()), ..nowhere() };
        says(&misfortune::<S>(&unknown).await, &["no-such-host.invalid:3306", "target.host"]);
        let socket = Target { socket: Some("/no/such/mysqld.sock".into()), ..nowhere() };
        says(&misfortune::<S>(&socket).await, &["/no/such/mysqld.sock", "target.socket"]);
        says(&refusal::<S>(&nowhere()).await, &["target.host"]);
    });
}

pub fn tls_over_a_socket_is_refused_rather_than_left_out<S: Session>() {
    let server = MariaDb::shared_tls().unwrap();
    run(async {
        for tls in [Tls::Required, Tls::Verify] {
            let target = Target { host: None, socket: Some(server.socket()), tls, ..tcp(&server) };
            says(&refusal::<S>(&target).await, &["unix socket", "target.host"]);
        }
        let target = Target { host: None, socket: Some(server.socket()), tls: Tls::Preferred, ..tcp(&server) };
        let session = open::<S>(&target, Protocol::Prepared, &[]).await.unwrap();
        assert_eq!(route(&session), "unix socket");
    });
}

pub fn what_hangs_instead_of_a_server_is_given_up<S: Session>() {
    run(async {
        // Accepts connections by way of the backlog and never says a word.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target =
            Target { host: Some("127.0.0.1".into()), port: listener.local_addr().unwrap().port(), ..nowhere() };
        tokio::time::pause();
        says(&misfortune::<S>(&target).await, &["did not answer within 10s", "target.host"]);
    });
}
