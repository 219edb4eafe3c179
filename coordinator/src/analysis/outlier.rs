//! Runs that are far from the others of their cell. They are named and count all the same: whether a slow run is a
//! mistake or what happens now and then is nothing that its distance tells.
//!
//! Distance is the modified z score (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993): from the median, in
//! median absolute deviations, on the logarithmic scale. Their limit of 3.5 is made for many values; among five values
//! without an outlier it names one in every fifth cell. The limits here name one in fifty.

use serde::Serialize;

use super::Metric;
use super::cell::Counted;

/// Standard deviations of normal values in their median absolute deviation.
const SIGMA: f64 = 1.4826;
/// Runs resemble each other no better than this, whatever the deviation of a few of them: counts and clocks are no finer.
const FINEST: f64 = 0.001;
/// From so many values on, the score that is reached by chance in two of a hundred cells. Simulated; the test repeats it.
const LIMITS: [(usize, f64); 8] =
    [(5, 13.2), (6, 8.1), (8, 6.7), (10, 6.0), (12, 5.7), (15, 5.3), (20, 4.8), (40, 4.4)];

/// A run that is far from the others of its cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    /// Which.
    pub run: u64,
    /// Its variant.
    pub variant: String,
    /// Its profile.
    pub profile: String,
    /// Its block.
    pub repetition: u32,
    /// By which metric.
    pub metric: Metric,
    /// From the median of its cell, in per cent.
    pub percent: f64,
    /// The same in robust standard deviations of its cell (modified z score).
    pub score: f64,
}

/// Looks for them by each of these metrics.
pub(super) fn outliers(counted: &Counted<'_>, metrics: &[Metric]) -> Vec<Outlier> {
    let mut found = Vec::new();
    for metric in metrics {
        for blocks in counted.values() {
            let values = blocks.values().filter_map(|run| Some((*run, *run.metrics.get(*metric)?)));
            let values: Vec<_> = values.filter(|(_, value)| *value > 0.0).collect();
            let logs: Vec<f64> = values.iter().map(|(_, value)| value.ln()).collect();
            for (index, distance, score) in far(&logs) {
                let run = values[index].0;
                found.push(Outlier {
                    run: run.run,
                    variant: run.variant.clone(),
                    profile: run.profile.clone(),
                    repetition: run.repetition,
                    metric: *metric,
                    percent: 100.0 * distance.exp_m1(),
                    score,
                });
            }
        }
    }
    found.sort_by_key(|outlier| (outlier.run, outlier.metric));
    found
}

/// Which values are far from the others: where, how far, and how far in deviations.
fn far(values: &[f64]) -> Vec<(usize, f64, f64)> {
    let Some((_, limit)) = LIMITS.iter().rev().find(|(least, _)| values.len() >= *least) else { return Vec::new() };
    let middle = median(values.to_vec());
    let deviation = median(values.iter().map(|value| (value - middle).abs()).collect());
    let scale = (SIGMA * deviation).max(FINEST);
    let scored =
        values.iter().enumerate().map(|(index, value)| (index, value - middle, (value - middle).abs() / scale));
    scored.filter(|(_, _, score)| score > limit).collect()
}

/// Of at least one value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn logs(values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| value.ln()).collect()
    }

    #[test]
    fn a_run_that_stands_alone_is_named() {
        for (values, named) in [
            (&[100.0, 101.0, 99.0, 100.5, 80.0][..], &[4][..]),
            (&[100.0, 101.0, 99.0, 100.5, 97.0], &[]),
            (&[100.0, 100.0, 100.0, 100.0, 103.0], &[4]),
            (&[100.0, 100.0, 100.0, 100.0, 100.5], &[]),
            (&[100.0, 100.0, 100.0, 100.0, 100.0], &[]),
            (&[100.0, 101.0, 99.0, 50.0], &[]),
            (&[100.0, 101.0, 99.0, 100.5, 99.5, 102.0, 60.0, 170.0], &[6, 7]),
            (&[], &[]),
        ] {
            let found: Vec<usize> = far(&logs(values)).into_iter().map(|(index, ..)| index).collect();
            assert_eq!(found, named, "{values:?}");
        }
    }

    #[test]
    fn noise_is_named_in_one_cell_of_fifty() {
        let mut stream = StdRng::seed_from_u64(5);
        let mut normal = || {
            let (radius, angle) = (1.0 - stream.random::<f64>(), stream.random::<f64>());
            0.03 * (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
        };
        for n in [5, 6, 7, 8, 9, 10, 12, 15, 20, 40] {
            let cells = 4_000;
            let named = (0..cells).filter(|_| !far(&(0..n).map(|_| normal()).collect::<Vec<_>>()).is_empty()).count();
            let share = named as f64 / f64::from(cells);
            assert!((0.005..=0.03).contains(&share), "{n} runs: {share}");
        }
    }
}
