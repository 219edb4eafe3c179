//! Where the values of a parameter come from.

use crate::oltp::{Distribution, Ids};
use crate::random::{Stream, below, constant_stream, nurand};
use crate::session::{Dialect, Value};
use crate::workload::Seat;

/// Draws the values of a parameter, one for each transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Generator {
    /// Every number alike.
    Uniform(Bounds),
    /// Zipf's law, the smallest number the most frequent.
    Zipfian {
        /// Which numbers.
        bounds: Bounds,
        /// The law over as many.
        ranks: Ids,
    },
    /// TPC-C's non-uniform numbers, none of them negative.
    Nurand {
        /// Which numbers.
        bounds: Bounds,
        /// TPC-C's A, at most 2^31 - 1; its C is a constant of the study's seed.
        a: u32,
    },
    /// One number after the other, those of a session as many apart as there are sessions: no two sessions of a run send
    /// the same before the last number has been sent. Then they begin again.
    Sequence(Bounds),
    /// One of these, every one alike.
    Choice(Vec<Constant>),
    /// So many letters, digits, hyphens and underscores.
    Text {
        /// Characters.
        length: u32,
    },
    /// The server's own time when it executes the statement.
    Now,
}

/// Whole numbers from `low` to `high`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The smallest.
    pub low: i64,
    /// The largest, not below `low`.
    pub high: i64,
}

/// A value that a study spells out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constant {
    /// A whole number.
    Int(i64),
    /// Text.
    Text(String),
}

/// A value as drawn. Texts lie one after the other in a buffer of the session's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    Int(i64),
    /// Which of the study's constants.
    Constant(u32),
    Text {
        from: u32,
        to: u32,
    },
    /// The database's own business.
    Nothing,
}

/// 64 characters that need no quoting anywhere, so that six random bits are one.
const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Characters out of one random word.
const CHARACTERS_PER_WORD: usize = 10;

impl Bounds {
    /// As many numbers as a random word of 32 bits tells apart.
    pub const MAX_COUNT: u64 = u32::MAX as u64;

    /// How many numbers.
    pub fn count(self) -> u64 {
        self.high.abs_diff(self.low).saturating_add(1)
    }

    /// The number that so many others come before.
    fn at(self, index: u64) -> i64 {
        self.low.wrapping_add_unsigned(index)
    }

    /// For bounds of at most [`Bounds::MAX_COUNT`] numbers.
    fn count_u32(self) -> u32 {
        u32::try_from(self.count()).unwrap_or(u32::MAX)
    }
}

impl Constant {
    /// Length of a text.
    fn characters(&self) -> Option<usize> {
        match self {
            Constant::Int(_) => None,
            Constant::Text(text) => Some(text.chars().count()),
        }
    }
}

impl Generator {
    /// Zipf's law over the bounds with an exponent that is not negative.
    pub fn zipfian(bounds: Bounds, exponent: f64) -> Generator {
        Generator::Zipfian { bounds, ranks: Distribution::Zipfian { exponent }.over(bounds.count_u32()) }
    }

    /// What stands in the statement instead of a parameter, where the database makes the value.
    pub fn expression(&self, dialect: Dialect) -> Option<&'static str> {
        let now = match dialect {
            Dialect::Mysql => "NOW(6)",
            Dialect::Mssql => "SYSUTCDATETIME()",
            Dialect::Sqlite => "strftime('%Y-%m-%d %H:%M:%f', 'now')",
        };
        matches!(self, Generator::Now).then_some(now)
    }

    /// Type that SQL Server's driver gives its values where the statement declares none.
    pub(super) fn mssql_type(&self) -> &'static str {
        const MOST: usize = 4_000;
        let longest = match self {
            Generator::Text { length } => Some(*length as usize),
            Generator::Choice(constants) => constants.iter().filter_map(Constant::characters).max(),
            _ => None,
        };
        match longest {
            None => "bigint",
            Some(0..=MOST) => "nvarchar(4000)",
            Some(_) => "nvarchar(max)",
        }
    }

    /// What a session remembers of it before its first draw.
    pub(super) fn memory(&self, seat: &Seat) -> u64 {
        match self {
            Generator::Nurand { a, .. } => below(&mut constant_stream(seat.seed), a + 1).into(),
            Generator::Sequence(_) => u64::from(seat.vu) * u64::from(seat.sessions_per_vu) + u64::from(seat.session),
            _ => 0,
        }
    }

    /// Draws the next value. `memory` is the session's own, texts are appended to `text`.
    pub(super) fn draw(&self, memory: &mut u64, sessions: u64, stream: &mut Stream, text: &mut String) -> Drawn {
        match self {
            Generator::Uniform(bounds) => Drawn::Int(bounds.at(below(stream, bounds.count_u32()).into())),
            Generator::Zipfian { bounds, ranks } => Drawn::Int(bounds.at(u64::from(ranks.draw(stream)) - 1)),
            Generator::Nurand { bounds: Bounds { low, high }, a } => {
                Drawn::Int(nurand(stream, *a, *memory as u32, *low as u32, *high as u32).into())
            }
            Generator::Sequence(bounds) => {
                let next = bounds.at(*memory % bounds.count());
                *memory = memory.wrapping_add(sessions);
                Drawn::Int(next)
            }
            Generator::Choice(constants) => Drawn::Constant(below(stream, constants.len() as u32)),
            Generator::Text { length } => {
                let from = text.len() as u32;
                push_characters(text, *length as usize, stream);
                Drawn::Text { from, to: text.len() as u32 }
            }
            Generator::Now => Drawn::Nothing,
        }
    }

    /// The drawn value as a session takes it.
    pub(super) fn value<'a>(&'a self, drawn: Drawn, text: &'a str) -> Value<'a> {
        match (drawn, self) {
            (Drawn::Int(number), _) => Value::Int(number),
            (Drawn::Text { from, to }, _) => Value::Text(&text[from as usize..to as usize]),
            (Drawn::Constant(index), Generator::Choice(constants)) => match &constants[index as usize] {
                Constant::Int(number) => Value::Int(*number),
                Constant::Text(text) => Value::Text(text),
            },
            (Drawn::Constant(_) | Drawn::Nothing, _) => Value::Null,
        }
    }
}

fn push_characters(text: &mut String, length: usize, stream: &mut Stream) {
    use rand::Rng;

    let mut left = length;
    while left > 0 {
        let mut word = stream.next_u64();
        for _ in 0..left.min(CHARACTERS_PER_WORD) {
            text.push(char::from(CHARACTERS[(word >> 58) as usize]));
            word <<= 6;
        }
        left = left.saturating_sub(CHARACTERS_PER_WORD);
    }
}

#[cfg(test)]
mod tests;
