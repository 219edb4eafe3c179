//! The client's values as the seam's, and back.
//!
//! Both protocols give the same answer: the text protocol's digits are read by the column's type. Unsigned integers
//! beyond 2^63 - 1 become floating-point numbers, decimals of more than 18 digits stay text, a TIME is a span in
//! microseconds, and a zero date is NULL.

use mysql_async::Column;
use vufleet_scenarios::session::{Fault, Row, Value};

use crate::session::calendar::Civil;
use crate::session::mysql::{Kind, characters};
use crate::session::text;

/// A row as the client decoded it.
pub(super) struct AsyncRow<'a>(pub &'a mysql_async::Row);

impl Row for AsyncRow<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, column: usize) -> Value<'_> {
        match (self.0.as_ref(column), self.0.columns_ref().get(column)) {
            (Some(value), Some(column)) => borrowed(value, column),
            _ => Value::Null,
        }
    }
}

fn borrowed<'a>(value: &'a mysql_async::Value, column: &Column) -> Value<'a> {
    use mysql_async::Value as Wire;
    match *value {
        Wire::NULL => Value::Null,
        Wire::Int(number) => Value::Int(number),
        Wire::UInt(number) => unsigned(number),
        Wire::Float(number) => Value::Float(number.into()),
        Wire::Double(number) => Value::Float(number),
        Wire::Date(_, 0, ..) | Wire::Date(_, _, 0, ..) => Value::Null,
        Wire::Date(year, month, day, hour, minute, second, micros) => {
            Value::Instant(Civil { year: year.into(), month, day, hour, minute, second, micros }.to_micros())
        }
        Wire::Time(negative, days, hours, minutes, seconds, micros) => {
            let hours = i64::from(days) * 24 + i64::from(hours);
            let seconds = (hours * 60 + i64::from(minutes)) * 60 + i64::from(seconds);
            let span = seconds * 1_000_000 + i64::from(micros);
            Value::Int(if negative { -span } else { span })
        }
        Wire::Bytes(ref bytes) => characters(bytes, kind(column)),
    }
}

fn unsigned<'a>(number: u64) -> Value<'a> {
    i64::try_from(number).map_or(Value::Float(number as f64), Value::Int)
}

fn kind(column: &Column) -> Kind {
    Kind::new(column.column_type() as u8, column.flags().bits(), column.character_set())
}

/// A parameter as the client wants it.
pub(super) fn owned(value: &Value<'_>) -> Result<mysql_async::Value, Fault> {
    use mysql_async::Value as Wire;
    Ok(match *value {
        Value::Null => Wire::NULL,
        Value::Int(number) => Wire::Int(number),
        Value::Float(number) if number.is_finite() => Wire::Double(number),
        Value::Float(number) => return Err(text::no_number(number)),
        Value::Decimal(unscaled, digits) => {
            let mut out = String::new();
            text::write_decimal(unscaled, digits, &mut out);
            Wire::Bytes(out.into_bytes())
        }
        Value::Text(text) => Wire::Bytes(text.as_bytes().to_vec()),
        Value::Bytes(bytes) => Wire::Bytes(bytes.to_vec()),
        Value::Instant(micros) => date(Civil::from_micros(micros)),
    })
}

fn date(civil: Civil) -> mysql_async::Value {
    let Civil { year, month, day, hour, minute, second, micros } = civil;
    // The server refuses years beyond 9999 anyway, with its own words.
    let year = u16::try_from(year).unwrap_or(u16::MAX);
    mysql_async::Value::Date(year, month, day, hour, minute, second, micros)
}

#[cfg(test)]
mod tests {
    use mysql_async::consts::ColumnType;

    use super::*;

    #[test]
    fn binary_values_mean_the_same() {
        use mysql_async::Value as Wire;
        let column = Column::new(ColumnType::MYSQL_TYPE_NULL);
        for (wire, expected) in [
            (Wire::NULL, Value::Null),
            (Wire::UInt(7), Value::Int(7)),
            (Wire::UInt(u64::MAX), Value::Float(u64::MAX as f64)),
            (Wire::Float(0.1), Value::Float(f64::from(0.1_f32))),
            (Wire::Date(0, 0, 0, 0, 0, 0, 0), Value::Null),
            (Wire::Date(2024, 0, 10, 0, 0, 0, 0), Value::Null),
            (Wire::Date(1970, 1, 1, 0, 0, 1, 500_000), Value::Instant(1_500_000)),
            (Wire::Time(true, 1, 1, 0, 0, 0), Value::Int(-90_000_000_000)),
        ] {
            assert_eq!(borrowed(&wire, &column), expected, "{wire:?}");
        }
    }

    #[test]
    fn decimals_keep_their_digits_on_the_way_out_and_back() {
        for (unscaled, digits) in [(0, 0), (5, 2), (-5, 2), (-1250, 2), (i64::MAX, 4), (i64::MIN + 1, 18)] {
            let mysql_async::Value::Bytes(bytes) = owned(&Value::Decimal(unscaled, digits)).unwrap() else {
                panic!("decimals travel as text");
            };
            let column = Column::new(ColumnType::MYSQL_TYPE_NEWDECIMAL);
            assert_eq!(characters(&bytes, kind(&column)), Value::Decimal(unscaled, digits));
        }
    }
}
