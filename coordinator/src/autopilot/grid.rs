//! How a run's time is cut: into intervals of which its ramp-up and its window have whole numbers.

use std::time::Duration;

use vufleet_scenarios::study::Measure;

/// A window has at least this many intervals.
const LEAST_INTERVALS: u128 = 4;
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// The study's interval, or a shorter one of which the window has enough, and has a whole number: a last interval that
/// lay across the window's end would take in the end of the load.
pub(super) fn interval(wanted: Duration, measure: Measure) -> Duration {
    let Measure::Duration(window) = measure else { return wanted };
    let most = (window.as_nanos() / SHORTEST_INTERVAL.min(wanted).as_nanos().max(1)).max(1);
    let enough = window.as_nanos().div_ceil(wanted.as_nanos().max(1)).max(LEAST_INTERVALS);
    window / u32::try_from(enough.min(most)).unwrap_or(u32::MAX)
}

/// A ramp-up that ends where an interval does: the one across its end would count for the window.
pub(super) fn whole_intervals(ramp_up: Duration, interval: Duration) -> Duration {
    let count = ramp_up.as_nanos().div_ceil(interval.as_nanos().max(1));
    interval * u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_window_has_short_intervals() {
        let second = Duration::from_secs(1);
        for (window, interval_ms) in [(240.0, 1000), (4.0, 1000), (2.0, 500), (0.4, 100), (0.2, 100)] {
            let measure = Measure::Duration(Duration::from_secs_f64(window));
            assert_eq!(interval(second, measure), Duration::from_millis(interval_ms), "{window}");
        }
        assert_eq!(interval(second, Measure::Transactions(3)), second);
    }

    #[test]
    fn a_window_and_its_ramp_up_are_whole_intervals() {
        let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        for (wanted, ramp_up, window, interval_ms, ramp_up_ms) in [
            (1000.0, 500.0, 4000.0, 1000.0, 1000.0),
            (1000.0, 2000.0, 4500.0, 900.0, 2700.0),
            (1000.0, 0.0, 4500.0, 900.0, 0.0),
            (1000.0, 60_000.0, 240_000.0, 1000.0, 60_000.0),
            (1000.0, 3000.0, 12_000.0, 1000.0, 3000.0),
            (100.0, 250.0, 450.0, 112.5, 337.5),
            (200.0, 0.0, 700.0, 175.0, 0.0),
            (60_000.0, 60_000.0, 90_000.0, 22_500.0, 67_500.0),
        ] {
            let found = interval(ms(wanted), Measure::Duration(ms(window)));
            assert_eq!((found, whole_intervals(ms(ramp_up), found)), (ms(interval_ms), ms(ramp_up_ms)), "{window}");
        }
    }
}
