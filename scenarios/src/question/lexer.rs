//! A statement cut into words, symbols and quoted parts. What a server might cut otherwise is refused.

use std::iter::Peekable;
use std::str::CharIndices;

use super::NoQuestion;
use crate::session::Dialect;

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a keyword or a number, in capitals.
    Word(String),
    /// A string or a quoted name, whatever it says.
    Quoted,
    /// Anything else, alone.
    Symbol(char),
}

type Characters<'a> = Peekable<CharIndices<'a>>;

/// All parts, in order.
pub(super) fn tokens(sql: &str, dialect: Dialect) -> Result<Vec<Token>, NoQuestion> {
    let mut tokens = Vec::new();
    let mut characters = sql.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        match (character, dialect) {
            (' ' | '\t' | '\n' | '\r', _) => {}
            ('-', _) if next == Some('-') => return comment(),
            ('/', _) if next == Some('*') => return comment(),
            ('#', Dialect::Mysql) => return comment(),
            ('\'' | '"', _) | ('`', Dialect::Mysql | Dialect::Sqlite) => {
                quoted(&mut characters, character, dialect)?;
                tokens.push(Token::Quoted);
            }
            ('[', Dialect::Mssql | Dialect::Sqlite) => {
                quoted(&mut characters, ']', dialect)?;
                tokens.push(Token::Quoted);
            }
            // Money in T-SQL, which a word may follow without a space.
            ('$', Dialect::Mssql) => return odd(character),
            (character, _) if character.is_ascii_digit() => {
                let word = word(sql, index, &mut characters);
                if !is_number(word) {
                    return Err(NoQuestion(format!("{word} is a number and a word in one")));
                }
                tokens.push(Token::Word(word.to_owned()));
            }
            (character, _) if is_of_word(character) => {
                tokens.push(Token::Word(word(sql, index, &mut characters).to_uppercase()));
            }
            (character, _) if character.is_ascii_graphic() => tokens.push(Token::Symbol(character)),
            (character, _) => return odd(character),
        }
    }
    Ok(tokens)
}

fn comment() -> Result<Vec<Token>, NoQuestion> {
    Err(NoQuestion("it holds a comment, which some servers run".to_owned()))
}

/// Servers take more than the space for one.
fn odd(character: char) -> Result<Vec<Token>, NoQuestion> {
    Err(NoQuestion(format!("it holds the character {character:?} outside quotes")))
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || "_@$#".contains(character)
}

fn word<'a>(sql: &'a str, start: usize, characters: &mut Characters<'_>) -> &'a str {
    while characters.next_if(|(_, character)| is_of_word(*character)).is_some() {}
    let end = characters.peek().map_or(sql.len(), |(index, _)| *index);
    &sql[start..end]
}

/// 12, 0x1F, 1e5; the fraction and what follows it are words of their own.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match word.as_bytes() {
        [b'0', b'x' | b'X', hex @ ..] => hex.iter().all(u8::is_ascii_hexdigit),
        _ => match word.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => digits(mantissa) && digits(exponent),
            None => digits(word),
        },
    }
}

/// To its end, where a doubled quote is one of the text. Whether a backslash hides a quote is a setting of MySQL servers.
fn quoted(characters: &mut Characters<'_>, end: char, dialect: Dialect) -> Result<(), NoQuestion> {
    let mut hidden = false;
    while let Some((_, character)) = characters.next() {
        if character == end {
            if hidden {
                return Err(NoQuestion("a backslash stands before a quote, which servers read differently".to_owned()));
            }
            if characters.next_if(|(_, next)| *next == end).is_none() {
                return Ok(());
            }
        }
        hidden = dialect == Dialect::Mysql && character == '\\' && !hidden;
    }
    Err(NoQuestion("a quote is not closed".to_owned()))
}
