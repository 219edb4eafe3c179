//! The verdict on a run without a flaw after something was changed in it.

use vufleet::analysis::verdict::Verdict;

use super::{Tape, report_of};

/// The verdict on a tape after a change, and all its reasons.
pub fn judge(change: impl FnOnce(&mut Tape)) -> (Verdict, String) {
    let mut tape = Tape::new(1);
    change(&mut tape);
    told(report_of(tape))
}

pub fn told(report: vufleet::analysis::Report) -> (Verdict, String) {
    let run = &report.runs[0];
    let reasons: Vec<String> = run.reasons.iter().map(ToString::to_string).collect();
    (run.verdict(), reasons.join("; "))
}

#[track_caller]
pub fn expect(found: (Verdict, String), verdict: Verdict, reasons: &str) {
    assert_eq!((found.0, found.1.as_str()), (verdict, reasons));
}
