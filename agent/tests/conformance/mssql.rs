//! What only SQL Server does, on the one that the environment names. The wire and its accidents are tested on a scripted
//! server, in `tests/mssql`.

use std::time::Duration;

use secrecy::SecretString;
use vufleet_agent::session::MssqlSession;
use vufleet_scenarios::session::{Access, Fault, FaultKind, Session, Stmt, Value};
use vufleet_scenarios::sql::Protocol;
use vufleet_scenarios::study::{Mssql, Target, Tls};

use crate::engine::{Engine, Kept, Seen, number, open, run, values};

/// Runs a test with a table of its own, where there is a server.
fn on_server(name: &str, test: impl AsyncFnOnce(&Engine)) {
    let Some(engine) = Engine::mssql() else { return };
    let engine = engine.named(name);
    run(async {
        engine.clear::<MssqlSession>().await;
        test(&engine).await;
        engine.clear::<MssqlSession>().await;
    });
}

async fn session(engine: &Engine, statements: &[&str]) -> MssqlSession {
    engine.open(Protocol::Prepared, statements).await
}

/// Makes a procedure anew.
async fn procedure(session: &mut MssqlSession, name: &str, rest: &str) {
    session.batch(&format!("DROP PROCEDURE IF EXISTS {name}")).await.unwrap();
    session.batch(&format!("CREATE PROCEDURE {name} {rest}")).await.unwrap();
}

#[test]
fn a_session_says_who_it_is() {
    on_server("hello", async |engine| {
        let mut session = session(engine, &[]).await;
        assert_eq!(Some(number(&mut session, "SELECT @@SPID").await as u64), session.id());
        assert!(!session.version().is_empty() && !session.version().contains('\n'), "{}", session.version());
        assert!(session.describe().starts_with("tcp, "), "{}", session.describe());
        assert_eq!(values(&mut session, "SELECT APP_NAME()").await, [Kept::Text("vufleet".to_owned())]);
    });
}

#[test]
fn a_procedure_is_called_by_name_and_hands_values_back() {
    on_server("call", async |engine| {
        let name = &engine.table;
        let call = format!("EXEC {name} @c = :c, @n = :n::int, @sum = :sum::int OUTPUT");
        let by_position = format!("EXEC {name} :c, :n, :sum");
        let mut session = session(engine, &[&call, &by_position]).await;
        procedure(
            &mut session,
            name,
            "@c char(4), @n int, @sum bigint OUTPUT AS BEGIN SET NOCOUNT ON; SET @sum = @n + 1; SELECT @c + '.' AS c END",
        )
        .await;
        let params = [Value::Text("ab"), Value::Int(41), Value::Int(0)];
        let mut seen = Seen::default();
        session.execute(Stmt(0), &params, &mut seen).await.unwrap();
        assert_eq!(seen.values(), [Kept::Text("ab  .".to_owned()), Kept::Int(42)]);
        assert_eq!(seen.sets, [0, 1]);
        let mut seen = Seen::default();
        session.execute(Stmt(1), &params, &mut seen).await.unwrap();
        assert_eq!(seen.values(), [Kept::Text("ab  .".to_owned())]);
        session.batch(&format!("DROP PROCEDURE {name}")).await.unwrap();
    });
}

#[test]
fn an_error_of_a_procedure_behind_its_rows_is_not_missed() {
    on_server("late_error", async |engine| {
        let name = &engine.table;
        let call = format!("EXEC {name} @n = :n");
        let mut session = session(engine, &[&call]).await;
        procedure(&mut session, name, "@n int AS BEGIN SELECT @n AS n; RAISERROR('no stock', 16, 1) END").await;
        let mut seen = Seen::default();
        let fault = session.execute(Stmt(0), &[Value::Int(3)], &mut seen).await.unwrap_err();
        assert_eq!((fault.kind, seen.values()), (FaultKind::Statement, vec![Kept::Int(3)]), "{fault}");
        assert!(fault.message.contains("no stock"), "{fault}");
        assert_eq!(number(&mut session, "SELECT 5").await, 5);
        session.batch(&format!("DROP PROCEDURE {name}")).await.unwrap();
    });
}

#[test]
fn an_error_that_a_procedure_returns_as_a_row_is_an_error() {
    on_server("caught", async |engine| {
        let name = &engine.table;
        let call = format!("EXEC {name} @n = :n");
        let mut session = session(engine, &[&call]).await;
        procedure(
            &mut session,
            name,
            "@n int AS SELECT 1205 AS ErrorNumber, 13 AS ErrorSeverity, 51 AS ErrorState, 'p' AS ErrorProcedure, 7 AS \
             ErrorLine, 'chosen as the deadlock victim' AS ErrorMessage",
        )
        .await;
        let mut seen = Seen::default();
        let fault = session.execute(Stmt(0), &[Value::Int(3)], &mut seen).await.unwrap_err();
        assert_eq!((fault.kind, fault.code), (FaultKind::Deadlock, Some(1205)));
        assert_eq!(seen, Seen::default(), "no row of the workload's");
        session.batch(&format!("DROP PROCEDURE {name}")).await.unwrap();
    });
}

#[test]
fn a_deadlock_has_a_victim_and_a_winner() {
    on_server("deadlock", async |engine| {
        let table = &engine.table;
        let update = format!("UPDATE {table} SET n = n + 1 WHERE id = :id::int");
        let (mut one, mut other) = (session(engine, &[&update]).await, session(engine, &[&update]).await);
        one.batch(&format!("CREATE TABLE {table} (id int PRIMARY KEY, n int)")).await.unwrap();
        one.batch(&format!("INSERT INTO {table} VALUES (1, 0), (2, 0)")).await.unwrap();
        async fn cross(session: &mut MssqlSession, ids: [i64; 2]) -> Result<(), Fault> {
            session.begin(Access::Write).await?;
            session.execute(Stmt(0), &[Value::Int(ids[0])], &mut ()).await?;
            tokio::time::sleep(Duration::from_millis(300)).await;
            session.execute(Stmt(0), &[Value::Int(ids[1])], &mut ()).await?;
            session.commit().await
        }
        let (first, second) = tokio::join!(cross(&mut one, [1, 2]), cross(&mut other, [2, 1]));
        let (victim, loser) = match (&first, &second) {
            (Err(fault), Ok(())) => (fault, &mut one),
            (Ok(()), Err(fault)) => (fault, &mut other),
            both => panic!("one victim and one winner, not {both:?}"),
        };
        assert_eq!(victim.kind, FaultKind::Deadlock, "{victim}");
        loser.rollback().await.unwrap();
        cross(loser, [1, 2]).await.unwrap();
        assert_eq!(number(loser, &format!("SELECT SUM(n) FROM {table}")).await, 4);
    });
}

#[test]
fn a_lock_is_waited_for_as_long_as_the_deadline() {
    on_server("lock_timeout", async |engine| {
        let table = &engine.table;
        let update = format!("UPDATE {table} SET n = n + 1");
        let mut holder = session(engine, &[&update]).await;
        let hasty = Target { deadline: Duration::from_millis(700), ..engine.target.clone() };
        let mut waiter: MssqlSession = open(&hasty, Protocol::Prepared, &[&update]).await.unwrap();
        holder.batch(&format!("CREATE TABLE {table} (n int)")).await.unwrap();
        holder.batch(&format!("INSERT INTO {table} VALUES (0)")).await.unwrap();
        holder.begin(Access::Write).await.unwrap();
        holder.execute(Stmt(0), &[], &mut ()).await.unwrap();
        waiter.begin(Access::Write).await.unwrap();
        let fault = waiter.execute(Stmt(0), &[], &mut ()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::LockTimeout, "{fault}");
        waiter.rollback().await.unwrap();
        holder.commit().await.unwrap();
        assert_eq!(waiter.execute(Stmt(0), &[], &mut ()).await, Ok(1));
    });
}

#[test]
fn a_transaction_stopped_by_its_deadline_leaves_nothing_behind() {
    on_server("past_deadline", async |engine| {
        let table = &engine.table;
        let insert = format!("INSERT INTO {table} VALUES (1)");
        let mut session: MssqlSession = engine.open(Protocol::Text, &[&insert, engine.endless]).await;
        session.batch(&format!("CREATE TABLE {table} (n int)")).await.unwrap();
        session.begin(Access::Write).await.unwrap();
        session.execute(Stmt(0), &[], &mut ()).await.unwrap();
        let vufleet_scenarios::session::Interrupt::Call(stop) = session.interrupt() else { panic!("by a call") };
        let (result, ()) = tokio::join!(async { session.execute(Stmt(1), &[], &mut ()).await }, async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            stop.stop();
        });
        let fault = result.unwrap_err();
        let mut next = if engine.is_babelfish {
            assert_eq!(fault.kind, FaultKind::ConnectionLost, "{fault}");
            session.discard();
            engine.open(Protocol::Text, &[]).await
        } else {
            assert_eq!(fault.kind, FaultKind::Deadline, "{fault}");
            session.rollback().await.unwrap();
            session
        };
        assert_eq!(number(&mut next, &format!("SELECT COUNT(*) FROM {table}")).await, 0);
    });
}

#[test]
fn values_that_change_their_kind_are_prepared_for_again() {
    on_server("kinds", async |engine| {
        let mut session = session(engine, &["SELECT :a, :b::varchar(4)"]).await;
        let long = "x".repeat(5_000);
        for (value, expected) in [
            (Value::Null, Kept::Null),
            (Value::Int(1 << 40), Kept::Int(1 << 40)),
            (Value::Text("ü"), Kept::Text("ü".to_owned())),
            (Value::Text(&long), Kept::Text(long.clone())),
            (Value::Decimal(-1_250, 2), Kept::Decimal(-1_250, 2)),
            (Value::Float(0.1), Kept::Float(0.1)),
            (Value::Instant(1_709_251_199_123_456), Kept::Instant(1_709_251_199_123_456)),
            (Value::Bytes(&[0, 255]), Kept::Bytes(vec![0, 255])),
        ] {
            for _ in 0..2 {
                let mut seen = Seen::default();
                session.execute(Stmt(0), &[value, Value::Text("b")], &mut seen).await.unwrap();
                assert_eq!(seen.values(), [expected.clone(), Kept::Text("b".to_owned())], "{value:?}");
            }
        }
    });
}

#[test]
fn a_declared_char_finds_its_padded_key() {
    on_server("declared", async |engine| {
        let table = &engine.table;
        let select = format!("SELECT COUNT(*) FROM {table} WHERE c = :c::char(4) AND d = :d::decimal(12, 2)");
        let insert = format!("INSERT INTO {table} VALUES (:c::char(4), :d::decimal(12, 2))");
        let mut session = session(engine, &[&insert, &select]).await;
        session.batch(&format!("CREATE TABLE {table} (c char(4) PRIMARY KEY, d decimal(12, 2))")).await.unwrap();
        let row = [Value::Text("ab"), Value::Decimal(-1_250, 2)];
        assert_eq!(session.execute(Stmt(0), &row, &mut ()).await, Ok(1));
        for _ in 0..2 {
            let mut seen = Seen::default();
            session.execute(Stmt(1), &row, &mut seen).await.unwrap();
            assert_eq!(seen.values(), [Kept::Int(1)]);
        }
    });
}

#[test]
fn types_read_as_what_they_are() {
    on_server("types", async |engine| {
        let mut session = session(engine, &[]).await;
        let instant = 1_709_251_199_000_000;
        for (sql, expected) in [
            ("CAST(200 AS tinyint)", Kept::Int(200)),
            ("CAST(1 AS bit)", Kept::Int(1)),
            ("CAST(-12.34 AS money)", Kept::Decimal(-123_400, 4)),
            ("CAST(1.5 AS real)", Kept::Float(1.5)),
            ("CAST('2024-02-29T23:59:59' AS datetime)", Kept::Instant(instant)),
            ("CAST('2024-02-29T23:59:59' AS datetime2(0))", Kept::Instant(instant)),
            ("CAST('2024-02-29' AS date)", Kept::Instant(1_709_164_800_000_000)),
            ("CAST('ab' AS nchar(3))", Kept::Text("ab ".to_owned())),
            ("CAST(1 AS decimal(38, 10))", Kept::Decimal(10_000_000_000, 10)),
            (
                "CAST('0e984725-c51c-4bf4-9960-e1c80e27aba0' AS uniqueidentifier)",
                Kept::Text("0E984725-C51C-4BF4-9960-E1C80E27ABA0".to_owned()),
            ),
        ] {
            assert_eq!(values(&mut session, &format!("SELECT {sql}")).await, [expected], "{sql}");
        }
    });
}

#[test]
fn a_refused_login_names_user_place_database_and_remedy() {
    on_server("refused", async |engine| {
        let place = format!("{}:{}", engine.target.host.as_deref().unwrap(), engine.target.port);
        let wrong = Target { password: Some(SecretString::from("not-the-password")), ..engine.target.clone() };
        let nowhere = Target { database: Some("no_such_database".to_owned()), ..engine.target.clone() };
        for (target, key) in [(wrong, "target.user"), (nowhere, "target.database")] {
            let fault = MssqlSession::connect(&target, [].into()).await.err().expect("refused");
            assert_eq!(fault.kind, FaultKind::Refused, "{fault}");
            for part in [place.as_str(), target.user.as_deref().unwrap(), target.database.as_deref().unwrap(), key] {
                assert!(fault.message.contains(part), "{part}: {fault}");
            }
            assert!(!fault.message.contains("not-the-password"), "{fault}");
        }
    });
}

/// Whoever asks for a verified certificate is not let in by one that the server made for itself.
#[test]
fn an_unknown_certificate_is_refused_unless_trusted() {
    on_server("tls", async |engine| {
        if engine.target.tls == Tls::Disabled {
            let wanted = Target { tls: Tls::Required, ..engine.target.clone() };
            let fault = MssqlSession::connect(&wanted, [].into()).await.err().expect("the server has no TLS");
            return assert!(fault.message.contains("offers no TLS"), "{fault}");
        }
        let session = session(engine, &[]).await;
        assert_eq!(session.describe(), "tcp, TLS, certificate NOT verified");
        // What was not asked for the server may still insist on.
        for (tls, unless_it_insists) in
            [(Tls::LoginOnly, "tcp, login encrypted only, certificate NOT verified"), (Tls::Disabled, "tcp, no TLS")]
        {
            let target = Target { tls, ..engine.target.clone() };
            let session: MssqlSession = open(&target, Protocol::Text, &[]).await.unwrap();
            let told = session.describe();
            assert!(
                [unless_it_insists, "tcp, TLS, certificate NOT verified"].contains(&told.as_str()),
                "{tls:?}: {told}"
            );
            println!("{tls:?}: {told}");
        }
        let strangers = Target { mssql: Mssql::default(), ..engine.target.clone() };
        let fault = MssqlSession::connect(&strangers, [].into()).await.err().expect("nobody vouches for it");
        assert_eq!(fault.kind, FaultKind::Refused, "{fault}");
        for part in ["no TLS with", "target.ca_file", "trust_server_certificate"] {
            assert!(fault.message.contains(part), "{part}: {fault}");
        }
    });
}
