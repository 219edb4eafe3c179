//! What only a MySQL or MariaDB server does while a session is open.

use std::time::{Duration, Instant};

use vufleet_scenarios::session::{Access, FaultKind, Session, Stmt, Value};
use vufleet_scenarios::sql::Protocol;
use vufleet_testbed::MariaDb;

use crate::engine::{Engine, Kept, Seen, number, open, run, tcp, values};

async fn status<S: Session>(session: &mut S, name: &str) -> i64 {
    let sql = format!("SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = '{name}'");
    number(session, &sql).await
}

/// Two rows, and statements to lock them with.
async fn pair<S: Session>(engine: &Engine) -> (S, S) {
    let table = &engine.table;
    let update = format!("UPDATE {table} SET n = n + 1 WHERE id = :id");
    let mut first: S = engine.open(Protocol::Prepared, &[&update]).await;
    let mut second: S = engine.open(Protocol::Prepared, &[&update]).await;
    first.batch(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")).await.unwrap();
    first.batch(&format!("INSERT INTO {table} VALUES (1, 0), (2, 0)")).await.unwrap();
    for session in [&mut first, &mut second] {
        session.batch("SET innodb_lock_wait_timeout = 1").await.unwrap();
        session.prepare(Stmt(0)).await.unwrap();
    }
    (first, second)
}

pub fn an_error_of_a_procedure_behind_its_rows_is_not_missed<S: Session>() {
    let engine = Engine::mysql::<S>().named("call");
    run(async {
        for (name, protocol) in [("prepared", Protocol::Prepared), ("text", Protocol::Text)] {
            let name = format!("{}_{name}", engine.table);
            let call = format!("CALL {name}(:fail)");
            let mut session: S = engine.open(protocol, &[&call]).await;
            let body = "SELECT 1 UNION ALL SELECT 2; \
                        IF fail THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'on purpose'; END IF; \
                        SELECT 3, 'c'";
            session.batch(&format!("CREATE PROCEDURE {name}(fail INT) BEGIN {body}; END")).await.unwrap();
            for _ in 0..2 {
                let mut seen = Seen::default();
                session.execute(Stmt(0), &[Value::Int(0)], &mut seen).await.unwrap();
                assert_eq!(seen.sets, [0, 1]);
                let text = Kept::Text("c".to_owned());
                assert_eq!(seen.values(), [Kept::Int(1), Kept::Int(2), Kept::Int(3), text]);

                let fault = session.execute(Stmt(0), &[Value::Int(1)], &mut ()).await.unwrap_err();
                assert_eq!((fault.kind, fault.code), (FaultKind::Statement, Some(1644)));
                assert!(fault.message.contains("on purpose"), "{fault}");
            }
        }
    });
}

/// A parameter that a procedure writes comes back as one more result.
pub fn out_parameters_follow_the_results<S: Session>() {
    let engine = Engine::mysql::<S>().named("out_parameters");
    run(async {
        let name = &engine.table;
        let mut session: S = engine.open(Protocol::Prepared, &[&format!("CALL {name}(:a, :b)")]).await;
        let body = "BEGIN SELECT a; SET b = a * 2; END";
        session.batch(&format!("CREATE PROCEDURE {name}(IN a INT, OUT b INT) {body}")).await.unwrap();
        for a in [4, 5] {
            let mut seen = Seen::default();
            session.execute(Stmt(0), &[Value::Int(a), Value::Null], &mut seen).await.unwrap();
            assert_eq!(seen.sets, [0, 1]);
            assert_eq!(seen.values(), [Kept::Int(a), Kept::Int(2 * a)]);
        }
        session.ping().await.unwrap();
    });
}

/// A client that knows a statement's columns from when it was prepared reads others by them.
pub fn a_table_altered_behind_a_prepared_statement_is_read_as_it_is<S: Session>() {
    let engine = Engine::mysql::<S>().named("altered");
    run(async {
        let table = &engine.table;
        let mut session: S = engine.open(Protocol::Prepared, &[&format!("SELECT * FROM {table}")]).await;
        let mut other: S = engine.open(Protocol::Text, &[]).await;
        other.batch(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, s VARCHAR(9))")).await.unwrap();
        other.batch(&format!("INSERT INTO {table} VALUES (1, 'one')")).await.unwrap();
        let (one, text) = (Kept::Int(1), Kept::Text("one".to_owned()));
        for (change, expected) in [
            ("ADD n DOUBLE DEFAULT 2.5 FIRST", vec![Kept::Float(2.5), one.clone(), text.clone()]),
            ("MODIFY n VARCHAR(9)", vec![Kept::Text("2.5".to_owned()), one.clone(), text.clone()]),
            ("DROP n", vec![one, text]),
        ] {
            for _ in 0..2 {
                session.execute(Stmt(0), &[], &mut ()).await.unwrap();
            }
            other.batch(&format!("ALTER TABLE {table} {change}")).await.unwrap();
            for _ in 0..2 {
                let mut seen = Seen::default();
                session.execute(Stmt(0), &[], &mut seen).await.unwrap();
                assert_eq!(seen.values(), expected, "{change}");
            }
        }
    });
}

pub fn a_deadlock_has_a_victim_and_a_winner<S: Session>() {
    let engine = Engine::mysql::<S>().named("deadlock");
    run(async {
        let (mut first, mut second) = pair::<S>(&engine).await;
        for session in [&mut first, &mut second] {
            session.batch("SET innodb_lock_wait_timeout = 50").await.unwrap();
            session.begin(Access::Write).await.unwrap();
        }
        first.execute(Stmt(0), &[Value::Int(1)], &mut ()).await.unwrap();
        second.execute(Stmt(0), &[Value::Int(2)], &mut ()).await.unwrap();
        let cross = [Value::Int(2)];
        let (one, two) = tokio::join!(
            async {
                let result = first.execute(Stmt(0), &cross, &mut ()).await;
                if result.is_err() {
                    first.rollback().await.unwrap()
                } else {
                    first.commit().await.unwrap()
                }
                result
            },
            async {
                let result = second.execute(Stmt(0), &[Value::Int(1)], &mut ()).await;
                if result.is_err() {
                    second.rollback().await.unwrap()
                } else {
                    second.commit().await.unwrap()
                }
                result
            }
        );
        let (won, lost) = if one.is_ok() { (one, two) } else { (two, one) };
        assert_eq!(won, Ok(1));
        let fault = lost.unwrap_err();
        assert_eq!((fault.kind, fault.code), (FaultKind::Deadlock, Some(1213)));
        let sum = format!("SELECT SUM(n) FROM {}", engine.table);
        assert_eq!(number(&mut first, &sum).await, 2, "the winner's two updates and none of the victim's");
    });
}

pub fn nothing_is_left_of_a_transaction_that_waited_too_long<S: Session>() {
    let engine = Engine::mysql::<S>().named("lock_timeout");
    run(async {
        let (mut holder, mut waiter) = pair::<S>(&engine).await;
        holder.begin(Access::Write).await.unwrap();
        holder.execute(Stmt(0), &[Value::Int(2)], &mut ()).await.unwrap();
        waiter.begin(Access::Write).await.unwrap();
        waiter.execute(Stmt(0), &[Value::Int(1)], &mut ()).await.unwrap();
        let fault = waiter.execute(Stmt(0), &[Value::Int(2)], &mut ()).await.unwrap_err();
        assert_eq!((fault.kind, fault.code), (FaultKind::LockTimeout, Some(1205)));
        waiter.rollback().await.unwrap();
        // Without the rollback this BEGIN would have committed the first update.
        waiter.begin(Access::Write).await.unwrap();
        waiter.commit().await.unwrap();
        holder.rollback().await.unwrap();
        assert_eq!(number(&mut holder, &format!("SELECT SUM(n) FROM {}", engine.table)).await, 0);
    });
}

pub fn a_killed_connection_is_lost_idle_or_busy<S: Session>() {
    let engine = Engine::mysql::<S>();
    run(async {
        let mut killer: S = engine.open(Protocol::Text, &[]).await;
        let mut idle: S = engine.open(Protocol::Prepared, &["SELECT 1"]).await;
        idle.execute(Stmt(0), &[], &mut ()).await.unwrap();
        killer.batch(&format!("KILL {}", idle.id().unwrap())).await.unwrap();
        let fault = idle.execute(Stmt(0), &[], &mut ()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::ConnectionLost, "{fault}");
        assert!(idle.ping().await.is_err(), "a lost session stays lost");
        idle.discard();

        let mut busy: S = engine.open(Protocol::Prepared, &["SELECT SLEEP(600)"]).await;
        let id = busy.id().unwrap();
        let (result, ()) = tokio::join!(async { busy.execute(Stmt(0), &[], &mut ()).await }, async {
            let running = format!(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND INFO LIKE 'SELECT SLEEP%'"
            );
            while number(&mut killer, &running).await == 0 {
                tokio::task::yield_now().await;
            }
            killer.batch(&format!("KILL {id}")).await.unwrap();
        });
        assert_eq!(result.unwrap_err().kind, FaultKind::ConnectionLost);
        busy.close().await;
    });
}

pub fn a_server_killed_and_restarted_takes_sessions_back<S: Session>() {
    let mut server = MariaDb::start().unwrap();
    run(async {
        let target = tcp(&server);
        let mut session: S = open(&target, Protocol::Prepared, &["SELECT 1"]).await.unwrap();
        session.execute(Stmt(0), &[], &mut ()).await.unwrap();
        server.kill9().unwrap();
        assert_eq!(session.commit().await.unwrap_err().kind, FaultKind::ConnectionLost);
        session.discard();
        let fault = open::<S>(&target, Protocol::Prepared, &[]).await.err().unwrap();
        assert_eq!(fault.kind, FaultKind::ConnectionLost, "{fault}");
        server.restart().unwrap();
        let mut session: S = open(&target, Protocol::Prepared, &["SELECT 1"]).await.unwrap();
        session.execute(Stmt(0), &[], &mut ()).await.unwrap();
    });
}

pub fn statements_over_the_time_limit_are_deadlines<S: Session>() {
    let engine = Engine::mysql::<S>();
    run(async {
        let mut session: S = engine.open(Protocol::Text, &["SELECT SLEEP(600)"]).await;
        session.batch("SET max_statement_time = 0.1").await.unwrap();
        let fault = session.execute(Stmt(0), &[], &mut ()).await.unwrap_err();
        assert_eq!((fault.kind, fault.code), (FaultKind::Deadline, Some(1969)));
        session.ping().await.unwrap();
    });
}

pub fn a_session_sends_nothing_of_its_own<S: Session>() {
    let engine = Engine::mysql::<S>();
    run(async {
        // The first session of a process and server asks for the version.
        let first: S = engine.open(Protocol::Prepared, &[]).await;
        assert!(first.version().contains("MariaDB"), "{}", first.version());
        let mut session: S = engine.open(Protocol::Prepared, &["SELECT 1", "SELECT 2", "SELECT 3"]).await;
        assert_eq!(session.version(), first.version());
        assert_eq!(status(&mut session, "QUESTIONS").await, 1, "the question itself");
        assert_eq!(status(&mut session, "COM_STMT_PREPARE").await, 0, "statements are prepared when they are needed");
        session.prepare(Stmt(1)).await.unwrap();
        assert_eq!(status(&mut session, "COM_STMT_PREPARE").await, 1);
        for _ in 0..5 {
            session.execute(Stmt(0), &[], &mut ()).await.unwrap();
            session.execute(Stmt(1), &[], &mut ()).await.unwrap();
        }
        assert_eq!(status(&mut session, "COM_STMT_PREPARE").await, 2, "once each");
        assert_eq!(status(&mut session, "COM_STMT_CLOSE").await, 0);
        session.begin(Access::Write).await.unwrap();
        session.commit().await.unwrap();
        assert_eq!((status(&mut session, "COM_BEGIN").await, status(&mut session, "COM_COMMIT").await), (1, 1));
    });
}

pub fn the_limit_of_prepared_statements_does_not_end_the_connection<S: Session>() {
    let server = MariaDb::builder().option("max_prepared_stmt_count", "1").start().unwrap();
    run(async {
        let mut session: S = open(&tcp(&server), Protocol::Prepared, &["SELECT 1", "SELECT 2"]).await.unwrap();
        session.prepare(Stmt(0)).await.unwrap();
        for fault in
            [session.prepare(Stmt(1)).await.unwrap_err(), session.execute(Stmt(1), &[], &mut ()).await.unwrap_err()]
        {
            assert_eq!((fault.kind, fault.code), (FaultKind::Statement, Some(1461)));
            assert!(fault.message.contains("max_prepared_stmt_count"), "{fault}");
        }
        session.execute(Stmt(0), &[], &mut ()).await.unwrap();
    });
}

pub fn the_largest_packet_limits_bulk_batches<S: Session>() {
    let server = MariaDb::builder().option("max_allowed_packet", "65536").start().unwrap();
    run(async {
        let mut small = Engine::mysql::<S>().named("small_packets");
        small.target = tcp(&server);
        crate::bulk::bulk_loads_every_row_as_it_is::<S>(&small).await;
    });
}

/// Waits until the server has forgotten a connection. The runtime is left alone meanwhile: a client that needs it to
/// close a socket would fail.
fn gone(server: &MariaDb, id: u64) -> bool {
    let sql = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
    let start = Instant::now();
    while server.sql(&sql).unwrap() != "0\n" {
        if start.elapsed() > Duration::from_secs(5) {
            return false;
        }
    }
    true
}

pub fn discard_closes_the_socket_without_the_runtimes_help<S: Session>() {
    let server = MariaDb::shared().unwrap();
    run(async {
        for protocol in [Protocol::Prepared, Protocol::Text] {
            let mut idle: S = open(&tcp(&server), protocol, &["SELECT 1"]).await.unwrap();
            idle.begin(Access::Write).await.unwrap();
            idle.execute(Stmt(0), &[], &mut ()).await.unwrap();
            let id = idle.id().unwrap();
            idle.discard();
            assert!(gone(&server, id));

            // Half-way through a command, as after a deadline.
            let mut busy: S = open(&tcp(&server), protocol, &["SELECT 1, SLEEP(0.3)"]).await.unwrap();
            let query = async { busy.execute(Stmt(0), &[], &mut ()).await };
            assert!(tokio::time::timeout(Duration::from_millis(50), query).await.is_err());
            let id = busy.id().unwrap();
            busy.discard();
            assert!(gone(&server, id));
        }
        let session: S = open(&tcp(&server), Protocol::Text, &[]).await.unwrap();
        let id = session.id().unwrap();
        session.close().await;
        assert!(gone(&server, id));
    });
}

pub fn unsigned_and_odd_types_read_the_same_in_both_protocols<S: Session>() {
    let engine = Engine::mysql::<S>();
    let sql = "SELECT CAST(18446744073709551615 AS UNSIGNED), CAST(7 AS UNSIGNED), TIME'-26:00:00.5', DATE'2000-02-29', \
               CAST(1.50 AS DECIMAL(5,2)), CAST('x' AS BINARY), 'x', NULL, YEAR(DATE'2000-01-01'), 2.5e0";
    let expected = [
        Kept::Float(18_446_744_073_709_551_615_u64 as f64),
        Kept::Int(7),
        Kept::Int(-93_600_500_000),
        Kept::Instant(951_782_400_000_000),
        Kept::Decimal(150, 2),
        Kept::Bytes(b"x".to_vec()),
        Kept::Text("x".to_owned()),
        Kept::Null,
        Kept::Int(2000),
        Kept::Float(2.5),
    ];
    run(async {
        for protocol in [Protocol::Prepared, Protocol::Text] {
            let mut session: S = engine.open(protocol, &[sql]).await;
            let mut seen = Seen::default();
            session.execute(Stmt(0), &[], &mut seen).await.unwrap();
            assert_eq!(seen.values(), expected, "{protocol:?}");
        }
        let mut session: S = engine.open(Protocol::Text, &[]).await;
        assert_eq!(values(&mut session, sql).await, expected);
    });
}
