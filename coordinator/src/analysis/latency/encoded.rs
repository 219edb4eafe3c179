//! Histograms as they travel, read without building one of their size: an interval fills some hundred of the tens of
//! thousands of buckets, and a day of four agents has millions of such histograms.
//!
//! The V2 serialisation is a list of counts from the lowest bucket on, each a zigzag LEB128 number, a negative one standing
//! for so many empty buckets.

use super::{DIGITS, Latency, Unreadable};

const COOKIE: u32 = 0x1c84_9303 | 0x10;
/// Cookie, length, offset, digits, lowest, highest, ratio.
const HEADER: usize = 40;
/// Of three digits: buckets that double the width of those before them come in halves of so many.
const HALF: u64 = 1_024;
const HALF_BITS: u32 = HALF.trailing_zeros();

/// What one histogram holds: the lowest value of each bucket that is not empty, and its count.
#[derive(Debug, Default)]
pub struct Encoded {
    counts: Vec<(u64, u64)>,
}

impl Encoded {
    /// Reads a histogram over whatever was read before; no bytes at all are an empty one.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        self.counts.clear();
        if bytes.is_empty() {
            return Ok(());
        }
        let word = |at: usize| bytes.get(at..at + 4).map(|it| u32::from_be_bytes([it[0], it[1], it[2], it[3]]));
        let is_ours = bytes.len() >= HEADER
            && word(0) == Some(COOKIE)
            && word(8) == Some(0)
            && word(12) == Some(u32::from(DIGITS))
            && bytes[16..24] == 1_u64.to_be_bytes()
            && bytes[32..40] == 1_f64.to_be_bytes();
        if !is_ours {
            return self.read_any(bytes);
        }
        let length = word(4).map_or(0, |length| length as usize);
        let mut payload = bytes.get(HEADER..HEADER + length).ok_or(Unreadable)?;
        let mut index = 0_u64;
        while !payload.is_empty() {
            let number = varint(&mut payload)?;
            let number = (number >> 1) as i64 ^ -((number & 1) as i64);
            if number > 0 {
                self.counts.push((lowest_of(index).ok_or(Unreadable)?, number as u64));
            }
            let steps = if number < 0 { number.unsigned_abs() } else { 1 };
            index = index.checked_add(steps).ok_or(Unreadable)?;
        }
        Ok(())
    }

    /// One that no vufleet made.
    fn read_any(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        let latency = Latency::read(bytes)?;
        let recorded = latency.histogram().iter_recorded();
        self.counts.extend(recorded.map(|it| (it.value_iterated_to(), it.count_since_last_iteration())));
        Ok(())
    }

    /// As [`Latency::quantile_ms`].
    pub fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        let total = self.counts.iter().fold(0_u64, |total, (_, count)| total.saturating_add(*count));
        let wanted = ((quantile * total as f64).ceil() as u64).max(1);
        let mut so_far = 0_u64;
        let (value, _) = self.counts.iter().find(|(_, count)| {
            so_far = so_far.saturating_add(*count);
            so_far >= wanted
        })?;
        Some(highest_beside(*value) as f64 / super::NS_PER_MS)
    }

    pub(super) fn counts(&self) -> &[(u64, u64)] {
        &self.counts
    }
}

fn varint(payload: &mut &[u8]) -> Result<u64, Unreadable> {
    let mut value = 0;
    for place in 0..9 {
        let (byte, rest) = payload.split_first().ok_or(Unreadable)?;
        *payload = rest;
        if place == 8 {
            return Ok(value | u64::from(*byte) << 56);
        }
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok(value)
}

/// The lowest value of the bucket of that number; none beyond 64 bits.
fn lowest_of(index: u64) -> Option<u64> {
    if index < 2 * HALF {
        return Some(index);
    }
    let doubled = (index >> HALF_BITS) - 1;
    let within = (index & (HALF - 1)) + HALF;
    (doubled < u64::from(u64::BITS - HALF_BITS)).then(|| within << doubled)
}

/// The highest value that shares a bucket with `value`.
fn highest_beside(value: u64) -> u64 {
    let bits = u64::BITS - value.leading_zeros();
    let width = bits.saturating_sub(HALF_BITS + 1);
    value | ((1 << width) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is read from the bytes is what the library that wrote them reads.
        #[test]
        fn the_librarys_histograms_are_read_as_the_library_reads_them(
            values in prop::collection::vec((0_u64..63, 0_u64..u64::MAX), 0..200),
        ) {
            let mut latency = Latency::default();
            for (bits, value) in values {
                latency.0.record(value % (1 << bits).max(2)).unwrap();
            }
            let bytes = latency.to_bytes();
            let mut encoded = Encoded::default();
            encoded.read(&bytes).unwrap();
            for quantile in [0.001, 0.5, 0.95, 0.99, 1.0] {
                prop_assert_eq!(encoded.quantile_ms(quantile), latency.quantile_ms(quantile));
            }
            let mut sum = Latency::default();
            sum.add_encoded(&encoded);
            prop_assert_eq!(sum.to_bytes(), bytes);
            prop_assert_eq!((sum.count(), sum.mean_ms()), (latency.count(), latency.mean_ms()));
        }

        /// Whatever comes, it is told and does not bring the coordinator down.
        #[test]
        fn nonsense_is_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..80), cookie in any::<bool>()) {
            let whole = Latency::default().to_bytes();
            if cookie {
                bytes.splice(0..0, whole[..HEADER].iter().copied());
                let length = (bytes.len() - HEADER) as u32;
                bytes[4..8].copy_from_slice(&length.to_be_bytes());
            }
            let read = Encoded::default().read(&bytes);
            prop_assert!(cookie || bytes.is_empty() || read.is_err());
        }
    }
}
