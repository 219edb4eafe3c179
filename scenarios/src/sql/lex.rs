//! Just enough of SQL's lexical rules to leave quotes and comments alone, whichever dialect they are of.

use crate::session::Dialect;

/// What quotes, comments and parameters start with.
const SPECIAL: [char; 8] = [':', '\'', '"', '`', '-', '/', '#', '['];

/// A piece of SQL text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Keywords, names, numbers, signs.
    Plain(&'a str),
    /// Quoted text or a comment, its ends included.
    Verbatim(&'a str),
    /// The name behind a single colon, and the type that `::` declares for it.
    Parameter(&'a str, Option<&'a str>),
}

impl Piece<'_> {
    fn length(self) -> usize {
        match self {
            Piece::Plain(text) | Piece::Verbatim(text) => text.len(),
            Piece::Parameter(name, declared) => 1 + name.len() + declared.map_or(0, |declared| 2 + declared.len()),
        }
    }
}

/// Cuts SQL text at its quotes, comments and parameters.
pub(super) fn pieces(sql: &str, dialect: Dialect) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = sql;
    std::iter::from_fn(move || {
        let piece = first_piece(rest, dialect)?;
        rest = &rest[piece.length()..];
        Some(piece)
    })
}

fn first_piece(text: &str, dialect: Dialect) -> Option<Piece<'_>> {
    let first = text.chars().next()?;
    let verbatim = verbatim_length(dialect, text);
    if verbatim > 1 {
        return Some(Piece::Verbatim(&text[..verbatim]));
    }
    if let Some(name) = parameter_name(text) {
        let declared = (dialect == Dialect::Mssql).then(|| declared_type(&text[1 + name.len()..])).flatten();
        return Some(Piece::Parameter(name, declared));
    }
    // The second of two colons starts no parameter.
    let colons = text.len() - text.trim_start_matches(':').len();
    let taken = colons.max(first.len_utf8());
    let end = text[taken..].find(SPECIAL).map_or(text.len(), |at| taken + at);
    Some(Piece::Plain(&text[..end]))
}

/// The identifier after a single leading colon; none for `::` and a lone colon.
fn parameter_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix(':').filter(|name| !name.starts_with(|c: char| c.is_ascii_digit()))?;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
}

/// The type behind `::`, right after a parameter: a word, and its length in parentheses where it has one.
fn declared_type(text: &str) -> Option<&str> {
    let text = text.strip_prefix("::").filter(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    let word = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').unwrap_or(text.len());
    let length = text[word..].strip_prefix('(').and_then(|inside| {
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != ',' && c != ' ')?;
        inside[end..].starts_with(')').then_some(end + 2)
    });
    Some(&text[..word + length.unwrap_or(0)])
}

/// Length of the quoted text or comment that `text`, which must not be empty, starts with; 1 when it starts with neither.
pub fn verbatim_length(dialect: Dialect, text: &str) -> usize {
    let mysql = dialect == Dialect::Mysql;
    let line = || text.find('\n').map_or(text.len(), |end| end + 1);
    match text.as_bytes()[0] {
        quote @ (b'\'' | b'"') => quoted_length(text, quote, mysql),
        b'`' => quoted_length(text, b'`', false),
        b'[' if dialect == Dialect::Mssql => bracketed_length(text),
        b'[' if !mysql => quoted_length(text, b']', false),
        b'/' if text.starts_with("/*") => text[2..].find("*/").map_or(text.len(), |end| end + 4),
        b'#' if mysql => line(),
        // MySQL wants white space behind the dashes; elsewhere they are enough.
        b'-' if text.starts_with("--") && (!mysql || text[2..].starts_with(|c: char| c.is_whitespace())) => line(),
        _ => 1,
    }
}

/// A doubled quote ends one text and starts another, which comes to the same.
fn quoted_length(text: &str, end: u8, backslash: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if backslash => at += 1,
            byte if byte == end => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// In T-SQL a bracket within brackets is doubled; what stands behind the first of the two is inside still.
fn bracketed_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b']', Some(b']')) => at += 2,
            (b']', _) => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The statements of a text, without the semicolons between them, and the comments and white space around each. What
/// holds nothing else is none.
pub fn split(sql: &str, dialect: Dialect) -> Vec<&str> {
    let mut statements = Vec::new();
    let (mut begin, mut at) = (0, 0);
    for piece in pieces(sql, dialect) {
        if let Piece::Plain(text) = piece {
            for (semicolon, _) in text.match_indices(';') {
                statements.push(&sql[begin..at + semicolon]);
                begin = at + semicolon + 1;
            }
        }
        at += piece.length();
    }
    statements.push(&sql[begin..]);
    let trimmed = statements.into_iter().map(|statement| body(statement, dialect).trim_end());
    trimmed.filter(|statement| !statement.is_empty()).collect()
}

/// The batches of T-SQL: what stands between lines that say `GO` and nothing else. None where no line does.
pub fn batches(sql: &str) -> Option<Vec<&str>> {
    let mut batches = Vec::new();
    let (mut begin, mut at) = (0, 0);
    for line in sql.split_inclusive('\n') {
        if is_go(line) {
            batches.push(&sql[begin..at]);
            begin = at + line.len();
        }
        at += line.len();
    }
    if begin == 0 {
        return None;
    }
    batches.push(&sql[begin..]);
    let trimmed = batches.into_iter().map(|batch| body(batch, Dialect::Mssql).trim_end());
    Some(trimmed.filter(|batch| !batch.is_empty()).collect())
}

/// Whether a line ends a batch: that is for programs to read, no server understands it.
pub fn is_go(line: &str) -> bool {
    line.trim().eq_ignore_ascii_case("GO")
}

/// The text from behind the comments that it starts with.
pub(super) fn body(sql: &str, dialect: Dialect) -> &str {
    let mut rest = sql.trim_start();
    while rest.starts_with(['-', '/', '#']) && verbatim_length(dialect, rest) > 1 {
        rest = rest[verbatim_length(dialect, rest)..].trim_start();
    }
    rest
}

/// The word that a statement starts with; empty where it starts with none.
pub fn first_word(sql: &str, dialect: Dialect) -> &str {
    let body = body(sql, dialect);
    let end = body.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(body.len());
    &body[..end]
}

/// Whether a placeholder without a name, `?`, stands outside of quotes and comments.
pub fn has_placeholder(sql: &str, dialect: Dialect) -> bool {
    pieces(sql, dialect).any(|piece| matches!(piece, Piece::Plain(text) if text.contains('?')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIALECTS: [Dialect; 3] = [Dialect::Mysql, Dialect::Mssql, Dialect::Sqlite];

    #[test]
    fn statements_are_split_at_semicolons_outside_of_quotes_and_comments() {
        let all: &[&str] = &["SELECT ';', \";\" /* ; */ FROM t", "DELETE FROM t"];
        let text = "-- first;\nSELECT ';', \";\" /* ; */ FROM t;\n;; DELETE FROM t ;\n-- the end;\n";
        for dialect in DIALECTS {
            assert_eq!(split(text, dialect), all);
            assert_eq!(split(" ;\n -- nothing\n; /* at all */", dialect), [""; 0]);
        }
        assert_eq!(split("SELECT '\\';', 1 # ;\n; DO 1", Dialect::Mysql), ["SELECT '\\';', 1 # ;", "DO 1"]);
        assert_eq!(split("SELECT [a]];b]; SELECT [", Dialect::Mssql), ["SELECT [a]];b]", "SELECT ["]);
        assert_eq!(split("SELECT '\\'; SELECT [a;b]", Dialect::Sqlite), ["SELECT '\\'", "SELECT [a;b]"]);
        assert_eq!(split("SELECT 5--1; SELECT 2", Dialect::Mysql), ["SELECT 5--1", "SELECT 2"]);
    }

    #[test]
    fn batches_end_at_lines_that_say_go() {
        let text = "DECLARE @i int = 0;\nSET @i = 1; -- GO\n go \n-- the second\nSELECT 'GO' AS go\nGO\nGO\n";
        let all: &[&str] = &["DECLARE @i int = 0;\nSET @i = 1; -- GO", "SELECT 'GO' AS go"];
        assert_eq!(batches(text), Some(all.to_vec()));
        for (text, expected) in [
            ("SELECT 1; SELECT 2", None),
            ("GOTO a", None),
            ("", None),
            ("GO", Some(vec![])),
            ("1\r\nGO\r\n", Some(vec!["1"])),
        ] {
            assert_eq!(batches(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_statement_is_known_by_its_first_word() {
        for (sql, word) in
            [("select 1", "select"), ("/* a */ -- b\n UPDATE t", "UPDATE"), ("(SELECT 1)", ""), ("-5", ""), ("", "")]
        {
            assert_eq!(first_word(sql, Dialect::Mysql), word, "{sql}");
        }
    }

    #[test]
    fn placeholders_without_a_name_are_found() {
        for (sql, found) in [("a = ?", true), ("a = '?' -- ?", false), ("`?` /* ? */ :a", false), ("(?)", true)] {
            assert_eq!(has_placeholder(sql, Dialect::Sqlite), found, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole_text(text in "[a:'\"`;?#()\\[\\]/*ü \n-]{0,24}") {
            for dialect in DIALECTS {
                let whole: String = pieces(&text, dialect).map(|piece| match piece {
                    Piece::Plain(text) | Piece::Verbatim(text) => text.to_owned(),
                    Piece::Parameter(name, None) => format!(":{name}"),
                    Piece::Parameter(name, Some(declared)) => format!(":{name}::{declared}"),
                }).collect();
                prop_assert_eq!(&whole, &text);
                prop_assert!(split(&text, dialect).iter().all(|statement| text.contains(statement)));
            }
        }
    }
}
