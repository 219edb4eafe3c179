//! Numbers as people read them: about four digits, none of them noise.

use crate::analysis::statistics::Summary;

/// A figure of any size.
pub(super) fn number(value: f64) -> String {
    let decimals = decimals(value);
    format!("{value:.decimals$}")
}

/// A mean and half the width of its interval, both to the same digit.
pub(super) fn plus_minus(summary: &Summary) -> String {
    match summary.plus_minus() {
        None => number(summary.mean),
        Some(half) => {
            let decimals = decimals(summary.mean);
            format!("{:.decimals$} \u{b1} {half:.decimals$}", summary.mean)
        }
    }
}

/// A change in per cent. What rounds to nothing has no direction.
pub(super) fn signed(percent: f64) -> String {
    let text = format!("{percent:+.1}");
    if text == "-0.0" || text == "+0.0" { "0.0".to_owned() } else { text }
}

/// An interval of a change.
pub(super) fn interval([low, high]: [f64; 2]) -> String {
    format!("{} to {}", signed(low), signed(high))
}

/// A p value; below a thousandth its size is of no interest.
pub(super) fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// Words with commas, and "and" before the last.
pub(super) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Digits after the point.
fn decimals(value: f64) -> usize {
    match value.abs() {
        0.0 => 0,
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_about_four_digits() {
        for (value, text) in
            [(0.0, "0"), (0.0421, "0.042"), (1.234, "1.23"), (98.765, "98.77"), (123.45, "123.5"), (54321.9, "54322")]
        {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn a_change_that_rounds_to_nothing_has_no_sign() {
        for (percent, text) in
            [(-0.04, "0.0"), (0.04, "0.0"), (0.0, "0.0"), (-0.06, "-0.1"), (3.26, "+3.3"), (-9.0, "-9.0")]
        {
            assert_eq!(signed(percent), text);
        }
    }

    #[test]
    fn an_interval_is_told_where_there_is_one() {
        let summary = Summary { mean: 1234.5, sd: Some(8.0), ci: Some([1224.5, 1244.5]) };
        assert_eq!(plus_minus(&summary), "1234 \u{b1} 10");
        assert_eq!(plus_minus(&Summary { sd: None, ci: None, ..summary }), "1234");
    }
}
