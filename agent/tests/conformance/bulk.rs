//! The points about loading many rows.

use vufleet_scenarios::session::{Access, FaultKind, Session, Source, Value};

use crate::engine::{Engine, Kept, Opened, number, values};

/// Numbered rows with text that needs escaping.
struct Numbered {
    next: i64,
    last: i64,
}

fn text_of(id: i64) -> String {
    format!("row {id} isn't \\ plain: {}", "ü".repeat((id % 50) as usize))
}

impl Source for Numbered {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        if self.next > self.last {
            return false;
        }
        put(&[Value::Int(self.next), Value::Text(&text_of(self.next)), Value::Null]);
        self.next += 1;
        true
    }
}

pub async fn bulk_loads_every_row_as_it_is<S: Session>(engine: &Engine) {
    for opened in [Opened::ToWork, Opened::ToLoad] {
        loads_every_row_as_it_is::<S>(engine, opened).await;
    }
}

async fn loads_every_row_as_it_is<S: Session>(engine: &Engine, opened: Opened) {
    const ROWS: i64 = 25_000;
    let table = &engine.table;
    let mut session: S = engine.open_to_load(opened).await;
    session.batch(&format!("DROP TABLE IF EXISTS {table}")).await.unwrap();
    session.batch(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, s VARCHAR(200), n INT)")).await.unwrap();
    let columns = ["id", "s", "n"];
    assert_eq!(session.bulk(table, &columns, &mut Numbered { next: 1, last: 0 }).await, Ok(0));
    assert_eq!(session.bulk(table, &columns, &mut Numbered { next: 1, last: ROWS }).await, Ok(ROWS as u64));
    if !engine.stores {
        return;
    }
    let read = values(&mut session, &format!("SELECT id, s, n FROM {table} ORDER BY id")).await;
    assert_eq!(read.len() as i64, 3 * ROWS);
    for (id, row) in (1..).zip(read.chunks(3)) {
        assert_eq!(row, [Kept::Int(id), Kept::Text(text_of(id)), Kept::Null]);
    }
    for (columns, kind) in [(&columns[..], FaultKind::Duplicate), (&columns[..2], FaultKind::Statement)] {
        let fault = session.bulk(table, columns, &mut Numbered { next: ROWS, last: ROWS }).await.unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
    }
    let kept_too_many = i64::from(engine.is_babelfish);
    assert_eq!(number(&mut session, &format!("SELECT COUNT(*) FROM {table}")).await, ROWS + kept_too_many);
}

pub async fn bulk_in_a_transaction_commits_nothing_by_itself<S: Session>(engine: &Engine) {
    for opened in [Opened::ToWork, Opened::ToLoad] {
        commits_nothing_by_itself::<S>(engine, opened).await;
    }
}

async fn commits_nothing_by_itself<S: Session>(engine: &Engine, opened: Opened) {
    // More than a batch of any engine.
    const ROWS: i64 = 12_000;
    let table = &engine.table;
    let mut session: S = engine.open_to_load(opened).await;
    session.batch(&format!("DROP TABLE IF EXISTS {table}")).await.unwrap();
    session.batch(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, s VARCHAR(200), n INT)")).await.unwrap();
    let columns = ["id", "s", "n"];
    let count = format!("SELECT COUNT(*) FROM {table}");
    for (end_by_commit, kept) in [(false, 0), (true, ROWS)] {
        session.begin(Access::Write).await.unwrap();
        assert_eq!(session.bulk(table, &columns, &mut Numbered { next: 1, last: ROWS }).await, Ok(ROWS as u64));
        if end_by_commit {
            session.commit().await.unwrap()
        } else {
            session.rollback().await.unwrap()
        }
        if engine.stores {
            assert_eq!(number(&mut session, &count).await, kept);
        }
    }
}
