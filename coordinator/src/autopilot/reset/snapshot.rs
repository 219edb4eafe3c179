//! Copies of the data's files, made and put back by the agent beside them.

use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::snapshot::Act;
use vufleet_proto::v1::{self, command, event};
use vufleet_scenarios::check::{self, AgentFacts, Answers, Finding, Severity};
use vufleet_scenarios::study::TargetKind;

use crate::autopilot::Halt;
use crate::autopilot::pilot::{Member, Pilot};
use crate::fleet::registry::{Agent, FleetEvent};
use crate::ledger::StudyState;

/// How long an agent may take beyond the limit, to start its server again and to say so.
const GRACE: Duration = Duration::from_secs(400);
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

/// Finds the agent and has it look.
pub(super) async fn look(pilot: &mut Pilot, answers: &Answers, agents: &[AgentFacts]) -> Result<Vec<Finding>, Halt> {
    let agent = match pilot.study.target.kind {
        TargetKind::Mysql => match check::snapshot_agent(answers, agents) {
            Ok(agent) => agent.name.clone(),
            // Found by the check already.
            Err(_) => return Ok(Vec::new()),
        },
        _ => pilot.spokesman()?,
    };
    pilot.resets.copied.agent = Some(agent.clone());
    let live = v1::Live { phase: "check".to_owned(), ..Default::default() };
    let told = match order(pilot, &agent, Act::Look, LOOK_PATIENCE, &live).await {
        Ok(told) => told,
        Err(Halt::Refused(why)) => return Ok(vec![fatal(&why)]),
        Err(halt) => return Err(halt),
    };
    let left = format!("an earlier study has left a copy of the data in {} of agent {agent}", told.place);
    let remedy = "the first reset puts the data back to it; remove it if the data has been built again since";
    Ok(told
        .found
        .then(|| Finding { severity: Severity::Note, what: left, remedy: remedy.to_owned() })
        .into_iter()
        .collect())
}

fn fatal(why: &str) -> Finding {
    let what = format!("the data cannot be copied: {why}");
    Finding { severity: Severity::Fatal, what, remedy: "mend that, or reset by another method".to_owned() }
}

/// Copies the data the first time, and puts it back every other time. A copy that an interrupted study has left is what that
/// study began with.
pub(super) async fn put_back(pilot: &mut Pilot, limit: Duration, live: &v1::Live) -> Result<(), Halt> {
    let live = &v1::Live { phase: "reset, copying files".to_owned(), ..live.clone() };
    let Some(agent) = pilot.resets.copied.agent.clone() else {
        return Err(Halt::Refused("no agent that copies the data is here any more".to_owned()));
    };
    if pilot.resets.copied.place.is_none() {
        let taken = order(pilot, &agent, Act::Take, limit, live).await?;
        pilot.resets.copied.place = Some(taken.place.clone());
        if !taken.found {
            return Ok(());
        }
        pilot
            .teller
            .note(format!("the data goes back to the copy that an interrupted study has left in {}", taken.place))
            .await;
    }
    order(pilot, &agent, Act::PutBack, limit, live).await.map(drop)
}

/// After a complete study the data is where it was before it, and no copy is left; else it may be gone on with.
pub(super) async fn end(pilot: &mut Pilot, limit: Duration, state: StudyState) {
    let (Some(agent), Some(place)) = (pilot.resets.copied.agent.clone(), pilot.resets.copied.place.take()) else {
        return;
    };
    if state != StudyState::Finished {
        let kept = format!(
            "the data as it was before this study stays in {place} of agent {agent}: the next `vufleet run` of the same data goes \
             back to it"
        );
        return pilot.teller.note(kept).await;
    }
    pilot.figures.clear();
    let live = v1::Live { phase: "last reset".to_owned(), ..Default::default() };
    if let Err(halt) = order(pilot, &agent, Act::End, limit, &live).await {
        let why = halt.message();
        pilot
            .teller
            .warn(format!(
                "the data was not put back to where it was before the study, its copy is left in {place}: {why}"
            ))
            .await;
    }
}

/// Has an agent do one thing with the copy. When the operator stops the job it is told to give up, and waited for.
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
    let (study, key) = (pilot.study.text.clone(), pilot.study.data_key());
    let limit_ns = limit.as_nanos() as u64;
    pilot.command(agent, command::Body::Snapshot(v1::Snapshot { id, act: act as i32, study, key, limit_ns }));
    let told = await_result(pilot, &member, id, limit + GRACE, live).await;
    pilot.core.registry.put_down(id);
    let told = told?;
    if told.error.is_empty() { Ok(told) } else { Err(Halt::Refused(format!("agent {agent}: {}", told.error))) }
}

async fn await_result(
    pilot: &mut Pilot,
    member: &Member,
    id: u64,
    patience: Duration,
    live: &v1::Live,
) -> Result<v1::SnapshotResult, Halt> {
    let begun = Instant::now();
    let mut last_at_work = begun;
    let mut cancelled = false;
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
