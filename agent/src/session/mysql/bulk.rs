//! Loading rows by multi-row INSERTs of a size that the server accepts.

use vufleet_scenarios::session::{Dialect, Fault, Row, Rows, Session, Source, Value};

use crate::session::text;

/// Size of one multi-row INSERT, where the server accepts it.
const BULK_BYTES: usize = 1 << 20;

/// Loads all rows. Returns how many there were.
pub(in crate::session) async fn bulk(
    session: &mut impl Session,
    table: &str,
    columns: &[&str],
    rows: &mut dyn Source,
) -> Result<u64, Fault> {
    let limit = bulk_bytes(session).await?;
    let head = format!("INSERT INTO {table} ({}) VALUES ", columns.join(", "));
    let mut insert = head.clone();
    let mut loaded = 0;
    loop {
        let mut outcome = Ok(());
        let more = rows.next(&mut |row| {
            if insert.len() > head.len() {
                insert.push_str(", ");
            }
            outcome = if row.len() == columns.len() {
                text::write_row(Dialect::Mysql, row, &mut insert)
            } else {
                Err(text::mismatch(&head, row.len()))
            };
        });
        outcome?;
        loaded += u64::from(more);
        if insert.len() >= limit || (!more && insert.len() > head.len()) {
            session.batch(&insert).await?;
            insert.truncate(head.len());
        }
        if !more {
            return Ok(loaded);
        }
    }
}

/// How much of an INSERT the server takes in one packet, with room for the row that exceeds it.
async fn bulk_bytes(session: &mut impl Session) -> Result<usize, Fault> {
    let mut packet = Single(None);
    session.query("SELECT @@max_allowed_packet", &mut packet).await?;
    let packet = packet.0.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(BULK_BYTES);
    Ok(BULK_BYTES.min(packet / 2))
}

/// The first value of the first row, as an integer.
struct Single(Option<i64>);

impl Rows for Single {
    fn row(&mut self, row: &impl Row) {
        if let (None, Value::Int(value)) = (self.0, row.get(0)) {
            self.0 = Some(value);
        }
    }
}
