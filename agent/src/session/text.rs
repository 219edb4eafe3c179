//! The text protocol: a statement's values written into its SQL where the placeholders are.
//!
//! Values only, never identifiers. MySQL's default `sql_mode` is assumed: under NO_BACKSLASH_ESCAPES a backslash in a
//! value would arrive doubled. Decimals and integers are written as they are, so that a server compares them exactly.

use std::fmt::Write as _;

use vufleet_scenarios::session::{Dialect, Fault, FaultKind, Value};
use vufleet_scenarios::sql::verbatim_length;

use super::calendar::Civil;

/// Appends `sql` to `out` with each `?` outside of quotes and comments replaced by its value.
pub(crate) fn write(dialect: Dialect, sql: &str, params: &[Value<'_>], out: &mut String) -> Result<(), Fault> {
    let mut values = params.iter();
    let mut rest = sql;
    while let Some(at) = rest.find(['?', '\'', '"', '`', '-', '/', '#', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = if rest.starts_with('?') {
            let value = values.next().ok_or_else(|| mismatch(sql, params.len()))?;
            write_value(dialect, value, out)?;
            1
        } else {
            let length = verbatim_length(dialect, rest);
            out.push_str(&rest[..length]);
            length
        };
        rest = &rest[taken..];
    }
    out.push_str(rest);
    if values.next().is_some() { Err(mismatch(sql, params.len())) } else { Ok(()) }
}

/// The fault of a call whose parameters do not fit its statement.
pub(crate) fn mismatch(sql: &str, given: usize) -> Fault {
    Fault::new(FaultKind::Statement, format!("{given} parameters do not fit the placeholders of `{sql}`"))
}

/// Appends `(1, 'a', NULL)`.
pub(crate) fn write_row(dialect: Dialect, row: &[Value<'_>], out: &mut String) -> Result<(), Fault> {
    for (i, value) in row.iter().enumerate() {
        out.push_str(if i == 0 { "(" } else { ", " });
        write_value(dialect, value, out)?;
    }
    out.push(')');
    Ok(())
}

fn write_value(dialect: Dialect, value: &Value<'_>, out: &mut String) -> Result<(), Fault> {
    // Writing to a String cannot fail.
    match *value {
        Value::Null => out.push_str("NULL"),
        Value::Int(number) => write!(out, "{number}").unwrap_or_default(),
        // The exponent makes it a binary floating-point literal rather than a decimal.
        Value::Float(number) if number.is_finite() => write!(out, "{number:e}").unwrap_or_default(),
        Value::Float(number) => return Err(no_number(number)),
        Value::Decimal(unscaled, digits) => write_decimal(unscaled, digits, out),
        Value::Text(text) => write_text(dialect, text, out),
        Value::Bytes(bytes) => write_hex(bytes, out),
        Value::Instant(micros) => write!(out, "'{}'", Civil::from_micros(micros)).unwrap_or_default(),
    }
    Ok(())
}

/// The fault of a number that SQL does not have.
pub(crate) fn no_number(number: f64) -> Fault {
    Fault::new(FaultKind::Statement, format!("{number} is not a number that a database can store"))
}

/// Appends `-12.50` for (-1250, 2).
pub(crate) fn write_decimal(unscaled: i64, digits: u8, out: &mut String) {
    let digits = usize::from(digits);
    if unscaled < 0 {
        out.push('-');
    }
    let start = out.len();
    write!(out, "{:0width$}", unscaled.unsigned_abs(), width = digits + 1).unwrap_or_default();
    if digits > 0 {
        let point = out.len() - digits;
        debug_assert!(point > start);
        out.insert(point, '.');
    }
}

fn write_text(dialect: Dialect, text: &str, out: &mut String) {
    let backslash = dialect == Dialect::Mysql;
    if !backslash && text.contains('\0') {
        // SQLite's parser ends at a NUL, wherever it stands.
        out.push_str("CAST(");
        write_hex(text.as_bytes(), out);
        out.push_str(" AS TEXT)");
        return;
    }
    out.push('\'');
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '\\']) {
        let special = &rest[at..=at];
        out.push_str(&rest[..=at]);
        if special == "'" || backslash {
            out.push_str(special);
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('\'');
}

fn write_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push_str("x'");
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)] as char);
        out.push(DIGITS[usize::from(byte & 15)] as char);
    }
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(dialect: Dialect, sql: &str, params: &[Value<'_>]) -> String {
        let mut out = String::new();
        write(dialect, sql, params, &mut out).expect("parameters fit");
        out
    }

    #[test]
    fn every_kind_of_value_becomes_a_literal() {
        for (value, mysql, sqlite) in [
            (Value::Null, "NULL", "NULL"),
            (Value::Int(-5), "-5", "-5"),
            (Value::Float(1.5), "1.5e0", "1.5e0"),
            (Value::Decimal(-1250, 2), "-12.50", "-12.50"),
            (Value::Decimal(5, 2), "0.05", "0.05"),
            (Value::Decimal(7, 0), "7", "7"),
            (Value::Decimal(i64::MIN, 18), "-9.223372036854775808", "-9.223372036854775808"),
            (Value::Text("it's \\ \"ü\""), "'it''s \\\\ \"ü\"'", "'it''s \\ \"ü\"'"),
            (Value::Text("\\'"), "'\\\\'''", "'\\'''"),
            (Value::Text(""), "''", "''"),
            (Value::Text("a\0b"), "'a\0b'", "CAST(x'610062' AS TEXT)"),
            (Value::Bytes(&[0, 255]), "x'00ff'", "x'00ff'"),
            (Value::Instant(0), "'1970-01-01 00:00:00.000000'", "'1970-01-01 00:00:00.000000'"),
        ] {
            assert_eq!(written(Dialect::Mysql, "?", &[value]), mysql);
            assert_eq!(written(Dialect::Sqlite, "?", &[value]), sqlite);
        }
    }

    #[test]
    fn placeholders_in_quotes_and_comments_are_none() {
        let one = &[Value::Int(1)][..];
        for (sql, expected) in [
            ("SELECT '?', \"?\", `?`, ?", "SELECT '?', \"?\", `?`, 1"),
            ("SELECT 'it''s ?', ?", "SELECT 'it''s ?', 1"),
            ("SELECT /* ? */ ?", "SELECT /* ? */ 1"),
            ("SELECT ? -- ?\n", "SELECT 1 -- ?\n"),
            ("SELECT 4 - 2 / ?", "SELECT 4 - 2 / 1"),
        ] {
            for dialect in [Dialect::Mysql, Dialect::Sqlite] {
                assert_eq!(written(dialect, sql, one), expected);
            }
        }
        assert_eq!(written(Dialect::Mysql, "SELECT '\\'?', ? # ?", one), "SELECT '\\'?', 1 # ?");
        assert_eq!(written(Dialect::Mysql, "SELECT 5--?", one), "SELECT 5--1");
        assert_eq!(written(Dialect::Sqlite, "SELECT '\\', ?", one), "SELECT '\\', 1");
    }

    #[test]
    fn what_does_not_fit_is_a_fault_of_the_statement() {
        for (sql, params) in [
            ("SELECT ?", &[][..]),
            ("SELECT 1", &[Value::Null][..]),
            ("SELECT ?", &[Value::Float(f64::NAN)][..]),
            ("SELECT ?", &[Value::Float(f64::INFINITY)][..]),
        ] {
            let fault = write(Dialect::Mysql, sql, params, &mut String::new()).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Statement, "{sql}");
        }
    }

    #[test]
    fn a_row_is_a_list() {
        let mut out = String::new();
        write_row(Dialect::Mysql, &[Value::Int(1), Value::Text("a"), Value::Null], &mut out).unwrap();
        assert_eq!(out, "(1, 'a', NULL)");
    }

    proptest! {
        /// However a value looks, a server that reads the literal by the dialect's rules gets that value and ends there.
        #[test]
        fn no_text_escapes_its_quotes(text in "[a'\\\\\"?\n]{0,12}") {
            for dialect in [Dialect::Mysql, Dialect::Sqlite] {
                let literal = written(dialect, "?", &[Value::Text(&text)]);
                let mut read = String::new();
                let mut inside = literal[1..literal.len() - 1].chars();
                while let Some(c) = inside.next() {
                    if c == '\'' {
                        prop_assert_eq!(inside.next(), Some('\''));
                    } else if c == '\\' && dialect == Dialect::Mysql {
                        prop_assert_eq!(inside.next(), Some('\\'));
                    }
                    read.push(c);
                }
                prop_assert_eq!(&read, &text);
            }
        }
    }
}
