//! Repetitions in two stages: what the pilot's runs decide. A pure function of the ledger, so that a study that goes on decides the same.

use std::collections::BTreeSet;

use vufleet_scenarios::plan::{self, PlannedRun};
use vufleet_scenarios::study::{Repetitions, Study, Until};

use super::resume::places;
use crate::analysis::{self, Options, Report};
use crate::autopilot::pilot::Pilot;
use crate::autopilot::{Halt, preflight};
use crate::ledger::StudyId;

/// What a pilot leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// So many blocks, the pilot's included.
    Blocks(u32),
    /// Runs of it are missing, so that it has nothing to say; the report tells which.
    Incomplete,
    /// All of its runs are there, and not all of them have the metric that decides.
    NoFigure,
}

impl Decision {
    fn of(study: &Study, until: &Until, report: &Report) -> Decision {
        if let Some(blocks) = analysis::blocks_needed(report) {
            return Decision::Blocks(blocks);
        }
        let counted: BTreeSet<_> = places(report).collect();
        let is_there = |run: &PlannedRun| counted.contains(&(&run.variant, &run.profile, run.repetition));
        match plan::pilot(study, until).iter().all(is_there) {
            true => Decision::NoFigure,
            false => Decision::Incomplete,
        }
    }
}

/// The runs that are planned, as far as that is decided. A report that is for telling may withhold what decides.
pub(super) fn plan_so_far(study: &Study, report: &Report) -> Vec<PlannedRun> {
    match study.schedule.repetitions {
        Repetitions::Fixed(blocks) => plan::of_blocks(study, blocks),
        Repetitions::Until(until) => match Decision::of(study, &until, report) {
            Decision::Blocks(blocks) => plan::of_blocks(study, blocks),
            Decision::NoFigure => plan::of_blocks(study, until.min),
            Decision::Incomplete => plan::pilot(study, &until),
        },
    }
}

/// The plan that the pilot decides on, and word of it. This is looked at once: an interval that is looked at until it seems narrow holds
/// the truth too rarely.
pub(super) async fn decide(pilot: &Pilot, study_id: &StudyId, until: &Until) -> Result<Vec<PlannedRun>, Halt> {
    let id = study_id.0.clone();
    // For deciding: what is told of it is relative.
    let report = pilot.core.record.with(move |ledger| analysis::brief(ledger, &id, Options { absolute: true })).await?;
    match Decision::of(&pilot.study, until, &report) {
        Decision::Blocks(blocks) => {
            tell(pilot, until, blocks, &report).await;
            let per_block = plan::duration(&pilot.study).at_least / until.min;
            preflight::room(pilot, per_block * blocks.saturating_sub(until.min)).await?;
        }
        Decision::Incomplete => {
            let sentence = format!("runs of the pilot's {} blocks are missing: no blocks are added to it", until.min);
            pilot.teller.warn(sentence).await;
        }
        Decision::NoFigure => {
            let metric = until.metric;
            let sentence = format!(
                "not every run of the pilot has {metric}, so that no blocks are added to it; is an agent with the role \
                 observe at the database? Otherwise name another metric in schedule.repetitions"
            );
            pilot.teller.warn(sentence).await;
        }
    }
    Ok(plan_so_far(&pilot.study, &report))
}

async fn tell(pilot: &Pilot, until: &Until, blocks: u32, report: &Report) {
    let told = report.until.as_ref();
    let varies = told.and_then(|told| told.sd_percent);
    let varies = varies.map_or(String::new(), |percent| format!(": {} varies by {percent:.1} %", until.metric));
    pilot.teller.note(format!("pilot of {} blocks{varies}, {blocks} blocks in all", until.min)).await;
    if let Some(needed) = told.filter(|told| told.is_cut()).and_then(|told| told.needed) {
        let Until { max, percent, .. } = until;
        let sentence = format!(
            "an interval of \u{b1}{percent} % takes {needed} blocks, and max is {max}: it will be wider than that"
        );
        pilot.teller.warn(sentence).await;
    }
}
