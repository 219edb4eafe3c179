//! Whether a driving agent stood still inside the window: its way to the database was closed, or its host did something else. The
//! fleet's figures then are those of a smaller fleet for as long.

use std::collections::BTreeMap;

use super::fold::Fold;
use super::measure::Measured;
use super::verdict::Reason;
use crate::ledger::RunFacts;

/// Nothing that succeeded for so long stands out where every session would have ended so many transactions meanwhile. Users that
/// wait in step are silent for no longer than it takes each of them to end one.
const STILL_NS: u64 = 2_000_000_000;
const MISSED: f64 = 3.0;

/// What one agent did up to a point of the window.
#[derive(Debug, Default)]
struct Course {
    sessions: f64,
    done: f64,
    since_ns: u64,
    still_ns: u64,
    /// Of the stops that stand out.
    longest: Option<Stop>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stop {
    from_ns: u64,
    length_ns: u64,
}

impl Course {
    /// Takes in its next interval.
    fn go_on(&mut self, done: f64, length_ns: u64, end_ns: u64, is_inside: bool) {
        self.since_ns += length_ns;
        if done > 0.0 {
            self.done += done;
            self.still_ns = 0;
            return;
        }
        self.still_ns += if is_inside { length_ns } else { 0 };
        let missed = self.done * self.still_ns as f64 / self.since_ns.max(1) as f64;
        let stands_out = self.still_ns >= STILL_NS && missed > MISSED * self.sessions;
        if stands_out && self.longest.is_none_or(|longest| self.still_ns > longest.length_ns) {
            self.longest = Some(Stop { from_ns: end_ns - self.still_ns, length_ns: self.still_ns });
        }
    }
}

/// A reason for each agent that stood still.
pub(super) fn hung_agents(fold: &Fold<'_>, measured: &Measured, facts: &RunFacts) -> Vec<Reason> {
    if measured.by_transactions {
        return Vec::new(); // sessions that have done theirs are silent for a good reason
    }
    let mut courses: BTreeMap<&str, Course> = BTreeMap::new();
    for driving in &facts.driving {
        let sessions = f64::from(driving.vus) * f64::from(fold.profile.sessions_per_vu);
        courses.insert(&driving.name, Course { sessions, ..Course::default() });
    }
    for sample in &fold.samples {
        let is_inside = measured.window.holds(sample.start_ns, sample.end_ns);
        if let Some(course) = courses.get_mut(&*sample.agent) {
            course.go_on(sample.work().transactions(), sample.length_ns(), sample.end_ns, is_inside);
        }
    }
    let told = courses.into_iter().filter_map(|(agent, course)| {
        let Stop { from_ns, length_ns } = course.longest?;
        Some(Reason::AgentHung {
            agent: agent.to_owned(),
            from_s: measured.window.seconds(from_ns),
            for_s: length_ns as f64 / 1e9,
            sessions: course.sessions as u32,
        })
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn longest(sessions: f64, counts: &[f64]) -> Option<(u64, u64)> {
        let mut course = Course { sessions, ..Course::default() };
        for (index, done) in (1..).zip(counts) {
            // The first two are the ramp-up's.
            course.go_on(*done, SECOND, index * SECOND, index > 2);
        }
        course.longest.map(|stop| (stop.from_ns / SECOND, stop.length_ns / SECOND))
    }

    #[test]
    fn the_longest_stop_of_who_was_busy_is_told() {
        for (counts, expected) in [
            (&[50.0, 50.0, 50.0, 50.0][..], None),
            (&[50.0, 50.0, 50.0, 0.0, 50.0, 0.0], None),
            (&[50.0, 50.0, 50.0, 0.0, 0.0, 50.0], Some((3, 2))),
            (&[50.0, 50.0, 0.0, 0.0, 50.0, 0.0, 0.0, 0.0], Some((5, 3))),
            (&[50.0, 50.0, 0.0, 0.0, 0.0, 50.0, 0.0, 0.0], Some((2, 3))),
            (&[50.0, 0.0, 0.0, 50.0], None),
            (&[2.0, 2.0, 2.0, 0.0, 0.0, 0.0], None),
            (&[0.0, 0.0, 0.0, 0.0, 0.0], None),
        ] {
            assert_eq!(longest(4.0, counts), expected, "{counts:?}");
        }
    }

    /// A hundred users that think for nine seconds after each transaction, all at the same time.
    #[test]
    fn users_that_wait_in_step_are_no_hang() {
        let mut cycle = vec![100.0];
        cycle.extend([0.0; 9]);
        assert_eq!(longest(100.0, &cycle.repeat(5)), None);
        let mut away = cycle.repeat(5);
        away.extend([0.0; 60]);
        assert_eq!(longest(100.0, &away), Some((41, 69)), "but in the end nobody is there");
    }
}
