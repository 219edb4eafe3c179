//! What every clause is read with: a place among tokens, and the names and texts that have been read on the way.

use super::token::{Token, tokens};

/// Words that are no names unless they stand in brackets.
/// <https://learn.microsoft.com/sql/t-sql/language-elements/reserved-keywords-transact-sql>
const RESERVED: [&str; 32] = [
    "ADD", "ALTER", "AND", "AS", "BEGIN", "BY", "CASE", "CREATE", "CROSS", "DATABASE", "DELETE", "DROP", "ELSE", "END",
    "EXEC", "EXECUTE", "EXISTS", "FROM", "IF", "IN", "INSERT", "JOIN", "NOT", "NULL", "ON", "OR", "RESTORE", "SELECT",
    "THEN", "USE", "WHEN", "WHERE",
];

/// A place among tokens.
pub struct Parser {
    tokens: Vec<Token>,
    at: usize,
    /// Names read so far, in brackets or not.
    pub names: Vec<String>,
    /// Texts read so far.
    pub texts: Vec<String>,
}

/// What has been read, or where it stopped and why.
pub type Read<T = ()> = Result<T, String>;

impl Parser {
    /// At the beginning of a text.
    pub fn new(text: &str) -> Read<Parser> {
        Ok(Parser { tokens: tokens(text)?, at: 0, names: Vec::new(), texts: Vec::new() })
    }

    /// The token here.
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// Whether the whole text has been read.
    pub fn done(&self) -> bool {
        self.at == self.tokens.len()
    }

    /// A mistake at this place.
    pub fn wrong<T>(&self, expected: &str) -> Read<T> {
        let found = self.peek().map_or("the end".to_owned(), |token| format!("{token}"));
        Err(format!("token {}: {expected} expected, not {found}", self.at))
    }

    /// Whether this keyword is here.
    pub fn sees(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    /// Whether these keywords are here, one after the other.
    pub fn sees_all(&self, words: &str) -> bool {
        words.split(' ').enumerate().all(|(index, word)| {
            matches!(self.tokens.get(self.at + index), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
        })
    }

    /// Reads a keyword if it is here.
    pub fn takes(&mut self, word: &str) -> bool {
        let here = self.sees(word);
        self.at += usize::from(here);
        here
    }

    /// Reads keywords.
    pub fn words(&mut self, words: &str) -> Read {
        for word in words.split(' ') {
            if !self.takes(word) {
                return self.wrong(word);
            }
        }
        Ok(())
    }

    /// Reads one of these keywords.
    pub fn one_of(&mut self, words: &[&str]) -> Read<usize> {
        match words.iter().position(|word| self.sees(word)) {
            Some(index) => {
                self.at += 1;
                Ok(index)
            }
            None => self.wrong(&words.join(" or ")),
        }
    }

    /// Whether this sign is here.
    pub fn sees_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(found)) if *found == sign)
    }

    /// Reads a sign if it is here.
    pub fn takes_sign(&mut self, sign: &str) -> bool {
        let here = self.sees_sign(sign);
        self.at += usize::from(here);
        here
    }

    /// Reads a sign.
    pub fn sign(&mut self, sign: &str) -> Read {
        if self.takes_sign(sign) { Ok(()) } else { self.wrong(sign) }
    }

    /// Reads a name.
    pub fn name(&mut self) -> Read<String> {
        let name = match self.peek() {
            Some(Token::Name(name)) => name.clone(),
            Some(Token::Word(word)) if !RESERVED.contains(&word.to_ascii_uppercase().as_str()) => word.clone(),
            _ => return self.wrong("a name"),
        };
        self.at += 1;
        self.names.push(name.clone());
        Ok(name)
    }

    /// Reads a text.
    pub fn text(&mut self) -> Read<String> {
        let Some(Token::Text { text, .. }) = self.peek() else { return self.wrong("a text") };
        let text = text.clone();
        self.at += 1;
        self.texts.push(text.clone());
        Ok(text)
    }

    /// Reads a whole number of a range.
    pub fn number(&mut self, least: u64, most: u64) -> Read<u64> {
        match self.peek() {
            Some(Token::Number(number)) if (least..=most).contains(number) => {
                let number = *number;
                self.at += 1;
                Ok(number)
            }
            _ => self.wrong(&format!("a number from {least} to {most}")),
        }
    }

    /// Whether a number is here.
    pub fn sees_number(&self) -> bool {
        matches!(self.peek(), Some(Token::Number(_)))
    }

    /// Reads one or more, with commas between them.
    pub fn list(&mut self, mut one: impl FnMut(&mut Parser) -> Read) -> Read {
        one(self)?;
        while self.takes_sign(",") {
            one(self)?;
        }
        Ok(())
    }

    /// Reads something in parentheses.
    pub fn enclosed<T>(&mut self, inside: impl FnOnce(&mut Parser) -> Read<T>) -> Read<T> {
        self.sign("(")?;
        let read = inside(self)?;
        self.sign(")")?;
        Ok(read)
    }

    /// Reads options `NAME = value`, each of which may come once.
    pub fn options(&mut self, known: &[&str], mut value: impl FnMut(&mut Parser, usize) -> Read) -> Read {
        let mut seen = Vec::new();
        self.list(|parser| {
            let option = parser.one_of(known)?;
            if seen.contains(&option) {
                return Err(format!("{} comes twice", known[option]));
            }
            seen.push(option);
            parser.sign("=")?;
            value(parser, option)
        })
    }

    /// Tokens from here to where `read` ends.
    pub fn length_of(&mut self, read: impl FnOnce(&mut Parser) -> Read) -> Read<String> {
        let begin = self.at;
        read(self)?;
        Ok(super::token::text(&self.tokens[begin..self.at]))
    }
}
