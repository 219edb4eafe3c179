//! Which of a run's time is measured.

use crate::ledger::{MeasureFacts, RunFacts};

/// The measured window of a run, on the common clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// When the load started; intervals are cut relative to it.
    pub origin_ns: u64,
    /// Nominal length of an interval.
    pub interval_ns: u64,
    /// First instant that is measured.
    pub start_ns: u64,
    /// First instant that is not measured any more; none while only the last activity can tell.
    pub end_ns: Option<u64>,
}

impl Window {
    /// The window that a run was told to measure; none when its load never started.
    pub fn of(facts: &RunFacts) -> Option<Window> {
        let origin_ns = facts.start_at_ns?;
        let (start_ns, end_ns) = match facts.measure {
            MeasureFacts::DurationNs(length) => {
                let start = origin_ns + facts.ramp_up_ns;
                (start, Some(start + length))
            }
            MeasureFacts::Transactions(_) => (origin_ns, None),
        };
        Some(Window { origin_ns, interval_ns: facts.interval_ns.max(1), start_ns, end_ns })
    }

    /// Whether an interval counts as lying inside: its middle does, which lets either edge be off by half an interval.
    /// One that the stop cut short is judged as the whole one that it would have been.
    pub fn holds(&self, start_ns: u64, end_ns: u64) -> bool {
        let middle = start_ns + end_ns.saturating_sub(start_ns).max(self.interval_ns) / 2;
        middle >= self.start_ns && self.end_ns.is_none_or(|end| middle < end)
    }

    /// The place of an interval among those cut relative to the start of the load, negative before it.
    pub fn index(&self, start_ns: u64, end_ns: u64) -> i64 {
        let middle = start_ns + end_ns.saturating_sub(start_ns) / 2;
        (middle as i64 - self.origin_ns as i64).div_euclid(self.interval_ns as i64)
    }

    /// How many whole intervals an agent that misses none has inside the window, up to `end_ns`.
    pub fn expected(&self, end_ns: u64) -> u64 {
        let before = |instant: u64| {
            instant.saturating_sub(self.origin_ns).saturating_sub(self.interval_ns / 2).div_ceil(self.interval_ns)
        };
        before(end_ns.max(self.start_ns)) - before(self.start_ns)
    }

    /// Seconds from the start of the load, negative before it.
    pub fn seconds(&self, instant_ns: u64) -> f64 {
        (instant_ns as i64 - self.origin_ns as i64) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn window(start_s: f64, end_s: f64) -> Window {
        let at = |seconds: f64| 100 * S + (seconds * S as f64) as u64;
        Window { origin_ns: 100 * S, interval_ns: S, start_ns: at(start_s), end_ns: Some(at(end_s)) }
    }

    #[test]
    fn whole_intervals_are_chosen_with_half_an_interval_of_tolerance() {
        for (start_s, end_s, chosen) in [
            (0.0, 10.0, 0..10),
            (3.0, 10.0, 3..10),
            (3.4, 10.4, 3..10),
            (3.6, 10.6, 4..11),
            (0.0, 2.5, 0..2),
            (0.0, 0.4, 0..0),
        ] {
            let window = window(start_s, end_s);
            let inside: Vec<u64> = (0..20).filter(|k| window.holds((100 + k) * S, (101 + k) * S)).collect();
            assert_eq!(inside, chosen.collect::<Vec<_>>(), "{start_s} to {end_s}");
            assert_eq!(window.expected(window.end_ns.unwrap()), inside.len() as u64, "{start_s} to {end_s}");
        }
    }

    #[test]
    fn intervals_have_places_even_before_the_start_and_when_cut_short_or_late() {
        let window = window(0.0, 10.0);
        for (start_ns, end_ns, index) in [
            (100 * S, 101 * S, 0),
            (100 * S + 3_000_000, 101 * S + 9_000_000, 0),
            (99 * S, 100 * S, -1),
            (99 * S + S / 2, 100 * S, -1),
            (109 * S, 109 * S + S / 5, 9),
        ] {
            assert_eq!(window.index(start_ns, end_ns), index, "{start_ns}");
        }
    }

    #[test]
    fn the_last_interval_does_not_slip_in_by_being_cut_short() {
        let window = window(0.5, 6.5);
        assert!(window.holds(105 * S, 106 * S));
        assert!(!window.holds(106 * S, 107 * S));
        assert!(!window.holds(106 * S, 106 * S + 800_000_000), "it ends after the load");
    }

    #[test]
    fn a_window_of_transactions_starts_with_the_load_and_is_open() {
        let window = Window { end_ns: None, ..window(0.0, 1.0) };
        assert!(window.holds(5000 * S, 5001 * S));
        assert!(!window.holds(98 * S, 99 * S));
    }
}
