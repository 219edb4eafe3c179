//! A bulk load's values in the exact form of their columns: the protocol converts nothing.

use std::borrow::Cow;

use tiberius::numeric::Numeric;
use tiberius::time::{Date, DateTime, DateTimeOffset, SmallDateTime};
use tiberius::{ColumnData, ColumnType, FixedLenType, MetaDataColumn, TypeInfo, VarLenType, xml::XmlData};
use vufleet_scenarios::session::{Fault, FaultKind, Value};

use super::value::{DAYS_TO_EPOCH, day_and_micros, instant, numeric};
use crate::session::calendar::Civil;

/// Days from 0001-01-01 to 1900-01-01, where datetime begins.
const DAYS_TO_1900: i64 = DAYS_TO_EPOCH - 25_567;
/// Days from 1753-01-01, the first of datetime, to 1900-01-01.
const DAYS_FROM_1753: i64 = 53_690;
/// From this length on a column is a `max` type, without a limit of its own.
const MAX_LENGTH: usize = 0xffff;

/// A column of the table.
pub(super) struct Target {
    name: String,
    shape: Shape,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Tiny,
    Small,
    Int,
    Big,
    Bit,
    Single,
    Double,
    Money,
    Decimal,
    /// So many bytes; padded where the length is fixed.
    Narrow {
        bytes: usize,
        padded: bool,
    },
    /// So many bytes of UTF-16.
    Wide {
        bytes: usize,
        padded: bool,
    },
    Binary,
    Datetime,
    SmallDatetime,
    Date,
    Datetime2(u8),
    Offset(u8),
    Xml,
    Unknown(ColumnType),
}

impl Target {
    pub fn new(column: &MetaDataColumn<'_>) -> Target {
        Target { name: column.col_name().to_owned(), shape: Shape::of(column.base().ty()) }
    }

    /// A value as this column wants it.
    pub fn value(&self, value: &Value<'_>) -> Result<ColumnData<'static>, Fault> {
        match self.shape.convert(value)? {
            Some(data) => Ok(data),
            None => Err(self.misfit(value)),
        }
    }

    fn misfit(&self, value: &Value<'_>) -> Fault {
        let shown: String = format!("{value:?}").chars().take(80).collect();
        let what = format!(
            "column {} ({:?}) cannot take {shown}; rebuild the schema (schema build --replace) or correct the column",
            self.name, self.shape
        );
        Fault::new(FaultKind::Statement, what)
    }
}

impl Shape {
    fn of(info: &TypeInfo) -> Shape {
        match info {
            TypeInfo::VarLenSized(context) => Shape::of_sized(context.r#type(), context.len(), info),
            TypeInfo::VarLenSizedPrecision { .. } => Shape::Decimal,
            TypeInfo::Xml { .. } => Shape::Xml,
            TypeInfo::FixedLen(kind) => match kind {
                FixedLenType::Int1 => Shape::Tiny,
                FixedLenType::Int2 => Shape::Small,
                FixedLenType::Int4 => Shape::Int,
                FixedLenType::Int8 => Shape::Big,
                FixedLenType::Bit => Shape::Bit,
                FixedLenType::Float4 => Shape::Single,
                FixedLenType::Float8 => Shape::Double,
                FixedLenType::Money | FixedLenType::Money4 => Shape::Money,
                FixedLenType::Datetime => Shape::Datetime,
                FixedLenType::Datetime4 => Shape::SmallDatetime,
                FixedLenType::Null => Shape::Unknown(ColumnType::Null),
            },
            TypeInfo::Udt(_) => Shape::Unknown(ColumnType::Udt),
        }
    }

    fn of_sized(kind: VarLenType, length: usize, info: &TypeInfo) -> Shape {
        match (kind, length) {
            (VarLenType::Intn, 1) => Shape::Tiny,
            (VarLenType::Intn, 2) => Shape::Small,
            (VarLenType::Intn, 4) => Shape::Int,
            (VarLenType::Intn, _) => Shape::Big,
            (VarLenType::Bitn, _) => Shape::Bit,
            (VarLenType::Floatn, 4) => Shape::Single,
            (VarLenType::Floatn, _) => Shape::Double,
            (VarLenType::Money, _) => Shape::Money,
            (VarLenType::BigChar, bytes) => Shape::Narrow { bytes, padded: true },
            (VarLenType::BigVarChar, bytes) => Shape::Narrow { bytes, padded: false },
            (VarLenType::Text, _) => Shape::Narrow { bytes: MAX_LENGTH, padded: false },
            (VarLenType::NChar, bytes) => Shape::Wide { bytes, padded: true },
            (VarLenType::NVarchar, bytes) => Shape::Wide { bytes, padded: false },
            (VarLenType::NText, _) => Shape::Wide { bytes: MAX_LENGTH, padded: false },
            (VarLenType::BigBinary | VarLenType::BigVarBin, _) => Shape::Binary,
            (VarLenType::Datetimen, 4) => Shape::SmallDatetime,
            (VarLenType::Datetimen, _) => Shape::Datetime,
            (VarLenType::Daten, _) => Shape::Date,
            (VarLenType::Datetime2, scale) => Shape::Datetime2(scale.min(7) as u8),
            (VarLenType::DatetimeOffsetn, scale) => Shape::Offset(scale.min(7) as u8),
            _ => Shape::Unknown(ColumnType::from(info)),
        }
    }

    /// None where the column cannot hold the value.
    fn convert(self, value: &Value<'_>) -> Result<Option<ColumnData<'static>>, Fault> {
        Ok(match *value {
            Value::Null => self.null(),
            Value::Int(number) => self.int(number)?,
            Value::Float(number) => self.float(number),
            Value::Decimal(unscaled, digits) => self.decimal(numeric(unscaled, digits)?),
            Value::Text(text) => self.text(text)?,
            Value::Bytes(bytes) => {
                (self == Shape::Binary).then(|| ColumnData::Binary(Some(Cow::Owned(bytes.to_vec()))))
            }
            Value::Instant(micros) => self.instant(micros)?,
        })
    }

    fn null(self) -> Option<ColumnData<'static>> {
        Some(match self {
            Shape::Tiny => ColumnData::U8(None),
            Shape::Small => ColumnData::I16(None),
            Shape::Int => ColumnData::I32(None),
            Shape::Big => ColumnData::I64(None),
            Shape::Bit => ColumnData::Bit(None),
            Shape::Single => ColumnData::F32(None),
            Shape::Double => ColumnData::F64(None),
            Shape::Money | Shape::Decimal => ColumnData::Numeric(None),
            Shape::Narrow { .. } | Shape::Wide { .. } => ColumnData::String(None),
            Shape::Binary => ColumnData::Binary(None),
            Shape::Datetime => ColumnData::DateTime(None),
            Shape::SmallDatetime => ColumnData::SmallDateTime(None),
            Shape::Date => ColumnData::Date(None),
            Shape::Datetime2(_) => ColumnData::DateTime2(None),
            Shape::Offset(_) => ColumnData::DateTimeOffset(None),
            Shape::Xml => ColumnData::Xml(None),
            Shape::Unknown(_) => return None,
        })
    }

    fn int(self, number: i64) -> Result<Option<ColumnData<'static>>, Fault> {
        Ok(match self {
            Shape::Tiny => number.try_into().ok().map(|number| ColumnData::U8(Some(number))),
            Shape::Small => number.try_into().ok().map(|number| ColumnData::I16(Some(number))),
            Shape::Int => number.try_into().ok().map(|number| ColumnData::I32(Some(number))),
            Shape::Big => Some(ColumnData::I64(Some(number))),
            Shape::Bit => matches!(number, 0 | 1).then_some(ColumnData::Bit(Some(number == 1))),
            Shape::Single | Shape::Double => self.float(number as f64),
            Shape::Money | Shape::Decimal => self.decimal(numeric(number, 0)?),
            Shape::Narrow { .. } | Shape::Wide { .. } => self.text(&number.to_string())?,
            _ => None,
        })
    }

    fn float(self, number: f64) -> Option<ColumnData<'static>> {
        match self {
            Shape::Single if number.is_finite() => Some(ColumnData::F32(Some(number as f32))),
            Shape::Double if number.is_finite() => Some(ColumnData::F64(Some(number))),
            _ => None,
        }
    }

    /// The client brings it to the column's own scale.
    fn decimal(self, number: Numeric) -> Option<ColumnData<'static>> {
        match self {
            Shape::Money | Shape::Decimal => Some(ColumnData::Numeric(Some(number))),
            Shape::Single | Shape::Double => self.float(number.value() as f64 / 10_f64.powi(number.scale().into())),
            _ => None,
        }
    }

    /// CHAR(n) is padded here: the server stores what it gets.
    fn text(self, text: &str) -> Result<Option<ColumnData<'static>>, Fault> {
        let (length, unit, limit, padded) = match self {
            Shape::Narrow { bytes, padded } => (text.len(), 1, bytes, padded),
            Shape::Wide { bytes, padded } => (text.encode_utf16().count() * 2, 2, bytes, padded),
            Shape::Xml => return Ok(Some(ColumnData::Xml(Some(Cow::Owned(XmlData::new(text)))))),
            _ => {
                let instant = Civil::parse(text).map(Civil::to_micros);
                return instant.map_or(Ok(None), |micros| self.instant(micros));
            }
        };
        // A text that is not ASCII may be shorter in the column's own code page; the client looks again.
        if length > limit && limit < MAX_LENGTH && text.is_ascii() {
            return Ok(None);
        }
        let mut owned = text.to_owned();
        if padded {
            owned.extend(std::iter::repeat_n(' ', limit.saturating_sub(length) / unit));
        }
        Ok(Some(ColumnData::String(Some(Cow::Owned(owned)))))
    }

    fn instant(self, micros: i64) -> Result<Option<ColumnData<'static>>, Fault> {
        let (day, of_day) = day_and_micros(micros)?;
        let since_1900 = i64::from(day) - DAYS_TO_1900;
        Ok(match self {
            Shape::Datetime => (since_1900 >= -DAYS_FROM_1753).then(|| {
                // Three hundredths of a second, to the nearest; what rounds up to midnight stays before it.
                let fragments = ((of_day * 3 + 5_000) / 10_000).min(25_919_999);
                ColumnData::DateTime(Some(DateTime::new(since_1900 as i32, fragments as u32)))
            }),
            Shape::SmallDatetime => u16::try_from(since_1900)
                .ok()
                .map(|days| ColumnData::SmallDateTime(Some(SmallDateTime::new(days, (of_day / 60_000_000) as u16)))),
            Shape::Date => Some(ColumnData::Date(Some(Date::new(day)))),
            Shape::Datetime2(scale) => Some(ColumnData::DateTime2(Some(instant(micros, scale)?))),
            Shape::Offset(scale) => {
                Some(ColumnData::DateTimeOffset(Some(DateTimeOffset::new(instant(micros, scale)?, 0))))
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use tiberius::VarLenContext;
    use tiberius::time::{DateTime2, Time};

    use super::*;

    fn sized(kind: VarLenType, length: usize) -> Shape {
        Shape::of(&TypeInfo::VarLenSized(VarLenContext::new(kind, length, None)))
    }

    fn text(text: &'static str) -> Option<ColumnData<'static>> {
        Some(ColumnData::String(Some(Cow::Borrowed(text))))
    }

    #[test]
    fn values_take_the_form_of_their_columns() {
        let decimal = |value, scale| Some(ColumnData::Numeric(Some(Numeric::new_with_scale(value, scale))));
        for (shape, value, expected) in [
            (sized(VarLenType::Intn, 1), Value::Int(255), Some(ColumnData::U8(Some(255)))),
            (sized(VarLenType::Intn, 1), Value::Int(256), None),
            (sized(VarLenType::Intn, 2), Value::Int(-5), Some(ColumnData::I16(Some(-5)))),
            (sized(VarLenType::Intn, 4), Value::Int(1 << 31), None),
            (sized(VarLenType::Intn, 4), Value::Null, Some(ColumnData::I32(None))),
            (sized(VarLenType::Intn, 8), Value::Int(1 << 31), Some(ColumnData::I64(Some(1 << 31)))),
            (Shape::of(&TypeInfo::FixedLen(FixedLenType::Bit)), Value::Int(1), Some(ColumnData::Bit(Some(true)))),
            (Shape::Bit, Value::Int(2), None),
            (Shape::Double, Value::Decimal(125, 2), Some(ColumnData::F64(Some(1.25)))),
            (Shape::Double, Value::Float(f64::NAN), None),
            (Shape::Money, Value::Decimal(-1_000, 2), decimal(-1_000, 2)),
            (Shape::Decimal, Value::Int(7), decimal(7, 0)),
            (Shape::Decimal, Value::Text("7"), None),
            (sized(VarLenType::BigChar, 4), Value::Text("ab"), text("ab  ")),
            (sized(VarLenType::BigChar, 4), Value::Text("abcde"), None),
            (sized(VarLenType::NChar, 8), Value::Text("ü"), text("ü   ")),
            (sized(VarLenType::BigVarChar, 4), Value::Text("ab"), text("ab")),
            (sized(VarLenType::BigVarChar, 4), Value::Int(42), text("42")),
            (sized(VarLenType::NVarchar, 4), Value::Text("abc"), None),
            (Shape::Binary, Value::Bytes(&[1]), Some(ColumnData::Binary(Some(Cow::Borrowed(&[1]))))),
            (Shape::Binary, Value::Text("a"), None),
            (Shape::Datetime, Value::Instant(3_400), Some(ColumnData::DateTime(Some(DateTime::new(25_567, 1))))),
            (
                sized(VarLenType::Datetimen, 8),
                Value::Text("1900-01-01 00:00:01"),
                Some(ColumnData::DateTime(Some(DateTime::new(0, 300)))),
            ),
            (Shape::Datetime, Value::Instant(-6_847_804_800_000_001), None),
            (
                sized(VarLenType::Datetimen, 4),
                Value::Instant(60_000_000),
                Some(ColumnData::SmallDateTime(Some(SmallDateTime::new(25_567, 1)))),
            ),
            (sized(VarLenType::Daten, 3), Value::Instant(0), Some(ColumnData::Date(Some(Date::new(719_162))))),
            (
                sized(VarLenType::Datetime2, 3),
                Value::Instant(1_500_999),
                Some(ColumnData::DateTime2(Some(DateTime2::new(Date::new(719_162), Time::new(1_500, 3))))),
            ),
            (sized(VarLenType::Guid, 16), Value::Null, None),
        ] {
            assert_eq!(shape.convert(&value).unwrap(), expected, "{shape:?}, {value:?}");
        }
    }

    #[test]
    fn a_max_column_takes_any_length() {
        let long = "x".repeat(100_000);
        for kind in [VarLenType::BigVarChar, VarLenType::NVarchar, VarLenType::Text, VarLenType::NText] {
            assert!(sized(kind, MAX_LENGTH).convert(&Value::Text(&long)).unwrap().is_some(), "{kind:?}");
        }
    }

    #[test]
    fn a_misfit_names_the_column_and_a_remedy() {
        let target = Target { name: "c_id".to_owned(), shape: Shape::Tiny };
        let fault = target.value(&Value::Int(300)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Statement);
        for part in ["c_id", "Tiny", "Int(300)", "--replace"] {
            assert!(fault.message.contains(part), "{fault}");
        }
    }
}
