//! What was found against a run, kept beside its 10-second sums: what only seconds can tell is not found in those.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RunReport;
use super::steady::Steady;
use super::verdict::Reason;

/// The findings, as they were when all of the run's seconds were there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The verdict's.
    pub(super) reasons: Vec<Reason>,
    /// Change of throughput from the first to the last third of the window.
    pub(super) drift_percent: Option<f64>,
    /// Whether that is a trend.
    pub(super) steady: Option<Steady>,
}

impl Judged {
    /// What was found in a run that withholds nothing.
    pub fn of(report: &RunReport) -> Judged {
        Judged { reasons: report.reasons.clone(), drift_percent: report.drift_percent, steady: report.steady }
    }

    /// For the ledger.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("findings have text keys only")
    }

    /// From the ledger; none of another vufleet's that cannot be read.
    pub fn read(value: &Value) -> Option<Judged> {
        serde_json::from_value(value.clone()).ok()
    }
}
