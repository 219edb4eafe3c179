//! COM_STMT_EXECUTE: a prepared statement's id and parameters, encoded in place.
//!
//! <https://mariadb.com/kb/en/com_stmt_execute/>

use mysql_async::consts::ColumnType;
use vufleet_scenarios::session::{Fault, Value};

use super::codec::put_string;
use crate::session::calendar::Civil;
use crate::session::text;

const EXECUTE: u8 = 0x17;
/// Flag of a cursor: none, the rows come at once.
const NO_CURSOR: u8 = 0;
/// Always 1.
const ITERATIONS: u32 = 1;
/// The types of the parameters follow.
const TYPES_FOLLOW: u8 = 1;

/// Refuses what cannot be sent.
pub(super) fn check(params: &[Value<'_>]) -> Result<(), Fault> {
    let unfit = params.iter().find_map(|value| match value {
        Value::Float(number) if !number.is_finite() => Some(*number),
        _ => None,
    });
    unfit.map_or(Ok(()), |number| Err(text::no_number(number)))
}

/// Appends the command.
pub(super) fn write_execute(id: u32, params: &[Value<'_>], out: &mut Vec<u8>) {
    let [a, b, c, d] = id.to_le_bytes();
    let [w, x, y, z] = ITERATIONS.to_le_bytes();
    out.extend_from_slice(&[EXECUTE, a, b, c, d, NO_CURSOR, w, x, y, z]);
    if params.is_empty() {
        return;
    }
    for eight in params.chunks(8) {
        let null = |(bit, value): (usize, &Value<'_>)| u8::from(matches!(value, Value::Null)) << bit;
        out.push(eight.iter().enumerate().map(null).sum());
    }
    out.push(TYPES_FOLLOW);
    for value in params {
        out.extend_from_slice(&[kind(value) as u8, 0]);
    }
    for value in params {
        write_value(value, out);
    }
}

fn kind(value: &Value<'_>) -> ColumnType {
    match value {
        Value::Null => ColumnType::MYSQL_TYPE_NULL,
        Value::Int(_) => ColumnType::MYSQL_TYPE_LONGLONG,
        Value::Float(_) => ColumnType::MYSQL_TYPE_DOUBLE,
        Value::Decimal(..) => ColumnType::MYSQL_TYPE_NEWDECIMAL,
        Value::Text(_) => ColumnType::MYSQL_TYPE_VAR_STRING,
        Value::Bytes(_) => ColumnType::MYSQL_TYPE_BLOB,
        Value::Instant(_) => ColumnType::MYSQL_TYPE_DATETIME,
    }
}

fn write_value(value: &Value<'_>, out: &mut Vec<u8>) {
    match *value {
        Value::Null => {}
        Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Float(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Decimal(unscaled, digits) => write_decimal(unscaled, digits, out),
        Value::Text(text) => put_string(text.as_bytes(), out),
        Value::Bytes(bytes) => put_string(bytes, out),
        Value::Instant(micros) => write_instant(Civil::from_micros(micros), out),
    }
}

fn write_decimal(unscaled: i64, digits: u8, out: &mut Vec<u8>) {
    let mut written = String::new();
    text::write_decimal(unscaled, digits, &mut written);
    put_string(written.as_bytes(), out);
}

fn write_instant(civil: Civil, out: &mut Vec<u8>) {
    let Civil { year, month, day, hour, minute, second, micros } = civil;
    // The server refuses years beyond 9999 anyway, with its own words.
    let [low, high] = u16::try_from(year).unwrap_or(u16::MAX).to_le_bytes();
    out.push(if micros == 0 { 7 } else { 11 });
    out.extend_from_slice(&[low, high, month, day, hour, minute, second]);
    if micros != 0 {
        out.extend_from_slice(&micros.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_laid_out_as_the_protocol_says() {
        let mut out = Vec::new();
        write_execute(7, &[], &mut out);
        assert_eq!(out, [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0]);
        out.clear();
        let params = [Value::Int(-2), Value::Null, Value::Text("ab"), Value::Decimal(-150, 2)];
        write_execute(0x0102_0304, &params, &mut out);
        let expected: &[&[u8]] = &[
            &[0x17, 4, 3, 2, 1, 0, 1, 0, 0, 0],
            &[0b0010, 1],
            &[8, 0, 6, 0, 253, 0, 246, 0],
            &(-2_i64).to_le_bytes(),
            &[2, b'a', b'b', 5, b'-', b'1', b'.', b'5', b'0'],
        ];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn the_ninth_null_is_in_the_second_byte() {
        let mut out = Vec::new();
        write_execute(1, &[Value::Null; 9], &mut out);
        assert_eq!(out[10..13], [0xff, 0x01, 1]);
    }

    #[test]
    fn an_instant_takes_what_it_needs() {
        for (micros, expected) in [
            (951_868_799_000_000, vec![7, 0xd0, 7, 2, 29, 23, 59, 59]),
            (951_868_799_000_001, vec![11, 0xd0, 7, 2, 29, 23, 59, 59, 1, 0, 0, 0]),
        ] {
            let mut out = Vec::new();
            write_instant(Civil::from_micros(micros), &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert!(check(&[Value::Float(1.5), Value::Null]).is_ok());
        assert!(check(&[Value::Null, Value::Float(f64::NAN)]).is_err());
    }
}
