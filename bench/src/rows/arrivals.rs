//! What goes by the clock: open arrivals, and a load that goes on for long.

use super::{at_least, at_most, megabytes, thousands};
use crate::arrivals::{Kept, Openness, Rates};
use crate::soak::Soak;
use crate::table::{Row, Section};

/// Lateness at the 99th percentile.
const LATE_MS: f64 = 0.4;
/// What a load may grow by after its first minute: what the kernel counts is no steadier.
const GROWTH_MB: f64 = 1.0;

/// Open arrivals.
pub fn arrivals(found: &Openness, rates: Rates) -> Section {
    let mut rows = Vec::new();
    let mut load = |what: &str, kept: &Kept, reach: String| {
        let name = format!("{what}, {}/s", thousands(kept.rate as u64));
        rows.push(
            Row::new(format!("{name}: response, 99th percentile"), format!("{:.3} ms", kept.response_p99_ms))
                .beside(format!("service: {:.3} ms", kept.service_p99_ms), "")
                .reach(reach),
        );
        let Kept { due, ended, not_started, .. } = *kept;
        let [due, ended, not_started] = [due, ended, not_started].map(thousands);
        rows.push(
            Row::new(format!("{name}: due = ended + not started"), format!("{due} = {ended} + {not_started}"))
                .beside(
                    format!("due: {}/s", thousands(kept.due_per_s.round() as u64)),
                    format!("{:.4}x of the rate", kept.due_per_s / kept.rate),
                )
                .reach(accounted(kept.unaccounted())),
        );
    };
    load("simulated", &found.simulated, at_most(found.simulated.response_p99_ms, LATE_MS, " ms"));
    load("point_select", &found.database, String::new());
    load("simulated, 64 users of 1 ms each", &found.beyond, String::new());
    Section {
        title: "Open arrivals".to_owned(),
        conditions: format!(
            "64 sessions, {} s each; without a service time a response is lateness and vufleet's work",
            rates.length.as_secs()
        ),
        rows,
    }
}

fn accounted(difference: i64) -> String {
    if difference == 0 {
        "all accounted for".to_owned()
    } else {
        format!("all accounted for: **missed by {difference}**")
    }
}

/// A load that goes on for long.
pub fn soak(found: &Soak) -> Section {
    let Soak { scale, early_bytes, late_bytes, .. } = *found;
    let (early, late) = (early_bytes as f64, late_bytes as f64);
    let sessions = thousands(scale.sessions);
    let rows = vec![
        Row::new("resident memory of the agent at the end", megabytes(late))
            .beside(
                format!("after {} s: {}", scale.settled.as_secs(), megabytes(early)),
                format!("{:.3}x", late / early),
            )
            .reach(at_most(late / 1e6, ((early / 1e6 + GROWTH_MB) * 10.0).round() / 10.0, " MB")),
        Row::new(
            format!("fewest sessions connected at the end of any of {} intervals", found.intervals),
            thousands(found.fewest),
        )
        .reach(at_least(found.fewest as f64, f64::from(scale.sessions), "")),
        Row::new("transactions", thousands(found.transactions)),
        Row::new("transactions given up, or of unknown end", thousands(found.lost)).reach(at_most(
            found.lost as f64,
            0.0,
            "",
        )),
    ];
    Section {
        title: format!("{sessions} sessions for {} s", scale.length.as_secs()),
        conditions: "point_select on MariaDB, a pause of 1 s".to_owned(),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::soak::Scale;

    fn kept(due: u64) -> Kept {
        let (ended, not_started) = (500, 25);
        let ms = 0.5;
        Kept { rate: 1_000.0, due, ended, not_started, due_per_s: 999.0, response_p99_ms: ms, service_p99_ms: ms }
    }

    #[test]
    fn arrivals_that_got_lost_are_seen() {
        let rates = Rates { fair: 1_000.0, database: 1.0, beyond: 1.0, length: Duration::from_secs(5) };
        let found = Openness { simulated: kept(525), database: kept(525), beyond: kept(530) };
        let rows = arrivals(&found, rates).rows;
        assert_eq!(rows[0].reach, "at most 0.4 ms: **missed by 25 %**");
        assert_eq!((rows[1].vufleet.as_str(), rows[1].ratio.as_str()), ("525 = 500 + 25", "0.9990x of the rate"));
        assert_eq!(rows[1].reach, "all accounted for");
        assert_eq!(rows[5].reach, "all accounted for: **missed by 5**");
    }

    #[test]
    fn growth_and_lost_sessions_are_missed_marks() {
        let scale = Scale { sessions: 4_000, length: Duration::from_secs(600), settled: Duration::from_secs(60) };
        let fine = Soak {
            scale,
            early_bytes: 40_000_000,
            late_bytes: 40_500_000,
            fewest: 4_000,
            intervals: 600,
            transactions: 1,
            lost: 0,
        };
        let missed = |found: &Soak| soak(found).rows.iter().filter(|row| row.reach.contains("missed")).count();
        assert_eq!(missed(&fine), 0);
        assert_eq!(missed(&Soak { late_bytes: 44_000_000, fewest: 3_999, lost: 2, ..fine }), 3);
    }
}
