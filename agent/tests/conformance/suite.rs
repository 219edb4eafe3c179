//! The points that every driver keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use vufleet_scenarios::session::{Access, Dialect, FaultKind, Interrupt, Session, Source, Stmt, Value};
use vufleet_scenarios::sql::Protocol;
use vufleet_scenarios::study::Target;

use crate::engine::{Engine, Kept, Opened, Seen, number, open, same, values};

const COLUMNS: &str = "id INT PRIMARY KEY, i BIGINT, f DOUBLE, d DECIMAL(18, 4), s LONGTEXT, b LONGBLOB, t DATETIME(6)";
/// The same in T-SQL.
const MSSQL_COLUMNS: &str = "id INT PRIMARY KEY, i BIGINT, f FLOAT, d DECIMAL(18, 4), s NVARCHAR(MAX), b VARBINARY(MAX), \
                             t DATETIME2(6)";
const PARAMETERS: &str = ":id, :i, :f, :d, :s, :b, :t";
/// T-SQL converts a NULL that might be text to no VARBINARY.
const MSSQL_PARAMETERS: &str = ":id::int, :i::bigint, :f::float, :d::decimal(18, 4), :s::nvarchar(max), \
                                :b::varbinary(max), :t::datetime2(6)";

/// Rows of the table above, without the id.
fn samples<'a>(long: &'a str, bytes: &'a [u8]) -> Vec<[Value<'a>; 6]> {
    use Value::*;
    vec![
        [Null; 6],
        [Int(0), Float(0.0), Decimal(0, 4), Text(""), Bytes(b""), Instant(0)],
        [Int(i64::MAX), Float(1.5e300), Decimal(12_345, 4), Text("it's"), Bytes(bytes), Instant(1_709_251_199_123_456)],
        [Int(i64::MIN), Float(-0.1), Decimal(-5_000, 4), Text("a\\'b\\\\\"?`%_\n\t;--"), Bytes(b"'\\\0"), Null],
        [Int(-1), Float(f64::MIN_POSITIVE), Decimal(99_999_999_999_999, 4), Text("ü 漢字 🐘"), Null, Instant(-1)],
        [Int(7), Float(1.0 / 3.0), Decimal(-1, 4), Text(long), Bytes(long.as_bytes()), Instant(1)],
    ]
}

async fn values_survive<S: Session>(engine: &Engine, protocol: Protocol) {
    let table = &engine.table;
    let (columns, parameters) = match S::DIALECT {
        Dialect::Mssql => (MSSQL_COLUMNS, MSSQL_PARAMETERS),
        Dialect::Mysql | Dialect::Sqlite => (COLUMNS, PARAMETERS),
    };
    let insert = format!("INSERT INTO {table} VALUES ({parameters})");
    let select = format!("SELECT i, f, d, s, b, t FROM {table} WHERE id = :id");
    let mut session: S = engine.open(protocol, &[&insert, &select]).await;
    session.batch(&format!("CREATE TABLE {table} ({columns})")).await.unwrap();
    let inserted = u64::from(engine.counts_text || protocol == Protocol::Prepared);
    let (long, bytes) = ("long '\\ ".repeat(20_000), (0..=255).collect::<Vec<u8>>());
    for (id, sample) in (1..).zip(samples(&long, &bytes)) {
        let mut params = vec![Value::Int(id)];
        params.extend(sample);
        if engine.is_babelfish && protocol == Protocol::Prepared && sample[5] == Value::Null {
            continue;
        }
        assert_eq!(session.execute(Stmt(0), &params, &mut ()).await, Ok(inserted));
        let mut seen = Seen::default();
        session.execute(Stmt(1), &[Value::Int(id)], &mut seen).await.unwrap();
        if !engine.stores {
            assert_eq!(seen, Seen::default());
            continue;
        }
        assert_eq!((seen.sets.as_slice(), seen.rows.len()), (&[0][..], 1));
        for (written, read) in sample.iter().zip(seen.values()) {
            assert!(as_written(S::DIALECT, written, &read), "{written:?}, {read:?}");
        }
    }
    session.close().await;
}

fn as_written(dialect: Dialect, written: &Value<'_>, read: &Kept) -> bool {
    let as_text = (dialect == Dialect::Sqlite)
        .then(|| instant_as_text(written))
        .flatten()
        .map(|text| Kept::Text(text.to_owned()));
    as_text.as_ref() == Some(read) || same(dialect, written, read)
}

/// How a database without a type for instants stores those of the samples.
fn instant_as_text(value: &Value<'_>) -> Option<&'static str> {
    match value {
        Value::Instant(-1) => Some("1969-12-31 23:59:59.999999"),
        Value::Instant(0) => Some("1970-01-01 00:00:00.000000"),
        Value::Instant(1) => Some("1970-01-01 00:00:00.000001"),
        Value::Instant(1_709_251_199_123_456) => Some("2024-02-29 23:59:59.123456"),
        _ => None,
    }
}

pub async fn values_survive_prepared<S: Session>(engine: &Engine) {
    values_survive::<S>(engine, Protocol::Prepared).await;
}

pub async fn values_survive_as_text<S: Session>(engine: &Engine) {
    values_survive::<S>(engine, Protocol::Text).await;
}

/// Rows that are there already.
struct Given<'a> {
    rows: &'a [Vec<Value<'a>>],
}

impl Source for Given<'_> {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        let Some((first, rest)) = self.rows.split_first() else { return false };
        put(first);
        self.rows = rest;
        true
    }
}

/// One load of all of them: where there was a NULL before comes a text, or bytes, or the other way round.
pub async fn values_survive_a_load<S: Session>(engine: &Engine) {
    let table = &engine.table;
    let columns = if S::DIALECT == Dialect::Mssql { MSSQL_COLUMNS } else { COLUMNS };
    let (long, bytes) = ("long '\\ ".repeat(20_000), (0..=255).collect::<Vec<u8>>());
    let mut rows: Vec<Vec<Value<'_>>> = Vec::new();
    for (id, sample) in (1..).zip(samples(&long, &bytes)) {
        rows.push([&[Value::Int(id)][..], &sample].concat());
    }
    for opened in [Opened::ToWork, Opened::ToLoad] {
        let mut session: S = engine.open_to_load(opened).await;
        session.batch(&format!("DROP TABLE IF EXISTS {table}")).await.unwrap();
        session.batch(&format!("CREATE TABLE {table} ({columns})")).await.unwrap();
        let loaded = session.bulk(table, &["id", "i", "f", "d", "s", "b", "t"], &mut Given { rows: &rows }).await;
        assert_eq!(loaded, Ok(rows.len() as u64), "{opened:?}");
        if engine.stores {
            let read = values(&mut session, &format!("SELECT id, i, f, d, s, b, t FROM {table} ORDER BY id")).await;
            for (written, read) in rows.iter().flatten().zip(read) {
                assert!(as_written(S::DIALECT, written, &read), "{opened:?}: {written:?}, {read:?}");
            }
        }
        session.close().await;
    }
}

pub async fn affected_rows_are_counted<S: Session>(engine: &Engine) {
    let table = &engine.table;
    let statements = [
        format!("INSERT INTO {table} VALUES (1, 1), (2, 1), (3, 5)"),
        format!("UPDATE {table} SET k = k + 1 WHERE k = 1"),
        format!("SELECT * FROM {table}"),
        format!("DELETE FROM {table} WHERE id = 99"),
        format!("DELETE FROM {table}"),
    ];
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut session: S = engine.open(protocol, &statements.each_ref().map(String::as_str)).await;
        session.batch(&format!("DROP TABLE IF EXISTS {table}")).await.unwrap();
        session.batch(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, k INT)")).await.unwrap();
        let expected = match protocol {
            Protocol::Text if !engine.counts_text => [0; 5],
            _ if engine.stores => [3, 2, 0, 0, 3],
            _ => [1, 1, 0, 1, 1],
        };
        for (i, expected) in (0..).zip(expected) {
            assert_eq!(session.execute(Stmt(i), &[], &mut ()).await, Ok(expected), "{}", statements[usize::from(i)]);
        }
    }
}

pub async fn result_sets_are_announced_in_order<S: Session>(engine: &Engine) {
    let mut session: S = engine.open(Protocol::Text, &[]).await;
    let mut seen = Seen::default();
    session.query("SELECT 1 UNION ALL SELECT 2; SELECT 3, 'c' WHERE 1 = 0; SELECT 4, 'd'", &mut seen).await.unwrap();
    if engine.stores {
        let int = Kept::Int;
        assert_eq!(seen.sets, [0, 1, 2], "a set without rows is one too");
        assert_eq!(seen.rows, [(0, vec![int(1)]), (0, vec![int(2)]), (2, vec![int(4), Kept::Text("d".to_owned())])]);
    } else {
        assert_eq!(seen, Seen::default());
    }
}

pub async fn an_error_behind_a_result_is_not_missed<S: Session>(engine: &Engine) {
    let mut session: S = engine.open(Protocol::Text, &[]).await;
    let mut seen = Seen::default();
    let result = session.query("SELECT 1; SELECT * FROM no_such_table", &mut seen).await;
    if engine.stores {
        assert_eq!(result.unwrap_err().kind, FaultKind::Statement);
        assert_eq!(seen.values(), [Kept::Int(1)]);
        assert_eq!(number(&mut session, "SELECT 5").await, 5);
    } else {
        // What does not read its statements cannot find a mistake in them.
        assert_eq!((result, seen), (Ok(()), Seen::default()));
    }
}

pub async fn commit_keeps_and_rollback_forgets<S: Session>(engine: &Engine) {
    let table = &engine.table;
    let insert = format!("INSERT INTO {table} VALUES (:id)");
    let count = format!("SELECT COUNT(*) FROM {table}");
    // Where readers wait for writers, the witness asks for the rows that nobody holds.
    let hint = if S::DIALECT == Dialect::Mssql { " WITH (READPAST)" } else { "" };
    let seen_by_others = format!("{count}{hint}");
    let mut session: S = engine.open(Protocol::Prepared, &[&insert]).await;
    let mut witness: S = engine.open(Protocol::Prepared, &[]).await;
    session.batch(&format!("CREATE TABLE {table} (id INT PRIMARY KEY)")).await.unwrap();
    session.rollback().await.unwrap();
    for (id, access) in [(1, Access::Write), (2, Access::Read)] {
        session.begin(access).await.unwrap();
        session.execute(Stmt(0), &[Value::Int(id)], &mut ()).await.unwrap();
        if engine.stores {
            assert_eq!(number(&mut session, &count).await, 1, "a transaction sees its own rows");
            assert_eq!(number(&mut witness, &seen_by_others).await, 0, "nobody else sees them");
        }
        session.rollback().await.unwrap();
    }
    session.begin(Access::Write).await.unwrap();
    session.execute(Stmt(0), &[Value::Int(3)], &mut ()).await.unwrap();
    session.commit().await.unwrap();
    session.rollback().await.unwrap();
    if engine.stores {
        assert_eq!(values(&mut witness, &format!("SELECT id FROM {table}")).await, [Kept::Int(3)]);
    }
}

pub async fn a_duplicate_key_is_told_from_other_faults<S: Session>(engine: &Engine) {
    if !engine.stores {
        // Without rows there are no keys; `simulated` has its own test of drawn faults.
        return assert_eq!(
            S::connect(&engine.target, [].into()).await.map(|s| s.describe()),
            Ok("simulated".to_owned())
        );
    }
    let table = &engine.table;
    let insert = format!("INSERT INTO {table} VALUES (:id, :u, 1)");
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut session: S =
            engine.open(protocol, &[&insert, &format!("INSERT INTO {table} VALUES (9, 9, NULL)")]).await;
        session.batch(&format!("DROP TABLE IF EXISTS {table}")).await.unwrap();
        session
            .batch(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, u INT UNIQUE, n INT NOT NULL)"))
            .await
            .unwrap();
        session.execute(Stmt(0), &[Value::Int(1), Value::Int(1)], &mut ()).await.unwrap();
        session.begin(Access::Write).await.unwrap();
        session.execute(Stmt(0), &[Value::Int(2), Value::Int(2)], &mut ()).await.unwrap();
        for (id, unique) in [(1, 5), (5, 1)] {
            let fault = session.execute(Stmt(0), &[Value::Int(id), Value::Int(unique)], &mut ()).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Duplicate, "{fault}");
            assert!(fault.code.is_some());
        }
        let fault = session.execute(Stmt(1), &[], &mut ()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Statement, "{fault}");
        session.rollback().await.unwrap();
        assert_eq!(number(&mut session, &format!("SELECT COUNT(*) FROM {table}")).await, 1);
    }
}

pub async fn a_wrong_statement_leaves_the_session_usable<S: Session>(engine: &Engine) {
    let wrong = ["SELEKT 1", "SELECT * FROM no_such_table WHERE id = :id"];
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut session: S = engine.open(protocol, &[wrong[0], wrong[1], "SELECT 4"]).await;
        for (stmt, params) in [(Stmt(0), &[][..]), (Stmt(1), &[Value::Int(1)][..])] {
            let result = session.execute(stmt, params, &mut ()).await;
            let by_text = session.batch(wrong[0]).await;
            if engine.stores {
                assert_eq!(result.unwrap_err().kind, FaultKind::Statement);
                assert_eq!(by_text.unwrap_err().kind, FaultKind::Statement);
            } else {
                assert!(result.is_ok() && by_text.is_ok());
            }
        }
        session.execute(Stmt(2), &[], &mut ()).await.unwrap();
        session.ping().await.unwrap();
    }
}

pub async fn a_wrong_number_of_parameters_leaves_the_session_usable<S: Session>(engine: &Engine) {
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut session: S = engine.open(protocol, &["SELECT :a, '?'"]).await;
        for params in [&[][..], &[Value::Int(1), Value::Int(2)][..]] {
            let fault = session.execute(Stmt(0), params, &mut ()).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Statement, "{fault}");
        }
        session.execute(Stmt(0), &[Value::Int(1)], &mut ()).await.unwrap();
        session.ping().await.unwrap();
    }
}

pub async fn statements_prepare_at_once_or_on_first_use<S: Session>(engine: &Engine) {
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut session: S = engine.open(protocol, &["SELECT 1", "SELECT 2"]).await;
        session.prepare(Stmt(0)).await.unwrap();
        session.prepare(Stmt(0)).await.unwrap();
        for _ in 0..3 {
            for (stmt, expected) in [(Stmt(0), 1), (Stmt(1), 2)] {
                let mut seen = Seen::default();
                session.execute(stmt, &[], &mut seen).await.unwrap();
                let expected = if engine.stores { vec![Kept::Int(expected)] } else { vec![] };
                assert_eq!(seen.values(), expected);
            }
        }
    }
}

pub async fn an_interrupt_ends_the_query_and_not_the_session<S: Session>(engine: &Engine) {
    let target = if engine.stores { engine.target.clone() } else { crate::engine::simulated(Duration::from_secs(600)) };
    let mut session: S = open(&target, Protocol::Text, &[engine.endless]).await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let interrupter = interrupt_until::<S>(&target, session.id(), session.interrupt(), Arc::clone(&done));
    let query = async {
        let fault = session.execute(Stmt(0), &[], &mut ()).await.unwrap_err();
        done.store(true, Ordering::SeqCst);
        fault
    };
    let (fault, thread) = tokio::join!(query, interrupter);
    if let Some(thread) = thread {
        thread.join().unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    if engine.is_babelfish {
        assert_eq!(fault.kind, FaultKind::ConnectionLost, "{fault}");
        return session.discard();
    }
    assert_eq!(fault.kind, FaultKind::Deadline, "{fault}");
    session.rollback().await.unwrap();
    session.query("SELECT 1", &mut ()).await.unwrap();
    session.ping().await.unwrap();
}

async fn interrupt_until<S: Session>(
    target: &Target,
    id: Option<u64>,
    interrupt: Interrupt,
    done: Arc<AtomicBool>,
) -> Option<JoinHandle<()>> {
    match interrupt {
        // Once, and not before the query has begun: a server remembers the wish and ends the next statement instead.
        Interrupt::Statement(sql) => {
            let id = id.expect("a server that is asked by statement numbers its connections");
            let running = format!(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND INFO LIKE 'SELECT SLEEP%'"
            );
            let mut other: S = open(target, Protocol::Text, &[]).await.unwrap();
            while number(&mut other, &running).await == 0 {
                tokio::task::yield_now().await;
            }
            other.batch(&sql).await.unwrap();
            None
        }
        // From another thread, since a blocking query leaves this one no time; and again, as the first call may come
        // before the query has begun.
        Interrupt::Call(call) => Some(std::thread::spawn(move || {
            while !done.load(Ordering::SeqCst) {
                call.stop();
                std::thread::sleep(Duration::from_millis(20));
            }
        })),
        Interrupt::None => panic!("this engine can interrupt"),
    }
}

pub async fn sessions_close_and_open_again<S: Session>(engine: &Engine) {
    for _ in 0..3 {
        let mut session: S = engine.open(Protocol::Prepared, &["SELECT 1"]).await;
        session.execute(Stmt(0), &[], &mut ()).await.unwrap();
        assert!(!session.version().is_empty() && !session.describe().is_empty());
        session.close().await;
        let session: S = engine.open(Protocol::Prepared, &[]).await;
        session.discard();
        let session: S = engine.open(Protocol::Prepared, &[]).await;
        drop(session);
    }
}
