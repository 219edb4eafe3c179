//! From TOML text to a checked study.
use super::{Refusal, Study};

/// Overrides.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    /// `key=value` as typed after `--set`.
    pub set: Vec<String>,
    /// Factor on every duration of the schedule.
    pub scale_time: Option<f64>,
    /// Seed where the study names none.
    pub default_seed: u64,
}

/// Reads.
pub fn read(_text: &str, _edits: &Edits) -> Result<Study, Refusal> {
    Err(Refusal { problems: vec![] })
}
