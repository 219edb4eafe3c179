//! Values into SQLite's statements and out of its rows.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};
use vufleet_scenarios::session::{Fault, Row, Rows, Value};

use crate::session::calendar::Civil;
use crate::session::text;

/// Runs a statement to its end. Returns the affected rows.
pub(super) fn step(
    connection: &Connection,
    statement: &mut rusqlite::Statement<'_>,
    rows: &mut impl Rows,
) -> rusqlite::Result<u64> {
    let before = connection.total_changes();
    if statement.column_count() > 0 {
        rows.set(0);
    }
    let mut result = statement.raw_query();
    while let Some(row) = result.next()? {
        rows.row(&SqliteRow(row));
    }
    // `changes` keeps the number of the last INSERT, UPDATE or DELETE, whatever ran since.
    Ok(if connection.total_changes() == before { 0 } else { connection.changes() })
}

/// A fault of ours on its way through the client's error type; `fault` unpacks it.
pub(super) fn smuggled(fault: Fault) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(fault))
}

pub(super) fn bind(statement: &mut rusqlite::Statement<'_>, params: &[Value<'_>]) -> rusqlite::Result<()> {
    for (i, value) in params.iter().enumerate() {
        statement.raw_bind_parameter(i + 1, Bound(value))?;
    }
    Ok(())
}

struct Bound<'a>(&'a Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match *self.0 {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Int(number) => ToSqlOutput::Borrowed(ValueRef::Integer(number)),
            Value::Float(number) if number.is_finite() => ToSqlOutput::Borrowed(ValueRef::Real(number)),
            Value::Float(number) => return Err(smuggled(text::no_number(number))),
            Value::Decimal(unscaled, 0) => ToSqlOutput::Borrowed(ValueRef::Integer(unscaled)),
            Value::Decimal(unscaled, digits) => {
                ToSqlOutput::Borrowed(ValueRef::Real(unscaled as f64 / 10_f64.powi(i32::from(digits))))
            }
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Value::Instant(micros) => ToSqlOutput::Owned(Civil::from_micros(micros).to_string().into()),
        })
    }
}

struct SqliteRow<'a>(&'a rusqlite::Row<'a>);

impl Row for SqliteRow<'_> {
    fn len(&self) -> usize {
        self.0.as_ref().column_count()
    }

    fn get(&self, column: usize) -> Value<'_> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Integer(number)) => Value::Int(number),
            Ok(ValueRef::Real(number)) => Value::Float(number),
            // The file may hold text that is none.
            Ok(ValueRef::Text(bytes)) => std::str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text),
            Ok(ValueRef::Blob(bytes)) => Value::Bytes(bytes),
            Ok(ValueRef::Null) | Err(_) => Value::Null,
        }
    }
}

/// Counts result sets over the statements of one text.
pub(super) struct Counted<'a, R> {
    pub rows: &'a mut R,
    pub set: usize,
}

impl<R: Rows> Rows for Counted<'_, R> {
    fn set(&mut self, _index: usize) {
        self.rows.set(self.set);
        self.set += 1;
    }

    fn row(&mut self, row: &impl Row) {
        self.rows.row(row);
    }
}
