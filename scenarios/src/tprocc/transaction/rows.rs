//! What a transaction needs of the rows that come back. Every driver has its own way to say a number.

use crate::session::{Row, Rows, Value};

/// The first column of the last row, as a whole number.
#[derive(Debug, Default)]
pub(super) struct Whole(pub(super) Option<i64>);

impl Rows for Whole {
    fn row(&mut self, row: &impl Row) {
        self.0 = whole(row.get(0));
    }
}

/// Whether there was a row.
#[derive(Debug)]
pub(super) struct AnyRow(pub(super) bool);

impl Rows for AnyRow {
    fn row(&mut self, _row: &impl Row) {
        self.0 = true;
    }
}

/// The first column of the last row, in hundredths.
#[derive(Debug, Default)]
pub(super) struct Cents(pub(super) Option<i64>);

impl Rows for Cents {
    fn row(&mut self, row: &impl Row) {
        self.0 = cents(row.get(0));
    }
}

/// Appends the first column to a text.
pub(super) struct Word<'a>(pub(super) &'a mut String);

impl Rows for Word<'_> {
    fn row(&mut self, row: &impl Row) {
        push(row.get(0), self.0);
    }
}

/// The customers of one name, by first name.
pub(super) struct Ids<'a>(pub(super) &'a mut Vec<u32>);

impl Rows for Ids<'_> {
    fn row(&mut self, row: &impl Row) {
        self.0.extend(whole(row.get(0)).and_then(|id| u32::try_from(id).ok()));
    }
}

/// What the district writes on the line of an item's stock.
pub(super) struct DistInfo<'a>(pub(super) &'a mut String);

impl Rows for DistInfo<'_> {
    fn row(&mut self, row: &impl Row) {
        self.0.clear();
        push(row.get(2), self.0);
    }
}

pub(in crate::tprocc) fn whole(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(number),
        Value::Decimal(unscaled, digits) => Some(unscaled / 10_i64.pow(digits.into())),
        Value::Float(number) => Some(number.round() as i64),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn cents(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(number * 100),
        Value::Decimal(unscaled, digits) if digits <= 2 => Some(unscaled * 10_i64.pow(2 - u32::from(digits))),
        Value::Decimal(unscaled, digits) => Some(unscaled / 10_i64.pow(u32::from(digits) - 2)),
        Value::Float(number) => Some((number * 100.0).round() as i64),
        _ => None,
    }
}

fn push(value: Value<'_>, out: &mut String) {
    match value {
        Value::Text(text) => out.push_str(text),
        Value::Bytes(bytes) => out.push_str(&String::from_utf8_lossy(bytes)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_whatever_form_they_come() {
        for (value, expected_whole, expected_cents) in [
            (Value::Int(7), Some(7), Some(700)),
            (Value::Decimal(1234, 2), Some(12), Some(1234)),
            (Value::Decimal(1234, 0), Some(1234), Some(123_400)),
            (Value::Decimal(12_345, 4), Some(1), Some(123)),
            (Value::Float(12.34), Some(12), Some(1234)),
            (Value::Float(0.29), Some(0), Some(29)),
            (Value::Null, None, None),
        ] {
            assert_eq!((whole(value), cents(value)), (expected_whole, expected_cents), "{value:?}");
        }
    }
}
