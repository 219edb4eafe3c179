//! Means with intervals, and comparisons. Values are run means, of quantities that are never negative: samples within a
//! run are autocorrelated and never give an interval.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Power at which a change counts as detectable.
const POWER: f64 = 0.8;

/// Mean of a few values, and how sure it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample; none of fewer than two values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// Student-t interval of the mean, cut at 0; none of fewer than two values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
}

impl Summary {
    /// Of at least one value.
    pub fn of(values: &[f64], confidence: f64) -> Option<Summary> {
        let (mean, sd) = moments(values)?;
        let n = values.len() as f64;
        let ci = sd.map(|sd| around(mean, half_width(confidence, n - 1.0, sd / n.sqrt())));
        // What cannot be below 0 has its mean above it: leaving the rest out costs the interval no coverage.
        Some(Summary { mean, sd, ci: ci.map(|[low, high]| [low.max(0.0), high]) })
    }

    /// In two stages, on the logarithmic scale: the standard deviation is that of the first `pilot` values. The mean is
    /// the geometric one. None of fewer than two values, and of values that are not positive.
    pub fn two_stage(values: &[f64], pilot: usize, confidence: f64) -> Option<Summary> {
        let logs = all_logs(values)?;
        let change = LogChange::two_stage(&logs, pilot, confidence)?;
        let (_, sd) = moments(values)?;
        let ci = around(change.mean, change.half_width).map(f64::exp);
        Some(Summary { mean: change.mean.exp(), sd, ci: Some(ci) })
    }

    /// How far the interval reaches above the mean; below it too, unless 0 is nearer.
    pub fn plus_minus(&self) -> Option<f64> {
        self.ci.map(|[_, high]| high - self.mean)
    }
}

/// A change in per cent with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Percent {
    /// The change.
    pub percent: f64,
    /// Its interval.
    pub ci: [f64; 2],
}

/// A comparison on the logarithmic scale, where a change is a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogChange {
    mean: f64,
    half_width: f64,
    /// Two-sided.
    pub p: f64,
    standard_error: f64,
    freedom: f64,
}

impl LogChange {
    /// Of values paired by block; none of fewer than two pairs, and none of values that are not positive.
    pub fn paired(pairs: &[(f64, f64)], confidence: f64) -> Option<LogChange> {
        let ratios = ratios(pairs)?;
        LogChange::two_stage(&ratios, ratios.len(), confidence)
    }

    /// The same where the first `pilot` pairs decided how many follow (Stein): theirs are the standard deviation and the
    /// degrees of freedom.
    pub fn paired_in_two_stages(pairs: &[(f64, f64)], pilot: usize, confidence: f64) -> Option<LogChange> {
        LogChange::two_stage(&ratios(pairs)?, pilot, confidence)
    }

    fn two_stage(logs: &[f64], pilot: usize, confidence: f64) -> Option<LogChange> {
        let (mean, _) = moments(logs)?;
        let sd = standard_deviation(logs.get(..pilot)?)?;
        Some(LogChange::of(mean, sd / (logs.len() as f64).sqrt(), pilot as f64 - 1.0, confidence))
    }

    /// From one place to the next: the slope of logarithms over their places; none of fewer than three.
    pub(super) fn slope(points: &[(f64, f64)], confidence: f64) -> Option<LogChange> {
        let (places, logs): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let ((place, _), (log, _)) = (moments(&places)?, moments(&logs)?);
        let squares: f64 = places.iter().map(|it| (it - place).powi(2)).sum();
        let slope = points.iter().map(|(x, y)| (x - place) * y).sum::<f64>() / squares;
        let left_over: f64 = points.iter().map(|(x, y)| (y - log - slope * (x - place)).powi(2)).sum();
        let freedom = points.len() as f64 - 2.0;
        (freedom >= 1.0).then(|| LogChange::of(slope, (left_over / freedom / squares).sqrt(), freedom, confidence))
    }

    /// Of values without pairs whose variances may differ.
    pub fn welch(base: &[f64], values: &[f64], confidence: f64) -> Option<LogChange> {
        let side = |values: &[f64]| {
            let logs = all_logs(values)?;
            let (mean, sd) = moments(&logs)?;
            Some((mean, sd?.powi(2) / logs.len() as f64, logs.len() as f64))
        };
        let (base_mean, base_square, base_n) = side(base)?;
        let (mean, square, n) = side(values)?;
        let sum = square + base_square;
        let freedom = sum.powi(2) / (square.powi(2) / (n - 1.0) + base_square.powi(2) / (base_n - 1.0));
        let freedom = if freedom.is_finite() { freedom } else { n + base_n - 2.0 };
        Some(LogChange::of(mean - base_mean, sum.sqrt(), freedom, confidence))
    }

    fn of(mean: f64, standard_error: f64, freedom: f64, confidence: f64) -> LogChange {
        let p = p_value(mean, standard_error, freedom);
        LogChange { mean, half_width: half_width(confidence, freedom, standard_error), p, standard_error, freedom }
    }

    /// The change in per cent.
    pub fn percent(&self) -> Percent {
        let ci = around(self.mean, self.half_width).map(to_percent);
        Percent { percent: to_percent(self.mean), ci }
    }

    /// The smallest change, in per cent, that as many runs with as much noise would show four times out of five.
    pub fn detectable_percent(&self, confidence: f64) -> f64 {
        let t = two_sided(confidence, self.freedom) + student(self.freedom).inverse_cdf(POWER);
        to_percent(t * self.standard_error)
    }
}

/// Holm's step-down correction; the order of the results is that of `p`.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut corrected = vec![0.0; p.len()];
    let mut floor: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        floor = floor.max((p[index] * (p.len() - rank) as f64).min(1.0));
        corrected[index] = floor;
    }
    corrected
}

/// Mean and standard deviation of a sample.
fn moments(values: &[f64]) -> Option<(f64, Option<f64>)> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt())))
}

/// Student's t that leaves `1 - confidence` outside, half on either side.
/// Standard deviation of a sample; none of fewer than two values.
pub(super) fn standard_deviation(values: &[f64]) -> Option<f64> {
    moments(values)?.1
}

/// Half the width of a Student-t interval.
pub(super) fn half_width(confidence: f64, freedom: f64, standard_error: f64) -> f64 {
    two_sided(confidence, freedom) * standard_error
}

/// Two-sided, of an estimate that is 0.
pub(super) fn p_value(estimate: f64, standard_error: f64, freedom: f64) -> f64 {
    match (estimate / standard_error).abs() {
        t if t.is_nan() => 1.0,      // no difference, no noise
        t if t.is_infinite() => 0.0, // a difference without noise
        t => 2.0 * student(freedom).sf(t),
    }
}

fn ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    pairs.iter().map(|(base, value)| Some(ln(*value)? - ln(*base)?)).collect()
}

fn all_logs(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| ln(*value)).collect()
}

fn two_sided(confidence: f64, freedom: f64) -> f64 {
    student(freedom).inverse_cdf(0.5 + confidence / 2.0)
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("callers have at least one degree of freedom")
}

fn around(mean: f64, half_width: f64) -> [f64; 2] {
    [mean - half_width, mean + half_width]
}

/// Two runs may leave an interval that reaches beyond what a number can hold; it is cut there, 300 digits on.
fn to_percent(log: f64) -> f64 {
    100.0 * log.min(700.0).exp_m1()
}

fn ln(value: f64) -> Option<f64> {
    (value > 0.0).then(|| value.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, known: f64) {
        assert!((found - known).abs() < 1e-3 * known.abs().max(1e-3), "{found} is not {known}");
    }

    #[test]
    fn intervals_have_their_textbook_widths() {
        // t of a table: 12.706 (1 degree of freedom), 4.303 (2), 2.776 (4); 99 %: 4.604 (4).
        for (values, confidence, mean, sd, half) in [
            (&[10.0, 12.0][..], 0.95, 11.0, 2f64.sqrt(), 12.706),
            (&[1.0, 2.0, 3.0], 0.95, 2.0, 1.0, 4.303 / 3f64.sqrt()),
            (&[98.0, 99.0, 100.0, 101.0, 102.0], 0.95, 100.0, 1.5811, 2.776 * 1.5811 / 5f64.sqrt()),
            (&[98.0, 99.0, 100.0, 101.0, 102.0], 0.99, 100.0, 1.5811, 4.604 * 1.5811 / 5f64.sqrt()),
        ] {
            let summary = Summary::of(values, confidence).unwrap();
            near(summary.mean, mean);
            near(summary.sd.unwrap(), sd);
            near(summary.plus_minus().unwrap(), half);
        }
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        let one = Summary::of(&[7.0], 0.95).unwrap();
        assert_eq!((one.mean, one.sd, one.ci), (7.0, None, None));
        assert_eq!(Summary::of(&[], 0.95), None);
    }

    #[test]
    fn an_interval_ends_where_the_quantity_does() {
        let summary = Summary::of(&[0.0, 1.0, 5.0], 0.95).unwrap();
        assert_eq!(summary.ci.unwrap()[0], 0.0);
        near(summary.ci.unwrap()[1], 2.0 + summary.plus_minus().unwrap());
    }

    #[test]
    fn two_stages_keep_the_pilots_deviation_and_freedom() {
        // Three pilot pairs whose log-ratios are -0.02, 0 and 0.02; nine more that would say there is no noise at all.
        let pairs: Vec<(f64, f64)> =
            [-0.02_f64, 0.0, 0.02].into_iter().chain([0.01; 9]).map(|d| (1.0, d.exp())).collect();
        let change = LogChange::paired_in_two_stages(&pairs, 3, 0.95).unwrap();
        near(change.percent().percent, 100.0 * 0.0075_f64.exp_m1());
        near(change.half_width, 4.303 * 0.02 / 12f64.sqrt());
        near(LogChange::paired(&pairs[..3], 0.95).unwrap().half_width, 4.303 * 0.02 / 3f64.sqrt());
        assert_eq!(LogChange::paired_in_two_stages(&pairs[..2], 3, 0.95), None, "the pilot is not there yet");
        let values: Vec<f64> = pairs.iter().map(|(_, value)| 100.0 * value).collect();
        let summary = Summary::two_stage(&values, 3, 0.95).unwrap();
        near(summary.mean, 100.0 * 0.0075_f64.exp());
        near(summary.ci.unwrap()[1], 100.0 * (0.0075 + 4.303 * 0.02 / 12f64.sqrt()).exp());
        assert_eq!(Summary::two_stage(&[1.0, 0.0], 2, 0.95), None);
    }

    #[test]
    fn a_slope_has_the_freedom_that_two_numbers_leave() {
        // y = x up to the residuals 0.1, -0.2, 0.1: their squares sum to 0.06, those of the places to 2.
        let slope = LogChange::slope(&[(1.0, 1.1), (2.0, 1.8), (3.0, 3.1)], 0.95).unwrap();
        near(slope.mean, 1.0);
        near(slope.half_width, 12.706 * (0.06_f64 / 2.0).sqrt());
        assert_eq!(LogChange::slope(&[(1.0, 1.1), (2.0, 1.8)], 0.95), None);
        assert_eq!(LogChange::slope(&[], 0.95), None);
    }

    #[test]
    fn a_paired_change_ignores_what_blocks_share() {
        // Blocks differ by a factor of two, the variant takes about a tenth in each.
        let pairs = [(100.0, 90.0), (200.0, 182.0), (150.0, 134.0), (120.0, 108.5)];
        let change = LogChange::paired(&pairs, 0.95).unwrap();
        // exp of the mean of the four log-ratios -0.10536, -0.09431, -0.11280, -0.10074.
        let percent = change.percent();
        near(percent.percent, -9.8144);
        assert!(change.p < 0.001, "{}", change.p);
        assert!(percent.ci[1] < -8.0 && percent.ci[0] > -12.0, "{percent:?}");
        let (base, values): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let welch = LogChange::welch(&base, &values, 0.95).unwrap();
        near(welch.percent().percent, percent.percent);
        assert!(welch.p > 0.5, "unpaired, the blocks drown it: {}", welch.p);
    }

    #[test]
    fn p_values_are_those_of_a_table() {
        // t = 2.776 with 4 degrees of freedom is p = 0.05.
        let change = LogChange::of(2.776, 1.0, 4.0, 0.95);
        near(change.p, 0.05);
        // Detectable: (2.776 + 0.941) standard errors.
        near(LogChange::of(0.0, 0.01, 4.0, 0.95).detectable_percent(0.95), 100.0 * (0.03717f64.exp() - 1.0));
    }

    #[test]
    fn changes_need_pairs_and_positive_values() {
        assert_eq!(LogChange::paired(&[(1.0, 2.0)], 0.95), None);
        assert_eq!(LogChange::paired(&[(1.0, 2.0), (0.0, 1.0)], 0.95), None);
        assert_eq!(LogChange::welch(&[1.0, 2.0], &[3.0], 0.95), None);
        let same = LogChange::paired(&[(5.0, 5.0), (6.0, 6.0)], 0.95).unwrap();
        assert_eq!((same.p, same.percent().percent), (1.0, 0.0));
    }

    #[test]
    fn holm_steps_down_and_never_back() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, known) in corrected.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            near(*found, known);
        }
        assert_eq!(holm(&[0.7, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
