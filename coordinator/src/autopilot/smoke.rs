//! `vufleet run --smoke`: each transaction once, to see that it works before hours are spent on it.

use vufleet_proto::v1::event;
use vufleet_scenarios::plan::{self, PlannedRun};

use super::pilot::Pilot;
use super::reset::Ending;
use super::run::{Order, Trouble, fly};
use super::sequence::begin;
use super::{Halt, preflight, reset, undo};
use crate::ledger::{Ledger, LedgerError, RunId, StudyState};

/// One short run for each variant and profile.
pub(super) async fn run(pilot: &mut Pilot) -> Result<(), Halt> {
    preflight::clear(pilot, plan::duration(&pilot.study).at_least).await?;
    let study_id = begin(pilot, &format!("{}-smoke", pilot.study.name)).await?;
    let plan: Vec<PlannedRun> = plan::expand(&pilot.study).into_iter().filter(|run| run.repetition == 1).collect();
    let mut failures = 0;
    let mut halted = None;
    for (index, planned) in plan.iter().enumerate() {
        let planned = PlannedRun { number: index as u32 + 1, ..planned.clone() };
        let order = Order { study_id: &study_id, planned: &planned, attempt: 1, runs: plan.len() as u32, smoke: true };
        let flown = match undo::settle(pilot).await {
            Ok(()) => fly(pilot, &order).await,
            Err(halt) => Err(halt),
        };
        let (run, trouble) = match flown {
            Ok((_, Some(Trouble::Halt(halt)))) | Err(halt) => {
                halted = Some(halt);
                break;
            }
            Ok(flown) => flown,
        };
        let seen = pilot.core.record.with(move |ledger| Seen::of(ledger, run)).await?;
        let label = format!("{} {}", planned.variant, planned.profile);
        if let Some(trouble) = trouble {
            failures += 1;
            pilot.teller.warn(format!("{label}: {}", trouble.sentence())).await;
        } else if seen.ok == 0 || !seen.words.is_empty() {
            failures += 1;
            pilot.teller.warn(format!("{label}: {}", seen.complaint())).await;
        } else {
            pilot.teller.line(format!("{label}: ok, {} statements", seen.statements)).await;
        }
    }
    let state = if halted.is_some() { StudyState::Interrupted } else { StudyState::Finished };
    let at_ns = pilot.core.clock.now();
    pilot.core.record.with(move |ledger| ledger.set_study_state(&study_id, state, at_ns, "smoke test")).await?;
    pilot.finish_up();
    let settled = undo::settle(pilot).await;
    // Nobody goes on with a smoke test, however it has ended.
    let is_back = reset::end(pilot, if settled.is_ok() { Ending::PutBack } else { Ending::Keep }).await;
    match halted {
        Some(halt) => {
            if let Err(left_on) = settled {
                pilot.teller.warn(left_on.message()).await;
            }
            Err(halt)
        }
        None if settled.is_err() => settled,
        None if failures > 0 => {
            Err(Halt::Refused(format!("{failures} of {} smoke runs failed; mend the study or the schema", plan.len())))
        }
        None if !is_back => Err(Halt::Short("the data is not back where it was before the smoke test".to_owned())),
        None => Ok(()),
    }
}

/// What the one virtual user did.
#[derive(Debug, Default)]
struct Seen {
    ok: u64,
    statements: u64,
    words: Vec<String>,
}

impl Seen {
    fn of(ledger: &mut Ledger, run: RunId) -> Result<Seen, LedgerError> {
        let mut seen = Seen::default();
        ledger.each_event(run, &mut |recorded| match recorded.event.body {
            Some(event::Body::Interval(interval)) => {
                seen.ok += interval.kinds.iter().map(|kind| kind.ok + kind.rollback).sum::<u64>();
                seen.statements += interval.kinds.iter().map(|kind| kind.statements).sum::<u64>();
            }
            Some(event::Body::Notice(notice)) if notice.text.starts_with("first ") => seen.words.push(notice.text),
            _ => {}
        })?;
        Ok(seen)
    }

    fn complaint(&self) -> String {
        if self.words.is_empty() { "no transaction succeeded".to_owned() } else { self.words.join("; ") }
    }
}
