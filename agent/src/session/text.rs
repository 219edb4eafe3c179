//! The text protocol: a statement's values written into its SQL where the placeholders are.
//!
//! Values only, never identifiers. MySQL's default `sql_mode` is assumed: under NO_BACKSLASH_ESCAPES a backslash in a
//! value would arrive doubled. Decimals and integers are written as they are, so that a server compares them exactly.
//! T-SQL's placeholders are `@P1`, `@P2` and so on, each there once and in this order; the others' are question marks.

use std::fmt::Write as _;

use vufleet_scenarios::session::{Dialect, Fault, FaultKind, Value};
use vufleet_scenarios::sql::verbatim_length;

use super::calendar::Civil;
use super::figures;

/// Appends `sql` to `out` with each placeholder outside of quotes and comments replaced by its value.
pub(crate) fn write(dialect: Dialect, sql: &str, params: &[Value<'_>], out: &mut String) -> Result<(), Fault> {
    let mark = if dialect == Dialect::Mssql { '@' } else { '?' };
    let mut values = params.iter();
    let mut rest = sql;
    while let Some(at) = rest.find([mark, '\'', '"', '`', '-', '/', '#', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = if rest.starts_with('?') {
            let value = values.next().ok_or_else(|| mismatch(sql, params.len()))?;
            write_value(dialect, value, out)?;
            1
        } else if rest.starts_with('@') {
            let variable = variable_length(rest);
            if is_placeholder(&rest[..variable], params.len() - values.len() + 1) {
                let value = values.next().ok_or_else(|| mismatch(sql, params.len()))?;
                write_value(dialect, value, out)?;
            } else {
                out.push_str(&rest[..variable]);
            }
            variable
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

/// Length of the T-SQL variable (`@x`, `@@rowcount`) that `text` starts with.
fn variable_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && !"@_#$".contains(c)).unwrap_or(text.len())
}

/// Whether a variable is the placeholder of that slot, counted from 1.
fn is_placeholder(variable: &str, slot: usize) -> bool {
    variable.strip_prefix("@P").is_some_and(|number| !number.starts_with('0') && number.parse() == Ok(slot))
}

/// The fault of a call whose parameters do not fit its statement.
pub(crate) fn mismatch(sql: &str, given: usize) -> Fault {
    Fault::new(FaultKind::Statement, format!("{given} parameters do not fit the placeholders of `{sql}`"))
}

/// Appends a value as a literal.
pub(crate) fn write_value(dialect: Dialect, value: &Value<'_>, out: &mut String) -> Result<(), Fault> {
    // Writing to a String cannot fail.
    match *value {
        Value::Null => out.push_str("NULL"),
        Value::Int(number) => out.push_str(figures::integer(number).as_str()),
        // The exponent makes it a binary floating-point literal rather than a decimal.
        Value::Float(number) if number.is_finite() => write!(out, "{number:e}").unwrap_or_default(),
        Value::Float(number) => return Err(no_number(number)),
        Value::Decimal(unscaled, digits) => write_decimal(unscaled, digits, out),
        Value::Text(text) => write_text(dialect, text, out),
        Value::Bytes(bytes) => write_hex(dialect, bytes, out),
        // Without the cast, T-SQL refuses more than three digits where the column is a datetime.
        Value::Instant(micros) if dialect == Dialect::Mssql => {
            let text = Civil::from_micros(micros).to_string().replace(' ', "T");
            write!(out, "CAST('{text}' AS datetime2(6))").unwrap_or_default();
        }
        Value::Instant(micros) => {
            out.push('\'');
            write_instant(micros, out);
            out.push('\'');
        }
    }
    Ok(())
}

fn write_instant(micros: i64, out: &mut String) {
    let civil = Civil::from_micros(micros);
    match figures::instant(civil) {
        Some(figure) => out.push_str(figure.as_str()),
        None => write!(out, "{civil}").unwrap_or_default(),
    }
}

/// The fault of a number that SQL does not have.
pub(crate) fn no_number(number: f64) -> Fault {
    Fault::new(FaultKind::Statement, format!("{number} is not a number that a database can store"))
}

/// Appends `-12.50` for (-1250, 2).
pub(crate) fn write_decimal(unscaled: i64, digits: u8, out: &mut String) {
    if let Some(figure) = figures::decimal(unscaled, digits) {
        return out.push_str(figure.as_str());
    }
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
    if dialect == Dialect::Mssql {
        return write_tsql_text(text, out);
    }
    let backslash = dialect == Dialect::Mysql;
    if !backslash && text.contains('\0') {
        // SQLite's parser ends at a NUL, wherever it stands.
        out.push_str("CAST(");
        write_hex(dialect, text.as_bytes(), out);
        out.push_str(" AS TEXT)");
        return;
    }
    out.push('\'');
    // Without an early end it is a few vector instructions, and hardly any text has one.
    if !text.bytes().fold(false, |any, byte| any | (byte == b'\'') | (byte == b'\\')) {
        out.push_str(text);
        out.push('\'');
        return;
    }
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

/// National characters only where they are needed: compared with a char column, they would keep it from its index. A
/// backslash before the end of a line continues the text on the next one and is none of it, so the text is cut between.
fn write_tsql_text(text: &str, out: &mut String) {
    let quote = if text.is_ascii() { "'" } else { "N'" };
    let mut lines = text.split_inclusive('\\').peekable();
    let mut cut = false;
    let start = out.len();
    out.push_str(quote);
    while let Some(piece) = lines.next() {
        out.push_str(&piece.replace('\'', "''"));
        if piece.ends_with('\\') && lines.peek().is_some_and(|next| next.starts_with(['\n', '\r'])) {
            cut = true;
            out.push_str("' + ");
            out.push_str(quote);
        }
    }
    out.push('\'');
    if cut {
        // A sum of short texts is cut off where a short text ends.
        out.insert_str(start, "(CAST('' AS nvarchar(max)) + ");
        out.push(')');
    }
}

fn write_hex(dialect: Dialect, bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let tsql = dialect == Dialect::Mssql;
    out.push_str(if tsql { "0x" } else { "x'" });
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)] as char);
        out.push(DIGITS[usize::from(byte & 15)] as char);
    }
    if !tsql {
        out.push('\'');
    }
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
    fn t_sql_has_literals_of_its_own() {
        for (value, expected) in [
            (Value::Null, "NULL"),
            (Value::Int(-5), "-5"),
            (Value::Float(1.5), "1.5e0"),
            (Value::Decimal(-1250, 2), "-12.50"),
            (Value::Text("it's \\ \"u\""), "'it''s \\ \"u\"'"),
            (Value::Text("ü"), "N'ü'"),
            (Value::Text("a\\\nb"), "(CAST('' AS nvarchar(max)) + 'a\\' + '\nb')"),
            (Value::Text("\\\\\r\nü"), "(CAST('' AS nvarchar(max)) + N'\\\\' + N'\r\nü')"),
            (Value::Bytes(&[0, 255]), "0x00ff"),
            (Value::Bytes(&[]), "0x"),
            (Value::Instant(0), "CAST('1970-01-01T00:00:00.000000' AS datetime2(6))"),
        ] {
            assert_eq!(written(Dialect::Mssql, "@P1", &[value]), expected);
        }
    }

    #[test]
    fn t_sql_placeholders_are_numbered_variables() {
        let two = &[Value::Int(1), Value::Int(2)][..];
        for (sql, expected) in [
            ("SELECT @P1, '@P2', [@P2], @P2 -- @P3", "SELECT 1, '@P2', [@P2], 2 -- @P3"),
            (
                "DECLARE @P10 int = @P1; SELECT @@ROWCOUNT, @P1x, @P2",
                "DECLARE @P10 int = 1; SELECT @@ROWCOUNT, @P1x, 2",
            ),
            ("SELECT @P1/@P2", "SELECT 1/2"),
        ] {
            assert_eq!(written(Dialect::Mssql, sql, two), expected);
        }
        let eleven: Vec<_> = (1..=11).map(Value::Int).collect();
        let sql: Vec<_> = (1..=11).map(|slot| format!("@P{slot}")).collect();
        assert_eq!(written(Dialect::Mssql, &sql.join(","), &eleven), "1,2,3,4,5,6,7,8,9,10,11");
        for (sql, params) in [("SELECT @P1", &[][..]), ("SELECT @P2", two), ("SELECT 1", &two[..1])] {
            let fault = write(Dialect::Mssql, sql, params, &mut String::new()).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Statement, "{sql}");
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
