//! A statement cut into words, numbers, symbols and quoted parts. What a server might cut otherwise is refused: whatever stands directly behind
//! a number, a quote or a placeholder, for servers take a word there without a space; what only some settings of a server read so.

use super::NoQuestion;
use crate::session::Dialect;

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword, in capitals.
    Word(String),
    /// A number, whatever its form.
    Number,
    /// A string or a quoted name, in capitals and without its quotes.
    Quoted(String),
    /// Anything else, alone.
    Symbol(char),
}

type Refusal<T> = Result<T, NoQuestion>;

/// All parts, in order.
pub(super) fn tokens(sql: &str, dialect: Dialect) -> Refusal<Vec<Token>> {
    // Quoted ones, too: clients and servers end texts at some.
    if let Some(character) = sql.chars().find(|character| character.is_control() && !is_space(*character)) {
        return Err(NoQuestion(format!("it holds the character {character:?}")));
    }
    let mut tokens = Vec::new();
    let (mut rest, mut named) = (sql, false);
    while let Some(character) = rest.chars().next() {
        if is_space(character) {
            (rest, named) = (&rest[1..], false);
            continue;
        }
        let (token, length) = next(rest, character, named, dialect)?;
        rest = &rest[length..];
        apart(&token, rest, dialect)?;
        if token == Token::Symbol('(') && matches!(tokens.last(), Some(Token::Quoted(_))) {
            return refused("a quoted name stands before a parenthesis, which may call a function by it");
        }
        named = matches!(token, Token::Word(_) | Token::Quoted(_));
        tokens.push(token);
    }
    Ok(tokens)
}

/// The part that begins here, and its length. `named`: a name ends here.
fn next(rest: &str, character: char, named: bool, dialect: Dialect) -> Refusal<(Token, usize)> {
    let comment = ["--", "/*", "*/"].iter().any(|mark| rest.starts_with(mark));
    match (character, dialect) {
        _ if comment => refused("it holds a comment, which some servers run"),
        ('#', Dialect::Mysql) => refused("it holds a comment, which some servers run"),
        ('\'' | '"', _) | ('`', Dialect::Mysql | Dialect::Sqlite) => quoted(rest, character, dialect),
        ('[', Dialect::Mssql | Dialect::Sqlite) => quoted(rest, ']', dialect),
        ('0'..='9', _) => Ok((Token::Number, number(rest))),
        ('.', _) if !named && rest[1..].starts_with(is_digit) => Ok((Token::Number, number(rest))),
        ('.', _) => point(rest, named, dialect),
        _ if is_of_word(character) => {
            let word = &rest[..rest.find(|next| !is_of_word(next)).unwrap_or(rest.len())];
            if !is_plain(word, dialect) {
                return Err(NoQuestion(format!("it holds {word:?}, which servers cut differently")));
            }
            Ok((Token::Word(word.to_ascii_uppercase()), word.len()))
        }
        ('?', Dialect::Mysql | Dialect::Sqlite) => Ok((Token::Symbol(character), 1)),
        _ if "(),;*+-/%<>=!&|^~".contains(character) => Ok((Token::Symbol(character), 1)),
        _ => Err(NoQuestion(format!("it holds the character {character:?} outside quotes"))),
    }
}

fn refused<T>(why: &str) -> Refusal<T> {
    Err(NoQuestion(why.to_owned()))
}

/// Servers take more for one, which are refused.
fn is_space(character: char) -> bool {
    " \t\n\r".contains(character)
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_@$#".contains(character)
}

/// Whether the whole of it is one word on every server of the dialect.
fn is_plain(word: &str, dialect: Dialect) -> bool {
    let name = match dialect {
        Dialect::Mysql => word.strip_prefix("@@").or_else(|| word.strip_prefix('@')).unwrap_or(word),
        // Two at most: @variable, @@function, #table, ##table. Within a word, SELECT@@VERSION, they begin another one.
        Dialect::Mssql => ["@@", "@", "##", "#"].iter().find_map(|mark| word.strip_prefix(mark)).unwrap_or(word),
        Dialect::Sqlite => word,
    };
    // What is sent as text has a value in the place of @P1, and the rest of the word behind that.
    let place = word.strip_prefix("@P").is_some_and(|slot| slot.starts_with(is_digit) && !slot.chars().all(is_digit));
    let within = if dialect == Dialect::Mssql { "_" } else { "_$" };
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|next| next.is_ascii_alphanumeric() || within.contains(next))
        && !place
}

/// The length of 12, 1.5, .5, 1e-5 or 0x1F. What comes behind it is looked at by [`apart`].
fn number(rest: &str) -> usize {
    let digits = |from: usize| rest[from..].find(|next| !is_digit(next)).map_or(rest.len(), |length| from + length);
    if rest.starts_with("0x") || rest.starts_with("0X") {
        return rest[2..].find(|next: char| !next.is_ascii_hexdigit()).map_or(rest.len(), |length| 2 + length);
    }
    let mut end = digits(0);
    if rest[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// Between two names. Alone, or before a digit, it is a number to some servers.
fn point(rest: &str, named: bool, dialect: Dialect) -> Refusal<(Token, usize)> {
    let begins = |next: char| next.is_ascii_alphabetic() || "_*'\"`[".contains(next);
    // T-SQL leaves the schema out, db..t, and has names that begin so, tempdb..#t.
    let (points, begun) = match rest[1..].strip_prefix('.') {
        Some(behind) if dialect == Dialect::Mssql => (2, behind.starts_with(|next| begins(next) || next == '#')),
        _ => (1, rest[1..].starts_with(begins)),
    };
    if named && begun {
        Ok((Token::Symbol('.'), points))
    } else {
        refused("it holds a point that stands between no two names")
    }
}

/// To its end, where a doubled quote is one of the text.
fn quoted(rest: &str, end: char, dialect: Dialect) -> Refusal<(Token, usize)> {
    let doubles = !(dialect == Dialect::Sqlite && end == ']');
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, character)) = characters.next() {
        // Whether it hides a quote is a setting of the server.
        if character == '\\' && dialect == Dialect::Mysql {
            return refused("it holds a backslash within quotes, which servers read differently");
        }
        if character == end && !(doubles && characters.next_if(|(_, next)| *next == end).is_some()) {
            return Ok((Token::Quoted(rest[1..index].to_ascii_uppercase()), index + 1));
        }
    }
    refused("a quote is not closed")
}

/// Whether a part ends where it seems to, with what comes directly behind it.
fn apart(token: &Token, rest: &str, dialect: Dialect) -> Refusal<()> {
    let Some(next) = rest.chars().next() else { return Ok(()) };
    let quote = "'\"`[".contains(next);
    let runs_on = quote || is_of_word(next) || next == '?';
    let clear = match token {
        Token::Word(word) => !(quote || next == '?') || next == '\'' && is_prefix(word, dialect),
        Token::Number => !runs_on && next != '.',
        Token::Quoted(_) | Token::Symbol('?') => !runs_on,
        Token::Symbol(_) => true,
    };
    if clear { Ok(()) } else { Err(NoQuestion(format!("{next:?} stands directly behind what it is no part of"))) }
}

/// N'national', X'1F', B'01'.
fn is_prefix(word: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Mysql => ["N", "X", "B"].contains(&word),
        Dialect::Mssql => word == "N",
        Dialect::Sqlite => word == "X",
    }
}
