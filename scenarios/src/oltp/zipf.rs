//! Zipf's law over 1..=n, for any exponent and any n, without a table of n entries.
//!
//! Rejection-inversion: W. Hormann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM Transactions on Modeling and Computer Simulation 6(3), 1996. In short: the weight of k is
//! h(k) = k^-s. H is an integral of h. A point drawn uniformly from H's range falls into the slice that belongs to a
//! value k, from H(k - 1/2) to H(k + 1/2); h is convex, so the slice is at least h(k) long, and the point counts only
//! if it lies within the upper h(k) of it.

use crate::random::{Stream, unit};

/// Zipf's law with its constants worked out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Zipf {
    count: f64,
    exponent: f64,
    /// Where the slices of 1 and of `count` end: the range of the uniform draw. The slice of 1 is cut to its weight.
    lower: f64,
    upper: f64,
    /// A point of the x axis that lies at most this far below its k is accepted unseen. Exact for k = 2 and, because
    /// the limit grows with k, safe for all others.
    safe: f64,
}

impl Zipf {
    pub(super) fn new(count: u32, exponent: f64) -> Zipf {
        let mut zipf = Zipf { count: f64::from(count), exponent, lower: 0.0, upper: 0.0, safe: 0.0 };
        zipf.lower = zipf.integral(1.5) - 1.0;
        zipf.upper = zipf.integral(zipf.count + 0.5);
        zipf.safe = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> u32 {
        loop {
            let point = self.upper + unit(stream) * (self.lower - self.upper);
            let x = self.inverse(point);
            let k = x.round().clamp(1.0, self.count);
            if k - x <= self.safe || point >= self.integral(k + 0.5) - self.weight(k) {
                return k as u32;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// (x^(1 - s) - 1) / (1 - s), which is ln x for s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        log * expm1_ratio((1.0 - self.exponent) * log)
    }

    fn inverse(&self, y: f64) -> f64 {
        (y * ln_1p_ratio((1.0 - self.exponent) * y)).exp()
    }
}

/// (e^t - 1) / t, continued through 0.
fn expm1_ratio(t: f64) -> f64 {
    if t.abs() < 1e-8 { 1.0 + t / 2.0 } else { t.exp_m1() / t }
}

/// ln(1 + t) / t, continued through 0.
fn ln_1p_ratio(t: f64) -> f64 {
    if t.abs() < 1e-8 { 1.0 - t / 2.0 } else { t.ln_1p() / t }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use proptest::prelude::*;

    #[test]
    fn frequencies_follow_the_law() {
        const DRAWS: usize = 200_000;
        for (count, exponent) in [(10_000, 0.8), (1_000, 1.0), (300, 1.0 + 1e-10), (50, 2.5), (40, 0.0), (2, 0.8)] {
            let zipf = Zipf::new(count, exponent);
            let mut stream = stream(11, &[u64::from(count)]);
            let mut seen = vec![0_u32; count as usize + 1];
            for _ in 0..DRAWS {
                seen[zipf.draw(&mut stream) as usize] += 1;
            }
            let total: f64 = (1..=count).map(|k| f64::from(k).powf(-exponent)).sum();
            for k in 1..=count.min(20) {
                let expected = DRAWS as f64 * f64::from(k).powf(-exponent) / total;
                let off = (f64::from(seen[k as usize]) - expected) / expected.sqrt();
                assert!(off.abs() < 4.5, "{count} {exponent}: {k} drawn {} not {expected}", seen[k as usize]);
            }
        }
    }

    #[test]
    fn the_tail_gets_its_share() {
        let zipf = Zipf::new(10_000, 0.8);
        let mut stream = stream(12, &[]);
        let tail = (0..100_000).filter(|_| zipf.draw(&mut stream) > 5_000).count() as f64 / 100_000.0;
        let weight = |range: std::ops::RangeInclusive<u32>| range.map(|k| f64::from(k).powf(-0.8)).sum::<f64>();
        let expected = weight(5_001..=10_000) / weight(1..=10_000);
        assert!((tail - expected).abs() < 0.005, "{tail} not {expected}");
    }

    proptest! {
        #[test]
        fn draws_stay_within_bounds(seed: u64, count in 1..=i32::MAX as u32, exponent in 0.0..5.0_f64) {
            let zipf = Zipf::new(count, exponent);
            let mut stream = stream(seed, &[]);
            for _ in 0..20 {
                let k = zipf.draw(&mut stream);
                prop_assert!((1..=count).contains(&k));
            }
        }

        #[test]
        fn the_integral_is_inverted(x in 1.0..1e9_f64, exponent in 0.0..1.5_f64) {
            let zipf = Zipf::new(10, exponent);
            let back = zipf.inverse(zipf.integral(x));
            prop_assert!((back - x).abs() <= x * 1e-6, "{x} became {back}");
        }
    }
}
