//! Rows as they lie in their packets: a value is read when somebody asks for it.
//!
//! Both protocols give the same answer: the text protocol's digits are read by the column's type. Unsigned integers
//! beyond 2^63 - 1 become floating-point numbers, decimals of more than 18 digits stay text, a TIME is a span in
//! microseconds, and a date with a zero in it is NULL. (A FLOAT has six digits as text and all of its own in binary.)
//!
//! <https://mariadb.com/kb/en/resultset-row/>

use std::cell::Cell;
use std::io;

use mysql_async::consts::ColumnType;
use vufleet_scenarios::session::{Row, Value};

use super::channel::malformed;
use super::codec::Cursor;
use crate::session::calendar::{Civil, clock_micros};

/// Collation id of binary strings.
const BINARY: u16 = 63;
/// Flag of a column without negative numbers.
const UNSIGNED: u16 = 32;
/// Days of a TIME, at most: more than any server knows.
const MOST_DAYS: i64 = 10_000;
/// A NULL of the text protocol.
const TEXT_NULL: u8 = 0xfb;

/// What has to be known of a column to read its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct Kind {
    wire: u8,
    unsigned: bool,
    binary: bool,
}

impl Kind {
    /// From a type, a column's flags and its collation.
    pub(in crate::session) fn new(wire: u8, flags: u16, collation: u16) -> Self {
        Kind { wire, unsigned: flags & UNSIGNED != 0, binary: collation == BINARY }
    }

    /// Reads a column's definition.
    pub(super) fn read(packet: &[u8]) -> io::Result<Kind> {
        let mut cursor = Cursor(packet);
        // Catalogue, database, table and column, the latter two also by their original names.
        for _ in 0..6 {
            cursor.string()?;
        }
        let _length_of_the_rest = cursor.length()?;
        let collation = cursor.u16()?;
        let _display_width = cursor.u32()?;
        let wire = cursor.u8()?;
        Ok(Kind::new(wire, cursor.u16()?, collation))
    }

    fn is(self, kind: ColumnType) -> bool {
        self.wire == kind as u8
    }
}

/// How a row is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Binary,
    Text,
}

/// A row in its packet.
pub(super) struct WireRow<'a> {
    packet: &'a [u8],
    columns: &'a [Kind],
    encoding: Encoding,
    broken: &'a Cell<bool>,
}

impl<'a> WireRow<'a> {
    /// `broken` is set when a value turns out not to be there.
    pub(super) fn new(packet: &'a [u8], columns: &'a [Kind], encoding: Encoding, broken: &'a Cell<bool>) -> Self {
        WireRow { packet, columns, encoding, broken }
    }

    fn read(&self, column: usize) -> io::Result<Value<'a>> {
        match self.encoding {
            Encoding::Binary => self.read_binary(column),
            Encoding::Text => self.read_text(column),
        }
    }

    fn read_binary(&self, column: usize) -> io::Result<Value<'a>> {
        let mut cursor = Cursor(self.packet);
        cursor.u8()?;
        let nulls = cursor.bytes((self.columns.len() + 2).div_ceil(8))?;
        let is_null = |column: usize| nulls[(column + 2) / 8] >> ((column + 2) % 8) & 1 == 1;
        if is_null(column) {
            return Ok(Value::Null);
        }
        for before in (0..column).filter(|before| !is_null(*before)) {
            skip(&mut cursor, self.columns[before])?;
        }
        binary(&mut cursor, self.columns[column])
    }

    fn read_text(&self, column: usize) -> io::Result<Value<'a>> {
        let mut cursor = Cursor(self.packet);
        for _ in 0..column {
            text_cell(&mut cursor)?;
        }
        Ok(text_cell(&mut cursor)?.map_or(Value::Null, |bytes| characters(bytes, self.columns[column])))
    }
}

impl Row for WireRow<'_> {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn get(&self, column: usize) -> Value<'_> {
        if column >= self.columns.len() {
            return Value::Null;
        }
        self.read(column).unwrap_or_else(|_| {
            self.broken.set(true);
            Value::Null
        })
    }
}

fn text_cell<'a>(cursor: &mut Cursor<'a>) -> io::Result<Option<&'a [u8]>> {
    if cursor.0.first() == Some(&TEXT_NULL) {
        cursor.u8()?;
        return Ok(None);
    }
    cursor.string().map(Some)
}

/// Bytes of a type that always takes the same; none where a length comes first.
fn fixed_size(kind: Kind) -> Option<usize> {
    use ColumnType::*;
    let sizes = [
        (MYSQL_TYPE_TINY, 1),
        (MYSQL_TYPE_SHORT, 2),
        (MYSQL_TYPE_YEAR, 2),
        (MYSQL_TYPE_INT24, 4),
        (MYSQL_TYPE_LONG, 4),
        (MYSQL_TYPE_FLOAT, 4),
        (MYSQL_TYPE_LONGLONG, 8),
        (MYSQL_TYPE_DOUBLE, 8),
        (MYSQL_TYPE_NULL, 0),
    ];
    sizes.into_iter().find_map(|(of, size)| kind.is(of).then_some(size))
}

fn skip(cursor: &mut Cursor<'_>, kind: Kind) -> io::Result<()> {
    match fixed_size(kind) {
        Some(size) => cursor.bytes(size).map(drop),
        None => cursor.string().map(drop),
    }
}

fn binary<'a>(cursor: &mut Cursor<'a>, kind: Kind) -> io::Result<Value<'a>> {
    use ColumnType::*;
    if kind.is(MYSQL_TYPE_FLOAT) {
        return Ok(Value::Float(f32::from_le_bytes(cursor.array()?).into()));
    }
    if kind.is(MYSQL_TYPE_DOUBLE) {
        return Ok(Value::Float(f64::from_le_bytes(cursor.array()?)));
    }
    if let Some(size) = fixed_size(kind) {
        return Ok(integer(cursor.bytes(size)?, kind.unsigned));
    }
    let bytes = cursor.string()?;
    if [MYSQL_TYPE_DATE, MYSQL_TYPE_DATETIME, MYSQL_TYPE_TIMESTAMP].into_iter().any(|date| kind.is(date)) {
        return instant(bytes);
    }
    if kind.is(MYSQL_TYPE_TIME) {
        return span(bytes);
    }
    Ok(characters(bytes, kind))
}

fn integer<'a>(bytes: &[u8], unsigned: bool) -> Value<'a> {
    let negative = !unsigned && bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut wide = [if negative { 0xff } else { 0 }; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    if unsigned { of_unsigned(u64::from_le_bytes(wide)) } else { Value::Int(i64::from_le_bytes(wide)) }
}

fn of_unsigned<'a>(number: u64) -> Value<'a> {
    i64::try_from(number).map_or(Value::Float(number as f64), Value::Int)
}

/// Trailing parts that are zero may be left out.
fn instant<'a>(bytes: &[u8]) -> io::Result<Value<'a>> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let mut cursor = Cursor(bytes);
    let (year, month, day) = (cursor.u16()?, cursor.u8()?, cursor.u8()?);
    let [hour, minute, second] = if cursor.0.is_empty() { [0; 3] } else { cursor.array()? };
    let micros = if cursor.0.is_empty() { 0 } else { cursor.u32()? };
    // A date of which only parts are zero is no point in time either.
    if month == 0 || day == 0 {
        return Ok(Value::Null);
    }
    if month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 || micros > 999_999 {
        return Err(malformed("a date that is none"));
    }
    let civil = Civil { year: year.into(), month, day, hour, minute, second, micros };
    Ok(Value::Instant(civil.to_micros()))
}

fn span<'a>(bytes: &[u8]) -> io::Result<Value<'a>> {
    if bytes.is_empty() {
        return Ok(Value::Int(0));
    }
    let mut cursor = Cursor(bytes);
    let (negative, days) = (cursor.u8()? != 0, i64::from(cursor.u32()?));
    let [hours, minutes, seconds] = cursor.array()?.map(i64::from);
    let micros = if cursor.0.is_empty() { 0 } else { i64::from(cursor.u32()?) };
    // The servers' longest span is 35 days; one that cannot be counted in microseconds is none.
    if days > MOST_DAYS {
        return Err(malformed("a time is too long"));
    }
    let span = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + micros;
    Ok(Value::Int(if negative { -span } else { span }))
}

/// What came as characters, by the type of its column. Text that does not fit its type is left as it is, but for a date,
/// which is NULL then.
pub(in crate::session) fn characters(bytes: &[u8], kind: Kind) -> Value<'_> {
    use ColumnType::*;
    if kind.is(MYSQL_TYPE_BIT) {
        return Value::Bytes(bytes);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Value::Bytes(bytes);
    };
    let of = |kinds: &[ColumnType]| kinds.iter().any(|of| kind.is(*of));
    let integers =
        [MYSQL_TYPE_TINY, MYSQL_TYPE_SHORT, MYSQL_TYPE_INT24, MYSQL_TYPE_LONG, MYSQL_TYPE_LONGLONG, MYSQL_TYPE_YEAR];
    let dates = [MYSQL_TYPE_DATE, MYSQL_TYPE_NEWDATE, MYSQL_TYPE_DATETIME, MYSQL_TYPE_TIMESTAMP];
    let parsed = if of(&[MYSQL_TYPE_DECIMAL, MYSQL_TYPE_NEWDECIMAL]) {
        decimal(text)
    } else if of(&integers) {
        text.parse().map(Value::Int).or_else(|_| text.parse().map(of_unsigned)).ok()
    } else if of(&[MYSQL_TYPE_FLOAT]) {
        text.parse::<f32>().map(|number| Value::Float(number.into())).ok()
    } else if of(&[MYSQL_TYPE_DOUBLE]) {
        text.parse().map(Value::Float).ok()
    } else if of(&dates) {
        Some(Civil::parse(text).map_or(Value::Null, |civil| Value::Instant(civil.to_micros())))
    } else if of(&[MYSQL_TYPE_TIME]) {
        clock_micros(text).map(Value::Int)
    } else {
        kind.binary.then_some(Value::Bytes(bytes))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            assert_eq!(characters(text.as_bytes(), Kind::new(kind as u8, 0, 45)), expected, "{kind:?} {text}");
        }
        assert_eq!(characters(b"x", Kind::new(MYSQL_TYPE_BLOB as u8, 0, BINARY)), Value::Bytes(b"x"));
        assert_eq!(characters(&[0xff], Kind::new(MYSQL_TYPE_VAR_STRING as u8, 0, 45)), Value::Bytes(&[0xff]));
    }

    const TYPES: [ColumnType; 9] = [
        ColumnType::MYSQL_TYPE_TINY,
        ColumnType::MYSQL_TYPE_LONG,
        ColumnType::MYSQL_TYPE_LONGLONG,
        ColumnType::MYSQL_TYPE_DOUBLE,
        ColumnType::MYSQL_TYPE_FLOAT,
        ColumnType::MYSQL_TYPE_DATETIME,
        ColumnType::MYSQL_TYPE_TIME,
        ColumnType::MYSQL_TYPE_NEWDECIMAL,
        ColumnType::MYSQL_TYPE_VAR_STRING,
    ];

    fn kinds() -> Vec<Kind> {
        TYPES.iter().map(|kind| Kind::new(*kind as u8, 0, 45)).collect()
    }

    /// One value of each of [`TYPES`], the third of them NULL.
    fn packet() -> Vec<u8> {
        let values: [&[u8]; 9] = [
            &[0xfe],
            &70_000_i32.to_le_bytes(),
            &[],
            &1.5_f64.to_le_bytes(),
            &0.5_f32.to_le_bytes(),
            &[11, 0xb2, 7, 1, 1, 0, 0, 1, 0x20, 0xa1, 7, 0],
            &[8, 1, 1, 0, 0, 0, 1, 0, 0],
            b"\x041.50",
            b"\x03abc",
        ];
        [&[0, 0b1_0000, 0][..], &values.concat()].concat()
    }

    #[test]
    fn a_binary_row_is_read_in_any_order() {
        let (packet, columns, broken) = (packet(), kinds(), Cell::new(false));
        let row = WireRow::new(&packet, &columns, Encoding::Binary, &broken);
        let expected = [
            Value::Int(-2),
            Value::Int(70_000),
            Value::Null,
            Value::Float(1.5),
            Value::Float(0.5),
            Value::Instant(1_500_000),
            Value::Int(-90_000_000_000),
            Value::Decimal(150, 2),
            Value::Text("abc"),
        ];
        for column in (0..columns.len()).rev() {
            assert_eq!(row.get(column), expected[column], "{column}");
        }
        assert_eq!((row.get(9), broken.get()), (Value::Null, false), "beyond the last column is not broken");
    }

    #[test]
    fn a_date_with_a_zero_in_it_is_no_instant() {
        for bytes in [&[][..], &[0; 4], &[0xe8, 7, 0, 10], &[0xe8, 7, 1, 0], &[0; 11]] {
            assert_eq!(instant(bytes).unwrap(), Value::Null, "{bytes:?}");
        }
        for bytes in [&[0xe8, 7, 255, 10][..], &[0xe8, 7, 1, 32], &[0xe8, 7, 1, 1, 24, 0, 0]] {
            assert!(instant(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_span_that_cannot_be_counted_is_refused() {
        assert_eq!(span(&[1, 34, 0, 0, 0, 23, 59, 59]).unwrap(), Value::Int(-3_023_999_000_000));
        assert!(span(&[0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0]).is_err());
    }

    #[test]
    fn unsigned_numbers_are_not_negative() {
        let kind = Kind::new(ColumnType::MYSQL_TYPE_LONGLONG as u8, UNSIGNED, BINARY);
        let mut cursor = Cursor(&[0xff; 8]);
        assert_eq!(binary(&mut cursor, kind).unwrap(), Value::Float(u64::MAX as f64));
        assert_eq!(integer(&[0xff], true), Value::Int(255));
        assert_eq!(integer(&[0xff], false), Value::Int(-1));
    }

    #[test]
    fn a_row_cut_anywhere_says_so() {
        let (packet, columns) = (packet(), kinds());
        for cut in 0..packet.len() {
            let broken = Cell::new(false);
            let row = WireRow::new(&packet[..cut], &columns, Encoding::Binary, &broken);
            row.get(columns.len() - 1);
            assert!(broken.get(), "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_row_panic(packet in prop::collection::vec(any::<u8>(), 0..60), binary in any::<bool>()) {
            let (columns, broken) = (kinds(), Cell::new(false));
            let encoding = if binary { Encoding::Binary } else { Encoding::Text };
            let row = WireRow::new(&packet, &columns, encoding, &broken);
            for column in 0..=columns.len() {
                row.get(column);
            }
        }
    }
}
