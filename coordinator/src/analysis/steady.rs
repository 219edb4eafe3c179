//! Whether a window is steady: the trend of its throughput against the noise that it is seen through.
//!
//! Seconds resemble the seconds before them, and a trend comes out of nothing where they pass for independent. The number
//! of values that counts is therefore taken from the autocorrelation of what the trend leaves over, for the standard error
//! and for the degrees of freedom alike: Santer et al., "Statistical significance of trends and trend differences in
//! layer-average atmospheric temperature time series", Journal of Geophysical Research 105 (2000), 7337-7356. The
//! autocorrelation of few values comes out too small and is raised by its bias first, about (2 + 4 r) / n once a straight
//! line is taken out. How often it is wrong is measured below, and told in docs/method.md.

use serde::{Deserialize, Serialize};

use super::statistics::p_value;

/// Fewer intervals have no trend.
const FEWEST: usize = 9;
/// A trend below this is of no interest.
const TREND_PERCENT: f64 = 5.0;
/// And one that noise makes more often than this is none.
const TREND_P: f64 = 0.005;

/// Whether throughput went somewhere inside the window of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// Where its trend leads from the first to the last instant, in per cent of the mean.
    pub percent: f64,
    /// Two-sided, of no trend.
    pub p: f64,
}

impl Steady {
    /// Of throughputs interval by interval; none of too few.
    pub(super) fn of(rates: &[f64]) -> Option<Steady> {
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        if rates.len() < FEWEST || mean <= 0.0 {
            return None;
        }
        let place = |index: usize| index as f64 - (n - 1.0) / 2.0;
        let squares: f64 = (0..rates.len()).map(|index| place(index).powi(2)).sum();
        let slope = rates.iter().enumerate().map(|(index, rate)| place(index) * rate).sum::<f64>() / squares;
        let left_over: Vec<f64> =
            rates.iter().enumerate().map(|(index, rate)| rate - mean - slope * place(index)).collect();
        let variation: f64 = left_over.iter().map(|rest| rest.powi(2)).sum();
        let counting = counting(&left_over, variation);
        let error = (variation / (counting - 2.0) / squares).sqrt();
        Some(Steady { percent: 100.0 * slope * n / mean, p: p_value(slope, error, counting - 2.0) })
    }

    /// Large, and more than noise.
    pub fn is_trend(&self) -> bool {
        self.percent.abs() > TREND_PERCENT && self.p < TREND_P
    }
}

/// How many independent values these are worth, at least one more than a straight line takes.
fn counting(left_over: &[f64], variation: f64) -> f64 {
    let n = left_over.len() as f64;
    let neighbours: f64 = left_over.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let seen = if variation > 0.0 { neighbours / variation } else { 0.0 };
    let correlation = (seen + (2.0 + 4.0 * seen) / n).clamp(0.0, 0.99);
    (n * (1.0 - correlation) / (1.0 + correlation)).max(3.0)
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Standard normal values (Box and Muller).
    fn normal(stream: &mut StdRng) -> f64 {
        let (radius, angle) = (1.0 - stream.random::<f64>(), stream.random::<f64>());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Share of the windows with noise of 5 % whose seconds are correlated, and a straight ramp in them, that are flagged.
    fn flagged(seconds: usize, correlation: f64, ramp: f64) -> f64 {
        const WINDOWS: usize = 2_000;
        let mut stream = StdRng::seed_from_u64(11);
        let mut window = || {
            let mut noise = normal(&mut stream);
            let mut second = |index: usize| {
                noise = correlation * noise + (1.0 - correlation.powi(2)).sqrt() * normal(&mut stream);
                1.0 + 0.05 * noise + ramp * (index as f64 / (seconds - 1) as f64 - 0.5)
            };
            (0..seconds).map(&mut second).collect::<Vec<f64>>()
        };
        let found = (0..WINDOWS).filter(|_| Steady::of(&window()).unwrap().is_trend()).count();
        found as f64 / WINDOWS as f64
    }

    #[test]
    fn steady_windows_are_hardly_ever_flagged() {
        for (seconds, correlation) in [(12, 0.0), (20, 0.0), (20, 0.5), (60, 0.5), (60, 0.8), (240, 0.5), (240, 0.8)] {
            let share = flagged(seconds, correlation, 0.0);
            assert!(share <= 0.025, "{seconds} s, correlation {correlation}: {share}");
        }
    }

    #[test]
    fn a_ramp_of_a_tenth_is_found_where_noise_allows() {
        for (seconds, correlation, least) in [(60, 0.0, 0.85), (240, 0.0, 0.99), (240, 0.5, 0.95)] {
            let share = flagged(seconds, correlation, 0.1);
            assert!(share >= least, "{seconds} s, correlation {correlation}: {share}");
        }
    }

    #[test]
    fn known_series_have_known_trends() {
        let ramp: Vec<f64> = (0..20).map(|index| 95.25 + 0.5 * f64::from(index)).collect();
        let found = Steady::of(&ramp).unwrap();
        assert!((found.percent - 10.0).abs() < 1e-9 && found.is_trend(), "{found:?}");
        let flat = Steady::of(&[100.0; 20]).unwrap();
        assert_eq!((flat.percent, flat.p), (0.0, 1.0));
        assert_eq!(Steady::of(&[100.0; 8]), None, "too few");
        assert_eq!(Steady::of(&[0.0; 20]), None, "nothing has no trend");
    }
}
