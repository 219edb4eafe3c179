//! A study that goes on: what the ledger has of it, whether it is the one that was sent, and what is different now.

use std::collections::BTreeMap;

use vufleet_proto::v1;
use vufleet_scenarios::plan::PlannedRun;
use vufleet_scenarios::study::Study;

use super::agenda::Past;
use super::stages::plan_so_far;
use crate::allocation::{self, Candidate};
use crate::analysis::{self, Options, Report, verdict::Verdict};
use crate::autopilot::Halt;
use crate::autopilot::pilot::Pilot;
use crate::fleet::Core;
use crate::ledger::{DrivingAgent, Ledger, LedgerError, RunRecord, StudyId, StudyRecord, StudyState};

/// A study of the ledger that is to go on.
#[derive(Debug)]
pub(in crate::autopilot) struct Resumed {
    pub(super) id: StudyId,
    pub(super) past: Past,
    /// Of the runs that are planned so far, those that are still to be made.
    pub(super) left: usize,
    planned: usize,
    vufleet: String,
    /// Its last run with a load, and who drove it.
    drove: Option<(PlannedRun, Vec<DrivingAgent>)>,
}

/// Finds the study that a job goes on with; none where it begins a new one.
///
/// # Errors
/// When the ledger has no such study, or another text of it, or all of its runs.
pub(in crate::autopilot) async fn find(core: &Core, job: &v1::Job, study: &Study) -> Result<Option<Resumed>, Halt> {
    if job.resume.is_empty() {
        return Ok(None);
    }
    let wanted = job.resume.clone();
    let (record, runs, report) = core.record.with(move |ledger| recall(ledger, &wanted)).await?;
    refuse_another(&record, study)?;
    let planned = plan_so_far(study, &report);
    let attempts = runs.iter().map(|run| {
        let PlannedRun { variant, profile, repetition, .. } = &run.planned;
        ((variant.as_str(), profile.as_str(), *repetition), run.attempt)
    });
    let past = past(&planned, attempts, places(&report));
    let left = planned.iter().filter(|run| !past.counted.contains(&run.number)).count();
    if left == 0 && record.state == StudyState::Finished {
        let id = &record.id;
        return Err(Halt::Refused(format!(
            "study {id} is finished, and each of its {} runs counts; `vufleet report {id}` prints what they say",
            planned.len()
        )));
    }
    let drove = runs.into_iter().rev().find_map(|run| {
        let facts = run.facts.filter(|facts| facts.start_at_ns.is_some())?;
        Some((run.planned, facts.driving))
    });
    let vufleet = record.facts.vufleet;
    Ok(Some(Resumed { id: record.id, past, left, planned: planned.len(), vufleet, drove }))
}

fn recall(ledger: &mut Ledger, wanted: &str) -> Result<(StudyRecord, Vec<RunRecord>, Report), LedgerError> {
    let record = ledger.study(wanted)?;
    let runs = ledger.runs(&record.id)?;
    // For deciding: nothing of it is told.
    let report = analysis::brief(ledger, &record.id.0, Options { absolute: true })?;
    Ok((record, runs, report))
}

fn refuse_another(record: &StudyRecord, study: &Study) -> Result<(), Halt> {
    let id = &record.id;
    if record.name != study.name {
        return Err(Halt::Refused(format!(
            "study {id} is a smoke test, of which nothing is left to do; run the study itself without --resume"
        )));
    }
    if record.digest != study.digest {
        return Err(Halt::Refused(format!(
            "the study that was sent is not the one that study {id} of this ledger was begun with; leave the study file out"
        )));
    }
    Ok(())
}

/// Where a run belongs: variant, profile and repetition. Numbers are those of one version's order.
type Place<'a> = (&'a str, &'a str, u32);

/// Of each run that counts.
pub(super) fn places(report: &Report) -> impl Iterator<Item = Place<'_>> {
    let counted = report.runs.iter().filter(|run| run.verdict() != Verdict::Invalid && !run.superseded);
    counted.map(|run| (run.variant.as_str(), run.profile.as_str(), run.repetition))
}

/// What the ledger has of the runs of a plan: every attempt, and those that count.
fn past<'a>(
    plan: &[PlannedRun],
    attempts: impl Iterator<Item = (Place<'a>, u32)>,
    counted: impl Iterator<Item = Place<'a>>,
) -> Past {
    let place = |run: &PlannedRun| (run.variant.clone(), run.profile.clone(), run.repetition);
    let numbers: BTreeMap<(String, String, u32), u32> = plan.iter().map(|run| (place(run), run.number)).collect();
    let number = |(variant, profile, repetition): Place<'_>| {
        numbers.get(&(variant.to_owned(), profile.to_owned(), repetition)).copied()
    };
    let mut past = Past::default();
    for (place, attempt) in attempts {
        if let Some(number) = number(place) {
            let most = past.attempts.entry(number).or_insert(0);
            *most = attempt.max(*most);
        }
    }
    past.counted = counted.filter_map(number).collect();
    past
}

impl Resumed {
    /// What part of the study is still to be made, as far as it is planned.
    pub(super) fn share_left(&self) -> f64 {
        self.left as f64 / self.planned.max(1) as f64
    }

    /// Tells the operator what goes on, and what of it may not compare with what was measured before.
    pub(super) async fn tell(&self, pilot: &Pilot) {
        let (done, planned) = (self.planned - self.left, self.planned);
        pilot.teller.note(format!("study {} goes on: {done} of {planned} runs are there", self.id)).await;
        let own = env!("CARGO_PKG_VERSION");
        if self.vufleet != own {
            let sentence = format!("it was begun with vufleet {}, and this is {own}", self.vufleet);
            pilot.teller.warn(sentence).await;
        }
        if let Some(difference) = self.fleet_differs(pilot) {
            let sentence =
                format!("{difference}; runs of different fleets do not compare: the same fleet as before is better");
            pilot.teller.warn(sentence).await;
        }
    }

    /// How the load would be shared out now, where that is otherwise than it was.
    fn fleet_differs(&self, pilot: &Pilot) -> Option<String> {
        let (run, before) = self.drove.as_ref()?;
        let profile = pilot.study.profile(&run.profile)?;
        let drivers = pilot.drivers();
        let candidates: Vec<Candidate> = drivers.iter().map(Candidate::from).collect();
        let neighbourhoods = profile.workload.neighbourhoods(profile.vus);
        let now = allocation::virtual_users(profile.vus, &neighbourhoods, &candidates, pilot.study.fleet.share);
        let now = shares(now.iter().map(|share| (share.name.as_str(), share.count)));
        let before = shares(before.iter().map(|agent| (agent.name.as_str(), agent.vus)));
        (now != before)
            .then(|| format!("the virtual users of {} were shared out as {before} and are now as {now}", run.profile))
    }
}

/// "load-1 8, load-2 8"
fn shares<'a>(of: impl Iterator<Item = (&'a str, u32)>) -> String {
    let mut all: Vec<String> = of.map(|(name, vus)| format!("{name} {vus}")).collect();
    all.sort();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(number: u32, variant: &str, repetition: u32) -> PlannedRun {
        PlannedRun { number, variant: variant.to_owned(), profile: "4vu".to_owned(), repetition }
    }

    #[test]
    fn runs_are_known_by_their_place_and_not_by_another_versions_number() {
        let plan = [planned(1, "b", 1), planned(2, "a", 1), planned(3, "a", 0)];
        let attempts = [(("a", "4vu", 1), 1), (("b", "4vu", 1), 2), (("b", "4vu", 1), 1), (("c", "4vu", 1), 1)];
        let counted = [("a", "4vu", 1), ("a", "4vu", 0), ("a", "8vu", 1)];
        let past = past(&plan, attempts.into_iter(), counted.into_iter());
        assert_eq!(past, Past { attempts: [(1, 2), (2, 1)].into(), counted: [2, 3].into() });
    }

    #[test]
    fn shares_are_told_alike_whoever_comes_first() {
        assert_eq!(shares([("load-2", 3), ("load-1", 5)].into_iter()), "load-1 5, load-2 3");
        assert_eq!(shares(std::iter::empty()), "");
    }
}
