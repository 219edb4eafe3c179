//! Which runs a study consists of, in which order.
use crate::study::Study;
use std::time::Duration;

/// One run of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRun {
    /// Position in the plan, counted from 1.
    pub number: u32,
    /// Variant.
    pub variant: String,
    /// Profile id.
    pub profile: String,
    /// Repetition (block), counted from 1.
    pub repetition: u32,
}

/// Every run in order: a pure function of the study.
pub fn expand(_study: &Study) -> Vec<PlannedRun> {
    Vec::new()
}

/// Expected length.
pub fn duration(_study: &Study) -> Duration {
    Duration::ZERO
}
