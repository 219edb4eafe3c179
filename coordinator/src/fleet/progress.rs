//! How far the job at hand is, for whoever looks at the coordinator from outside. No figure of a measurement is here, so that a
//! `relative_only` study has nothing to withhold.

use std::sync::{Mutex, MutexGuard, PoisonError};

use vufleet_proto::v1;

use crate::analysis::verdict::Verdict;

/// Where the job at hand is.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Now>);

/// The same at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Now {
    /// What is done now; empty when there is no job.
    pub phase: String,
    /// What is left of the phase, in seconds.
    pub left_s: Option<f64>,
    /// Number of the run at hand in its plan, 0 for none.
    pub run: u32,
    /// Runs of the plan, as far as it is known; 0 for a job that makes none.
    pub planned: u32,
    /// Runs that are still to be made, repeats of invalid ones included.
    pub left: u32,
    /// Runs made by this job, by verdict.
    pub valid: u32,
    /// With something to say against them.
    pub degraded: u32,
    /// Left out.
    pub invalid: u32,
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an operator is shown of this moment.
    pub fn show(&self, live: &v1::Live) {
        let mut now = self.lock();
        now.phase.clone_from(&live.phase);
        (now.left_s, now.run) = (live.left_s, live.run);
    }

    /// The plan, and what is left of it.
    pub fn plan(&self, planned: u32, left: u32) {
        let mut now = self.lock();
        (now.planned, now.left) = (planned, left);
    }

    /// A run has been made.
    pub fn made(&self, verdict: Verdict) {
        let mut now = self.lock();
        match verdict {
            Verdict::Valid => now.valid += 1,
            Verdict::Degraded => now.degraded += 1,
            Verdict::Invalid => now.invalid += 1,
        }
    }

    /// There is no job any more.
    pub fn clear(&self) {
        *self.lock() = Now::default();
    }

    /// Where the job is now.
    pub fn now(&self) -> Now {
        self.lock().clone()
    }
}
