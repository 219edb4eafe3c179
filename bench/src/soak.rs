//! Thousands of real sessions for minutes: whether memory stays where it is, and every session stays connected.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::time::sleep;

use crate::load::{Load, Pause, Wire, Work};
use crate::processes;
use crate::program::Program;
use crate::server::Server;

const POLL: Duration = Duration::from_secs(1);
/// Between a session's transactions.
const WAIT: Duration = Duration::from_secs(1);

/// How many, how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Sessions.
    pub sessions: u32,
    /// Of the load.
    pub length: Duration,
    /// When memory is looked at first.
    pub settled: Duration,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Soak {
    /// Of what.
    pub scale: Scale,
    /// Resident memory of the driving agent once settled.
    pub early_bytes: u64,
    /// And at the end.
    pub late_bytes: u64,
    /// Fewest sessions connected at the end of any interval of the window.
    pub fewest: u64,
    /// Intervals.
    pub intervals: usize,
    /// Transactions.
    pub transactions: u64,
    /// Transactions given up, or of unknown end.
    pub lost: u64,
}

impl Soak {
    /// Runs it.
    pub async fn measure(ours: &Program, server: &Server, scale: Scale) -> Result<Soak> {
        let load = Load {
            pause: Pause::Wait(WAIT),
            ..Load::on(server.target(Wire::Tcp), Work::script("point_select"), scale.sessions, scale.length)
        };
        let mut running = ours.start(&load)?;
        let (mut begun, mut early, mut late) = (None, None, 0);
        while running.goes_on()? {
            sleep(POLL).await;
            let Some(pid) = ours.driver(&running)? else { continue };
            let begun = *begun.get_or_insert_with(Instant::now);
            let since: Duration = begun.elapsed();
            let Some(bytes) = processes::resident_bytes(pid) else { continue };
            if since >= scale.settled {
                early.get_or_insert(bytes);
            }
            if since < scale.length {
                late = bytes;
            }
        }
        let told = running.finish()?.context("vufleet left no results")?;
        let window: Vec<_> = told.seconds.iter().filter(|second| second.in_window).collect();
        ensure!(!window.is_empty(), "vufleet has told of no interval");
        let (transactions, lost) = told.transactions();
        Ok(Soak {
            scale,
            early_bytes: early.context("the run was over before memory was looked at")?,
            late_bytes: late,
            fewest: window.iter().map(|second| second.sessions).min().unwrap_or(0),
            intervals: window.len(),
            transactions,
            lost,
        })
    }
}
