//! The seam's values as the client wants them, and the types that they are declared as.

use std::borrow::Cow;
use std::fmt::Write as _;

use tiberius::ColumnData;
use tiberius::numeric::Numeric;
use tiberius::time::{Date, DateTime2, Time};
use vufleet_scenarios::session::{Fault, FaultKind, Value};

use crate::session::calendar::Civil;
use crate::session::text;

/// Characters of the longest text that is no `max` type.
const SHORT_TEXT: usize = 4_000;
const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Days from 0001-01-01, where dates of SQL Server begin, to the Unix epoch.
pub(super) const DAYS_TO_EPOCH: i64 = 719_162;
/// Days from 0001-01-01 to 9999-12-31, the last.
const LAST_DAY: i64 = 3_652_058;
/// Digits after the point of an instant, in parameters and at most.
const MICROS_SCALE: u8 = 6;

/// What the value in an undeclared slot is declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing but NULL so far.
    Unknown,
    Int,
    Float,
    /// With so many digits after the point.
    Decimal(u8),
    Text,
    LongText,
    Bytes,
    Instant,
}

impl Kind {
    pub fn of(value: &Value<'_>) -> Kind {
        match value {
            Value::Null => Kind::Unknown,
            Value::Int(_) => Kind::Int,
            Value::Float(_) => Kind::Float,
            Value::Decimal(_, digits) => Kind::Decimal(*digits),
            // Bytes are at least as many as the characters that count.
            Value::Text(text) if text.len() <= SHORT_TEXT => Kind::Text,
            Value::Text(_) => Kind::LongText,
            Value::Bytes(_) => Kind::Bytes,
            Value::Instant(_) => Kind::Instant,
        }
    }

    /// Whether a value of kind `other` loses nothing where this one was declared.
    pub fn takes(self, other: Kind) -> bool {
        match (self, other) {
            (_, Kind::Unknown) | (Kind::LongText, Kind::Text) => true,
            (Kind::Decimal(declared), Kind::Decimal(digits)) => digits <= declared,
            (declared, other) => declared == other,
        }
    }

    /// Appends the type.
    pub fn declare(self, out: &mut String) {
        let name = match self {
            Kind::Int => "bigint",
            Kind::Float => "float",
            Kind::Decimal(digits) => {
                // A value has up to 19 digits, all of which may stand before the point of another one. Writing to a String
                // cannot fail.
                return write!(out, "decimal({},{digits})", (19 + digits).min(38)).unwrap_or_default();
            }
            Kind::Unknown | Kind::Text => "nvarchar(4000)",
            Kind::LongText => "nvarchar(max)",
            Kind::Bytes => "varbinary(max)",
            Kind::Instant => "datetime2(6)",
        };
        out.push_str(name);
    }
}

/// How values for a parameter travel, where its declared type leaves a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Form {
    /// Integers in four bytes.
    is_narrow: bool,
    /// NULL without a type, since the server takes no other type's for it. Elsewhere it is an int's: that is converted to
    /// everything else, and Babelfish knows no NULL without a type.
    is_null_untyped: bool,
}

impl Form {
    /// Of a parameter with that declared type. Asked of each parameter of each call.
    pub fn of(declared: Option<&str>) -> Form {
        let Some(declared) = declared else { return Form::default() };
        // Most of what is none of the types below goes by its first letter.
        if !matches!(declared.as_bytes().first(), Some(b'i' | b's' | b't' | b'd' | b'x' | b'u' | b'A'..=b'Z')) {
            return Form::default();
        }
        let word = declared.split('(').next().unwrap_or_default();
        let is_one_of = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
        let is_narrow = is_one_of(&["int", "smallint", "tinyint"]);
        let untyped = &["date", "time", "datetime2", "datetimeoffset", "xml", "uniqueidentifier"];
        Form { is_narrow, is_null_untyped: !is_narrow && is_one_of(untyped) }
    }

    /// The same for a slot that is declared as this kind.
    pub fn for_kind(self, kind: Kind) -> Form {
        Form { is_null_untyped: self.is_null_untyped || kind == Kind::Instant, ..self }
    }
}

/// A parameter. What four bytes cannot hold goes in eight, for the server to refuse in its own words.
pub(super) fn wire<'a>(value: &Value<'a>, form: Form) -> Result<ColumnData<'a>, Fault> {
    Ok(match *value {
        Value::Null if form.is_null_untyped => ColumnData::String(None),
        Value::Null => ColumnData::I32(None),
        Value::Int(number) => match i32::try_from(number) {
            Ok(number) if form.is_narrow => ColumnData::I32(Some(number)),
            _ => ColumnData::I64(Some(number)),
        },
        Value::Float(number) if number.is_finite() => ColumnData::F64(Some(number)),
        Value::Float(number) => return Err(text::no_number(number)),
        Value::Decimal(unscaled, digits) => ColumnData::Numeric(Some(numeric(unscaled, digits)?)),
        Value::Text(text) => ColumnData::String(Some(Cow::Borrowed(text))),
        Value::Bytes(bytes) => ColumnData::Binary(Some(Cow::Borrowed(bytes))),
        Value::Instant(micros) => ColumnData::DateTime2(Some(instant(micros, MICROS_SCALE)?)),
    })
}

/// An exact number.
pub(super) fn numeric(unscaled: i64, digits: u8) -> Result<Numeric, Fault> {
    if digits > Numeric::MAX_NUMERIC_SCALE {
        let what = format!("{digits} digits after the point; SQL Server has 38 digits in all");
        return Err(Fault::new(FaultKind::Statement, what));
    }
    Ok(Numeric::new_with_scale(unscaled.into(), digits))
}

/// Day of SQL Server's calendar and microsecond of that day.
pub(super) fn day_and_micros(micros: i64) -> Result<(u32, u64), Fault> {
    let day = micros.div_euclid(MICROS_PER_DAY) + DAYS_TO_EPOCH;
    if !(0..=LAST_DAY).contains(&day) {
        let what = format!("{} is beyond SQL Server's calendar, the years 1 to 9999", Civil::from_micros(micros));
        return Err(Fault::new(FaultKind::Statement, what));
    }
    Ok((day as u32, micros.rem_euclid(MICROS_PER_DAY) as u64))
}

/// An instant with so many digits of a second, at most 7; further ones are cut off.
pub(super) fn instant(micros: i64, scale: u8) -> Result<DateTime2, Fault> {
    let (day, of_day) = day_and_micros(micros)?;
    let scale = scale.min(MICROS_SCALE + 1);
    let increments = match scale {
        7 => of_day * 10,
        _ => of_day / 10_u64.pow(u32::from(MICROS_SCALE - scale)),
    };
    Ok(DateTime2::new(Date::new(day), Time::new(increments, scale)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_travel_in_the_declared_width() {
        let (narrow, wide) = (ColumnData::I32(Some(5)), ColumnData::I64(Some(5)));
        for (declared, expected) in [
            (Some("int"), &narrow),
            (Some("SMALLINT"), &narrow),
            (Some("tinyint"), &narrow),
            (Some("bigint"), &wide),
            (Some("char(4)"), &wide),
            (None, &wide),
        ] {
            assert_eq!(&wire(&Value::Int(5), Form::of(declared)).unwrap(), expected, "{declared:?}");
        }
        assert_eq!(wire(&Value::Int(1 << 40), Form::of(Some("int"))).unwrap(), ColumnData::I64(Some(1 << 40)));
    }

    #[test]
    fn a_null_has_a_type_that_the_server_converts() {
        for (declared, kind, untyped) in [
            (None, Kind::Unknown, false),
            (None, Kind::Text, false),
            (None, Kind::Instant, true),
            (Some("varbinary(max)"), Kind::Unknown, false),
            (Some("datetime"), Kind::Unknown, false),
            (Some("datetime2(6)"), Kind::Unknown, true),
            (Some("DATE"), Kind::Unknown, true),
            (Some("uniqueidentifier"), Kind::Unknown, true),
        ] {
            let expected = if untyped { ColumnData::String(None) } else { ColumnData::I32(None) };
            let data = wire(&Value::Null, Form::of(declared).for_kind(kind)).unwrap();
            assert_eq!(data, expected, "{declared:?} {kind:?}");
        }
    }

    #[test]
    fn instants_are_days_and_fractions() {
        for (micros, scale, day, increments) in [
            (0, 6, 719_162, 0),
            (-1, 6, 719_161, 86_399_999_999),
            (1_709_251_199_123_456, 6, 738_944, 86_399_123_456),
            (1_709_251_199_123_456, 7, 738_944, 863_991_234_560),
            (1_709_251_199_123_456, 3, 738_944, 86_399_123),
            (1_709_251_199_999_999, 0, 738_944, 86_399),
            (-62_135_596_800_000_000, 6, 0, 0),
            (253_402_300_799_999_999, 6, 3_652_058, 86_399_999_999),
        ] {
            let expected = DateTime2::new(Date::new(day), Time::new(increments, scale));
            assert_eq!(instant(micros, scale).unwrap(), expected, "{micros}");
        }
    }

    #[test]
    fn what_the_server_has_no_type_for_is_refused() {
        for value in [
            Value::Float(f64::NAN),
            Value::Decimal(1, 39),
            Value::Instant(-62_135_596_800_000_001),
            Value::Instant(253_402_300_800_000_000),
            Value::Instant(i64::MIN),
        ] {
            assert_eq!(wire(&value, Form::default()).unwrap_err().kind, FaultKind::Statement, "{value:?}");
        }
    }
}
