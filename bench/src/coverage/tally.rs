//! How often reports are right.

use vufleet::analysis::statistics::Percent;
use vufleet::analysis::{Conclusion, Metric, Report};

use super::Model;
use super::model::EFFECTS;

/// Counts over many studies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Studies.
    pub studies: u64,
    blocks: u64,
    /// By effect: comparisons, and those whose interval holds the truth.
    comparisons: [u64; EFFECTS.len()],
    held: [u64; EFFECTS.len()],
    /// Comparisons without an effect whose p is below 0.05 before correction.
    found_in_nothing: u64,
    /// Studies whose interval of the drift from block to block holds the truth.
    drift_held: u64,
    /// Studies that conclude something false, after correction.
    false_studies: u64,
}

impl Tally {
    /// Looks at a report whose truth is that of the model.
    pub fn count(&mut self, model: &Model, report: &Report) {
        assert!(report.short_cells().is_empty(), "every run of the model counts: {:?}", report.short_cells());
        let mut is_false = false;
        for cell in report.cells.iter().filter(|cell| cell.variant != report.baseline) {
            let change = cell.change.get(Metric::Tps).expect("every cell is compared");
            let truth = 100.0 * model.effect(&cell.variant);
            let which = EFFECTS.iter().position(|(name, _)| *name == cell.variant).expect("variants are the model's");
            self.comparisons[which] += 1;
            self.held[which] += u64::from(holds(&change.change, truth));
            self.found_in_nothing += u64::from(truth == 0.0 && change.p < 0.05);
            is_false |= match change.conclusion {
                Conclusion::Higher => truth <= 0.0,
                Conclusion::Lower => truth >= 0.0,
                Conclusion::NoDifferenceShown => false,
            };
        }
        self.studies += 1;
        self.blocks += report.cells[0].n as u64;
        let drift = report.block_drift.iter().find(|drift| drift.metric == Metric::Tps).expect("every block is whole");
        self.drift_held += u64::from(holds(&drift.per_block, model.drift_percent()));
        self.false_studies += u64::from(is_false);
    }

    /// Adds the counts of others.
    pub fn add(&mut self, other: &Tally) {
        self.studies += other.studies;
        self.blocks += other.blocks;
        self.found_in_nothing += other.found_in_nothing;
        self.drift_held += other.drift_held;
        self.false_studies += other.false_studies;
        for which in 0..EFFECTS.len() {
            self.comparisons[which] += other.comparisons[which];
            self.held[which] += other.held[which];
        }
    }

    /// By effect, the share of the intervals that hold the truth.
    pub fn coverage(&self) -> [f64; EFFECTS.len()] {
        std::array::from_fn(|which| share(self.held[which], self.comparisons[which]))
    }

    /// Of the comparisons without an effect, the share with p < 0.05 before correction.
    pub fn false_p(&self) -> f64 {
        let nothing = EFFECTS.iter().zip(self.comparisons).filter(|((_, effect), _)| *effect == 0.0);
        share(self.found_in_nothing, nothing.map(|(_, count)| count).sum())
    }

    /// The share of the studies whose interval of the drift holds the truth.
    pub fn drift_held(&self) -> f64 {
        share(self.drift_held, self.studies)
    }

    /// The share of the studies that conclude something false.
    pub fn false_studies(&self) -> f64 {
        share(self.false_studies, self.studies)
    }

    /// Blocks that a study took.
    pub fn mean_blocks(&self) -> f64 {
        share(self.blocks, self.studies)
    }
}

fn holds(change: &Percent, truth: f64) -> bool {
    (change.ci[0]..=change.ci[1]).contains(&truth)
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
