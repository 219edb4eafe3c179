//! Times as people write them: "250us", "10ms", "1.5s", "1m30s", "2h".

use std::time::Duration;

use super::mistakes::Objection;

/// Units from the longest to the shortest, in nanoseconds. "ms" stands before "m" so that it is not read as minutes.
const UNITS: [(&str, u64); 5] =
    [("h", 3_600_000_000_000), ("ms", 1_000_000), ("m", 60_000_000_000), ("us", 1_000), ("s", 1_000_000_000)];

/// Reads a time: numbers with units, the longest unit first.
pub(super) fn parse(text: &str) -> Result<Duration, Objection> {
    let trimmed = text.trim();
    if trimmed.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(no_unit(trimmed));
    }
    let mut rest = trimmed;
    let mut total: u128 = 0;
    let mut previous = u64::MAX;
    while !rest.is_empty() {
        let (nanoseconds, unit, after) = part(rest).ok_or_else(|| not_a_time(text))?;
        if unit >= previous {
            return Err(not_a_time(text));
        }
        previous = unit;
        total += nanoseconds;
        rest = after;
    }
    match u64::try_from(total) {
        Ok(nanoseconds) if previous < u64::MAX => Ok(Duration::from_nanos(nanoseconds)),
        _ => Err(not_a_time(text)),
    }
}

/// A number without a unit could mean anything.
pub(super) fn no_unit(number: &str) -> Objection {
    let number = number.trim_start_matches(['-', '+']);
    Objection::new(format!("{number} has no unit"), format!("write \"{number}s\" or \"{number}ms\", in quotes"))
}

/// Writes a time so that [`parse`] reads it back, whole microseconds assumed.
pub(super) fn format(duration: Duration) -> String {
    let microseconds = duration.as_micros();
    match microseconds {
        0 => "0s".to_owned(),
        _ if microseconds.is_multiple_of(3_600_000_000) => format!("{}h", microseconds / 3_600_000_000),
        _ if microseconds.is_multiple_of(60_000_000) => format!("{}m", microseconds / 60_000_000),
        _ if microseconds.is_multiple_of(1_000_000) => format!("{}s", microseconds / 1_000_000),
        _ if microseconds.is_multiple_of(1_000) => format!("{}ms", microseconds / 1_000),
        _ => format!("{microseconds}us"),
    }
}

/// The first number with its unit: its nanoseconds, the unit's, and what follows.
fn part(text: &str) -> Option<(u128, u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = text.split_at(digits);
    let (name, unit) = UNITS.iter().find(|(name, _)| rest.starts_with(name))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || whole.len() > 15 || fraction.len() > 12 {
        return None;
    }
    let scale = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let unit_wide = u128::from(*unit);
    let nanoseconds = whole.parse::<u128>().ok()? * unit_wide + fraction.parse::<u128>().ok()? * unit_wide / scale;
    Some((nanoseconds, *unit, &rest[name.len()..]))
}

fn not_a_time(text: &str) -> Objection {
    Objection::new(
        format!("\"{text}\" is not a time"),
        "write numbers with the units h, m, s, ms or us, the longest first: \"1m30s\", \"1.5s\", \"10ms\"",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_add_up() {
        for (text, microseconds) in [
            ("250us", 250),
            ("10ms", 10_000),
            ("1.5s", 1_500_000),
            ("1m", 60_000_000),
            ("2h", 7_200_000_000),
            ("1m30s", 90_000_000),
            ("1h2m3s4ms5us", 3_723_004_005),
            ("0s", 0),
            (" 3s ", 3_000_000),
            ("0.25ms", 250),
        ] {
            assert_eq!(parse(text).unwrap(), Duration::from_micros(microseconds), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "s", "-1s", "1 s", "1sec", "30s1m", "1s1s", ".5s", "1.s", "1..5s", "9999999999h", "1d", "m", "inf"]
        {
            let objection = parse(text).unwrap_err();
            assert!(objection.what.contains("is not a time"), "{text}: {}", objection.what);
        }
    }

    #[test]
    fn a_bare_number_is_told_its_choices() {
        for text in ["10", "0.5", "1e3"] {
            assert_eq!(parse(text).unwrap_err().remedy, format!("write \"{text}s\" or \"{text}ms\", in quotes"));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(microseconds in 0u64..1_000_000_000_000) {
            let duration = Duration::from_micros(microseconds);
            prop_assert_eq!(parse(&format(duration)).unwrap(), duration);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _unused: Result<Duration, Objection> = parse(&text);
        }
    }
}
