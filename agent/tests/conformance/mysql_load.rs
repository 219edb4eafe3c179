//! What only a MySQL or MariaDB server does while rows are loaded.

use vufleet_agent::session::MysqlSession;
use vufleet_scenarios::session::{Fault, FaultKind, Session, Source, Value};
use vufleet_scenarios::sql::Protocol;
use vufleet_testbed::MariaDb;

use crate::engine::{Engine, Kept, Opened, number, run, tcp, values};

/// Rows of an id and a text.
struct Texts<'a> {
    id: i64,
    texts: &'a [&'a str],
}

impl Source for Texts<'_> {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        let Some((first, rest)) = self.texts.split_first() else { return false };
        put(&[Value::Int(self.id), Value::Text(first)]);
        (self.id, self.texts) = (self.id + 1, rest);
        true
    }
}

async fn load(session: &mut MysqlSession, table: &str, id: i64, texts: &[&str]) -> Result<u64, Fault> {
    session.bulk(table, &["id", "s"], &mut Texts { id, texts }).await
}

/// How often this session has sent arrays and INSERTs as text.
async fn sent(session: &mut MysqlSession) -> [i64; 2] {
    let mut counts = [0; 2];
    for (count, name) in counts.iter_mut().zip(["COM_STMT_EXECUTE", "COM_INSERT"]) {
        let sql =
            format!("SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = '{name}'");
        *count = number(session, &sql).await;
    }
    // Every statement that is executed counts by its kind as well.
    counts[1] -= counts[0];
    counts
}

async fn opened(engine: &Engine, column: &str) -> MysqlSession {
    let mut session: MysqlSession = engine.open_to_load(Opened::ToLoad).await;
    let table = &engine.table;
    session.batch(&format!("DROP TABLE IF EXISTS {table}")).await.unwrap();
    session.batch(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, s {column}) ENGINE=InnoDB")).await.unwrap();
    session
}

#[test]
fn a_session_that_was_opened_to_work_sends_no_arrays() {
    let engine = Engine::mysql_tcp().named("way");
    run(async {
        let table = &engine.table;
        let mut loads = opened(&engine, "TEXT").await;
        assert_eq!(load(&mut loads, table, 1, &["a"]).await, Ok(1));
        assert_eq!((sent(&mut loads).await, loads.bulk_way()), ([1, 0], "arrays of parameters"));
        let mut works: MysqlSession = engine.open(Protocol::Text, &[]).await;
        assert_eq!(load(&mut works, table, 2, &["b"]).await, Ok(1));
        assert_eq!((sent(&mut works).await, works.bulk_way()), ([0, 1], "multi-row INSERT"));
        assert_eq!(number(&mut works, &format!("SELECT COUNT(*) FROM {table}")).await, 2);
    });
}

#[test]
fn a_server_that_takes_no_arrays_is_sent_inserts() {
    let server = MariaDb::builder().option("max_prepared_stmt_count", "0").start().unwrap();
    run(async {
        let mut session = MysqlSession::connect_to_load(&tcp(&server)).await.unwrap();
        session.batch("CREATE TABLE refused (id INT PRIMARY KEY, s TEXT)").await.unwrap();
        for id in [1, 3] {
            assert_eq!(load(&mut session, "refused", id, &["a\tb", "c"]).await, Ok(2));
        }
        let read = values(&mut session, "SELECT s FROM refused ORDER BY id").await;
        assert_eq!(read, ["a\tb", "c", "a\tb", "c"].map(|text| Kept::Text(text.to_owned())));
        assert_eq!((sent(&mut session).await, session.bulk_way()), ([0, 2], "multi-row INSERT"));
    });
}

/// Neither a wrong table nor a wrong column is told by other words, whichever way rows go.
#[test]
fn a_table_that_is_not_there_is_named() {
    let engine = Engine::mysql_tcp().named("nowhere");
    run(async {
        for way in [Opened::ToWork, Opened::ToLoad] {
            let mut session: MysqlSession = engine.open_to_load(way).await;
            let fault = load(&mut session, "nowhere", 1, &["a"]).await.unwrap_err();
            assert_eq!(fault.code, Some(1146), "{fault}");
        }
    });
}

#[test]
fn loads_leave_no_statement_prepared() {
    let server = MariaDb::builder().option("max_prepared_stmt_count", "1").start().unwrap();
    run(async {
        let mut session = MysqlSession::connect_to_load(&tcp(&server)).await.unwrap();
        session.batch("CREATE TABLE closed (id INT PRIMARY KEY, s VARCHAR(1))").await.unwrap();
        for (id, text, loaded) in [(1, "a", true), (2, "too long", false), (3, "b", true)] {
            assert_eq!(load(&mut session, "closed", id, &[text]).await.is_ok(), loaded, "{text}");
            assert_eq!(session.bulk_way(), "arrays of parameters");
        }
    });
}

#[test]
fn texts_do_not_depend_on_the_sql_mode() {
    let engine = Engine::mysql_tcp().named("modes");
    let texts = ["\\", "\\N", "NULL", "", "\t", "\n", "a\\\tb\r\n", "\0", "'\"`", "ü 漢字 🐘", "\\n'", "end\\"];
    run(async {
        for way in [Opened::ToWork, Opened::ToLoad] {
            for mode in ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES", "TRADITIONAL"]
            {
                opened(&engine, "TEXT CHARACTER SET utf8mb4").await;
                let mut session: MysqlSession = engine.open_to_load(way).await;
                session.batch(&format!("SET sql_mode = '{mode}'")).await.unwrap();
                assert_eq!(load(&mut session, &engine.table, 1, &texts).await, Ok(texts.len() as u64));
                let read = values(&mut session, &format!("SELECT s FROM {} ORDER BY id", engine.table)).await;
                assert_eq!(read, texts.map(|text| Kept::Text(text.to_owned())), "{way:?}, {mode}");
            }
        }
    });
}

/// Where the sql_mode is not strict, the server cuts and converts, and warns.
#[test]
fn what_a_column_cannot_hold_ends_the_load() {
    let engine = Engine::mysql_tcp().named("misfits");
    run(async {
        for (column, text) in [
            ("VARCHAR(3)", "four"),
            ("INT", "1x"),
            ("TINYINT", "300"),
            ("DATE", "2026-02-30"),
            ("VARCHAR(9) CHARACTER SET latin1", "漢"),
        ] {
            for way in [Opened::ToWork, Opened::ToLoad] {
                for (mode, words) in [
                    ("sql_mode = 'STRICT_ALL_TABLES'", "at row 1"),
                    ("sql_mode = ''", &*engine.table),
                    ("sql_mode = '', max_error_count = 0", "raise max_error_count"),
                ] {
                    opened(&engine, column).await;
                    let mut session: MysqlSession = engine.open_to_load(way).await;
                    session.batch(&format!("SET {mode}")).await.unwrap();
                    let fault = load(&mut session, &engine.table, 1, &[text]).await.unwrap_err();
                    assert_eq!(fault.kind, FaultKind::Statement, "{column}, {way:?}, {mode}: {fault}");
                    assert!(fault.message.contains(words), "{column}, {way:?}, {mode}: {fault}");
                }
            }
        }
    });
}

#[test]
fn a_row_that_is_there_already_ends_the_load_and_takes_its_batch_with_it() {
    let engine = Engine::mysql_tcp().named("twice");
    run(async {
        for way in [Opened::ToWork, Opened::ToLoad] {
            opened(&engine, "TEXT").await;
            let mut session: MysqlSession = engine.open_to_load(way).await;
            assert_eq!(load(&mut session, &engine.table, 2, &["there"]).await, Ok(1));
            let fault = load(&mut session, &engine.table, 1, &["a", "b", "c"]).await.unwrap_err();
            assert_eq!((fault.kind, fault.code), (FaultKind::Duplicate, Some(1062)), "{fault}");
            let read = values(&mut session, &format!("SELECT id, s FROM {}", engine.table)).await;
            assert_eq!(read, [Kept::Int(2), Kept::Text("there".to_owned())]);
        }
    });
}

#[test]
fn a_load_that_waits_for_too_long_leaves_the_session_usable() {
    let engine = Engine::mysql_tcp().named("locked");
    run(async {
        let mut session = opened(&engine, "LONGTEXT").await;
        let mut other: MysqlSession = engine.open(Protocol::Text, &[]).await;
        other.batch("BEGIN").await.unwrap();
        other.batch(&format!("INSERT INTO {} VALUES (1, 'held')", engine.table)).await.unwrap();
        session.batch("SET innodb_lock_wait_timeout = 1").await.unwrap();
        // The server gives up at the first packet of several.
        let long = "x".repeat(1 << 20);
        let fault = load(&mut session, &engine.table, 1, &[&long, &long, &long]).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::LockTimeout, "{fault}");
        other.batch("ROLLBACK").await.unwrap();
        assert_eq!(load(&mut session, &engine.table, 1, &[&long, &long]).await, Ok(2));
    });
}
