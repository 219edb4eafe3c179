//! Tokens of T-SQL.
//!
//! Names, quoted names: <https://learn.microsoft.com/sql/relational-databases/databases/database-identifiers>.
//! Texts: <https://learn.microsoft.com/sql/t-sql/data-types/constants-transact-sql>.

use std::fmt;

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A keyword or a regular identifier.
    Word(String),
    /// A delimited identifier, without its brackets.
    Name(String),
    /// A text, without its quotes.
    Text { national: bool, text: String },
    /// A whole number.
    Number(u64),
    /// A sign.
    Sign(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => f.write_str(word),
            Token::Name(name) => write!(f, "[{}]", name.replace(']', "]]")),
            Token::Text { national, text } => {
                write!(f, "{}'{}'", if *national { "N" } else { "" }, text.replace('\'', "''"))
            }
            Token::Number(number) => write!(f, "{number}"),
            Token::Sign(sign) => f.write_str(sign),
        }
    }
}

/// Longer signs before their beginnings.
const SIGNS: [&str; 14] = ["::", ">=", "<=", "<>", "!=", "(", ")", ",", ".", "=", ";", ">", "<", "*"];

/// The tokens of a text.
pub fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut rest = text.trim_start();
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let (token, after) = first(rest)?;
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

/// Tokens as text again, with a space between all of them.
pub fn text(tokens: &[Token]) -> String {
    tokens.iter().map(Token::to_string).collect::<Vec<_>>().join(" ")
}

fn first(text: &str) -> Result<(Token, &str), String> {
    if let Some(inside) = text.strip_prefix("N'") {
        return quoted(inside, '\'').map(|(text, rest)| (Token::Text { national: true, text }, rest));
    }
    if let Some(inside) = text.strip_prefix('\'') {
        return quoted(inside, '\'').map(|(text, rest)| (Token::Text { national: false, text }, rest));
    }
    if let Some(inside) = text.strip_prefix('[') {
        let (name, rest) = quoted(inside, ']')?;
        // sysname has 1 to 128 characters.
        return match name.chars().count() {
            1..=128 => Ok((Token::Name(name), rest)),
            length => Err(format!("a name of {length} characters")),
        };
    }
    if let Some(sign) = SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
        return Ok((Token::Sign(sign), &text[sign.len()..]));
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    match word.parse() {
        Ok(number) => Ok((Token::Number(number), rest)),
        Err(_) if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
            Ok((Token::Word(word.to_owned()), rest))
        }
        Err(_) => Err(format!("no token starts like this: {}", text.chars().take(20).collect::<String>())),
    }
}

/// What stands before the closing quote, and what behind it; a doubled one stands for itself.
fn quoted(inside: &str, end: char) -> Result<(String, &str), String> {
    let mut out = String::new();
    let mut rest = inside;
    loop {
        let at = rest.find(end).ok_or_else(|| format!("no {end} ends {inside}"))?;
        out.push_str(&rest[..at]);
        rest = &rest[at + end.len_utf8()..];
        match rest.strip_prefix(end) {
            Some(after) => {
                out.push(end);
                rest = after;
            }
            None => return Ok((out, rest)),
        }
    }
}
