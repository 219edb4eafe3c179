use super::*;
use crate::random::stream;
use proptest::prelude::*;

const DRAWS: usize = 200_000;

/// How often each value from 1 to `count` is drawn; index 0 stays empty.
fn frequencies(distribution: Distribution, count: u32, seed: u64) -> Vec<f64> {
    let ids = distribution.over(count);
    let mut stream = stream(seed, &[]);
    let mut seen = vec![0.0; count as usize + 1];
    for _ in 0..DRAWS {
        seen[ids.draw(&mut stream) as usize] += 1.0;
    }
    seen
}

/// Pearson's statistic against exact probabilities of 1..=count must stay within five standard deviations of its mean.
fn assert_fits(seen: &[f64], probabilities: &[f64], what: &str) {
    assert_eq!(seen.len(), probabilities.len() + 1);
    assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{what}");
    let mut statistic = 0.0;
    let mut freedom = -1.0;
    for (observed, probability) in seen[1..].iter().zip(probabilities) {
        let expected = probability * DRAWS as f64;
        if expected < 5.0 {
            assert!(*observed < 30.0, "{what}: {observed} draws where {expected} were due");
            continue;
        }
        statistic += (observed - expected).powi(2) / expected;
        freedom += 1.0;
    }
    let limit = freedom + 5.0 * f64::sqrt(2.0 * freedom);
    assert!(statistic < limit, "{what}: chi-square {statistic} with {freedom} degrees of freedom");
}

/// Exact law of the rounded-down mean of `iter` uniform draws from 0..count, by convolution.
fn bell_law(count: usize, iter: usize) -> Vec<f64> {
    let mut sums = vec![1.0];
    for _ in 0..iter {
        let mut next = vec![0.0; sums.len() + count - 1];
        for (sum, probability) in sums.iter().enumerate() {
            for draw in 0..count {
                next[sum + draw] += probability / count as f64;
            }
        }
        sums = next;
    }
    let mut law = vec![0.0; count];
    for (sum, probability) in sums.iter().enumerate() {
        law[sum / iter] += probability;
    }
    law
}

#[test]
fn uniform_is_flat() {
    assert_fits(&frequencies(Distribution::Uniform, 100, 1), &[0.01; 100], "uniform");
}

#[test]
fn gaussian_is_the_law_of_a_mean() {
    for (count, iter) in [(100, 12), (40, 3), (9, 1)] {
        let seen = frequencies(Distribution::Gaussian { iter }, count, 2);
        assert_fits(&seen, &bell_law(count as usize, iter as usize), &format!("mean of {iter} out of {count}"));
    }
}

#[test]
fn special_mixes_a_hot_region_with_a_bell() {
    // Ten hot values in the middle of 200: 96 to 105.
    let distribution = Distribution::Special { pct: 5, iter: 12, res: 60 };
    let mut law: Vec<f64> = bell_law(200, 12).iter().map(|p| p * 0.4).collect();
    law[95..105].iter_mut().for_each(|p| *p += 0.06);
    assert_fits(&frequencies(distribution, 200, 3), &law, "special");
}

#[test]
fn special_draws_three_quarters_from_the_hot_percent() {
    let seen = frequencies(Distribution::default(), 10_000, 4);
    let hot = seen[4_951..=5_050].iter().sum::<f64>() / DRAWS as f64;
    // The bell adds a quarter of its own share of that percent, 0.0473.
    assert!((hot - 0.7618).abs() < 0.004, "{hot}");
}

#[test]
fn pareto_gives_four_fifths_to_a_fifth() {
    let h: f64 = 0.2;
    let seen = frequencies(Distribution::Pareto { h }, 1_000, 5);
    let share = |values: usize| seen[1..=values].iter().sum::<f64>() / DRAWS as f64;
    assert!((share(200) - 0.8).abs() < 0.005, "{}", share(200));
    assert!((share(40) - 0.64).abs() < 0.006, "{}", share(40));

    let upto = |value: usize| (value as f64 / 1_000.0).powf((1.0 - h).ln() / h.ln());
    let law: Vec<f64> = (1..=1_000).map(|value| upto(value) - upto(value - 1)).collect();
    assert_fits(&seen, &law, "pareto");
}

#[test]
fn pareto_keeps_its_bounds_at_the_ends_of_the_unit_interval() {
    let largest = 1.0 - f64::EPSILON / 2.0;
    for h in [0.001_f64, 0.2, 0.5, 0.999] {
        let power = h.ln() / (1.0 - h).ln();
        for count in [1, 2, i32::MAX as u32] {
            assert_eq!(self_similar(0.0, count, power), 1, "{h}");
            assert_eq!(self_similar(largest, count, power), count, "{h}");
        }
    }
}

#[test]
fn zipfian_follows_its_exponent() {
    let total: f64 = (1..=100).map(|k| f64::from(k).powf(-0.8)).sum();
    let law: Vec<f64> = (1..=100).map(|k| f64::from(k).powf(-0.8) / total).collect();
    assert_fits(&frequencies(Distribution::Zipfian { exponent: 0.8 }, 100, 6), &law, "zipfian");
}

#[test]
fn what_a_seed_means_does_not_change() {
    let drawn = |distribution: Distribution| -> Vec<u32> {
        let ids = distribution.over(10_000);
        let mut stream = stream(42, &[]);
        (0..5).map(|_| ids.draw(&mut stream)).collect()
    };
    assert_eq!(drawn(Distribution::default()), [4959, 4537, 5046, 4964, 4976]);
    assert_eq!(drawn(Distribution::Uniform), [6692, 890, 8711, 5453, 1220]);
}

fn any_distribution() -> impl Strategy<Value = Distribution> {
    prop_oneof![
        (0..=100_u32, 1..30_u32, 0..=100_u32).prop_map(|(pct, iter, res)| Distribution::Special { pct, iter, res }),
        Just(Distribution::Uniform),
        (1..30_u32).prop_map(|iter| Distribution::Gaussian { iter }),
        (0.001..0.999_f64).prop_map(|h| Distribution::Pareto { h }),
        (0.0..4.0_f64).prop_map(|exponent| Distribution::Zipfian { exponent }),
    ]
}

proptest! {
    #[test]
    fn draws_stay_within_bounds(
        distribution in any_distribution(),
        count in prop_oneof![1..=3_u32, Just(i32::MAX as u32), 1..=i32::MAX as u32],
        seed: u64,
    ) {
        let ids = distribution.over(count);
        let mut stream = stream(seed, &[]);
        for _ in 0..50 {
            let id = ids.draw(&mut stream);
            prop_assert!((1..=count).contains(&id), "{id}");
        }
    }
}
