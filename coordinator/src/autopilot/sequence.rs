//! A whole study: every run of the plan, repeats of invalid ones, and the report; from its beginning, or from where an earlier
//! coordinator left it.

mod agenda;
pub(super) mod resume;
mod stages;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::job::OnAgentLoss;
use vufleet_scenarios::plan::{self, PlannedRun};
use vufleet_scenarios::study::{Repetitions, TargetKind};

use self::agenda::{Agenda, Past};
use self::resume::Resumed;
use super::pilot::{Ask, Pilot};
use super::reset::Ending;
use super::roster::{self, Roster};
use super::run::{Order, Trouble, fly, settings};
use super::teller::Teller;
use super::{Halt, preflight, reset, undo};
use crate::analysis::{self, Options, RunReport, verdict::Verdict};
use crate::ledger::{Ledger, LedgerError, RunId, StudyFacts, StudyId, StudyState};
use crate::render;

/// Width of the table: a terminal's usual one.
const TABLE_WIDTH: u16 = 120;
/// How long a database that does not answer is waited for before a run is repeated.
const DATABASE_PATIENCE: Duration = Duration::from_secs(120);

/// Why a study of which every run is there is not finished.
const NOT_BACK: &str = "every run was made, but the data is not back where it was before the study; `vufleet run --resume` tries \
                        once more";

/// `vufleet run`.
pub(super) async fn run(pilot: &mut Pilot, resumed: Option<Resumed>) -> Result<(), Halt> {
    let share = resumed.as_ref().map_or(1.0, Resumed::share_left);
    if let Some(resumed) = &resumed {
        reset::belong_to(pilot, &resumed.id).await?;
    }
    preflight::clear(pilot, plan::duration(&pilot.study).at_least.mul_f64(share)).await?;
    if pilot.observers().is_empty() {
        pilot
            .teller
            .warn("no observing agent takes part: the database host's CPU and the database's own counts will be missing; start one with --roles observe")
            .await;
    }
    let (study_id, past) = match resumed {
        Some(resumed) => take_up(pilot, resumed).await?,
        None => (begin(pilot, &pilot.study.name.clone()).await?, Past::default()),
    };
    let ended = fly_all(pilot, &study_id, &past).await;
    pilot.finish_up();
    let read = match ended {
        Ok(()) => settings::read_last(pilot, &study_id).await,
        Err(_) => Ok(()),
    };
    // A study is finished when its data is where it is to be: as long as it is not, the study can be gone on with.
    let settled = undo::settle(pilot).await;
    let ending = if ended.is_ok() && settled.is_ok() { Ending::PutBack } else { Ending::Keep };
    let is_back = reset::end(pilot, ending).await;
    let (state, message) = match &ended {
        Ok(()) if is_back => (StudyState::Finished, String::new()),
        Ok(()) => (StudyState::Failed, NOT_BACK.to_owned()),
        Err(Halt::Stopped) => (StudyState::Interrupted, pilot.who_stopped()),
        Err(halt @ (Halt::Refused(_) | Halt::Short(_))) => (StudyState::Failed, halt.message()),
    };
    let written = set_state(pilot, &study_id, state, message).await;
    let mut reported = report(pilot, &study_id).await;
    if let (Ok(()), Err(halt @ Halt::Short(_))) = (&ended, &reported)
        && let Err(unwritten) = set_state(pilot, &study_id, state, halt.message()).await
    {
        reported = Err(unwritten);
    }
    if let (Err(_), Err(left_on)) = (&ended, &settled) {
        pilot.teller.warn(left_on.message()).await;
    }
    if ended.is_err() || reported.is_err() || !is_back {
        let how = "with the --data or --coordinator of this one";
        pilot.teller.note(format!("to go on: vufleet run --resume {study_id} ({how})")).await;
    }
    // The first thing that went wrong is the one to tell.
    ended?;
    settled?;
    read?;
    written?;
    reported?;
    if is_back { Ok(()) } else { Err(Halt::Short(NOT_BACK.to_owned())) }
}

async fn set_state(pilot: &Pilot, study_id: &StudyId, state: StudyState, message: String) -> Result<(), Halt> {
    let (id, at_ns) = (study_id.clone(), pilot.core.clock.now());
    Ok(pilot.core.record.with(move |ledger| ledger.set_study_state(&id, state, at_ns, &message)).await?)
}

/// Takes a study of the ledger up again.
async fn take_up(pilot: &mut Pilot, resumed: Resumed) -> Result<(StudyId, Past), Halt> {
    let Resumed { id, past, .. } = &resumed;
    set_state(pilot, id, StudyState::Running, String::new()).await?;
    pilot.core.name_job(&id.0);
    pilot.teller.accepted(&id.0, &id.0).await;
    resumed.tell(pilot).await;
    Ok((id.clone(), past.clone()))
}

/// Enters the study into the ledger.
pub(super) async fn begin(pilot: &mut Pilot, name: &str) -> Result<StudyId, Halt> {
    let mut study = (*pilot.study).clone();
    name.clone_into(&mut study.name);
    let facts = StudyFacts { begun_ns: pilot.core.clock.now(), vufleet: env!("CARGO_PKG_VERSION").to_owned() };
    let study_id = pilot.core.record.with(move |ledger| ledger.begin_study(&study, &facts)).await?;
    pilot.core.name_job(&study_id.0);
    pilot.teller.accepted(&study_id.0, &study_id.0).await;
    reset::belong_to(pilot, &study_id).await?;
    Ok(study_id)
}

async fn fly_all(pilot: &mut Pilot, study_id: &StudyId, past: &Past) -> Result<(), Halt> {
    let schedule = &pilot.study.schedule;
    let repetitions = schedule.repetitions;
    let mut course = Course {
        study_id,
        agenda: Agenda::new(schedule.max_repeats, schedule.order, past),
        planned: 0,
        roster: Roster::of(pilot),
        tried: BTreeSet::new(),
    };
    match repetitions {
        Repetitions::Fixed(blocks) => course.fly(pilot, &plan::of_blocks(&pilot.study, blocks), past).await,
        Repetitions::Until(until) => {
            course.fly(pilot, &plan::pilot(&pilot.study, &until), past).await?;
            let plan = stages::decide(pilot, study_id, &until).await?;
            course.fly(pilot, &plan, past).await
        }
    }
}

/// A study on its way.
struct Course<'a> {
    study_id: &'a StudyId,
    agenda: Agenda,
    /// Runs of the whole plan, as far as it is known.
    planned: u32,
    roster: Roster,
    /// Variants that were tried.
    tried: BTreeSet<String>,
}

impl Course<'_> {
    /// Makes every run of a plan that is not there yet.
    async fn fly(&mut self, pilot: &mut Pilot, plan: &[PlannedRun], past: &Past) -> Result<(), Halt> {
        self.agenda.extend(plan, &past.counted);
        self.planned = plan.len() as u32;
        while let Some((planned, attempt)) = self.agenda.next() {
            pilot.core.progress.plan(self.planned, self.agenda.left() + 1);
            self.one(pilot, &planned, attempt).await?;
            pilot.core.progress.plan(self.planned, self.agenda.left());
        }
        Ok(())
    }

    async fn one(&mut self, pilot: &mut Pilot, planned: &PlannedRun, attempt: u32) -> Result<(), Halt> {
        self.roster.call(pilot).await?;
        undo::settle(pilot).await?;
        let first = self.tried.insert(planned.variant.clone());
        let order = Order { study_id: self.study_id, planned, attempt, runs: self.planned, smoke: false };
        let (run, trouble) = fly(pilot, &order).await?;
        let verdict = tell_verdict(pilot, planned, run).await?;
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
        let again = self.agenda.done(planned, keep);
        if !verdict {
            await_database(pilot).await?;
        }
        match again.as_slice() {
            [] => {}
            [_] if planned.is_switched() => pilot.teller.note(format!("{planned} runs again")).await,
            _ => {
                pilot.teller.note(format!("{} of repetition {} runs again", planned.profile, planned.repetition)).await;
            }
        }
        Ok(())
    }
}

/// Folds a run, says what became of it, and whether it counts.
async fn tell_verdict(pilot: &mut Pilot, planned: &PlannedRun, run: RunId) -> Result<bool, Halt> {
    let report = pilot.core.record.with(move |ledger| analysis::run(ledger, run)).await?;
    let verdict = report.verdict();
    pilot.core.progress.made(verdict);
    if verdict != Verdict::Valid {
        let withhold = pilot.study.report.relative_only && !pilot.job.absolute;
        let reasons = report.sentences(withhold).join("; ");
        pilot.teller.warn(format!("run {} ({planned}) is {}: {reasons}", planned.number, verdict.name())).await;
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

/// The table for the terminal and the files for `--out`. They are made by a reader of the ledger, beside whoever writes to it,
/// and sent piece by piece: those of a long study are larger than memory should be.
async fn report(pilot: &mut Pilot, study_id: &StudyId) -> Result<(), Halt> {
    let (id, absolute, data) = (study_id.0.clone(), pilot.job.absolute, pilot.core.options.data.clone());
    let teller = pilot.teller.clone();
    let made = tokio::task::spawn_blocking(move || make_report(&data, &id, Options { absolute }, &teller)).await;
    let (table, short) =
        made.map_err(|source| LedgerError::Died { what: "making the report".to_owned(), source })??;
    pilot.teller.line(table).await;
    if short.is_empty() {
        return Ok(());
    }
    Err(Halt::Short(format!("fewer valid runs than asked for: {}", short.join(", "))))
}

/// Sends the files; the table, and cells that are short of runs.
fn make_report(
    data: &Path,
    study_id: &str,
    options: Options,
    teller: &Teller,
) -> Result<(String, Vec<String>), LedgerError> {
    let ledger = Ledger::read_only(data)?;
    let report = analysis::brief(&ledger, study_id, options)?;
    let mut series = |told: &RunReport| analysis::run_of(&ledger, &report, told).map_err(io::Error::other);
    let sent = render::files(&report, &mut series, &mut |name: &str, bytes: &[u8]| {
        teller.output_from_thread(name, bytes.to_vec()).map_err(|gone| io::Error::new(io::ErrorKind::BrokenPipe, gone))
    });
    match sent {
        // Nobody is there to have them; `vufleet export` makes them again.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => tracing::debug!(%error, "no files"),
        Err(error) => {
            return Err(error.downcast::<LedgerError>().unwrap_or_else(|error| LedgerError::Damaged {
                path: ledger.path().to_owned(),
                what: error.to_string(),
            }));
        }
        Ok(()) => {}
    }
    Ok((render::text(&report, TABLE_WIDTH), report.short_cells()))
}
