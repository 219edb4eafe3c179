//! Many agents on one coordinator.

use std::time::Duration;

use super::{at_most, megabytes};
use crate::scale::{Fleets, at_share};
use crate::table::{Row, Section};

/// Growth of which nothing is wanted: less than a tenth of a megabyte an hour is none.
fn no_growth(bytes_per_h: f64) -> String {
    if bytes_per_h < 0.1e6 { "none".to_owned() } else { "none: **missed**".to_owned() }
}

/// What they cost it, how soon they are there, how exactly they begin.
pub fn fleets(fleets: &Fleets) -> Section {
    let crowd = fleets.crowd;
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let apart = |share| format!("{:.2} ms", at_share(&fleets.late_ms, share));
    let starts = format!("{} starts of {} agents", crowd.starts, crowd.starters);
    let rows = vec![
        Row::new("all have joined, from the start of the first process", seconds(fleets.joined)).reach(at_most(
            fleets.joined.as_secs_f64(),
            10.0,
            " s",
        )),
        Row::new("all are back after the coordinator was killed and started again", seconds(fleets.back)),
        Row::new("CPU of the coordinator under load", format!("{:.2} cores", fleets.cores)).reach(at_most(
            fleets.cores,
            0.5,
            " cores",
        )),
        Row::new("memory of the coordinator", megabytes(fleets.resident_bytes as f64)),
        Row::new("its growth in an hour, by the second half", megabytes(fleets.growth_bytes_per_h))
            .reach(no_growth(fleets.growth_bytes_per_h)),
        Row::new("events", format!("{:.0} a second", fleets.events_per_s)),
        Row::new("the ledger, an hour of one agent", megabytes(fleets.bytes_per_agent_hour)).reach(at_most(
            fleets.bytes_per_agent_hour / 1e6,
            40.0,
            " MB",
        )),
        Row::new("end of the load until the report is there", seconds(fleets.report)),
        Row::new(format!("{starts}: from the appointed time, median"), apart(0.5)),
        Row::new(format!("{starts}: 99th percentile"), apart(0.99)).reach(at_most(
            at_share(&fleets.late_ms, 0.99),
            5.0,
            " ms",
        )),
        Row::new(format!("{starts}: farthest"), apart(1.0)),
    ];
    let conditions = format!(
        "{} agents of {} virtual users, each a process of this host, for {} min",
        crowd.agents,
        crowd.vus,
        crowd.length.as_secs() / 60,
    );
    Section { title: "Many agents on one coordinator".to_owned(), conditions, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_below_what_can_be_told_is_none() {
        assert_eq!([-1e6, 0.0, 18.3e6].map(no_growth), ["none", "none", "none: **missed**"]);
    }
}
