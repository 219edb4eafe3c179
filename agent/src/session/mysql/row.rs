//! The client's values as the seam's, and back.
//!
//! Both protocols give the same answer: the text protocol's digits are read by the column's type. Unsigned integers
//! beyond 2^63 - 1 become floating-point numbers, decimals of more than 18 digits stay text, a TIME is a span in
//! microseconds, and a zero date is NULL.

use mysql_async::Column;
use mysql_async::consts::ColumnType;
use vufleet_scenarios::session::{Fault, Row, Value};

use crate::session::calendar::{Civil, clock_micros};
use crate::session::text;

/// Collation id of binary strings.
const BINARY: u16 = 63;

/// A row as the client decoded it.
pub(super) struct MysqlRow<'a>(pub &'a mysql_async::Row);

impl Row for MysqlRow<'_> {
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
        Wire::Date(0, 0, 0, ..) => Value::Null,
        Wire::Date(year, month, day, hour, minute, second, micros) => {
            Value::Instant(Civil { year: year.into(), month, day, hour, minute, second, micros }.to_micros())
        }
        Wire::Time(negative, days, hours, minutes, seconds, micros) => {
            let hours = i64::from(days) * 24 + i64::from(hours);
            let seconds = (hours * 60 + i64::from(minutes)) * 60 + i64::from(seconds);
            let span = seconds * 1_000_000 + i64::from(micros);
            Value::Int(if negative { -span } else { span })
        }
        Wire::Bytes(ref bytes) => characters(bytes, column),
    }
}

fn unsigned<'a>(number: u64) -> Value<'a> {
    i64::try_from(number).map_or(Value::Float(number as f64), Value::Int)
}

/// What came as characters, by the type of its column. Text that does not fit its type is left as it is.
fn characters<'a>(bytes: &'a [u8], column: &Column) -> Value<'a> {
    use ColumnType::*;
    let kind = column.column_type();
    if kind == MYSQL_TYPE_BIT {
        return Value::Bytes(bytes);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Value::Bytes(bytes);
    };
    let parsed = match kind {
        MYSQL_TYPE_TINY | MYSQL_TYPE_SHORT | MYSQL_TYPE_INT24 | MYSQL_TYPE_LONG | MYSQL_TYPE_LONGLONG
        | MYSQL_TYPE_YEAR => text.parse().map(Value::Int).or_else(|_| text.parse().map(unsigned)).ok(),
        MYSQL_TYPE_FLOAT => text.parse::<f32>().map(|number| Value::Float(number.into())).ok(),
        MYSQL_TYPE_DOUBLE => text.parse().map(Value::Float).ok(),
        MYSQL_TYPE_DECIMAL | MYSQL_TYPE_NEWDECIMAL => decimal(text),
        MYSQL_TYPE_DATE | MYSQL_TYPE_NEWDATE | MYSQL_TYPE_DATETIME | MYSQL_TYPE_TIMESTAMP => {
            Some(Civil::parse(text).map_or(Value::Null, |civil| Value::Instant(civil.to_micros())))
        }
        MYSQL_TYPE_TIME => clock_micros(text).map(Value::Int),
        _ if column.character_set() == BINARY => Some(Value::Bytes(bytes)),
        _ => None,
    };
    parsed.unwrap_or(Value::Text(text))
}

fn decimal<'a>(text: &str) -> Option<Value<'a>> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = u8::try_from(fraction.len()).ok()?;
    let factor = 10_i64.checked_pow(digits.into())?;
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<i64>().ok()? };
    let scaled = whole.parse::<i64>().ok()?.checked_mul(factor)?;
    // By the sign's character: "-0.5" is negative though its whole part is not.
    let unscaled = if text.starts_with('-') { scaled.checked_sub(fraction)? } else { scaled.checked_add(fraction)? };
    Some(Value::Decimal(unscaled, digits))
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
    use super::*;

    #[test]
    fn characters_are_read_by_their_columns_type() {
        use ColumnType::*;
        for (kind, text, expected) in [
            (MYSQL_TYPE_LONG, "-7", Value::Int(-7)),
            (MYSQL_TYPE_LONGLONG, "9223372036854775807", Value::Int(i64::MAX)),
            (MYSQL_TYPE_LONGLONG, "18446744073709551615", Value::Float(u64::MAX as f64)),
            (MYSQL_TYPE_DOUBLE, "1.5e300", Value::Float(1.5e300)),
            (MYSQL_TYPE_FLOAT, "0.1", Value::Float(f64::from(0.1_f32))),
            (MYSQL_TYPE_NEWDECIMAL, "-0.50", Value::Decimal(-50, 2)),
            (MYSQL_TYPE_NEWDECIMAL, "12", Value::Decimal(12, 0)),
            (MYSQL_TYPE_NEWDECIMAL, "12345678901234567890.1", Value::Text("12345678901234567890.1")),
            (MYSQL_TYPE_DATE, "1970-01-02", Value::Instant(86_400_000_000)),
            (MYSQL_TYPE_DATETIME, "1970-01-01 00:00:01.5", Value::Instant(1_500_000)),
            (MYSQL_TYPE_DATETIME, "0000-00-00 00:00:00", Value::Null),
            (MYSQL_TYPE_TIME, "-01:00:00", Value::Int(-3_600_000_000)),
            (MYSQL_TYPE_BIT, "1", Value::Bytes(b"1")),
            (MYSQL_TYPE_VAR_STRING, "x", Value::Text("x")),
        ] {
            assert_eq!(characters(text.as_bytes(), &Column::new(kind)), expected, "{kind:?} {text}");
        }
        let blob = Column::new(MYSQL_TYPE_BLOB).with_character_set(BINARY);
        assert_eq!(characters(b"x", &blob), Value::Bytes(b"x"));
        assert_eq!(characters(&[0xff], &Column::new(MYSQL_TYPE_VAR_STRING)), Value::Bytes(&[0xff]));
    }

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
            assert_eq!(decimal(std::str::from_utf8(&bytes).unwrap()), Some(Value::Decimal(unscaled, digits)));
        }
    }
}
