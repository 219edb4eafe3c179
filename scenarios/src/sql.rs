//! SQL text as data: named statements in a `.sql` file per dialect, `:name` parameters rewritten once.
//!
//! In T-SQL a parameter may say its type, `:c_last::char(16)`: SQL Server converts a value to the declared type once and
//! then finds it in the index, where an undeclared text would be compared as nvarchar and every row be converted instead.

mod call;
mod lex;
mod quote;

pub use call::Call;
pub use lex::{batches, first_word, has_placeholder, is_go, split, verbatim_length};
pub use quote::{bracketed, literal, national};

use self::lex::{Piece, pieces};
use crate::session::Dialect;

/// A statement as a driver wants it: placeholders in the dialect's own form, parameters in slot order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Text with the dialect's placeholders (`?`, `?1`, `@P1`).
    pub sql: String,
    /// Name of the parameter in each slot, in order; a name used twice takes two slots.
    pub slots: Vec<String>,
    /// Type that the text declares for the parameter in each slot, as the server spells it. SQL Server only: elsewhere, and
    /// where nothing is said, the value decides.
    pub types: Vec<Option<String>>,
    /// The procedure that it does nothing but call. SQL Server only.
    pub call: Option<Call>,
    /// How it travels.
    pub protocol: Protocol,
    /// Whether it changes data. An autocommitted write on a connection that breaks has an unknown outcome.
    pub writes: bool,
}

/// Whether a statement is prepared on the server or sent as text with its values written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Prepared once, executed with parameters.
    Prepared,
    /// One text a call.
    Text,
}

impl Protocol {
    /// Name in studies and results.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Prepared => "prepared",
            Protocol::Text => "text",
        }
    }
}

impl Statement {
    /// Rewrites `:name` parameters of `sql` for `dialect`. Text in quotes, comments and `::` is left alone.
    pub fn parse(sql: &str, dialect: Dialect, protocol: Protocol) -> Statement {
        Statement::parse_with(sql, dialect, protocol, |_| None)
    }

    /// The same, where some of the names stand for an `expression` of the dialect's and take no slot.
    pub fn parse_with(
        sql: &str,
        dialect: Dialect,
        protocol: Protocol,
        expression: impl Fn(&str) -> Option<&'static str>,
    ) -> Statement {
        let mut out = String::with_capacity(sql.len());
        let mut slots: Vec<String> = Vec::new();
        let mut types: Vec<Option<String>> = Vec::new();
        for piece in pieces(sql, dialect) {
            match piece {
                Piece::Plain(text) | Piece::Verbatim(text) => out.push_str(text),
                Piece::Parameter(name, declared) => match expression(name) {
                    Some(expression) => out.push_str(expression),
                    None => {
                        slots.push(name.to_owned());
                        types.push(declared.map(str::to_owned));
                        out.push_str(&placeholder(dialect, slots.len()));
                    }
                },
            }
        }
        spread_types(&slots, &mut types);
        let writes = !is_read(&out, dialect);
        let call = (dialect == Dialect::Mssql).then(|| Call::parse(&out, slots.len())).flatten();
        Statement { sql: out, slots, types, call, protocol, writes }
    }
}

/// A type that is said at one place of a name holds at its other places too, unless they say another.
fn spread_types(slots: &[String], types: &mut [Option<String>]) {
    for slot in 0..slots.len() {
        if types[slot].is_none() {
            let said = (0..slots.len()).find(|other| slots[*other] == slots[slot] && types[*other].is_some());
            types[slot] = said.and_then(|other| types[other].clone());
        }
    }
}

fn placeholder(dialect: Dialect, slot: usize) -> String {
    match dialect {
        Dialect::Mysql | Dialect::Sqlite => "?".to_owned(),
        Dialect::Mssql => format!("@P{slot}"),
    }
}

/// Whether a statement only reads: it starts with SELECT, SHOW, VALUES or EXPLAIN.
fn is_read(sql: &str, dialect: Dialect) -> bool {
    let first = first_word(sql, dialect);
    ["SELECT", "SHOW", "VALUES", "EXPLAIN"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// The named statements of one `.sql` file. A line `-- name: x` starts a statement that reaches to the next such line.
#[derive(Debug, Clone)]
pub struct Catalogue {
    entries: Vec<(String, String)>,
}

impl Catalogue {
    /// Splits a file. Lines before the first name are comment.
    pub fn parse(text: &str) -> Catalogue {
        let mut entries: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("-- name:") {
                entries.push((name.trim().to_owned(), String::new()));
            } else if let Some((_, body)) = entries.last_mut()
                && !line.trim_start().starts_with("--")
                && !line.trim().is_empty()
            {
                if !body.is_empty() {
                    body.push('\n');
                }
                body.push_str(line.trim_end());
            }
        }
        for (_, body) in &mut entries {
            let trimmed = body.trim_end_matches(';').len();
            body.truncate(trimmed);
        }
        Catalogue { entries }
    }

    /// Text of a statement.
    ///
    /// # Panics
    /// When the file has no statement of that name: files are compiled in, so that is a mistake in this program.
    pub fn get(&self, name: &str) -> &str {
        match self.entries.iter().find(|(entry, _)| entry == name) {
            Some((_, body)) => body,
            None => panic!("no statement named {name} in this SQL file"),
        }
    }

    /// Names in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(sql: &str, dialect: Dialect) -> (String, Vec<String>) {
        let statement = Statement::parse(sql, dialect, Protocol::Prepared);
        (statement.sql, statement.slots)
    }

    #[test]
    fn names_become_placeholders_of_the_dialect() {
        let sql = "SELECT c FROM t WHERE id BETWEEN :low AND :high OR k = :low";
        let slots = vec!["low".to_owned(), "high".to_owned(), "low".to_owned()];
        assert_eq!(
            rewritten(sql, Dialect::Mysql),
            ("SELECT c FROM t WHERE id BETWEEN ? AND ? OR k = ?".to_owned(), slots.clone())
        );
        assert_eq!(
            rewritten(sql, Dialect::Mssql),
            ("SELECT c FROM t WHERE id BETWEEN @P1 AND @P2 OR k = @P3".to_owned(), slots)
        );
    }

    #[test]
    fn quotes_comments_and_casts_are_left_alone() {
        for sql in [
            "SELECT ':a', \":b\", `:c`",
            "SELECT 1 -- :a\n, 2",
            "SELECT 1 /* :a */, 2",
            "SELECT 'it''s :a'",
            "SELECT x::int",
            "SELECT '12:30', 4 - 3 / 2",
            "SELECT 'open :a",
            "SELECT 'it\\'s :a'",
            "SELECT 1 # :a\n",
        ] {
            assert_eq!(rewritten(sql, Dialect::Mysql), (sql.to_owned(), vec![]), "{sql}");
        }
    }

    #[test]
    fn a_name_may_stand_for_an_expression() {
        let now = |name: &str| (name == "now").then_some("NOW(6)");
        let sql = "INSERT INTO t VALUES (:id, :now, ':now', :id)";
        let statement = Statement::parse_with(sql, Dialect::Mssql, Protocol::Text, now);
        assert_eq!(statement.sql, "INSERT INTO t VALUES (@P1, NOW(6), ':now', @P2)");
        assert_eq!(statement.slots, ["id", "id"]);
    }

    #[test]
    fn a_type_is_declared_once_for_all_places_of_a_name() {
        let sql = "SELECT a FROM t WHERE c = :c::char(16) AND d = :d AND e > :e::decimal(12, 2) + :c -:f::datetime2(6)";
        let statement = Statement::parse(sql, Dialect::Mssql, Protocol::Prepared);
        assert_eq!(statement.sql, "SELECT a FROM t WHERE c = @P1 AND d = @P2 AND e > @P3 + @P4 -@P5");
        let types: Vec<_> = statement.types.iter().map(Option::as_deref).collect();
        assert_eq!(types, [Some("char(16)"), None, Some("decimal(12, 2)"), Some("char(16)"), Some("datetime2(6)")]);
        let two = Statement::parse(":a, :a::int, :a::bigint", Dialect::Mssql, Protocol::Prepared);
        assert_eq!(two.types, [Some("int".to_owned()), Some("int".to_owned()), Some("bigint".to_owned())]);
    }

    #[test]
    fn what_is_no_type_stays_in_the_text() {
        for (sql, expected) in [
            (":a::", "@P1::"),
            (":a::1", "@P1::1"),
            (":a ::int", "@P1 ::int"),
            ("geography::Point(:a, 1)", "geography::Point(@P1, 1)"),
            (":a::char(1", "@P1(1"),
            (":a::char(x-1)", "@P1(x-1)"),
            (":a::varchar(max)", "@P1"),
            (":a::dbo.flag)", "@P1)"),
        ] {
            assert_eq!(rewritten(sql, Dialect::Mssql).0, expected, "{sql}");
        }
        assert_eq!(rewritten(":a::int", Dialect::Mysql).0, "?::int");
        assert_eq!(rewritten(":a::int", Dialect::Sqlite).0, "?::int");
    }

    #[test]
    fn reads_are_told_from_writes() {
        for (sql, writes) in [
            ("SELECT 1", false),
            ("  select c from t", false),
            ("-- why\n/* and how */ SELECT 1", false),
            ("", true),
            ("UPDATE t SET a = 1", true),
            ("CALL neword(?)", true),
            ("DELETE FROM t", true),
        ] {
            assert_eq!(Statement::parse(sql, Dialect::Mysql, Protocol::Prepared).writes, writes, "{sql}");
        }
    }

    #[test]
    fn a_catalogue_finds_statements_by_name() {
        let catalogue = Catalogue::parse("-- licence\n-- name: one\nSELECT 1;\n\n-- name: two\n-- why\nSELECT\n  2;\n");
        assert_eq!(catalogue.get("one"), "SELECT 1");
        assert_eq!(catalogue.get("two"), "SELECT\n  2");
        assert_eq!(catalogue.names().collect::<Vec<_>>(), ["one", "two"]);
    }
}
