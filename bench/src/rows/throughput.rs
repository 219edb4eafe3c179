//! Pairs: vufleet beside sysbench, and beside its own sessions without measuring.

use super::{at_least, at_most, below, spread, thousands};
use crate::statistics::Quartiles;
use crate::table::{Row, Section};
use crate::throughput::{Cell, Comparison, Figures, Pace, Pair};

/// Client CPU per statement, over the other program's, that is to be reached.
fn cpu_reached(cell: Cell, ratio: f64) -> String {
    if cell.script == "read_write" { at_most(ratio, 0.6, "x CPU") } else { below(ratio, 1.0, "x CPU") }
}

/// What vufleet's own measuring may add to the client's CPU.
const MEASURING_PERCENT: f64 = 2.0;

/// Throughput and CPU.
pub fn throughput(pairs: &[(Cell, Vec<Pair>)], pace: Pace, theirs: &str) -> Section {
    let rows = compared(pairs).map(|(cell, pairs, ratios)| {
        let ratio = format!("{}x CPU, {}x rate", spread(ratios.driver, 2), spread(ratios.rate, 2));
        let reach = [cpu_reached(cell, ratios.driver.median), at_least(ratios.rate.median, 1.0, "x rate")].join(", ");
        let beside = format!("{theirs}: {}", middle(pairs, |pair| pair.theirs));
        Row::new(cell.to_string(), middle(pairs, |pair| pair.ours)).beside(beside, ratio).reach(reach)
    });
    let rows = rows.collect();
    Section { title: "Client CPU per statement, and throughput".to_owned(), conditions: conditions(pairs, pace), rows }
}

/// The cost of measuring.
pub fn measuring(pairs: &[(Cell, Vec<Pair>)], pace: Pace) -> Section {
    let rows = compared(pairs).map(|(cell, pairs, ratios)| {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let Quartiles { low, median, high } = ratios.driver;
        let ratio = Quartiles { low: percent(low), median: percent(median), high: percent(high) };
        let beside = format!("off: {}", middle(pairs, |pair| pair.theirs));
        Row::new(cell.to_string(), middle(pairs, |pair| pair.ours))
            .beside(beside, format!("{} % more CPU", spread(ratio, 1)))
            .reach(at_most(ratio.median, MEASURING_PERCENT, " %"))
    });
    let rows = rows.collect();
    let title = "Recorder, watchdog and events, on and off".to_owned();
    Section { title, conditions: conditions(pairs, pace), rows }
}

fn compared(pairs: &[(Cell, Vec<Pair>)]) -> impl Iterator<Item = (Cell, &[Pair], Comparison)> {
    pairs.iter().filter_map(|(cell, pairs)| Some((*cell, &pairs[..], Comparison::of(pairs)?)))
}

fn middle(pairs: &[Pair], side: fn(&Pair) -> Figures) -> String {
    let of = |part: fn(&Figures) -> f64| Quartiles::of(pairs.iter().map(|pair| part(&side(pair))));
    let us = of(|figures| figures.driver_us).map_or(f64::NAN, |us| us.median);
    let rate = of(|figures| figures.per_second).map_or(f64::NAN, |rate| rate.median);
    format!("{us:.1} us, {}/s", thousands(rate.round() as u64))
}

fn conditions(pairs: &[(Cell, Vec<Pair>)], pace: Pace) -> String {
    let count = pairs.iter().map(|(_, pairs)| pairs.len()).min().unwrap_or(0);
    let sides = || pairs.iter().flat_map(|(_, pairs)| pairs).flat_map(|pair| [pair.ours, pair.theirs]);
    let others = Quartiles::of(sides().map(|figures| figures.others * 100.0));
    let others = others.map_or((0.0, 0.0), |others| (others.median, others.high));
    let all = |pair: &Pair| pair.ours.all_us / pair.ours.driver_us;
    let all = Quartiles::of(pairs.iter().flat_map(|(_, pairs)| pairs).map(all)).map_or(f64::NAN, |all| all.median);
    format!(
        "median (quartiles) of {count} pairs, windows of {} s. Coordinator and observing agent add {:.0} % to the driving agent's CPU. \
         Other processes took {:.0} % of the machine in the median window, {:.0} % at the upper quartile",
        pace.window.as_secs(),
        (all - 1.0) * 100.0,
        others.0,
        others.1,
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::Wire;

    #[test]
    fn a_row_holds_medians_of_its_own_pairs() {
        let figures = |per_second, driver_us| Figures { per_second, driver_us, all_us: driver_us * 1.5, others: 0.25 };
        let pair = |ours, theirs| Pair { ours: figures(900.0, ours), theirs: figures(1000.0, theirs) };
        let cell = Cell { script: "read_write", sessions: 16, wire: Wire::Unix };
        let pace = Pace { warm_up: Duration::from_secs(1), window: Duration::from_secs(4) };
        let pairs = [(cell, vec![pair(10.0, 10.0), pair(30.0, 10.0), pair(42.0, 20.0)])];
        let section = throughput(&pairs, pace, "sysbench");
        let row = Row::new("read_write, 16 sessions, unix socket", "30.0 us, 900/s")
            .beside("sysbench: 10.0 us, 1,000/s", "2.10 (1.55 to 2.55)x CPU, 0.90 (0.90 to 0.90)x rate")
            .reach("at most 0.6x CPU: **missed by 250 %**, at least 1x rate: **missed by 10 %**");
        assert_eq!(section.rows, [row]);
        for part in ["of 3 pairs, windows of 4 s", "add 50 %", "took 25 % of the machine"] {
            assert!(section.conditions.contains(part), "{}", section.conditions);
        }
        let off = measuring(&pairs, pace);
        assert_eq!(off.rows[0].ratio, "110.0 (55.0 to 155.0) % more CPU");
    }
}
