//! Medians and quartiles of few figures.

/// The middle half of a sample and its middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quartiles {
    /// A quarter of the figures lies below.
    pub low: f64,
    /// Half of them do.
    pub median: f64,
    /// Three quarters do.
    pub high: f64,
}

impl Quartiles {
    /// Of figures in any order, interpolated between neighbours; none of an empty sample.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Quartiles> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let quantile = |q: f64| {
            let place = q * (sorted.len().checked_sub(1)?) as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            Some(below + (above - below) * place.fract())
        };
        Some(Quartiles { low: quantile(0.25)?, median: quantile(0.5)?, high: quantile(0.75)? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quartiles_of_known_samples() {
        for (figures, low, median, high) in [
            (vec![7.0], 7.0, 7.0, 7.0),
            (vec![2.0, 1.0], 1.25, 1.5, 1.75),
            (vec![5.0, 1.0, 3.0], 2.0, 3.0, 4.0),
            (vec![4.0, 1.0, 3.0, 2.0, 5.0], 2.0, 3.0, 4.0),
        ] {
            assert_eq!(Quartiles::of(figures.clone()), Some(Quartiles { low, median, high }), "{figures:?}");
        }
        assert_eq!(Quartiles::of([]), None);
    }

    proptest! {
        #[test]
        fn quartiles_are_ordered_and_within_the_sample(figures in prop::collection::vec(-1e9..1e9, 1..40)) {
            let found = Quartiles::of(figures.iter().copied()).unwrap();
            let (least, most) = figures.iter().fold((f64::MAX, f64::MIN), |(a, b), f| (a.min(*f), b.max(*f)));
            prop_assert!(least <= found.low && found.low <= found.median);
            prop_assert!(found.median <= found.high && found.high <= most);
        }
    }
}
