//! Multi-row INSERTs of a size that the server accepts.

use vufleet_scenarios::session::{Dialect, Fault, Session, Source, Value};

use super::{Left, Table, verify};
use crate::session::text;

/// Size of one INSERT, where the server accepts it.
const INSERT_BYTES: usize = 1 << 20;

/// A session that says what a statement leaves behind.
#[allow(async_fn_in_trait)] // as all sessions, it never leaves its thread
pub(in crate::session) trait Insert: Session {
    async fn insert(&mut self, sql: &str) -> Result<Left, Fault>;
}

/// Loads all rows. `packet` is what the server takes at most. Returns how many there were.
pub(super) async fn load(
    session: &mut impl Insert,
    table: Table<'_>,
    rows: &mut dyn Source,
    packet: usize,
) -> Result<u64, Fault> {
    // With room for the row that exceeds it.
    let limit = INSERT_BYTES.min(packet / 2);
    let head = format!("INSERT INTO {} ({}) VALUES ", table.name, table.columns.join(", "));
    let mut insert = head.clone();
    let (mut loaded, mut held) = (0, 0);
    loop {
        let mut outcome = Ok(());
        let more = rows.next(&mut |row| {
            if held > 0 {
                insert.push(',');
            }
            outcome = if row.len() == table.columns.len() {
                write_row(row, &mut insert)
            } else {
                Err(text::mismatch(&head, row.len()))
            };
        });
        outcome?;
        held += u64::from(more);
        if held > 0 && (insert.len() >= limit || !more) {
            let left = session.insert(&insert).await?;
            verify(session, table, held, left).await?;
            insert.truncate(head.len());
            loaded += std::mem::take(&mut held);
        }
        if !more {
            return Ok(loaded);
        }
    }
}

/// Appends `(1, 'a', NULL)`. What a backslash in quotes means depends on the sql_mode, so there is never one.
fn write_row(row: &[Value<'_>], out: &mut String) -> Result<(), Fault> {
    for (index, value) in row.iter().enumerate() {
        out.push(if index == 0 { '(' } else { ',' });
        match value {
            Value::Text(text) if text.contains('\\') => {
                out.push_str("_utf8mb4 ");
                text::write_value(Dialect::Mysql, &Value::Bytes(text.as_bytes()), out)?;
            }
            other => text::write_value(Dialect::Mysql, other, out)?,
        }
    }
    out.push(')');
    Ok(())
}
