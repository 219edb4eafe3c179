//! Points in time as dates and clock times, and back, in UTC.
//!
//! The civil-calendar arithmetic counts years from March, so that the leap day comes last: Howard Hinnant,
//! "chrono-compatible low-level date algorithms". Not a time zone in sight: databases get and give UTC.

use std::fmt;

const MICROS_PER_DAY: i64 = 86_400_000_000;
const DAYS_PER_400_YEARS: i64 = 146_097;
/// Hours of a span, at most: more than any server knows.
const MOST_HOURS: i64 = 240_000;
/// Days from 1 March of the year 0 to the Unix epoch.
const DAYS_TO_EPOCH: i64 = 719_468;

/// A point in time of the Gregorian calendar, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub year: i64,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
}

impl Civil {
    /// From microseconds since the Unix epoch.
    pub fn from_micros(instant: i64) -> Civil {
        let (days, of_day) = (instant.div_euclid(MICROS_PER_DAY), instant.rem_euclid(MICROS_PER_DAY));
        let shifted = days + DAYS_TO_EPOCH;
        let era = shifted.div_euclid(DAYS_PER_400_YEARS);
        let day_of_era = shifted.rem_euclid(DAYS_PER_400_YEARS);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let seconds = of_day / 1_000_000;
        Civil {
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month: month as u8,
            day: (day_of_year - (153 * from_march + 2) / 5 + 1) as u8,
            hour: (seconds / 3_600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: (of_day % 1_000_000) as u32,
        }
    }

    /// Microseconds since the Unix epoch.
    pub fn to_micros(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let from_march = i64::from((self.month + 9) % 12);
        let day_of_year = (153 * from_march + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * DAYS_PER_400_YEARS + day_of_era - DAYS_TO_EPOCH;
        let seconds = i64::from(self.hour) * 3_600 + i64::from(self.minute) * 60 + i64::from(self.second);
        days * MICROS_PER_DAY + seconds * 1_000_000 + i64::from(self.micros)
    }

    /// From `2026-01-31`, with ` 23:59:58` and `.123456` behind it or not. None for anything else, and for the zero
    /// dates that MySQL allows.
    pub fn parse(text: &str) -> Option<Civil> {
        let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
        let mut parts = date.splitn(3, '-');
        let mut part = || parts.next()?.parse::<u16>().ok();
        let (year, month, day) = (part()?, part()?, part()?);
        let clock = clock_micros(time)?;
        if month == 0 || month > 12 || day == 0 || day > 31 || !(0..MICROS_PER_DAY).contains(&clock) {
            return None;
        }
        let midnight =
            Civil { year: year.into(), month: month as u8, day: day as u8, hour: 0, minute: 0, second: 0, micros: 0 };
        Some(Civil::from_micros(midnight.to_micros() + clock))
    }
}

impl fmt::Display for Civil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second, micros } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}")
    }
}

/// Microseconds of a span such as `-838:59:59.5`.
pub(crate) fn clock_micros(text: &str) -> Option<i64> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.splitn(3, ':');
    let mut part = || parts.next()?.parse::<u32>().ok();
    let (hours, minutes, seconds) = (i64::from(part()?), i64::from(part()?), i64::from(part()?));
    if hours > MOST_HOURS || minutes > 59 || seconds > 59 {
        return None;
    }
    let micros: i64 = match fraction.len() {
        0 => 0,
        digits @ 1..=6 => fraction.parse::<i64>().ok()? * 10_i64.pow(6 - digits as u32),
        _ => return None,
    };
    let span = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros;
    Some(if negative { -span } else { span })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_instants_read_as_everybody_reads_them() {
        for (micros, text) in [
            (0, "1970-01-01 00:00:00.000000"),
            (-1, "1969-12-31 23:59:59.999999"),
            (951_782_400_000_000, "2000-02-29 00:00:00.000000"),
            (1_709_251_199_123_456, "2024-02-29 23:59:59.123456"),
            (-62_135_596_800_000_000, "0001-01-01 00:00:00.000000"),
            (253_402_300_799_999_999, "9999-12-31 23:59:59.999999"),
        ] {
            assert_eq!(Civil::from_micros(micros).to_string(), text);
            assert_eq!(Civil::parse(text).map(Civil::to_micros), Some(micros), "{text}");
        }
        assert_eq!(Civil::parse("2024-03-01").map(Civil::to_micros), Some(1_709_251_200_000_000));
        assert_eq!(Civil::parse("2024-03-01 00:00:00.5").map(Civil::to_micros), Some(1_709_251_200_500_000));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in
            ["", "2024", "0000-00-00", "2024-13-01", "2024-01-00", "2024-01-01 24:00:00", "2024-01-01 1:2", "x-y-z"]
        {
            assert_eq!(Civil::parse(text), None, "{text}");
        }
    }

    #[test]
    fn spans_may_be_negative_and_long() {
        assert_eq!(clock_micros("-838:59:59.5"), Some(-3_020_399_500_000));
        assert_eq!(clock_micros("00:00:01.000001"), Some(1_000_001));
        for text in ["", "1", "1:2", "a:b:c", "00:00:00.1234567"] {
            assert_eq!(clock_micros(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn there_and_back(micros in -62_135_596_800_000_000_i64..253_402_300_800_000_000) {
            let civil = Civil::from_micros(micros);
            prop_assert_eq!(civil.to_micros(), micros);
            prop_assert_eq!(Civil::parse(&civil.to_string()), Some(civil));
        }
    }
}
