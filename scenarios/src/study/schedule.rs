//! `[schedule]`: times, repetitions and their order.

use std::time::Duration;

use super::mistakes::Objection;
use super::repetitions::{Measured, repetitions};
use super::section::Section;
use super::value::{choice, count, flag, integer, number, time};
use super::{Measure, Nest, Order, Schedule};

const RAMP_UP: Duration = Duration::from_secs(60);
const MEASURE: Duration = Duration::from_secs(240);
const SETTLE: Duration = Duration::from_secs(60);
const MAX_REPEATS: u32 = 3;
const CONNECT_RATE: f64 = 200.0;

/// The times of a schedule and their defaults.
pub(super) const TIMES: [(&str, Duration); 3] = [("ramp_up", RAMP_UP), ("measure", MEASURE), ("settle", SETTLE)];

/// Below this a window holds too few intervals to say anything.
const SHORTEST_MEASURE: Duration = Duration::from_millis(400);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Reads `[schedule]`, which may be absent.
pub(super) fn schedule(root: &Section<'_>, measured: &Measured<'_>) -> Schedule {
    let section = root.section("schedule");
    let measure = measure(&section);
    let order = section
        .value("order", choice(&[("blocks", Order::Blocks), ("grouped", Order::Grouped)], &[]))
        .unwrap_or(Order::Blocks);
    let ramp_up = section.value("ramp_up", time(Duration::ZERO..=DAY)).unwrap_or(RAMP_UP);
    let schedule = Schedule {
        // Every transaction of a counted window is measured: nothing comes before it.
        ramp_up: if matches!(measure, Measure::Transactions(_)) { Duration::ZERO } else { ramp_up },
        measure,
        settle: section.value("settle", time(Duration::ZERO..=DAY)).unwrap_or(SETTLE),
        checkpoint: section.value("checkpoint", flag).unwrap_or(false),
        repetitions: repetitions(&section, measured, measure, order),
        max_repeats: section.value("max_repeats", count(0..=100)).unwrap_or(MAX_REPEATS),
        order,
        nest: section
            .value("nest", choice(&[("profile", Nest::Profile), ("variant", Nest::Variant)], &[]))
            .unwrap_or(Nest::Profile),
        connect_rate: section.value("connect_rate", number(0.1..=1_000_000.0)).unwrap_or(CONNECT_RATE),
    };
    section.finish();
    schedule
}

fn measure(section: &Section<'_>) -> Measure {
    let window = section.value("measure", time(SHORTEST_MEASURE..=7 * DAY));
    let transactions = section.value("transactions", integer(1..=1_000_000_000_000));
    if section.has("measure") && section.has("transactions") {
        let what = "a window has a time or a number of transactions, and measure is there too";
        section.object("transactions", Objection::new(what, "remove measure or transactions"));
    }
    match transactions {
        Some(number) => Measure::Transactions(number.unsigned_abs()),
        None => Measure::Duration(window.unwrap_or(MEASURE)),
    }
}
