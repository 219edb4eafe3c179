//! The texts of one row in one buffer that is used again for the next row.

use std::ops::RangeInclusive;

use rand::Rng;

use crate::random::{Stream, below};
use crate::tprocc::draw::uniform;

const ALPHANUMERIC: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";
/// What a tenth of the items carry in their data.
const ORIGINAL: &[u8] = b"ORIGINAL";

/// Longest text of any column.
const LONGEST: usize = 500;
/// Characters drawn from one word of the stream: 62^8 is so far below 2^64 that none is favoured.
const PER_WORD: usize = 8;

/// The texts of a row, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Texts {
    buffer: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Forgets the row before.
    pub(super) fn clear(&mut self) {
        self.buffer.clear();
        self.ends.clear();
    }

    /// The text that was added as number `index`, counted from 0.
    pub(super) fn get(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.buffer[start..self.ends[index]]
    }

    /// Adds letters and digits, as many as drawn from a range.
    pub(super) fn alphanumeric(&mut self, stream: &mut Stream, length: RangeInclusive<u32>) {
        let length = uniform(stream, *length.start(), *length.end());
        self.add::<LONGEST>(length as usize, |text| fill(stream, ALPHANUMERIC, text));
    }

    /// Adds so many letters and digits, at most 24.
    pub(super) fn info(&mut self, stream: &mut Stream) {
        self.add::<24>(24, |text| fill(stream, ALPHANUMERIC, text));
    }

    /// Adds so many digits.
    pub(super) fn digits(&mut self, stream: &mut Stream, length: usize) {
        self.add::<16>(length, |text| fill(stream, DIGITS, text));
    }

    /// Adds the data of an item or a stock: 26 to 50 characters, one text in ten with ORIGINAL somewhere in it.
    pub(super) fn data(&mut self, stream: &mut Stream) {
        let length = uniform(stream, 26, 50);
        let original = below(stream, 10) == 0;
        self.add::<50>(length as usize, |text| {
            fill(stream, ALPHANUMERIC, text);
            if original {
                let at = below(stream, length - ORIGINAL.len() as u32 + 1) as usize;
                text[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
            }
        });
    }

    /// Adds the five texts of an address: two streets, city, state and zip code.
    pub(super) fn address(&mut self, stream: &mut Stream) {
        for _ in 0..3 {
            self.alphanumeric(stream, 10..=20);
        }
        self.add::<2>(2, |text| fill(stream, CAPITALS, text));
        self.add::<9>(9, |text| {
            fill(stream, DIGITS, &mut text[..4]);
            text[4..].fill(b'1');
        });
    }

    /// Adds a text that `write` appends.
    pub(super) fn written(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.buffer);
        self.ends.push(self.buffer.len());
    }

    fn add<const LIMIT: usize>(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) {
        let mut text = [0; LIMIT];
        fill(&mut text[..length]);
        self.buffer.push_str(std::str::from_utf8(&text[..length]).expect("all symbols are ASCII"));
        self.ends.push(self.buffer.len());
    }
}

/// Draws symbols: the digits of a random fraction written to their base.
fn fill(stream: &mut Stream, symbols: &[u8], text: &mut [u8]) {
    for group in text.chunks_mut(PER_WORD) {
        let mut fraction = stream.next_u64();
        for place in group {
            let product = u128::from(fraction) * symbols.len() as u128;
            *place = symbols[(product >> 64) as usize];
            fraction = product as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn texts_are_told_apart_and_forgotten() {
        let mut stream = stream(1, &[]);
        let mut texts = Texts::default();
        for _ in 0..3 {
            texts.clear();
            texts.written(|out| out.push_str("BAROUGHTABLE"));
            texts.digits(&mut stream, 16);
            texts.info(&mut stream);
            assert_eq!(texts.get(0), "BAROUGHTABLE");
            assert!(texts.get(1).len() == 16 && texts.get(1).bytes().all(|byte| byte.is_ascii_digit()));
            assert!(texts.get(2).len() == 24 && texts.get(2).bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }
    }

    #[test]
    fn an_address_has_five_texts() {
        let mut stream = stream(2, &[]);
        let mut texts = Texts::default();
        for _ in 0..100 {
            texts.clear();
            texts.address(&mut stream);
            assert!((0..3).all(|text| (10..=20).contains(&texts.get(text).len())));
            assert!(texts.get(3).len() == 2 && texts.get(3).bytes().all(|byte| byte.is_ascii_uppercase()));
            let (drawn, rest) = texts.get(4).split_at(4);
            assert!(drawn.bytes().all(|byte| byte.is_ascii_digit()) && rest == "11111");
        }
    }

    #[test]
    fn a_tenth_of_the_data_is_original_at_any_place() {
        let mut stream = stream(3, &[]);
        let mut texts = Texts::default();
        let (mut places, mut lengths) = ([0_u32; 51], [0_u32; 51]);
        for _ in 0..50_000 {
            texts.clear();
            texts.data(&mut stream);
            lengths[texts.get(0).len()] += 1;
            if let Some(at) = texts.get(0).find("ORIGINAL") {
                places[at] += 1;
            }
        }
        assert!((4_700..5_300).contains(&places.iter().sum::<u32>()), "{places:?}");
        assert!(places[..=42].iter().all(|count| *count > 0) && places[43..] == [0; 8], "{places:?}");
        assert!(lengths[26..].iter().all(|count| (1_800..2_200).contains(count)), "{lengths:?}");
    }

    #[test]
    fn every_symbol_stands_equally_often_at_every_place() {
        let mut stream = stream(4, &[]);
        let mut seen = vec![[0_u32; 128]; PER_WORD];
        let mut text = [0; PER_WORD];
        for _ in 0..62_000 {
            fill(&mut stream, ALPHANUMERIC, &mut text);
            text.iter().zip(&mut seen).for_each(|(symbol, counts)| counts[usize::from(*symbol)] += 1);
        }
        for counts in seen {
            let drawn = ALPHANUMERIC.iter().map(|symbol| counts[usize::from(*symbol)]);
            assert!(drawn.clone().all(|count| (850..1_150).contains(&count)), "{:?}", drawn.collect::<Vec<_>>());
        }
    }
}
