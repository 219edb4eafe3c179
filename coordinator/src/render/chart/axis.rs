//! From values to pixels, with ticks at round numbers.

/// Nothing is drawn beyond.
const FARTHEST: f64 = 1e12;
/// What the numbers 1, 2 and 5 are for a step between ticks.
const ROUND: [f64; 3] = [1.0, 2.0, 5.0];
/// Ticks between powers of ten where there is not even one power.
const FINE: [f64; 8] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];

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
        Axis::even(0.0, positive(high), about, px)
    }

    /// From zero to `high` and no further: time, of which there is no more.
    pub(in crate::render) fn until(high: f64, about: usize, px: (f64, f64)) -> Axis {
        let high = positive(high);
        let mut axis = Axis::even(0.0, high, about, px);
        axis.high = high;
        axis.ticks.retain(|(value, _)| *value <= high);
        axis
    }

    /// From `low` or less to `high` or more, both moved outwards to the next tick.
    pub(in crate::render) fn even(low: f64, high: f64, about: usize, px: (f64, f64)) -> Axis {
        // Two runs may leave an interval that is wider than anything that can be drawn.
        let (low, high) = (low.clamp(-FARTHEST, FARTHEST), high.clamp(-FARTHEST, FARTHEST));
        let step = round_step((high - low) / about.max(1) as f64);
        let (first, last) = ((low / step).floor() as i64, (high / step - 1e-9).ceil() as i64);
        let last = last.max(first + 1);
        let decimals = decimals_of(step);
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

    /// By powers of ten, a little beyond the values on either side; the less they are apart, the more ticks there are between
    /// powers.
    pub(in crate::render) fn decades(low: f64, high: f64, px: (f64, f64)) -> Axis {
        let low = if low > 0.0 && low.is_finite() { low } else { 1.0 };
        let (low, high) = (low / 1.1, high.min(FARTHEST).max(low * 1.5) * 1.1);
        let of_each: &[f64] = match high.log10() - low.log10() {
            decades if decades > 2.5 => &ROUND[..1],
            decades if decades > 0.9 => &ROUND,
            _ => &FINE,
        };
        let mut ticks = Vec::new();
        for power in low.log10().floor() as i32..=high.log10().ceil() as i32 {
            let values = of_each.iter().map(|digit| digit * 10f64.powi(power));
            let shown = values.filter(|value| (low..=high).contains(value));
            ticks.extend(shown.map(|value| (value, tick(value, decimals_of(value)))));
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
    let power = 10f64.powi(step.log10().floor() as i32);
    let digit = ROUND.into_iter().find(|digit| digit * power >= step * (1.0 - 1e-9)).unwrap_or(10.0);
    digit * power
}

fn positive(value: f64) -> f64 {
    if value > 0.0 && value.is_finite() { value } else { 1.0 }
}

/// Digits after the point that a round number needs.
fn decimals_of(value: f64) -> usize {
    (0..9)
        .find(|digits| {
            let scaled = value * 10f64.powi(*digits);
            (scaled - scaled.round()).abs() < 1e-6 * scaled
        })
        .unwrap_or(9) as usize
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
            (0.0, f64::INFINITY, "0 200000000000 400000000000 600000000000 800000000000 1000000000000"),
        ] {
            assert_eq!(labels(&Axis::even(low, high, 5, (0.0, 1.0))), ticks, "{low} to {high}");
        }
        assert_eq!(labels(&Axis::from_zero(f64::NAN, 5, (0.0, 1.0))), "0 0.2 0.4 0.6 0.8 1.0");
    }

    #[test]
    fn decades_have_fewer_ticks_the_more_they_are() {
        assert_eq!(labels(&Axis::decades(1.3, 47.0, (0.0, 1.0))), "2 5 10 20 50");
        assert_eq!(labels(&Axis::decades(4.1, 10.9, (0.0, 1.0))), "4 5 6 8 10");
        assert_eq!(labels(&Axis::decades(0.02, 900.0, (0.0, 1.0))), "0.1 1 10 100");
        assert_eq!(labels(&Axis::decades(0.14, 0.16, (0.0, 1.0))), "0.15 0.2");
        assert_eq!(labels(&Axis::decades(0.0, f64::INFINITY, (0.0, 1.0))).split(' ').next(), Some("1"));
    }

    #[test]
    fn time_ends_where_it_ends() {
        let axis = Axis::until(23.0, 4, (0.0, 100.0));
        assert_eq!(labels(&axis), "0 10 20");
        assert_eq!(axis.px(23.0), 100.0);
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
