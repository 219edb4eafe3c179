//! Errors that arrive as rows. HammerDB's procedures for SQL Server catch what fails inside them, roll back and select what
//! ERROR_NUMBER, ERROR_SEVERITY, ERROR_STATE, ERROR_PROCEDURE, ERROR_LINE and ERROR_MESSAGE say: to the protocol such a
//! call has succeeded.

use crate::session::{Row, Rows, Value};

/// Columns of such a row.
const COLUMNS: usize = 6;

/// Passes rows on but for those that are an error.
pub(super) struct Caught<'a, R> {
    rows: &'a mut R,
    /// The error's number and words, those of the first.
    pub(super) error: Option<(i32, String)>,
}

impl<'a, R: Rows> Caught<'a, R> {
    pub(super) fn beside(rows: &'a mut R) -> Self {
        Caught { rows, error: None }
    }
}

impl<R: Rows> Rows for Caught<'_, R> {
    fn set(&mut self, index: usize) {
        self.rows.set(index);
    }

    fn row(&mut self, row: &impl Row) {
        match error(row) {
            Some(error) => self.error = self.error.take().or(Some(error)),
            None => self.rows.row(row),
        }
    }
}

/// The error that a row is. No procedure of the workload has results of the same types: a whole number above 0, a severity of 1
/// to 25, a state, the name of a procedure or none, a line, and words.
fn error(row: &impl Row) -> Option<(i32, String)> {
    if row.len() != COLUMNS {
        return None;
    }
    match [row.get(0), row.get(1), row.get(2), row.get(3), row.get(4), row.get(5)] {
        [
            Value::Int(number @ 1..),
            Value::Int(1..=25),
            Value::Int(_),
            Value::Text(_) | Value::Null,
            Value::Int(_),
            Value::Text(words),
        ] => Some((i32::try_from(number).ok()?, words.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cells(Vec<Value<'static>>);

    impl Row for Cells {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn get(&self, column: usize) -> Value<'_> {
            self.0.get(column).copied().unwrap_or(Value::Null)
        }
    }

    #[derive(Default)]
    struct Count(u32);

    impl Rows for Count {
        fn row(&mut self, _row: &impl Row) {
            self.0 += 1;
        }
    }

    fn deadlock() -> Vec<Value<'static>> {
        let words = Value::Text("Transaction was deadlocked and chosen as the victim.");
        vec![Value::Int(1205), Value::Int(13), Value::Int(51), Value::Text("NEWORD"), Value::Int(42), words]
    }

    #[test]
    fn the_first_error_is_kept_and_no_row_is() {
        let mut count = Count::default();
        let mut caught = Caught::beside(&mut count);
        caught.row(&Cells(vec![Value::Int(1); 8]));
        caught.row(&Cells(deadlock()));
        let mut second = deadlock();
        (second[0], second[3]) = (Value::Int(208), Value::Null);
        caught.row(&Cells(second));
        let (number, words) = caught.error.take().unwrap();
        assert_eq!(number, 1205);
        assert!(words.contains("deadlocked"), "{words}");
        assert_eq!(count.0, 1);
    }

    #[test]
    fn results_are_no_errors() {
        let text = Value::Text("x");
        let changed = |index: usize, value| {
            let mut cells = deadlock();
            cells[index] = value;
            cells
        };
        for cells in [
            // NEWORD's, ours and HammerDB's.
            vec![Value::Decimal(123, 4), text, text, Value::Decimal(1, 4), Value::Decimal(1, 4), Value::Int(3001)],
            vec![text, text, text, text, text, Value::Int(3001)],
            changed(0, Value::Int(0)),
            changed(1, Value::Int(26)),
            changed(2, text),
            changed(3, Value::Int(1)),
            changed(4, Value::Null),
            changed(5, Value::Null),
            [deadlock(), vec![text]].concat(),
            deadlock()[..5].to_vec(),
        ] {
            let (mut count, shown) = (Count::default(), format!("{cells:?}"));
            let mut caught = Caught::beside(&mut count);
            caught.row(&Cells(cells));
            assert_eq!((caught.error.is_none(), count.0), (true, 1), "{shown}");
        }
    }
}
