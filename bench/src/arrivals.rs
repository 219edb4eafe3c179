//! Open arrivals: how late transactions start, and whether all that became due are accounted for.
//!
//! Without a database and without a service time a response is nothing but lateness and vufleet's own work, so that its percentiles
//! bound those of lateness from above.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::load::{Load, Pause, Target, Wire, Work};
use crate::program::{Program, Told};
use crate::server::Server;

/// Sessions of each load.
const SESSIONS: u32 = 64;
/// With a service time, these are taken by so many sessions and no more.
const SERVICE_TIME: Duration = Duration::from_millis(1);

/// How fast, how long.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// What is to be kept.
    pub fair: f64,
    /// On MariaDB.
    pub database: f64,
    /// Beyond what the sessions can do.
    pub beyond: f64,
    /// Of each load.
    pub length: Duration,
}

/// One load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept {
    /// Asked, a second.
    pub rate: f64,
    /// Arrivals that became due in the whole run.
    pub due: u64,
    /// Transactions that ended.
    pub ended: u64,
    /// Arrivals that no session took.
    pub not_started: u64,
    /// Due in the window, a second.
    pub due_per_s: f64,
    /// 99th percentile of the response, from the due time.
    pub response_p99_ms: f64,
    /// 99th percentile of the service, from the start.
    pub service_p99_ms: f64,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Openness {
    /// Without a database and without a service time.
    pub simulated: Kept,
    /// A point select.
    pub database: Kept,
    /// More than the sessions can do.
    pub beyond: Kept,
}

impl Openness {
    /// Measures all of it.
    pub fn measure(ours: &Program, server: &Server, rates: Rates) -> Result<Openness> {
        let kept = |target, rate| Kept::measure(ours, target, rate, rates.length);
        Ok(Openness {
            simulated: kept(Target::Simulated(Duration::ZERO), rates.fair)?,
            database: kept(server.target(Wire::Tcp), rates.database)?,
            beyond: kept(Target::Simulated(SERVICE_TIME), rates.beyond)?,
        })
    }
}

impl Kept {
    fn measure(ours: &Program, target: Target, rate: f64, length: Duration) -> Result<Kept> {
        let load =
            Load { pause: Pause::Rate(rate), ..Load::on(target, Work::script("point_select"), SESSIONS, length) };
        let told = ours.start(&load)?.finish()?.context("vufleet left no results")?;
        let kept = Kept::of(&told, rate)?;
        eprintln!("{rate:.0} arrivals a second: {kept:?}");
        Ok(kept)
    }

    fn of(told: &Told, rate: f64) -> Result<Kept> {
        let sum = |of: fn(&crate::program::Second) -> u64| told.seconds.iter().map(of).sum();
        let window = told.seconds.iter().filter(|second| second.in_window);
        let due_in_window: u64 = window.map(|second| second.due).sum();
        // A percentile that nothing was measured of is absent.
        let ms = |place| told.number(place).unwrap_or(f64::NAN);
        Ok(Kept {
            rate,
            due: sum(|second| second.due),
            ended: told.transactions().0,
            not_started: sum(|second| second.not_started),
            due_per_s: due_in_window as f64 / told.number("measured_s")?,
            response_p99_ms: ms("metrics/p99_ms"),
            service_p99_ms: ms("metrics/service_p99_ms"),
        })
    }

    /// Arrivals that became due and of which nothing is known.
    pub fn unaccounted(&self) -> i64 {
        self.due as i64 - self.ended as i64 - self.not_started as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_ends_or_is_not_started() {
        let kept = Kept {
            rate: 1.0,
            due: 1_000,
            ended: 600,
            not_started: 395,
            due_per_s: 1.0,
            response_p99_ms: 1.0,
            service_p99_ms: 1.0,
        };
        assert_eq!(kept.unaccounted(), 5);
        assert_eq!(Kept { ended: 605, ..kept }.unaccounted(), 0);
    }
}
