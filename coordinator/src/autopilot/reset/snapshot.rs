//! Copies of the data's files, made and put back by the agent beside them. A copy is of the study that made it: another one neither
//! goes back to it nor takes it away, and is refused where one is found.

use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::snapshot::Act;
use vufleet_proto::v1::{self, command, event};
use vufleet_scenarios::check::{self, AgentFacts, Answers, Finding, Severity};
use vufleet_scenarios::study::TargetKind;

use crate::autopilot::Halt;
use crate::autopilot::pilot::{Member, Pilot};
use crate::fleet::registry::{Agent, FleetEvent};

/// How long an agent may take beyond the limit, to wait for its server's end, to start it again and to say so.
const GRACE: Duration = Duration::from_secs(900);
const LOOK_PATIENCE: Duration = Duration::from_secs(60);
const ROUND: Duration = Duration::from_millis(200);
/// How long an agent may be here without saying that it is at work on it: it says so with every heartbeat.
const UNHEARD: Duration = Duration::from_secs(15);

/// The copy that the data goes back to.
#[derive(Debug, Default)]
pub(in crate::autopilot) struct Copied {
    /// Who makes it.
    agent: Option<String>,
    /// Where it lies there, once it is made.
    place: Option<String>,
}

/// What is to become of the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::autopilot) enum Ending {
    /// Nobody needs it any more: it is put back for good.
    PutBack,
    /// The study may be gone on with.
    Keep,
}

/// Finds the agent and has it look.
pub(super) async fn look(pilot: &mut Pilot, answers: &Answers, agents: &[AgentFacts]) -> Result<Vec<Finding>, Halt> {
    let agent = match pilot.study.target.kind {
        TargetKind::Mysql => match check::snapshot_agent(answers, agents) {
            Ok(agent) => agent.name.clone(),
            // Found by the check already.
            Err(_) => return Ok(Vec::new()),
        },
        _ => pilot.changer()?,
    };
    pilot.resets.copied.agent = Some(agent.clone());
    let live = v1::Live { phase: "check".to_owned(), ..Default::default() };
    let told = match order(pilot, &agent, Act::Look, LOOK_PATIENCE, &live).await {
        Ok(told) => told,
        Err(Halt::Refused(why)) => return Ok(vec![fatal(&why)]),
        Err(halt) => return Err(halt),
    };
    if told.found {
        let back =
            format!("the data goes back to the copy that this study has left in {} of agent {agent}", told.place);
        pilot.resets.copied.place = Some(told.place);
        pilot.teller.note(back).await;
    }
    Ok(told.others.iter().map(|other| left_behind(&agent, other)).collect())
}

fn left_behind(agent: &str, other: &v1::Leftover) -> Finding {
    let study = other.maker.rsplit_once('.').map_or(other.maker.as_str(), |(id, _)| id);
    let (place, age) = (&other.place, spoken(Duration::from_nanos(other.age_ns)));
    Finding {
        severity: Severity::Fatal,
        what: format!("study {study} has left a copy of this data in {place} of agent {agent}, made {age} ago"),
        remedy: format!(
            "go on with `vufleet run --resume {study}`, which puts the data back to it, put it in the place of the data yourself, or \
             remove it where the data as it is now is what you want"
        ),
    }
}

/// In the largest unit that says something.
fn spoken(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

fn fatal(why: &str) -> Finding {
    let what = format!("the data cannot be copied: {why}");
    Finding { severity: Severity::Fatal, what, remedy: "mend that, or reset by another method".to_owned() }
}

/// Copies the data the first time, and puts it back every other time: the first time too where the study's own copy is there.
pub(super) async fn put_back(pilot: &mut Pilot, limit: Duration, live: &v1::Live) -> Result<(), Halt> {
    let live = &v1::Live { phase: "reset, copying files".to_owned(), ..live.clone() };
    let Some(agent) = pilot.resets.copied.agent.clone() else {
        return Err(Halt::Refused("no agent that copies the data is here any more".to_owned()));
    };
    if pilot.resets.copied.place.is_none() {
        let taken = order(pilot, &agent, Act::Take, limit, live).await?;
        pilot.resets.copied.place = Some(taken.place);
        if !taken.found {
            return Ok(());
        }
    }
    order(pilot, &agent, Act::PutBack, limit, live).await.map(drop)
}

/// After a complete study the data is where it was before it, and no copy is left; else it may be gone on with. Returns whether
/// that is so, or there was nothing to do.
pub(super) async fn end(pilot: &mut Pilot, limit: Duration, ending: Ending) -> bool {
    let (Some(agent), Some(place)) = (pilot.resets.copied.agent.clone(), pilot.resets.copied.place.take()) else {
        return true;
    };
    if ending == Ending::Keep {
        let kept = format!(
            "the data as it was before this study stays in {place} of agent {agent}: only this study goes back to it, with --resume"
        );
        pilot.teller.note(kept).await;
        return false;
    }
    pilot.figures.clear();
    let _words = pilot.see_through("the last reset, which puts the data back for good, is waited for".to_owned());
    let live = v1::Live { phase: "last reset".to_owned(), ..Default::default() };
    let Err(halt) = order(pilot, &agent, Act::End, limit, &live).await else { return true };
    let why = halt.message();
    let left = format!(
        "the last reset failed; where {place} is still there, it is the data as it was before the study: {why}"
    );
    pilot.teller.warn(left).await;
    false
}

/// Has an agent do one thing with the copy. When the operator stops the job it is told to give up, but for the last thing, and waited
/// for.
async fn order(
    pilot: &mut Pilot,
    agent: &str,
    act: Act,
    limit: Duration,
    live: &v1::Live,
) -> Result<v1::SnapshotResult, Halt> {
    let here = pilot.core.registry.agent(agent).filter(|agent| agent.connected);
    let Some(member) = here.map(|agent| Member::from(&agent)) else {
        return Err(Halt::Refused(format!("agent {agent}, which copies the data, is not here")));
    };
    let id = pilot.question();
    pilot.core.registry.take_up(id);
    let (study, maker) = (pilot.study.text.clone(), pilot.resets.maker.clone());
    let limit_ns = limit.as_nanos() as u64;
    pilot.command(agent, command::Body::Snapshot(v1::Snapshot { id, act: act as i32, study, maker, limit_ns }));
    let told = await_result(pilot, &member, (id, act), limit + GRACE, live).await;
    pilot.core.registry.put_down(id);
    let told = told?;
    if told.error.is_empty() { Ok(told) } else { Err(Halt::Refused(format!("agent {agent}: {}", told.error))) }
}

async fn await_result(
    pilot: &mut Pilot,
    member: &Member,
    (id, act): (u64, Act),
    patience: Duration,
    live: &v1::Live,
) -> Result<v1::SnapshotResult, Halt> {
    let begun = Instant::now();
    let mut last_at_work = begun;
    // What is put back for good has nobody left who could go on with it.
    let mut cancelled = act == Act::End;
    while begun.elapsed() < patience {
        if pilot.is_stopped() && !cancelled {
            cancelled = true;
            pilot.command(&member.name, command::Body::Cancel(v1::Cancel { run: id }));
        }
        let what = format!("{}, {} s so far", live.what, begun.elapsed().as_secs());
        pilot.show(v1::Live { what: what.trim_start_matches(", ").to_owned(), ..live.clone() });
        if let Some(FleetEvent::Event { event, .. }) = pilot.next(Instant::now() + ROUND).await?
            && let Some(event::Body::Snapshot(result)) = event.body
            && result.id == id
        {
            return Ok(result);
        }
        if let Some((_, reason)) = pilot.absent(std::slice::from_ref(member)) {
            return Err(Halt::Refused(format!("agent {} was lost while it copied the data: {reason}", member.name)));
        }
        let at_work = |agent: Agent| !agent.connected || agent.heartbeat.jobs.contains(&id);
        if pilot.core.registry.agent(&member.name).is_some_and(at_work) {
            last_at_work = Instant::now();
        }
        if last_at_work.elapsed() > UNHEARD {
            break;
        }
    }
    Err(Halt::Refused(format!(
        "agent {} did not say what became of the copy of the data; look at its log",
        member.name
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_another_study_is_told_with_its_age_and_how_to_go_on() {
        let other = v1::Leftover {
            place: "/db.vufleet-snapshot-20261130-2107-audit.0badcafe".to_owned(),
            maker: "20261130-2107-audit.0badcafe".to_owned(),
            age_ns: 3 * 3_600 * 1_000_000_000,
        };
        let found = left_behind("db-1", &other);
        assert_eq!(found.severity, Severity::Fatal);
        let told = found.to_string();
        assert!(told.contains("study 20261130-2107-audit has left") && told.contains("made 3 h ago"), "{told}");
        assert!(told.contains(&other.place) && told.contains("--resume 20261130-2107-audit`"), "{told}");
    }
}
