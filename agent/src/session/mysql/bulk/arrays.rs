//! COM_STMT_BULK_EXECUTE: one prepared INSERT and many rows of parameters in a packet, executed as one statement.
//!
//! <https://mariadb.com/kb/en/com_stmt_bulk_execute/>

use vufleet_scenarios::session::{Fault, Source, Value};

use super::{Left, Table, left, verify};
use crate::session::mysql::answer::Results;
use crate::session::mysql::fault::lost;
use crate::session::mysql::row::Encoding;
use crate::session::mysql::{self, MysqlSession, params};
use crate::session::text;

const BULK_EXECUTE: u8 = 0xfa;
const CLOSE: u8 = 0x19;
/// Flag: the types of the parameters follow.
const TYPES_FOLLOW: u16 = 128;
/// Bytes before the types: the command, the statement and the flags.
const HEAD: usize = 7;
/// What stands before each value: whether there is one.
const VALUE: u8 = 0;
const NULL: u8 = 1;
/// Size of one packet, where the server accepts it.
const PACKET_BYTES: usize = 1 << 20;

/// A statement that takes the rows of a table. It is made before any row is taken from its source.
pub(super) async fn prepare(session: &mut MysqlSession, table: Table<'_>) -> Result<u32, Fault> {
    let marks = vec!["?"; table.columns.len()].join(", ");
    let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, table.columns.join(", "));
    Ok(mysql::prepare(&mut session.channel, session.dialogue, &sql).await?.id)
}

/// Loads all rows. `packet` is what the server takes at most. Returns how many there were.
pub(super) async fn load(
    session: &mut MysqlSession,
    table: Table<'_>,
    statement: u32,
    rows: &mut dyn Source,
    packet: usize,
) -> Result<u64, Fault> {
    let loaded = load_all(session, table, statement, rows, packet).await;
    if !loaded.as_ref().is_err_and(|fault| fault.kind.ends_connection()) {
        close(session, statement).await?;
    }
    loaded
}

/// The server says nothing to this.
async fn close(session: &mut MysqlSession, statement: u32) -> Result<(), Fault> {
    session.channel.restart();
    let write = |out: &mut Vec<u8>| {
        out.push(CLOSE);
        out.extend_from_slice(&statement.to_le_bytes());
    };
    session.channel.send(write).await.map_err(|error| lost(&error))
}

async fn load_all(
    session: &mut MysqlSession,
    table: Table<'_>,
    statement: u32,
    rows: &mut dyn Source,
    packet: usize,
) -> Result<u64, Fault> {
    // With room for the row that exceeds it.
    let limit = PACKET_BYTES.min(packet / 2);
    let mut array = Array::new(statement, table.columns.len());
    let mut loaded = 0;
    loop {
        let mut added = Ok(Added::Fits);
        let more = rows.next(&mut |row| added = array.add(row));
        let next = match added? {
            Added::Fits => None,
            Added::NeedsAnother(row) => Some(row),
        };
        if array.rows > 0 && (array.packet.len() >= limit || next.is_some() || !more) {
            let left = execute(session, &array.packet).await?;
            verify(session, table, array.rows, left).await?;
            loaded += array.rows;
            array.clear();
        }
        if let Some(Row { values, types }) = next {
            array.begin(&values, &types);
        }
        if !more {
            return Ok(loaded);
        }
    }
}

async fn execute(session: &mut MysqlSession, packet: &[u8]) -> Result<Left, Fault> {
    let (mut columns, mut rows) = (Vec::new(), ());
    let mut results = Results::new(session.dialogue, Encoding::Binary, &mut columns, &mut rows);
    let write = |out: &mut Vec<u8>| out.extend_from_slice(packet);
    session.channel.exchange(write, &mut results).await.map_err(|error| lost(&error))?;
    left(&mut results)
}

/// Rows of one packet. A column has one type in all of them, and takes it from the first value that is not NULL.
struct Array {
    packet: Vec<u8>,
    types: Vec<Option<u8>>,
    rows: u64,
}

/// A row that was written and has other types than those before it.
struct Row {
    values: Vec<u8>,
    types: Vec<Option<u8>>,
}

enum Added {
    Fits,
    NeedsAnother(Row),
}

impl Array {
    fn new(statement: u32, columns: usize) -> Self {
        let mut packet = vec![BULK_EXECUTE];
        packet.extend_from_slice(&statement.to_le_bytes());
        packet.extend_from_slice(&TYPES_FOLLOW.to_le_bytes());
        packet.resize(HEAD + 2 * columns, 0);
        let mut array = Array { packet, types: vec![None; columns], rows: 0 };
        array.clear();
        array
    }

    fn clear(&mut self) {
        self.types.fill(None);
        self.rows = 0;
        self.packet.truncate(HEAD + 2 * self.types.len());
        let null = params::kind(&Value::Null) as u8;
        self.packet[HEAD..].fill(0);
        self.packet[HEAD..].iter_mut().step_by(2).for_each(|kind| *kind = null);
    }

    /// Begins an empty one with a row that was written before.
    fn begin(&mut self, values: &[u8], types: &[Option<u8>]) {
        for (column, kind) in types.iter().enumerate() {
            if let Some(kind) = kind {
                self.set(column, *kind);
            }
        }
        self.packet.extend_from_slice(values);
        self.rows = 1;
    }

    fn set(&mut self, column: usize, kind: u8) {
        self.types[column] = Some(kind);
        self.packet[HEAD + 2 * column] = kind;
    }

    fn add(&mut self, row: &[Value<'_>]) -> Result<Added, Fault> {
        if row.len() != self.types.len() {
            return Err(text::mismatch("the columns of the load", row.len()));
        }
        params::check(row)?;
        let start = self.packet.len();
        let mut fits = true;
        for (column, value) in row.iter().enumerate() {
            if matches!(value, Value::Null) {
                self.packet.push(NULL);
                continue;
            }
            let kind = params::kind(value) as u8;
            match self.types[column] {
                Some(known) => fits &= known == kind,
                // If the row turns out not to fit, this array has a type too many, for a column that is NULL in all of it.
                None => self.set(column, kind),
            }
            self.packet.push(VALUE);
            params::write_value(value, &mut self.packet);
        }
        if fits {
            self.rows += 1;
            return Ok(Added::Fits);
        }
        let kind = |value: &Value<'_>| (!matches!(value, Value::Null)).then(|| params::kind(value) as u8);
        let row = Row { values: self.packet.split_off(start), types: row.iter().map(kind).collect() };
        Ok(Added::NeedsAnother(row))
    }
}
