//! The random inputs of transactions: which numbers they are and how they are spread. Nothing here sends anything.

mod home;
mod inputs;

pub(super) use home::Home;
pub(super) use inputs::{Customer, Draw, Input, Line, NewOrder, OrderStatus, Payment};

use super::names::LastName;
use crate::random::{Stream, below, constant_stream, nurand};

/// Districts of a warehouse.
pub(super) const DISTRICTS: u32 = 10;
/// Customers of a district.
pub(super) const CUSTOMERS: u32 = 3_000;
/// Items that are on sale.
pub(super) const ITEMS: u32 = 100_000;
/// The item that nobody has: an order of it is rolled back [2.4.1.5].
pub(super) const UNUSED_ITEM: u32 = ITEMS + 1;

/// C of the last names when the tables are loaded, and of HammerDB's users.
pub(super) const C_OF_LOAD: u32 = 123;

/// Last names, customers and items are drawn with these A [2.1.6].
const A_OF_NAMES: u32 = 255;
const A_OF_CUSTOMERS: u32 = 1_023;
const A_OF_ITEMS: u32 = 8_191;

/// A whole number from `low` to `high`, both included.
#[inline]
pub(super) fn uniform(stream: &mut Stream, low: u32, high: u32) -> u32 {
    low + below(stream, high - low + 1)
}

/// True once in a hundred times `percent`.
pub(super) fn chance(stream: &mut Stream, percent: u32) -> bool {
    below(stream, 100) < percent
}

/// The number of a last name.
pub(super) fn name_number(stream: &mut Stream, c: u32) -> u32 {
    nurand(stream, A_OF_NAMES, c, 0, LastName::COUNT - 1)
}

/// The C of every distribution, the same for all runs of a study [2.1.6.1].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Constants {
    pub(super) names: u32,
    pub(super) customers: u32,
    pub(super) items: u32,
}

impl Constants {
    /// The C of the run for the names lies 65 to 119 from that of the load, but neither 96 nor 112 [2.1.6.1].
    pub(super) fn of(seed: u64) -> Constants {
        let mut stream = constant_stream(seed);
        let distance = loop {
            let distance = uniform(&mut stream, 65, 119);
            if distance != 96 && distance != 112 {
                break distance;
            }
        };
        let above = below(&mut stream, 2) == 1;
        Constants {
            names: if above { C_OF_LOAD + distance } else { C_OF_LOAD - distance },
            customers: uniform(&mut stream, 0, A_OF_CUSTOMERS),
            items: uniform(&mut stream, 0, A_OF_ITEMS),
        }
    }

    pub(super) fn customer(&self, stream: &mut Stream) -> u32 {
        nurand(stream, A_OF_CUSTOMERS, self.customers, 1, CUSTOMERS)
    }

    pub(super) fn item(&self, stream: &mut Stream) -> u32 {
        nurand(stream, A_OF_ITEMS, self.items, 1, ITEMS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn constants_keep_their_distance_and_follow_the_seed() {
        let mut names = std::collections::BTreeSet::new();
        for seed in 0..5_000 {
            let constants = Constants::of(seed);
            let distance = constants.names.abs_diff(C_OF_LOAD);
            assert!((65..=119).contains(&distance) && distance != 96 && distance != 112, "{constants:?}");
            assert!(constants.names <= A_OF_NAMES && constants.customers <= 1_023 && constants.items <= 8_191);
            assert_eq!(constants, Constants::of(seed));
            names.insert(constants.names);
        }
        assert_eq!(names.len(), 2 * 53, "every distance is used, on both sides");
    }

    /// Sums each number's value over all numbers whose bits it has; `sign` -1 undoes that.
    fn over_subsets(values: &mut [f64], sign: f64) {
        for bit in (0..values.len().ilog2()).map(|shift| 1 << shift) {
            for number in (0..values.len()).filter(|number| number & bit != 0) {
                values[number] += sign * values[number ^ bit];
            }
        }
    }

    /// Chance of each number of the range: of how many pairs x | y is what, by inclusion and exclusion.
    fn expected(a: u32, c: u32, low: u32, high: u32) -> Vec<f64> {
        let size = (a.max(high) + 1).next_power_of_two() as usize;
        let (mut xs, mut ys) = (vec![0.0; size], vec![0.0; size]);
        xs[..=a as usize].fill(1.0);
        ys[low as usize..=high as usize].fill(1.0);
        over_subsets(&mut xs, 1.0);
        over_subsets(&mut ys, 1.0);
        let mut pairs: Vec<f64> = xs.iter().zip(&ys).map(|(x, y)| x * y).collect();
        over_subsets(&mut pairs, -1.0);
        let range = high - low + 1;
        let mut chances = vec![0.0; range as usize];
        for (both, pairs) in pairs.iter().enumerate() {
            chances[(both + c as usize) % range as usize] += pairs / (f64::from(a + 1) * f64::from(range));
        }
        chances
    }

    /// How often each number of the range came in forty draws for each.
    fn counted(range: usize, low: u32, draw: impl Fn(&mut Stream) -> u32) -> Vec<u32> {
        let mut stream = stream(7, &[]);
        let mut seen = vec![0; range];
        (0..40 * range).for_each(|_| seen[(draw(&mut stream) - low) as usize] += 1);
        seen
    }

    /// Chi-square over the numbers that are expected five times or more, and how many numbers those are.
    fn chi_square(seen: &[u32], expected: &[f64]) -> (f64, f64) {
        let draws = f64::from(seen.iter().sum::<u32>());
        let (mut chi, mut cells) = (0.0, 0.0);
        for (count, mean) in seen.iter().zip(expected.iter().map(|chance| chance * draws)) {
            if mean >= 5.0 {
                chi += (f64::from(*count) - mean).powi(2) / mean;
                cells += 1.0;
            }
        }
        (chi, cells)
    }

    /// Mean of chi-square and six standard deviations.
    fn bound(cells: f64) -> f64 {
        cells + 6.0 * f64::sqrt(2.0 * cells)
    }

    #[test]
    fn names_customers_and_items_have_the_distributions_of_the_specification() {
        let constants = Constants::of(42);
        let (names, customers, items) = (constants.names, constants.customers, constants.items);
        type Case = (u32, u32, u32, u32, Box<dyn Fn(&mut Stream) -> u32>);
        let cases: [Case; 4] = [
            (255, C_OF_LOAD, 0, 999, Box::new(|stream| name_number(stream, C_OF_LOAD))),
            (255, names, 0, 999, Box::new(move |stream| name_number(stream, names))),
            (1_023, customers, 1, 3_000, Box::new(move |stream| constants.customer(stream))),
            (8_191, items, 1, 100_000, Box::new(move |stream| constants.item(stream))),
        ];
        for (a, c, low, high, draw) in cases {
            let seen = counted((high - low + 1) as usize, low, draw);
            let (chi, cells) = chi_square(&seen, &expected(a, c, low, high));
            assert!(cells > 500.0 && chi < bound(cells), "A {a}, C {c}: chi-square {chi} of {cells} cells");
            // The nearest of its kind is told apart.
            let (chi, cells) = chi_square(&seen, &expected(a / 2, c, low, high));
            assert!(chi > 2.0 * bound(cells), "A {}, C {c}: chi-square {chi} of {cells} cells", a / 2);
        }
    }

    #[test]
    fn ranges_include_both_ends() {
        let mut stream = stream(9, &[]);
        let drawn: std::collections::BTreeSet<u32> = (0..1_000).map(|_| uniform(&mut stream, 5, 15)).collect();
        assert_eq!(drawn, (5..=15).collect());
        let mut items = stream.clone();
        let constants = Constants::of(1);
        let drawn: Vec<u32> = (0..200_000).map(|_| constants.item(&mut items)).collect();
        assert!(drawn.iter().all(|item| (1..=ITEMS).contains(item)));
        assert!((0..1_000).all(|_| (1..=CUSTOMERS).contains(&constants.customer(&mut stream))));
    }
}
