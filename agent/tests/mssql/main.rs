//! The SQL Server driver against scripted servers: the wire and its accidents, which no real server makes on demand. What
//! T-SQL does is tested by the conformance suite, on a server that VUFLEET_TEST_MSSQL names.

mod counters;
mod crew;
mod mock;
mod restores;
mod scripted;
mod tls;

use std::time::{Duration, Instant};

use mssql_mock_tds::{ColumnDefinition, ColumnValue, MockTdsServer, QueryResponse, Row, SqlDataType};
use vufleet_scenarios::session::{Access, Fault, FaultKind, Interrupt, Rows, Session, Stmt, Value};
use vufleet_scenarios::sql::Protocol;

use mock::{Mock, PASSWORD, open, plain, run, target, target_with};
use scripted::{Then, serve};

/// The numbers of the rows, one after the other.
#[derive(Default)]
struct Numbers(Vec<i64>);

impl Rows for Numbers {
    fn row(&mut self, row: &impl vufleet_scenarios::session::Row) {
        if let Value::Int(number) = row.get(0) {
            self.0.push(number);
        }
    }
}

fn number(value: i32) -> QueryResponse {
    QueryResponse::new(
        vec![ColumnDefinition::new("n", SqlDataType::Int)],
        vec![Row::new(vec![ColumnValue::Int(value)])],
    )
}

/// A query of a server that is up.
async fn is_usable(session: &mut impl Session) {
    let mut seen = Numbers::default();
    session.query("SELECT 1", &mut seen).await.expect("usable");
    assert_eq!(seen.0, [1]);
}

#[test]
fn a_refused_login_names_user_place_database_and_remedy() {
    run(async {
        for (number, severity, kind, parts) in [
            (18456, 14, FaultKind::Refused, &["user 'bench'", "'tpcc'", "target.password", "CREATE LOGIN"][..]),
            (4060, 11, FaultKind::Refused, &["database 'tpcc'", "CREATE DATABASE tpcc", "target.database"]),
            (18452, 14, FaultKind::Refused, &["mixed mode"]),
            (18470, 14, FaultKind::Refused, &["ALTER LOGIN .. ENABLE"]),
            (18487, 14, FaultKind::Refused, &["ALTER LOGIN .. WITH PASSWORD"]),
            (40615, 14, FaultKind::Refused, &["firewall"]),
            (99_999, 14, FaultKind::Refused, &["the server's words"]),
            // These pass by themselves.
            (40613, 17, FaultKind::Overloaded, &["the server's words"]),
            (18401, 14, FaultKind::ConnectionLost, &["the server's words"]),
        ] {
            let port = serve(Then::Refuse(number, severity, "the server's words")).await;
            let fault = open(&plain(port), Protocol::Prepared, &[]).await.err().expect("refused");
            assert_eq!((fault.kind, fault.code), (kind, Some(number as i32)), "{fault}");
            for part in parts.iter().copied().chain([format!("127.0.0.1:{port}").as_str(), "the server's words"]) {
                assert!(fault.message.contains(part), "{part}: {fault}");
            }
            assert!(!fault.message.contains(PASSWORD), "{fault}");
        }
    });
}

#[test]
fn a_place_without_a_server_is_named() {
    run(async {
        let gone = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let closes = serve(Then::Close).await;
        let unknown = target(1433, "tls = 'disabled'\nhost = 'no-such-host.invalid'");
        for (target, words) in [
            (plain(gone), format!("nothing listens at 127.0.0.1:{gone}")),
            (plain(closes), format!("127.0.0.1:{closes} closed the connection before it had let us in")),
            (unknown, "cannot reach no-such-host.invalid:1433".to_owned()),
        ] {
            let fault = open(&target, Protocol::Prepared, &[]).await.err().expect("nobody there");
            assert_eq!(fault.kind, FaultKind::ConnectionLost, "{fault}");
            assert!(fault.message.contains(&words), "{words}: {fault}");
        }
    });
}

#[test]
fn a_deadlock_in_a_transaction_is_told_rolled_back_and_survived() {
    run(async {
        let mock = Mock::start().await;
        let words =
            "Transaction (Process ID 52) was deadlocked on lock resources with another process and has been chosen";
        mock.fail("UPDATE STOCK SET S_QUANTITY = @P1", 1205, words).await;
        let statements = ["UPDATE STOCK SET S_QUANTITY = :q::int", "SELECT 1"];
        for protocol in [Protocol::Prepared, Protocol::Text] {
            if protocol == Protocol::Text {
                mock.fail("UPDATE STOCK SET S_QUANTITY = 5", 1205, words).await;
            }
            let mut session = open(&plain(mock.port), protocol, &statements).await.unwrap();
            session.begin(Access::Write).await.unwrap();
            let fault = session.execute(Stmt(0), &[Value::Int(5)], &mut ()).await.unwrap_err();
            assert_eq!((fault.kind, fault.code), (FaultKind::Deadlock, Some(1205)), "{fault}");
            session.rollback().await.unwrap();
            session.begin(Access::Write).await.unwrap();
            session.execute(Stmt(1), &[], &mut ()).await.unwrap();
            session.commit().await.unwrap();
        }
        // Requests of an open transaction name it, those behind its end do not. [MS-TDS 2.2.5.3.2]
        let connections = mock.connections.lock().await;
        let sent = &connections.all().values().next().unwrap().transaction_descriptor_headers;
        let named: Vec<bool> = sent.iter().map(|(descriptor, _)| *descriptor != 0).collect();
        assert_eq!(named, [false, true, true], "the settings, and one statement in each transaction");
    });
}

#[test]
fn prepared_statements_work_where_the_server_gives_no_handles() {
    run(async {
        let mock = Mock::start().await;
        mock.answer("SELECT N FROM T WHERE ID = @P1", number(7)).await;
        let mut session =
            open(&plain(mock.port), Protocol::Prepared, &["SELECT N FROM T WHERE ID = :id::int"]).await.unwrap();
        session.prepare(Stmt(0)).await.unwrap();
        for _ in 0..3 {
            let mut seen = Numbers::default();
            assert_eq!(session.execute(Stmt(0), &[Value::Int(1)], &mut seen).await, Ok(0));
            assert_eq!(seen.0, [7]);
        }
    });
}

/// The client library's timers have a thread of their own, which begins with the first and never ends. No session of any test
/// here may have set one.
#[test]
fn no_call_arms_a_timer() {
    run(async {
        let mock = Mock::start().await;
        mock.answer("SELECT N FROM T WHERE ID = @P1", number(7)).await;
        let mut session =
            open(&plain(mock.port), Protocol::Prepared, &["SELECT N FROM T WHERE ID = :id::int"]).await.unwrap();
        session.begin(Access::Write).await.unwrap();
        session.execute(Stmt(0), &[Value::Int(1)], &mut ()).await.unwrap();
        session.commit().await.unwrap();
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        let names: Vec<String> = names.map(|name| name.trim().to_owned()).collect();
        assert!(!names.is_empty() && names.iter().all(|name| name != "futures-timer"), "{names:?}");
    });
}

fn stop_of(session: &impl Session) -> std::sync::Arc<dyn vufleet_scenarios::session::Stop> {
    match session.interrupt() {
        Interrupt::Call(stop) => stop,
        _ => panic!("a session of SQL Server is stopped by a call"),
    }
}

/// Runs a statement and stops it after a while.
async fn stopped(session: &mut impl Session) -> (Fault, Duration) {
    let (stop, start) = (stop_of(session), Instant::now());
    let (result, ()) = tokio::join!(async { session.execute(Stmt(0), &[], &mut ()).await }, async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.stop();
    });
    (result.unwrap_err(), start.elapsed())
}

#[test]
fn a_statement_past_its_deadline_is_ended_by_an_attention() {
    run(async {
        let mock = Mock::start().await;
        let endless = "WAITFOR DELAY '00:10:00'";
        mock.answer(endless, number(0).with_delay(Duration::from_secs(600))).await;
        for protocol in [Protocol::Prepared, Protocol::Text] {
            let mut session = open(&plain(mock.port), protocol, &[endless]).await.unwrap();
            for _ in 0..2 {
                let (fault, took) = stopped(&mut session).await;
                assert_eq!(fault.kind, FaultKind::Deadline, "{fault}");
                assert!(took < Duration::from_secs(2), "{took:?}");
                session.rollback().await.unwrap();
                is_usable(&mut session).await;
            }
            // A wish that comes late is forgotten with the rollback.
            stop_of(&session).stop();
            session.rollback().await.unwrap();
            is_usable(&mut session).await;
        }
    });
}

#[test]
fn a_server_that_does_not_heed_an_attention_loses_the_connection() {
    run(async {
        let port = serve(Then::FallSilent).await;
        let mut session = open(&plain(port), Protocol::Text, &["SELECT 2"]).await.unwrap();
        let (fault, took) = stopped(&mut session).await;
        assert_eq!(fault.kind, FaultKind::ConnectionLost, "{fault}");
        assert!((Duration::from_secs(2)..Duration::from_secs(4)).contains(&took), "{took:?}");
        session.discard();
    });
}

#[test]
fn a_cut_connection_is_lost_and_so_is_the_outcome_of_its_commit() {
    run(async {
        let mock = Mock::start().await;
        let slow = "SELECT SLOW";
        mock.answer(slow, number(0).with_delay(Duration::from_secs(600))).await;
        let target = plain(mock.port);
        let mut waiting = open(&target, Protocol::Prepared, &[slow]).await.unwrap();
        let mut committing = open(&target, Protocol::Prepared, &[]).await.unwrap();
        committing.begin(Access::Write).await.unwrap();
        let (result, ()) = tokio::join!(async { waiting.execute(Stmt(0), &[], &mut ()).await }, async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            mock.cut();
        });
        let fault = result.unwrap_err();
        assert_eq!(fault.kind, FaultKind::ConnectionLost, "{fault}");
        assert_eq!(committing.commit().await.unwrap_err().kind, FaultKind::ConnectionLost);
        assert!(waiting.rollback().await.is_err(), "nothing is sent on it any more");
        let fault = open(&target, Protocol::Prepared, &[]).await.err().expect("nobody there");
        assert_eq!(fault.kind, FaultKind::ConnectionLost, "{fault}");
    });
}

/// A port that nobody uses at the moment.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_redirection_is_followed_and_a_circle_is_not() {
    run(async {
        let inner = Mock::start().await;
        inner.answer("SELECT 2", number(2)).await;
        let port = inner.port;
        let gateway = Mock::make(MockTdsServer::new_with_redirection("127.0.0.1:0", "localhost\\instance", port)).await;
        let mut session = open(&plain(gateway.port), Protocol::Text, &["SELECT 2"]).await.unwrap();
        let mut seen = Numbers::default();
        session.execute(Stmt(0), &[], &mut seen).await.unwrap();
        assert_eq!((seen.0.as_slice(), session.describe().as_str()), (&[2][..], "tcp, no TLS"));
        let connections = inner.connections.lock().await;
        assert_eq!(connections.all().values().next().unwrap().received_database.as_deref(), Some("tpcc"));
        drop(connections);

        let own = free_port();
        let circle = format!("127.0.0.1:{own}");
        let circle =
            Mock::make(async move { MockTdsServer::new_with_redirection(&circle, "127.0.0.1", own).await }).await;
        let fault = open(&plain(circle.port), Protocol::Text, &[]).await.err().expect("no end");
        assert_eq!(fault.kind, FaultKind::Refused, "{fault}");
        assert!(fault.message.contains("sent us on 3 times"), "{fault}");

        let lost = free_port();
        let astray = Mock::make(MockTdsServer::new_with_redirection("127.0.0.1:0", "127.0.0.1", lost)).await;
        let fault = open(&plain(astray.port), Protocol::Text, &[]).await.err().expect("nobody there");
        let words = format!("nothing listens at 127.0.0.1:{lost} (sent there by 127.0.0.1:{})", astray.port);
        assert!(fault.message.contains(&words), "{fault}");
    });
}

/// On an address of this host's own that nobody else uses, as the Browser's port is fixed.
#[test]
fn the_browser_tells_the_port_of_an_instance() {
    const ADDRESS: &str = "127.91.14.33";
    run(async {
        let named = target_with(&format!("tls = 'disabled'\nhost = '{ADDRESS}'\ninstance = 'SQL2022'"));
        let fault = open(&named, Protocol::Text, &[]).await.err().expect("no Browser");
        assert_eq!(fault.kind, FaultKind::ConnectionLost, "{fault}");
        for part in [&format!("{ADDRESS}\\SQL2022"), "SQL Server Browser", "UDP 1434"] {
            assert!(fault.message.contains(part), "{part}: {fault}");
        }

        let mock = Mock::make(MockTdsServer::new("127.91.14.33:0")).await;
        let browser = tokio::net::UdpSocket::bind((ADDRESS, 1434)).await.expect("nobody else's address");
        let told =
            format!("ServerName;HOST;InstanceName;SQL2022;IsClustered;No;Version;16.0.1000.6;tcp;{};;", mock.port);
        let answer = async {
            let mut asked = [0; 64];
            let (length, client) = browser.recv_from(&mut asked).await.unwrap();
            // [MC-SQLR 2.2.3, 2.2.5]
            assert_eq!(&asked[..length], b"\x04SQL2022");
            let size = (told.len() as u16).to_le_bytes();
            browser.send_to(&[&[5, size[0], size[1]], told.as_bytes()].concat(), client).await.unwrap();
        };
        let (session, ()) = tokio::join!(open(&named, Protocol::Text, &[]), answer);
        is_usable(&mut session.unwrap()).await;
    });
}

#[test]
fn an_access_token_goes_in_place_of_user_and_password() {
    run(async {
        let mock = Mock::start().await;
        let study = target(mock.port, "tls = 'disabled'");
        let mssql = vufleet_scenarios::study::Mssql {
            login: vufleet_scenarios::study::MssqlLogin::EntraToken,
            ..Default::default()
        };
        let target = vufleet_scenarios::study::Target { user: None, mssql, ..study };
        let session = open(&target, Protocol::Prepared, &[]).await.unwrap();
        session.close().await;
        let connections = mock.connections.lock().await;
        let connection = connections.all().values().next().unwrap();
        assert_eq!(connection.received_token_as_string().as_deref(), Some(PASSWORD));
    });
}

#[test]
fn two_hundred_sessions_work_beside_each_other() {
    const SESSIONS: usize = 200;
    run(async {
        let mock = Mock::start().await;
        mock.answer("SELECT N FROM T WHERE ID = @P1", number(7)).await;
        let target = plain(mock.port);
        let tasks: Vec<_> = (0..SESSIONS)
            .map(|_| {
                let target = target.clone();
                tokio::task::spawn_local(async move {
                    let mut session =
                        open(&target, Protocol::Prepared, &["SELECT N FROM T WHERE ID = :id"]).await.unwrap();
                    let mut seen = Numbers::default();
                    for id in 0..10 {
                        session.begin(Access::Write).await.unwrap();
                        session.execute(Stmt(0), &[Value::Int(id)], &mut seen).await.unwrap();
                        session.commit().await.unwrap();
                    }
                    session.close().await;
                    seen.0
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), [7; 10]);
        }
        assert_eq!(mock.connections.lock().await.count(), SESSIONS);
    });
}
