//! The lines of docs/benchmarks.md: what was found, beside the mark that is to be reached.

mod arrivals;
mod cost;
mod fleet;
mod ledger;
mod tds;
mod throughput;
mod tprocc;

pub use self::arrivals::{arrivals, soak};
pub use self::cost::{instructions, memory};
pub use self::fleet::fleets;
pub use self::ledger::ages;
pub use self::tds::tds;
pub use self::throughput::{measuring, throughput};
pub use self::tprocc::tprocc;

use crate::statistics::Quartiles;

fn whole(of: Quartiles) -> String {
    let [median, low, high] = [of.median, of.low, of.high].map(|figure| thousands(figure.round() as u64));
    format!("{median} ({low} to {high})")
}

fn spread(of: Quartiles, digits: usize) -> String {
    format!("{:.digits$} ({:.digits$} to {:.digits$})", of.median, of.low, of.high)
}

fn kilobytes(bytes: f64) -> String {
    format!("{:.1} KB", bytes / 1024.0)
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

fn at_most(found: f64, limit: f64, unit: &str) -> String {
    judged(format!("at most {limit}{unit}"), found, found <= limit, limit)
}

fn at_least(found: f64, limit: f64, unit: &str) -> String {
    judged(format!("at least {limit}{unit}"), found, found >= limit, limit)
}

fn below(found: f64, limit: f64, unit: &str) -> String {
    judged(format!("below {limit}{unit}"), found, found < limit, limit)
}

fn judged(wanted: String, found: f64, reached: bool, limit: f64) -> String {
    if found.is_nan() {
        return format!("{wanted}: not measured");
    }
    if reached { wanted } else { format!("{wanted}: **missed by {:.0} %**", (found / limit - 1.0).abs() * 100.0) }
}

/// A number as people read it.
pub fn thousands(number: impl Into<u64>) -> String {
    let number = number.into();
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", thousands(number / 1_000), number % 1_000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_mark_says_by_how_much() {
        assert_eq!(at_most(2.4, 2.5, "x"), "at most 2.5x");
        assert_eq!(at_most(2.5, 2.5, "x"), "at most 2.5x");
        assert_eq!(at_most(3.0, 2.5, "x"), "at most 2.5x: **missed by 20 %**");
        assert_eq!(at_most(f64::NAN, 5.0, " ms"), "at most 5 ms: not measured");
        assert_eq!(at_least(1.0, 1.0, "x"), "at least 1x");
        assert_eq!(at_least(0.9, 1.0, "x"), "at least 1x: **missed by 10 %**");
        assert_eq!(below(0.99, 1.0, "x"), "below 1x");
        assert_eq!(below(1.0, 1.0, "x"), "below 1x: **missed by 0 %**");
    }

    #[test]
    fn numbers_are_read_in_thousands() {
        for (number, text) in [(2, "2"), (999, "999"), (1_000, "1,000"), (50_007, "50,007"), (2_483_273, "2,483,273")] {
            assert_eq!(thousands(number as u64), text);
        }
    }
}
