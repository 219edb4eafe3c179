//! Numbers and points in time as text, without the machinery of formatting: loads write millions of them.

use super::calendar::Civil;

/// Digits behind the point that the short way knows: as many as an i64 has, less one.
const MOST_DIGITS: usize = 18;
/// A point in time with microseconds.
const INSTANT: usize = 26;

/// A short text of ASCII.
pub(crate) struct Figure {
    bytes: [u8; INSTANT],
    start: usize,
}

impl Figure {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    fn empty() -> Figure {
        Figure { bytes: [0; INSTANT], start: INSTANT }
    }

    fn push_front(&mut self, byte: u8) {
        self.start -= 1;
        self.bytes[self.start] = byte;
    }

    /// Puts `count` digits in front at least.
    fn digits(&mut self, mut number: u64, count: usize) {
        let end = self.start;
        while number > 0 || end - self.start < count {
            self.push_front(b'0' + (number % 10) as u8);
            number /= 10;
        }
    }
}

/// `-5`
pub(crate) fn integer(number: i64) -> Figure {
    let mut figure = Figure::empty();
    figure.digits(number.unsigned_abs(), 1);
    if number < 0 {
        figure.push_front(b'-');
    }
    figure
}

/// `-12.50` for (-1250, 2); none where there are too many digits.
pub(crate) fn decimal(unscaled: i64, digits: u8) -> Option<Figure> {
    let digits = usize::from(digits);
    if digits > MOST_DIGITS {
        return None;
    }
    let mut figure = Figure::empty();
    let power = 10_u64.pow(digits as u32);
    if digits > 0 {
        figure.digits(unscaled.unsigned_abs() % power, digits);
        figure.push_front(b'.');
    }
    figure.digits(unscaled.unsigned_abs() / power, 1);
    if unscaled < 0 {
        figure.push_front(b'-');
    }
    Some(figure)
}

/// `2026-01-31 23:59:58.000000`; none for years that have not four digits.
pub(crate) fn instant(civil: Civil) -> Option<Figure> {
    let year = u64::try_from(civil.year).ok().filter(|year| *year <= 9_999)?;
    let mut figure = Figure::empty();
    for (number, count, before) in [
        (u64::from(civil.micros), 6, b'.'),
        (civil.second.into(), 2, b':'),
        (civil.minute.into(), 2, b':'),
        (civil.hour.into(), 2, b' '),
        (civil.day.into(), 2, b'-'),
        (civil.month.into(), 2, b'-'),
    ] {
        figure.digits(number, count);
        figure.push_front(before);
    }
    figure.digits(year, 4);
    Some(figure)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_fit() {
        assert_eq!(integer(i64::MIN).as_str(), "-9223372036854775808");
        assert_eq!(integer(0).as_str(), "0");
        assert_eq!(decimal(i64::MIN, 18).unwrap().as_str(), "-9.223372036854775808");
        assert_eq!(decimal(-5, 2).unwrap().as_str(), "-0.05");
        assert_eq!(decimal(7, 0).unwrap().as_str(), "7");
        assert!(decimal(7, 19).is_none());
    }

    #[test]
    fn years_that_a_date_has_no_room_for_are_left_to_others() {
        for (year, fits) in [(0, true), (9_999, true), (10_000, false), (-1, false)] {
            let civil = Civil { year, ..Civil::from_micros(0) };
            assert_eq!(instant(civil).is_some(), fits, "{year}");
        }
    }

    proptest! {
        #[test]
        fn they_read_as_formatted(number: i64, micros in 0..253_402_300_800_000_000_i64, digits in 0..=18_u8) {
            prop_assert_eq!(integer(number).as_str().to_owned(), number.to_string());
            let civil = Civil::from_micros(micros);
            let written = instant(civil).map(|figure| figure.as_str().to_owned());
            prop_assert_eq!(written, Some(civil.to_string()));
            let written = decimal(number, digits).map(|figure| figure.as_str().replace('.', "")).unwrap();
            prop_assert_eq!(written.parse::<i128>().unwrap(), i128::from(number));
        }
    }
}
