//! Answers, read to their end: rows go to whoever asked, counts are added up, and an error in any of the results is an error
//! of the whole.
//!
//! HammerDB's procedures catch their errors and return them as a row, of the columns ErrorNumber, ErrorSeverity and so on to
//! ErrorMessage. Such a row is the error that it tells.

use tiberius::{Column, ColumnData, Command, CommandItem, CommandReturnValue, QueryItem, Row};
use tokio_stream::StreamExt;
use vufleet_scenarios::session::{Fault, Rows};

use super::row::MssqlRow;
use super::{Tds, fault};

/// What a command did.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Rows that its statements counted, those that returned rows apart.
    pub affected: u64,
    /// Values handed back.
    outputs: Vec<CommandReturnValue>,
    sets: usize,
}

impl Answer {
    /// The first value handed back, where it is an int: the handle of a prepared statement.
    pub fn handle(&self) -> Option<i32> {
        match self.outputs.first()?.data() {
            ColumnData::I32(handle) => *handle,
            _ => None,
        }
    }

    /// Passes the values handed back on as one more row.
    pub fn tell_outputs(&self, rows: &mut impl Rows) {
        if self.outputs.is_empty() {
            return;
        }
        rows.set(self.sets);
        rows.row(&MssqlRow::of_outputs(&self.outputs));
    }
}

/// Sends a command and reads its answer.
pub(super) async fn of_command(command: Command<'_>, client: &mut Tds, rows: &mut impl Rows) -> Result<Answer, Fault> {
    let mut stream = command.exec(client).await.map_err(fault::of)?;
    let mut answer = Answer::default();
    let (mut returns_rows, mut caught) = (false, Caught::default());
    while let Some(item) = stream.try_next().await.map_err(fault::of)? {
        match item {
            CommandItem::Metadata(set) => {
                returns_rows = true;
                caught.look_at(set.columns());
                if !caught.is_one {
                    rows.set(answer.sets);
                    answer.sets += 1;
                }
            }
            CommandItem::Row(row) if caught.is_one => caught.keep(&row),
            CommandItem::Row(row) => rows.row(&MssqlRow::new(&row)),
            CommandItem::RowsAffected(count) => {
                answer.affected += if returns_rows { 0 } else { count };
                returns_rows = false;
            }
            CommandItem::ReturnValue(value) => answer.outputs.push(value),
            CommandItem::ReturnStatus(_) => {}
        }
    }
    caught.fault.map_or(Ok(answer), Err)
}

/// Sends a batch and reads its answer.
pub(super) async fn of_batch(sql: &str, client: &mut Tds, rows: &mut impl Rows) -> Result<(), Fault> {
    let mut stream = client.simple_query(sql).await.map_err(fault::of)?;
    let (mut sets, mut caught) = (0, Caught::default());
    while let Some(item) = stream.try_next().await.map_err(fault::of)? {
        match item {
            QueryItem::Metadata(set) => {
                caught.look_at(set.columns());
                if !caught.is_one {
                    rows.set(sets);
                    sets += 1;
                }
            }
            QueryItem::Row(row) if caught.is_one => caught.keep(&row),
            QueryItem::Row(row) => rows.row(&MssqlRow::new(&row)),
        }
    }
    caught.fault.map_or(Ok(()), Err)
}

/// An error that a procedure caught and returned as a row.
#[derive(Default)]
struct Caught {
    is_one: bool,
    fault: Option<Fault>,
}

impl Caught {
    fn look_at(&mut self, columns: &[Column]) {
        self.is_one = columns.first().is_some_and(|column| column.name() == "ErrorNumber")
            && columns.last().is_some_and(|column| column.name() == "ErrorMessage");
    }

    fn keep(&mut self, row: &Row) {
        let number = match row.get_column_data(0) {
            Ok(ColumnData::I32(Some(number))) => *number,
            _ => 0,
        };
        let words = match row.get_column_data(row.len().saturating_sub(1)) {
            Ok(ColumnData::String(Some(words))) => words,
            _ => "",
        };
        self.fault.get_or_insert_with(|| fault::of_words(number.unsigned_abs(), 0, words));
    }
}
