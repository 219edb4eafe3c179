//! A whole study: every run of the plan, repeats of invalid ones, and the report.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::job::OnAgentLoss;
use vufleet_scenarios::plan::{self, PlannedRun};
use vufleet_scenarios::study::{Order as RunOrder, TargetKind};

use super::pilot::{Ask, Pilot};
use super::roster::{self, Roster};
use super::run::{Order, Trouble, fly};
use super::{Halt, preflight, reset, undo};
use crate::analysis::{self, verdict::Verdict};
use crate::ledger::{RunId, StudyFacts, StudyId, StudyState};
use crate::render;

/// Width of the table: a terminal's usual one.
const TABLE_WIDTH: u16 = 120;
/// How long a database that does not answer is waited for before a run is repeated.
const DATABASE_PATIENCE: Duration = Duration::from_secs(120);

/// `vufleet run`.
pub(super) async fn run(pilot: &mut Pilot) -> Result<(), Halt> {
    preflight::clear(pilot).await?;
    if pilot.observers().is_empty() {
        pilot
            .teller
            .warn("no observing agent takes part: the database host's CPU and the database's own counts will be missing; start one with --roles observe")
            .await;
    }
    let study_id = begin(pilot, &pilot.study.name.clone()).await?;
    let ended = fly_all(pilot, &study_id).await;
    pilot.finish_up();
    let (state, message) = match &ended {
        Ok(()) | Err(Halt::Short(_)) => (StudyState::Finished, String::new()),
        Err(Halt::Stopped) => (StudyState::Interrupted, Halt::Stopped.message()),
        Err(halt @ Halt::Refused(_)) => (StudyState::Failed, halt.message()),
    };
    let (id, at_ns) = (study_id.clone(), pilot.core.clock.now());
    let written = pilot.core.record.with(move |ledger| ledger.set_study_state(&id, state, at_ns, &message)).await;
    let reported = report(pilot, &study_id).await;
    let settled = undo::settle(pilot).await;
    reset::end(pilot, if settled.is_ok() { state } else { StudyState::Failed }).await;
    if let (Err(_), Err(left_on)) = (&ended, &settled) {
        pilot.teller.warn(left_on.message()).await;
    }
    // The first thing that went wrong is the one to tell.
    ended?;
    settled?;
    written?;
    reported
}

/// Enters the study into the ledger.
pub(super) async fn begin(pilot: &mut Pilot, name: &str) -> Result<StudyId, Halt> {
    let mut study = (*pilot.study).clone();
    name.clone_into(&mut study.name);
    let facts = StudyFacts { begun_ns: pilot.core.clock.now(), vufleet: env!("CARGO_PKG_VERSION").to_owned() };
    let study_id = pilot.core.record.with(move |ledger| ledger.begin_study(&study, &facts)).await?;
    pilot.core.name_job(&study_id.0);
    pilot.teller.accepted(&study_id.0, &study_id.0).await;
    Ok(study_id)
}

/// The plan as it is worked off: what is left, and what each group needs again.
struct Agenda {
    left: VecDeque<PlannedRun>,
    plan: Vec<PlannedRun>,
    /// Attempts at each run of the plan, by its number.
    attempts: BTreeMap<u32, u32>,
    /// Numbers of runs whose last attempt was invalid.
    invalid: Vec<u32>,
    max_repeats: u32,
    by_group: bool,
}

impl Agenda {
    fn new(plan: Vec<PlannedRun>, max_repeats: u32, order: RunOrder) -> Self {
        let left = plan.iter().cloned().collect();
        Agenda {
            left,
            plan,
            attempts: BTreeMap::new(),
            invalid: Vec::new(),
            max_repeats,
            by_group: order == RunOrder::Blocks,
        }
    }

    fn next(&mut self) -> Option<(PlannedRun, u32)> {
        let run = self.left.pop_front()?;
        let attempt = self.attempts.entry(run.number).or_insert(0);
        *attempt += 1;
        let attempt = *attempt;
        self.invalid.retain(|number| *number != run.number);
        Some((run, attempt))
    }

    /// Notes how a run ended. Its group is run again, once its last member is through and if the bound allows it.
    /// Returns the runs that were put back.
    fn done(&mut self, run: &PlannedRun, valid: bool) -> Vec<PlannedRun> {
        if !valid {
            self.invalid.push(run.number);
        }
        let members: Vec<PlannedRun> = if self.by_group {
            let same = |other: &&PlannedRun| plan::group(other) == plan::group(run);
            self.plan.iter().filter(same).cloned().collect()
        } else {
            vec![run.clone()]
        };
        let under_way = members.iter().any(|member| self.left.contains(member));
        let failed = members.iter().any(|member| self.invalid.contains(&member.number));
        let exhausted = self.attempts.get(&run.number).is_some_and(|attempts| *attempts > self.max_repeats);
        if under_way || !failed || exhausted {
            return Vec::new();
        }
        for member in members.iter().rev() {
            self.left.push_front(member.clone());
        }
        members
    }
}

async fn fly_all(pilot: &mut Pilot, study_id: &StudyId) -> Result<(), Halt> {
    let schedule = &pilot.study.schedule;
    let mut agenda = Agenda::new(plan::expand(&pilot.study), schedule.max_repeats, schedule.order);
    let runs = agenda.plan.len() as u32;
    let mut roster = Roster::of(pilot);
    let mut tried: BTreeSet<String> = BTreeSet::new();
    while let Some((planned, attempt)) = agenda.next() {
        roster.call(pilot).await?;
        undo::settle(pilot).await?;
        let first = tried.insert(planned.variant.clone());
        let order = Order { study_id, planned: &planned, attempt, runs, smoke: false };
        let (run, trouble) = fly(pilot, &order).await?;
        let verdict = tell_verdict(pilot, &planned, run).await?;
        let lost = match trouble {
            None => None,
            Some(Trouble::Halt(halt)) => return Err(halt),
            // A login that is refused at the very first attempt will be refused again, and so will be a variant.
            Some(trouble @ Trouble::Failed { refused: true, .. }) if first => {
                return Err(Halt::Refused(trouble.sentence()));
            }
            Some(Trouble::AgentLost { agent, .. }) => Some(agent),
            Some(Trouble::Failed { .. } | Trouble::WrongState { .. }) => None,
        };
        let keep = verdict || (lost.is_some() && pilot.job.on_agent_loss() == OnAgentLoss::Continue);
        if let Some(agent) = lost.as_ref().filter(|_| pilot.job.on_agent_loss() == OnAgentLoss::Stop) {
            return Err(roster::stopped(agent));
        }
        let again = agenda.done(&planned, keep);
        if !verdict {
            await_database(pilot).await?;
        }
        if !again.is_empty() {
            pilot.teller.note(format!("{} of repetition {} runs again", planned.profile, planned.repetition)).await;
        }
    }
    Ok(())
}

/// Folds a run, says what became of it, and whether it counts.
async fn tell_verdict(pilot: &mut Pilot, planned: &PlannedRun, run: RunId) -> Result<bool, Halt> {
    let report = pilot.core.record.with(move |ledger| analysis::run(ledger, run)).await?;
    let verdict = report.verdict();
    if verdict != Verdict::Valid {
        let withhold = pilot.study.report.relative_only && !pilot.job.absolute;
        let reasons = report.sentences(withhold).join("; ");
        pilot
            .teller
            .warn(format!(
                "run {} ({} {} repetition {}) is {}: {reasons}",
                planned.number,
                planned.variant,
                planned.profile,
                planned.repetition,
                verdict.name()
            ))
            .await;
    }
    Ok(verdict != Verdict::Invalid)
}

/// Gives a database that was lost time to come back.
async fn await_database(pilot: &mut Pilot) -> Result<(), Halt> {
    if pilot.study.target.kind == TargetKind::Simulated {
        return Ok(());
    }
    let deadline = Instant::now() + DATABASE_PATIENCE;
    let mut told = false;
    loop {
        let agent = pilot.spokesman()?;
        match pilot.ask(&agent, Ask::target(vec!["SELECT 1".to_owned()])).await {
            Ok(result) if result.error.is_empty() => return Ok(()),
            Err(Halt::Stopped) => return Err(Halt::Stopped),
            Ok(v1_result) if Instant::now() >= deadline => {
                return Err(Halt::Short(format!(
                    "the database did not come back within {} s: {}",
                    DATABASE_PATIENCE.as_secs(),
                    v1_result.error
                )));
            }
            Err(halt) if Instant::now() >= deadline => return Err(halt),
            Ok(_) | Err(_) => {}
        }
        if !told {
            told = true;
            pilot.teller.note("waiting for the database to come back").await;
        }
        pilot.rest(Duration::from_secs(1)).await?;
    }
}

/// The table for the terminal and the files for `--out`.
async fn report(pilot: &mut Pilot, study_id: &StudyId) -> Result<(), Halt> {
    let (id, absolute) = (study_id.0.clone(), pilot.job.absolute);
    let (table, short, files) = pilot
        .core
        .record
        .with(move |ledger| {
            let report = analysis::report(ledger, &id, analysis::Options { absolute })?;
            let mut files: Vec<(String, Vec<u8>)> = Vec::new();
            render::files(&report, &mut |name: &str, bytes: &[u8]| {
                files.push((name.to_owned(), bytes.to_vec()));
                Ok(())
            })
            .expect("a vector takes every byte");
            Ok((render::text(&report, TABLE_WIDTH), report.short_cells(), files))
        })
        .await?;
    for (name, data) in files {
        pilot.teller.output(&name, data).await;
    }
    pilot.teller.line(table).await;
    if short.is_empty() {
        return Ok(());
    }
    Err(Halt::Short(format!("fewer valid runs than asked for: {}", short.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(number: u32, variant: &str, repetition: u32) -> PlannedRun {
        PlannedRun { number, variant: variant.to_owned(), profile: "4vu".to_owned(), repetition }
    }

    fn drain(agenda: &mut Agenda, mut valid: impl FnMut(u32, u32) -> bool) -> Vec<(u32, u32)> {
        let mut flown = Vec::new();
        while let Some((run, attempt)) = agenda.next() {
            flown.push((run.number, attempt));
            agenda.done(&run, valid(run.number, attempt));
        }
        flown
    }

    fn two_by_two() -> Vec<PlannedRun> {
        vec![planned(1, "a", 1), planned(2, "b", 1), planned(3, "b", 2), planned(4, "a", 2)]
    }

    #[test]
    fn valid_runs_are_made_once() {
        let mut agenda = Agenda::new(two_by_two(), 3, RunOrder::Blocks);
        assert_eq!(drain(&mut agenda, |_, _| true), [(1, 1), (2, 1), (3, 1), (4, 1)]);
    }

    #[test]
    fn an_invalid_run_repeats_its_whole_group_after_it() {
        let mut agenda = Agenda::new(two_by_two(), 3, RunOrder::Blocks);
        let flown = drain(&mut agenda, |number, attempt| !(number == 1 && attempt == 1));
        assert_eq!(flown, [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (4, 1)]);
    }

    #[test]
    fn grouped_order_repeats_the_run_alone() {
        let mut agenda = Agenda::new(two_by_two(), 3, RunOrder::Grouped);
        let flown = drain(&mut agenda, |number, attempt| !(number == 1 && attempt == 1));
        assert_eq!(flown, [(1, 1), (1, 2), (2, 1), (3, 1), (4, 1)]);
    }

    #[test]
    fn repeats_are_bounded() {
        let mut agenda = Agenda::new(two_by_two()[..2].to_vec(), 2, RunOrder::Blocks);
        let flown = drain(&mut agenda, |_, _| false);
        assert_eq!(flown, [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)]);
    }
}
