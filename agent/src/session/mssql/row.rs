//! The client's rows as the seam's.
//!
//! Decimals of more than 18 digits stay text, as on the other databases; so do uniqueidentifiers and times with an offset
//! lose it and become the instant. The client hands money over as a floating-point number, exact up to 9 * 10^11. A time
//! is a span in microseconds.

use std::cell::OnceCell;

use tiberius::numeric::Numeric;
use tiberius::time::{DateTime2, Time};
use tiberius::{ColumnData, ColumnType, CommandReturnValue};
use vufleet_scenarios::session::{Row, Value};

use super::value::DAYS_TO_EPOCH;

const MICROS_PER_DAY: i64 = 86_400_000_000;
const MICROS_PER_MINUTE: i64 = 60_000_000;
/// Days from 1900-01-01, where datetime begins, to the Unix epoch.
const DAYS_FROM_1900: i64 = 25_567;
/// The largest number that has 18 digits.
const EIGHTEEN_DIGITS: i128 = 999_999_999_999_999_999;

/// A row as the client decoded it, or the values that a procedure hands back.
pub(super) struct MssqlRow<'a> {
    cells: Cells<'a>,
    /// What has no text of its own to lend, by column; written when the first of them is asked for, which is seldom.
    written: OnceCell<Vec<(usize, String)>>,
}

#[derive(Clone, Copy)]
enum Cells<'a> {
    Row(&'a tiberius::Row),
    Outputs(&'a [CommandReturnValue]),
}

impl<'a> Cells<'a> {
    fn len(self) -> usize {
        match self {
            Cells::Row(row) => row.len(),
            Cells::Outputs(values) => values.len(),
        }
    }

    /// None beyond the last.
    fn get(self, column: usize) -> Option<(&'a ColumnData<'static>, ColumnType)> {
        match self {
            Cells::Row(row) => Some((row.get_column_data(column).ok()?, row.columns().get(column)?.column_type())),
            // The client does not tell their types, which only matter for money.
            Cells::Outputs(values) => Some((values.get(column)?.data(), ColumnType::Null)),
        }
    }
}

impl<'a> MssqlRow<'a> {
    pub fn new(row: &'a tiberius::Row) -> Self {
        MssqlRow { cells: Cells::Row(row), written: OnceCell::new() }
    }

    pub fn of_outputs(values: &'a [CommandReturnValue]) -> Self {
        MssqlRow { cells: Cells::Outputs(values), written: OnceCell::new() }
    }

    fn written(&self, column: usize) -> Option<&str> {
        let written = self.written.get_or_init(|| {
            let data = |column| Some(self.cells.get(column)?.0).filter(|data| is_written(data));
            (0..self.cells.len()).filter_map(|column| Some((column, write(data(column)?)?))).collect()
        });
        written.iter().find(|(at, _)| *at == column).map(|(_, text)| text.as_str())
    }
}

impl Row for MssqlRow<'_> {
    fn len(&self) -> usize {
        self.cells.len()
    }

    fn get(&self, column: usize) -> Value<'_> {
        let Some((data, kind)) = self.cells.get(column) else { return Value::Null };
        let text = || if is_written(data) { self.written(column).map(Value::Text) } else { None };
        known(data, kind).or_else(text).unwrap_or(Value::Null)
    }
}

/// Whether a value has to be written, as the seam has no other form for it.
fn is_written(data: &ColumnData<'_>) -> bool {
    match data {
        ColumnData::Guid(guid) => guid.is_some(),
        ColumnData::Numeric(number) => number.is_some_and(|number| number.value().abs() > EIGHTEEN_DIGITS),
        _ => false,
    }
}

fn write(data: &ColumnData<'_>) -> Option<String> {
    match data {
        ColumnData::Guid(Some(guid)) => Some(guid.to_string().to_ascii_uppercase()),
        ColumnData::Numeric(Some(number)) => Some(digits(*number)),
        _ => None,
    }
}

fn digits(number: Numeric) -> String {
    let scale = usize::from(number.scale());
    let mut text = format!("{:0width$}", number.value().unsigned_abs(), width = scale + 1);
    if scale > 0 {
        text.insert(text.len() - scale, '.');
    }
    if number.value() < 0 { format!("-{text}") } else { text }
}

/// None of NULL, and of what has to be written.
fn known<'a>(data: &'a ColumnData<'_>, kind: ColumnType) -> Option<Value<'a>> {
    Some(match data {
        ColumnData::U8(number) => Value::Int((*number)?.into()),
        ColumnData::I16(number) => Value::Int((*number)?.into()),
        ColumnData::I32(number) => Value::Int((*number)?.into()),
        ColumnData::I64(number) => Value::Int((*number)?),
        ColumnData::Bit(bit) => Value::Int((*bit)?.into()),
        ColumnData::F32(number) => floating((*number)?.into(), kind),
        ColumnData::F64(number) => floating((*number)?, kind),
        ColumnData::Numeric(number) => {
            let number = (*number).filter(|_| !is_written(data))?;
            Value::Decimal(i64::try_from(number.value()).ok()?, number.scale())
        }
        ColumnData::String(text) => Value::Text(text.as_deref()?),
        ColumnData::Xml(xml) => Value::Text(xml.as_deref()?.as_ref()),
        ColumnData::Binary(bytes) => Value::Bytes(bytes.as_deref()?),
        ColumnData::DateTime(time) => {
            let time = (*time)?;
            // Three hundredths of a second, shown in milliseconds as the server rounds them.
            let millis = (i64::from(time.seconds_fragments()) * 10 + 1) / 3;
            Value::Instant(since_1900(time.days().into()) + millis * 1_000)
        }
        ColumnData::SmallDateTime(time) => {
            let time = (*time)?;
            let minutes = i64::from(time.seconds_fragments());
            Value::Instant(since_1900(time.days().into()) + minutes * MICROS_PER_MINUTE)
        }
        ColumnData::Date(date) => Value::Instant(since_year_1((*date)?.days())),
        ColumnData::Time(time) => Value::Int(micros((*time)?)),
        ColumnData::DateTime2(time) => Value::Instant(instant((*time)?)),
        // Travels as UTC with the offset beside it.
        ColumnData::DateTimeOffset(time) => Value::Instant(instant((*time)?.datetime2())),
        ColumnData::Guid(_) => return None,
    })
}

/// Money has four digits after the point.
fn floating<'a>(number: f64, kind: ColumnType) -> Value<'a> {
    match kind {
        ColumnType::Money | ColumnType::Money4 => Value::Decimal((number * 10_000.0).round() as i64, 4),
        _ => Value::Float(number),
    }
}

fn since_1900(days: i64) -> i64 {
    (days - DAYS_FROM_1900) * MICROS_PER_DAY
}

fn since_year_1(days: u32) -> i64 {
    (i64::from(days) - DAYS_TO_EPOCH) * MICROS_PER_DAY
}

fn instant(time: DateTime2) -> i64 {
    since_year_1(time.date().days()) + micros(time.time())
}

fn micros(time: Time) -> i64 {
    let increments = time.increments() as i64;
    match time.scale() {
        scale @ 0..=6 => increments * 10_i64.pow(u32::from(6 - scale)),
        scale => increments / 10_i64.pow(u32::from(scale.min(18) - 6)),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use tiberius::time::{Date, DateTime, SmallDateTime};

    use super::*;

    fn read(data: ColumnData<'static>, kind: ColumnType, expected: Value<'_>) {
        let shown = format!("{data:?}");
        let row = tiberius::Row::builder().column("c", kind, data).build();
        let row = MssqlRow::new(&row);
        assert_eq!((row.get(0), row.get(1), row.len()), (expected, Value::Null, 1), "{shown}");
    }

    #[test]
    fn every_type_means_what_it_says() {
        let text = |text: &'static str| ColumnData::String(Some(Cow::Borrowed(text)));
        for (data, kind, expected) in [
            (ColumnData::U8(Some(255)), ColumnType::Int1, Value::Int(255)),
            (ColumnData::I16(Some(-3)), ColumnType::Int2, Value::Int(-3)),
            (ColumnData::I32(None), ColumnType::Int4, Value::Null),
            (ColumnData::I64(Some(i64::MIN)), ColumnType::Int8, Value::Int(i64::MIN)),
            (ColumnData::Bit(Some(true)), ColumnType::Bitn, Value::Int(1)),
            (ColumnData::F32(Some(0.5)), ColumnType::Float4, Value::Float(0.5)),
            (ColumnData::F64(Some(0.1)), ColumnType::Float8, Value::Float(0.1)),
            (ColumnData::F64(Some(-12.34)), ColumnType::Money, Value::Decimal(-123_400, 4)),
            (ColumnData::F32(Some(1.5)), ColumnType::Money4, Value::Decimal(15_000, 4)),
            (text("a "), ColumnType::BigChar, Value::Text("a ")),
            (ColumnData::String(None), ColumnType::NVarchar, Value::Null),
            (ColumnData::Binary(Some(Cow::Borrowed(&[0, 1]))), ColumnType::BigVarBin, Value::Bytes(&[0, 1])),
            (ColumnData::DateTime(Some(DateTime::new(25_567, 1))), ColumnType::Datetime, Value::Instant(3_000)),
            (
                ColumnData::DateTime(Some(DateTime::new(25_566, 2))),
                ColumnType::Datetime,
                Value::Instant(-86_399_993_000),
            ),
            (ColumnData::DateTime(Some(DateTime::new(25_567, 300))), ColumnType::Datetimen, Value::Instant(1_000_000)),
            (
                ColumnData::SmallDateTime(Some(SmallDateTime::new(25_568, 1))),
                ColumnType::Datetime4,
                Value::Instant(86_460_000_000),
            ),
            (ColumnData::Date(Some(Date::new(719_163))), ColumnType::Daten, Value::Instant(86_400_000_000)),
            (ColumnData::Time(Some(Time::new(12, 7))), ColumnType::Timen, Value::Int(1)),
            (
                ColumnData::DateTime2(Some(DateTime2::new(Date::new(719_162), Time::new(15, 1)))),
                ColumnType::Datetime2,
                Value::Instant(1_500_000),
            ),
        ] {
            read(data, kind, expected);
        }
    }

    #[test]
    fn numbers_keep_their_digits_and_long_ones_stay_text() {
        for (value, scale, expected) in [
            (-1_250, 2, Value::Decimal(-1_250, 2)),
            (EIGHTEEN_DIGITS, 4, Value::Decimal(999_999_999_999_999_999, 4)),
            (EIGHTEEN_DIGITS + 1, 4, Value::Text("100000000000000.0000")),
            (-(EIGHTEEN_DIGITS + 1), 0, Value::Text("-1000000000000000000")),
            (10_i128.pow(37) + 5, 38, Value::Text("0.10000000000000000000000000000000000005")),
        ] {
            let data = ColumnData::Numeric(Some(Numeric::new_with_scale(value, scale)));
            read(data, ColumnType::Numericn, expected);
        }
    }

    #[test]
    fn a_uniqueidentifier_is_text_as_the_server_shows_it() {
        let guid = tiberius::Uuid::from_u128(0x0e98_4725_c51c_4bf4_9960_e1c8_0e27_aba0);
        read(ColumnData::Guid(Some(guid)), ColumnType::Guid, Value::Text("0E984725-C51C-4BF4-9960-E1C80E27ABA0"));
        read(ColumnData::Guid(None), ColumnType::Guid, Value::Null);
    }
}
