//! From values to pixels, with ticks at round numbers.

/// What the numbers 1, 2 and 5 are for a step between ticks.
const ROUND: [f64; 3] = [1.0, 2.0, 5.0];

/// One axis of a chart.
#[derive(Debug, Clone)]
pub(in crate::render) struct Axis {
    growth: Growth,
    low: f64,
    high: f64,
    from_px: f64,
    to_px: f64,
    /// Values and what stands there.
    pub(in crate::render) ticks: Vec<(f64, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    Even,
    Logarithmic,
}

impl Axis {
    /// From zero to at least `high`, with about so many ticks.
    pub(in crate::render) fn from_zero(high: f64, about: usize, px: (f64, f64)) -> Axis {
        let high = if high > 0.0 && high.is_finite() { high } else { 1.0 };
        Axis::even(0.0, high, about, px)
    }

    /// From `low` or less to `high` or more, both moved outwards to the next tick.
    pub(in crate::render) fn even(low: f64, high: f64, about: usize, px: (f64, f64)) -> Axis {
        let step = round_step((high - low) / about.max(1) as f64);
        let (first, last) = ((low / step).floor() as i64, (high / step - 1e-9).ceil() as i64);
        let last = last.max(first + 1);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let ticks = (first..=last).map(|index| (index as f64 * step, tick(index as f64 * step, decimals)));
        Axis {
            growth: Growth::Even,
            low: first as f64 * step,
            high: last as f64 * step,
            from_px: px.0,
            to_px: px.1,
            ticks: ticks.collect(),
        }
    }

    /// Doubling from one given value to the next: load levels. The values themselves are the ticks.
    pub(in crate::render) fn doubling(values: &[f64], px: (f64, f64)) -> Axis {
        let (low, high) = bounds(values);
        let room = 2f64.powf(0.25);
        let ticks = values.iter().map(|value| (*value, value.to_string())).collect();
        Axis { growth: Growth::Logarithmic, low: low / room, high: high * room, from_px: px.0, to_px: px.1, ticks }
    }

    /// By powers of ten, with ticks at 1, 2 and 5 of each while there is room.
    pub(in crate::render) fn decades(low: f64, high: f64, px: (f64, f64)) -> Axis {
        let (low, high) = (low.max(1e-6), high.max(low.max(1e-6) * 1.5));
        let (low, high) = (below(low), above(high));
        let decades = high.log10() - low.log10();
        let of_each: &[f64] = if decades <= 2.5 { &ROUND } else { &ROUND[..1] };
        let mut ticks = Vec::new();
        for power in low.log10().floor() as i32..=high.log10().ceil() as i32 {
            for digit in of_each {
                let value = digit * 10f64.powi(power);
                if value >= low * 0.999 && value <= high * 1.001 {
                    ticks.push((value, tick(value, (-power).max(0) as usize)));
                }
            }
        }
        Axis { growth: Growth::Logarithmic, low, high, from_px: px.0, to_px: px.1, ticks }
    }

    /// Places with names, evenly apart; the first is 0.
    pub(in crate::render) fn places(names: &[String], px: (f64, f64)) -> Axis {
        let ticks = names.iter().enumerate().map(|(index, name)| (index as f64, name.clone())).collect();
        let high = names.len().max(1) as f64 - 0.5;
        Axis { growth: Growth::Even, low: -0.5, high, from_px: px.0, to_px: px.1, ticks }
    }

    /// The pixel of a value; those beyond the ends are at the ends.
    pub(in crate::render) fn px(&self, value: f64) -> f64 {
        let share = match self.growth {
            Growth::Even => (value - self.low) / (self.high - self.low),
            Growth::Logarithmic => (value.max(1e-9) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from_px + share.clamp(0.0, 1.0) * (self.to_px - self.from_px)
    }

    /// Whether a value lies on it.
    pub(in crate::render) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

fn bounds(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low.is_finite() && low > 0.0 { (low, high) } else { (1.0, 2.0) }
}

/// The next of 1, 2, 5, 10, 20, .. that is not below a step.
fn round_step(step: f64) -> f64 {
    if !(step > 0.0 && step.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powf(step.log10().floor());
    let digit = ROUND.into_iter().find(|digit| digit * power >= step * (1.0 - 1e-9)).unwrap_or(10.0);
    digit * power
}

fn below(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    ROUND.into_iter().rev().map(|digit| digit * power).find(|round| *round <= value * 1.001).unwrap_or(power)
}

fn above(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    ROUND.into_iter().map(|digit| digit * power).find(|round| *round >= value * 0.999).unwrap_or(10.0 * power)
}

fn tick(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.trim_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> String {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round_and_reach_beyond_the_values() {
        for (low, high, ticks) in [
            (0.0, 87.0, "0 20 40 60 80 100"),
            (0.0, 100.0, "0 20 40 60 80 100"),
            (0.0, 1.0, "0 0.2 0.4 0.6 0.8 1.0"),
            (-11.2, 3.4, "-15 -10 -5 0 5"),
            (0.0, 12_345.0, "0 5000 10000 15000"),
            (5.0, 5.0, "5 6"),
            (0.0, 0.0031, "0 0.001 0.002 0.003 0.004"),
        ] {
            assert_eq!(labels(&Axis::even(low, high, 5, (0.0, 1.0))), ticks, "{low} to {high}");
        }
        assert_eq!(labels(&Axis::from_zero(f64::NAN, 5, (0.0, 1.0))), "0 0.2 0.4 0.6 0.8 1.0");
    }

    #[test]
    fn decades_have_fewer_ticks_the_more_they_are() {
        assert_eq!(labels(&Axis::decades(1.3, 47.0, (0.0, 1.0))), "1 2 5 10 20 50");
        assert_eq!(labels(&Axis::decades(0.02, 900.0, (0.0, 1.0))), "0.1 1 10 100 1000");
        assert_eq!(labels(&Axis::decades(0.0, 0.0, (0.0, 1.0))), "0.000001 0.000002");
    }

    #[test]
    fn values_have_their_places() {
        let even = Axis::even(0.0, 100.0, 5, (10.0, 110.0));
        assert_eq!([0.0, 50.0, 100.0, 900.0].map(|value| even.px(value)), [10.0, 60.0, 110.0, 110.0]);
        let levels = Axis::doubling(&[4.0, 8.0, 16.0], (0.0, 100.0));
        assert!((levels.px(8.0) - 50.0).abs() < 1e-9);
        assert!((levels.px(16.0) - levels.px(8.0) - (levels.px(8.0) - levels.px(4.0))).abs() < 1e-9);
        let places = Axis::places(&["a".to_owned(), "b".to_owned()], (0.0, 100.0));
        assert_eq!([0.0, 1.0].map(|value| places.px(value)), [25.0, 75.0]);
        assert!(even.holds(100.0) && !even.holds(100.1));
    }
}
