//! Values that are typed after options: parsed once, refused with an example.

use std::time::Duration;

use crate::rollup::Keep;

/// `KEY=VALUE`; what the key may be is the study's to judge.
pub(super) fn assignment(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("write KEY=VALUE, for example schedule.measure=10s".to_owned()),
    }
}

/// A factor on times.
pub(super) fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err("write a number above 0, for example 0.05".to_owned()),
    }
}

/// A time with its unit: 250ms, 10s, 5m, 2h, 7d.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let refusal = || "write a time with its unit, for example 10s or 7d".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(refusal)?;
    let count: u64 = text[..digits].parse().map_err(|_| refusal())?;
    let unit_ms: u64 = match &text[digits..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(refusal()),
    };
    match count.checked_mul(unit_ms) {
        Some(0) => Err("write a time above 0".to_owned()),
        Some(ms) => Ok(Duration::from_millis(ms)),
        None => Err("write a shorter time".to_owned()),
    }
}

/// A time from an hour on, or `forever`.
pub(super) fn keep(text: &str) -> Result<Keep, String> {
    if text == "forever" {
        return Ok(Keep::Forever);
    }
    match duration(text) {
        Ok(time) if time >= Duration::from_secs(3_600) => Ok(Keep::For(time)),
        Ok(_) => Err("write an hour (1h) at least, or forever".to_owned()),
        Err(_) => Err("write a time with its unit, for example 36h or 7d, or forever".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        for (text, ms) in [("250ms", 250), ("10s", 10_000), ("2m", 120_000), ("1h", 3_600_000), ("7d", 604_800_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "10", "s", "-1s", "1.5s", "1w", "0s", "10 s", "99999999999999999d"] {
            duration(text).expect_err(text);
        }
    }

    #[test]
    fn what_is_kept_is_kept_for_an_hour_at_least() {
        assert_eq!(keep("7d"), Ok(Keep::DEFAULT));
        assert_eq!(keep("1h"), Ok(Keep::For(Duration::from_secs(3_600))));
        assert_eq!(keep("forever"), Ok(Keep::Forever));
        for text in ["", "7", "59m", "0d", "for ever", "1w"] {
            keep(text).expect_err(text);
        }
    }

    #[test]
    fn factors_and_assignments_are_checked() {
        for text in ["0", "-1", "inf", "NaN", "fast", ""] {
            factor(text).expect_err(text);
        }
        assert_eq!(factor("0.05"), Ok(0.05));
        for text in ["", "=1", "schedule.measure", " =x"] {
            assignment(text).expect_err(text);
        }
        assert_eq!(assignment("a.b=c=d"), Ok("a.b=c=d".to_owned()));
    }
}
