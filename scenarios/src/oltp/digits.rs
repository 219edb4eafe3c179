//! The texts in the columns c and pad: groups of eleven digits joined by '-'.

use crate::random::{Stream, below};

/// Groups of the column c.
const C_GROUPS: usize = 10;
/// Groups of the column pad.
const PAD_GROUPS: usize = 5;
/// Digits of a group.
const GROUP: usize = 11;

/// Characters of c.
pub(super) const C_LENGTH: usize = length(C_GROUPS);
/// Characters of pad.
pub(super) const PAD_LENGTH: usize = length(PAD_GROUPS);

const fn length(groups: usize) -> usize {
    groups * (GROUP + 1) - 1
}

/// Appends a value of c.
pub(super) fn push_c(out: &mut String, stream: &mut Stream) {
    push::<C_LENGTH>(out, stream);
}

/// Appends a value of pad.
pub(super) fn push_pad(out: &mut String, stream: &mut Stream) {
    push::<PAD_LENGTH>(out, stream);
}

fn push<const LENGTH: usize>(out: &mut String, stream: &mut Stream) {
    let mut text = [b'-'; LENGTH];
    for group in text.chunks_mut(GROUP + 1) {
        // Five digits and six: both fit a bound of 32 bits.
        let (high, low) = group[..GROUP].split_at_mut(5);
        write(high, below(stream, 100_000));
        write(low, below(stream, 1_000_000));
    }
    out.push_str(std::str::from_utf8(&text).expect("digits and hyphens are ASCII"));
}

/// Fills `digits` with the decimal digits of `number`, leading zeros included.
fn write(digits: &mut [u8], mut number: u32) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn lengths_are_those_of_the_columns() {
        assert_eq!((C_LENGTH, PAD_LENGTH), (119, 59));
    }

    #[test]
    fn groups_of_eleven_digits_are_joined_by_hyphens() {
        let mut out = String::from("before");
        push_c(&mut out, &mut stream(7, &[]));
        let c = out.strip_prefix("before").unwrap();
        assert_eq!(c.len(), C_LENGTH);
        let groups: Vec<&str> = c.split('-').collect();
        assert_eq!(groups.len(), 10);
        assert!(groups.iter().all(|g| g.len() == 11 && g.bytes().all(|b| b.is_ascii_digit())), "{c}");

        let mut pad = String::new();
        push_pad(&mut pad, &mut stream(7, &[]));
        assert_eq!(pad, c[..PAD_LENGTH], "the same stream gives the same digits");
    }

    #[test]
    fn every_position_takes_every_digit() {
        let mut stream = stream(8, &[]);
        let mut seen = [0_u16; PAD_LENGTH];
        let mut out = String::new();
        for _ in 0..500 {
            out.clear();
            push_pad(&mut out, &mut stream);
            for (position, byte) in out.bytes().enumerate().filter(|(_, byte)| *byte != b'-') {
                seen[position] |= 1 << (byte - b'0');
            }
        }
        let full = seen.iter().filter(|digits| **digits == 0x3ff).count();
        assert_eq!(full, 55, "{seen:?}");
    }
}
