//! Loading rows: as arrays of parameters where the server takes them, as multi-row INSERTs where it does not.
//!
//! Why not LOAD DATA LOCAL: docs/decisions/populating.md.

mod arrays;
mod inserts;
#[cfg(test)]
mod tests;

use vufleet_scenarios::session::{Fault, FaultKind, Row, Rows, Session, Source, Value};

pub(in crate::session) use self::inserts::Insert;
use super::answer::{Results, ServerError};
use super::fault::of_server;
use super::{MysqlSession, QUERY};

/// The way of MariaDB.
pub(in crate::session) const ARRAYS: &str = "arrays of parameters";
/// The way that every server takes.
pub(in crate::session) const INSERTS: &str = "multi-row INSERT";
/// What a server takes in one packet when it does not say.
const PACKET_BYTES: usize = 1 << 20;
const PACKET: &str = "SELECT @@max_allowed_packet";

/// Where rows go.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct Table<'a> {
    pub(in crate::session) name: &'a str,
    pub(in crate::session) columns: &'a [&'a str],
}

/// What a statement leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::session) struct Left {
    pub(in crate::session) affected: u64,
    pub(in crate::session) warnings: u16,
}

/// Loads all rows by INSERTs. Returns how many there were.
pub(in crate::session) async fn insert_all(
    session: &mut impl Insert,
    table: Table<'_>,
    rows: &mut dyn Source,
) -> Result<u64, Fault> {
    let mut packet = Single(None);
    session.query(PACKET, &mut packet).await?;
    inserts::load(session, table, rows, packet.bytes()).await
}

impl MysqlSession {
    /// Loads all rows, the quickest way that the server takes. Returns how many there were.
    pub(super) async fn load(&mut self, table: Table<'_>, rows: &mut dyn Source) -> Result<u64, Fault> {
        let mut packet = Single(None);
        self.query(PACKET, &mut packet).await?;
        if self.dialogue.arrays {
            match arrays::prepare(self, table).await {
                Ok(statement) => return arrays::load(self, table, statement, rows, packet.bytes()).await,
                Err(fault) if fault.kind == FaultKind::Statement => {
                    tracing::info!(%fault, "rows go by {INSERTS}");
                    self.dialogue.arrays = false;
                }
                Err(fault) => return Err(fault),
            }
        }
        inserts::load(self, table, rows, packet.bytes()).await
    }
}

/// What the results of a command leave behind, or the error that ended it.
pub(super) fn left<R: Rows>(results: &mut Results<'_, R>) -> Result<Left, Fault> {
    let affected = results.outcome()?;
    Ok(Left { affected, warnings: results.warnings })
}

impl Insert for MysqlSession {
    async fn insert(&mut self, sql: &str) -> Result<Left, Fault> {
        self.command(QUERY, sql, &mut ()).await
    }
}

/// Refuses rows that the server took otherwise than they were sent.
async fn verify(session: &mut impl Session, table: Table<'_>, sent: u64, left: Left) -> Result<(), Fault> {
    let mut warnings = Warnings::default();
    if left.warnings > 0 {
        session.query("SHOW WARNINGS", &mut warnings).await?;
    }
    let name = table.name;
    if let Some(error) = warnings.first {
        let fault = of_server(error);
        return Err(Fault { message: format!("{name}: {}", fault.message).into(), ..fault });
    }
    // Of many warnings it keeps the words of the first ones, and of none where max_error_count is 0.
    let unknown = u64::from(left.warnings).saturating_sub(warnings.notes);
    let what = if unknown > 0 {
        format!(
            "{name}: the server has {unknown} warnings or notes about the rows and no words for them; raise max_error_count on it"
        )
    } else if left.affected != sent {
        format!("{name}: the server took {} of {sent} rows and did not say why", left.affected)
    } else {
        return Ok(());
    };
    Err(Fault::new(FaultKind::Statement, what))
}

/// SHOW WARNINGS: level, code, message.
#[derive(Default)]
struct Warnings {
    /// The first that is more than a note.
    first: Option<ServerError>,
    notes: u64,
}

impl Rows for Warnings {
    fn row(&mut self, row: &impl Row) {
        let (Value::Text(level), Value::Int(code), Value::Text(message)) = (row.get(0), row.get(1), row.get(2)) else {
            return;
        };
        if level == "Note" {
            self.notes += 1;
            return;
        }
        let error = || ServerError {
            code: u16::try_from(code).unwrap_or_default(),
            state: String::new(),
            message: message.to_owned(),
        };
        self.first.get_or_insert_with(error);
    }
}

/// The first value of the first row, as an integer.
struct Single(Option<i64>);

impl Single {
    fn bytes(&self) -> usize {
        self.0.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(PACKET_BYTES)
    }
}

impl Rows for Single {
    fn row(&mut self, row: &impl Row) {
        if let (None, Value::Int(value)) = (self.0, row.get(0)) {
            self.0 = Some(value);
        }
    }
}
