//! One run: prepare, connect, ramp up, measure, stop, settle. Everything that happens is recorded; the window is chosen
//! afterwards, by whoever reads the ledger.

mod end;
mod facts;
mod reset;
pub(super) mod settings;
mod switch;
mod unserved;
mod variant;

use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::{self, command, event, phase};
use vufleet_scenarios::check;
use vufleet_scenarios::plan::PlannedRun;
use vufleet_scenarios::study::{Measure, Profile, When};
use vufleet_scenarios::tprocc::ORDERS;

use self::facts::facts;
use self::unserved::Unserved;
use self::variant::On;
use super::pilot::{Ask, Member, Pilot};
use super::{Halt, preflight};
use crate::allocation::{self, Allotment, Candidate};
use crate::fleet::registry::{Agent, FleetEvent};
use crate::ledger::{RunFacts, RunId, StudyId};

/// From the order to start to the start itself: the order has to be everywhere by then.
const LEAD: Duration = Duration::from_millis(500);
const PREPARE_PATIENCE: Duration = Duration::from_secs(15);
/// Beyond what the connect rate needs.
const CONNECT_PATIENCE: Duration = Duration::from_secs(60);
/// How long the counters at the edges of a whole run are waited for.
const COUNTERS_PATIENCE: Duration = Duration::from_secs(8);
/// How long the load goes on after its window, at least: the last interval has to be cut before.
const TAIL: Duration = Duration::from_millis(200);
const ROUND: Duration = Duration::from_millis(200);

/// Why a run did not go as planned.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The whole job ends.
    Halt(Halt),
    /// An agent that took part is gone; it was last heard of at `at_ns`, nanoseconds since the Unix epoch.
    AgentLost { agent: String, at_ns: u64, reason: String },
    /// An agent could not do its part. `refused`: the database would not let it in, which a repeat will not change.
    Failed { agent: String, message: String, refused: bool },
    /// The database is not as the study requires.
    WrongState { found: String },
}

impl From<Halt> for Trouble {
    fn from(halt: Halt) -> Self {
        Trouble::Halt(halt)
    }
}

impl From<crate::ledger::LedgerError> for Trouble {
    fn from(error: crate::ledger::LedgerError) -> Self {
        Trouble::Halt(error.into())
    }
}

/// What is to be run, and what a terminal says about it.
pub(super) struct Order<'a> {
    pub(super) study_id: &'a StudyId,
    pub(super) planned: &'a PlannedRun,
    pub(super) attempt: u32,
    pub(super) runs: u32,
    /// One virtual user, one transaction.
    pub(super) smoke: bool,
}

/// A run on its way.
struct Flight<'a> {
    order: &'a Order<'a>,
    run: RunId,
    profile: Profile,
    allotments: Vec<Allotment>,
    drivers: Vec<Member>,
    observers: Vec<Member>,
    facts: RunFacts,
    /// Ids that the server gave the sessions, where they are told.
    session_ids: Vec<u64>,
    /// The variant, from before it is applied until it is undone.
    on: Option<On>,
    /// The variant that was switched to last, if any was.
    switched_to: Option<String>,
}

/// Makes one run and says what troubled it, if anything did. The run is in the ledger either way.
///
/// # Errors
/// When the whole job has to end.
pub(super) async fn fly(pilot: &mut Pilot, order: &Order<'_>) -> Result<(RunId, Option<Trouble>), Halt> {
    let mut flight = Flight::enter(pilot, order).await?;
    pilot.figures.clear();
    pilot.figures.only(flight.everybody().into_iter().map(|member| member.name));
    let trouble = flight.go(pilot).await.err();
    // Whatever happened: no load is left, and the ledger says how it ended.
    pilot.finish_up();
    let lost = flight.end(pilot, trouble.as_ref()).await;
    pilot.heed_stop_again();
    // Of a run that shows switches nobody knows which variant touched what.
    let went_well = trouble.is_none() && matches!(lost, Ok(None));
    pilot.resets.note_run(&order.planned.variant, went_well && !order.planned.is_switched());
    match trouble.or(lost?) {
        Some(Trouble::Halt(halt @ Halt::Refused(_))) => Err(halt),
        trouble => Ok((flight.run, trouble)),
    }
}

impl<'a> Flight<'a> {
    async fn enter(pilot: &mut Pilot, order: &'a Order<'a>) -> Result<Self, Halt> {
        let drivers = pilot.drivers();
        let observers: Vec<Agent> = pilot.observers();
        let profile = pilot.study.profile(&order.planned.profile).cloned().ok_or_else(|| {
            Halt::Refused(format!("the plan names a profile {} that the study does not have", order.planned.profile))
        })?;
        let candidates: Vec<Candidate> = drivers.iter().map(Candidate::from).collect();
        let vus = if order.smoke { 1 } else { profile.vus };
        let neighbourhoods = profile.workload.neighbourhoods(vus);
        let allotments = allocation::virtual_users(vus, &neighbourhoods, &candidates, pilot.study.fleet.share);
        let driving: Vec<&Agent> = allotments
            .iter()
            .filter_map(|allotment| drivers.iter().find(|agent| agent.hello.name == allotment.name))
            .collect();
        if driving.is_empty() {
            return Err(Halt::Refused(
                "no driving agent is left; start one with `vufleet-agent --coordinator URL --roles drive`".to_owned(),
            ));
        }
        let (study_id, planned, attempt) = (order.study_id.clone(), order.planned.clone(), order.attempt);
        let run = pilot.core.record.with(move |ledger| ledger.begin_run(&study_id, &planned, attempt)).await?;
        pilot.core.registry.take_up(run.0);
        let facts = facts(pilot, &profile, &allotments, &driving, &observers, order.smoke);
        Ok(Flight {
            order,
            run,
            profile,
            drivers: driving.into_iter().map(Member::from).collect(),
            observers: observers.iter().map(Member::from).collect(),
            allotments,
            facts,
            session_ids: Vec::new(),
            on: None,
            switched_to: None,
        })
    }

    async fn go(&mut self, pilot: &mut Pilot) -> Result<(), Trouble> {
        self.write_facts(pilot).await?;
        self.reset(pilot).await?;
        self.read_first_settings(pilot).await?;
        self.set_up(pilot).await?;
        self.require(pilot).await?;
        self.apply(pilot, When::BeforeConnecting).await?;
        self.prepare(pilot).await?;
        self.connect(pilot).await?;
        self.apply(pilot, When::Connected).await?;
        self.read_settings(pilot).await?;
        // What variants and settings asked the database is not the load's: the window's first edge comes after it.
        self.await_counters(pilot).await?;
        self.start(pilot).await?;
        self.fly_on(pilot).await
    }

    async fn write_facts(&self, pilot: &Pilot) -> Result<(), Halt> {
        let (run, facts) = (self.run, self.facts.clone());
        Ok(pilot.core.record.with(move |ledger| ledger.set_run_facts(run, &facts)).await?)
    }

    /// The profile's own SQL, with the control login.
    async fn set_up(&self, pilot: &mut Pilot) -> Result<(), Trouble> {
        if self.profile.setup.is_empty() {
            return Ok(());
        }
        let (agent, result) = self.ask(pilot, Ask::control(self.profile.setup.clone())).await?;
        if result.error.is_empty() {
            return Ok(());
        }
        let message = format!("setup of profile {}: {}", self.profile.id, result.error);
        Err(Trouble::Failed { agent, message, refused: true })
    }

    /// Whether what the study requires of the database holds now; `check` saw how it was before the first run.
    async fn require(&self, pilot: &mut Pilot) -> Result<(), Trouble> {
        let questions = check::requirements(&pilot.study);
        if questions.is_empty() {
            return Ok(());
        }
        let statements = questions.iter().map(|question| question.sql.clone()).collect();
        let (agent, result) = self.ask(pilot, Ask::control(statements).keep_going()).await?;
        if result.tables.is_empty() {
            return Err(Trouble::Failed { agent, message: result.error, refused: false });
        }
        let unmet = check::unmet(&pilot.study, &preflight::answers(&questions, &result));
        if unmet.is_empty() {
            return Ok(());
        }
        let sentences: Vec<String> = unmet.iter().map(ToString::to_string).collect();
        Err(Trouble::WrongState { found: sentences.join("; ") })
    }

    /// Asks the database. One that does not answer troubles this run, not the whole study.
    async fn ask(&self, pilot: &mut Pilot, question: Ask) -> Result<(String, v1::ControlResult), Trouble> {
        let agent = pilot.spokesman_for(&question.statements)?;
        match pilot.ask(&agent, question).await {
            Ok(result) => Ok((agent, result)),
            Err(Halt::Refused(message)) => Err(Trouble::Failed { agent, message, refused: false }),
            Err(halt) => Err(halt.into()),
        }
    }

    async fn prepare(&self, pilot: &mut Pilot) -> Result<(), Trouble> {
        for member in &self.everybody() {
            let allotment = self.allotments.iter().find(|allotment| allotment.name == member.name);
            let drive = allotment.map(|allotment| v1::Drive {
                first_vu: allotment.first,
                vus: allotment.count,
                total_vus: self.facts.vus,
            });
            let counters = self.facts.counters_agent.as_ref() == Some(&member.name);
            let observe = self.observers.contains(member).then_some(v1::Observe { counters });
            let prepare = v1::Prepare {
                run: self.run.0,
                study: pilot.study.text.clone(),
                digest: pilot.study.digest.clone(),
                secrets: pilot.job.secrets.clone(),
                profile: self.profile.id.clone(),
                variant: self.order.planned.variant.clone(),
                repetition: self.order.planned.repetition,
                drive,
                observe,
                interval_ns: self.facts.interval_ns,
                smoke: self.order.smoke,
                attempt: if self.order.smoke { 0 } else { self.order.attempt },
            };
            pilot.command(&member.name, command::Body::Prepare(prepare));
        }
        let deadline = Instant::now() + PREPARE_PATIENCE;
        self.await_phase(pilot, &self.everybody(), phase::Kind::Prepared, deadline, "prepare").await?;
        Ok(())
    }

    /// Opens every session. The ramp-up clock starts only when all of them are there.
    async fn connect(&mut self, pilot: &mut Pilot) -> Result<(), Trouble> {
        self.await_counters(pilot).await?;
        let begin = Instant::now();
        for member in &self.drivers {
            pilot.command(&member.name, command::Body::Connect(v1::Connect { run: self.run.0 }));
        }
        let sessions_per_vu = if self.order.smoke { 1 } else { self.profile.sessions_per_vu };
        let needed = connect_time(&self.allotments, sessions_per_vu, pilot.study.schedule.connect_rate);
        let deadline = Instant::now() + needed + CONNECT_PATIENCE;
        let phases = self.await_phase(pilot, &self.drivers, phase::Kind::Connected, deadline, "connect").await?;
        self.facts.connect_ns = Some(begin.elapsed().as_nanos() as u64);
        self.session_ids = session_ids(&phases);
        let told = phases.into_iter().find(|phase| !phase.connection.is_empty());
        if let Some(told) = told {
            self.facts.connection = Some(told.connection);
            self.facts.target_version = Some(told.message).filter(|version| !version.is_empty());
        }
        Ok(())
    }

    /// One reading before the first session opens, so that a whole run can be held against the database's counts.
    async fn await_counters(&self, pilot: &mut Pilot) -> Result<(), Trouble> {
        if self.facts.counters_agent.is_none() {
            return Ok(());
        }
        let ordered_ns = pilot.core.clock.now();
        self.read_counters(pilot);
        let deadline = Instant::now() + COUNTERS_PATIENCE;
        let server = pilot.study.target.kind.is_server();
        while Instant::now() < deadline {
            // Neither a reading that was under way already nor the first of the two that a TPROC-C server has.
            if let Some(FleetEvent::Event { event, .. }) = pilot.next(deadline).await?
                && let Some(event::Body::Counters(counters)) = event.body
                && event.run == self.run.0
                && counters.before_ns >= ordered_ns
                && !(server && is_of_orders(&counters))
            {
                return Ok(());
            }
        }
        Ok(())
    }

    fn read_counters(&self, pilot: &Pilot) {
        if let Some(agent) = &self.facts.counters_agent {
            pilot.command(agent, command::Body::ReadCounters(v1::ReadCounters { run: self.run.0 }));
        }
    }

    async fn start(&mut self, pilot: &mut Pilot) -> Result<(), Trouble> {
        let at_ns = pilot.core.clock.now() + LEAD.as_nanos() as u64;
        self.facts.start_at_ns = Some(at_ns);
        self.write_facts(pilot).await?;
        for member in &self.everybody() {
            pilot.command(&member.name, command::Body::Start(v1::StartAt { run: self.run.0, at_ns }));
        }
        Ok(())
    }

    /// Ramp-up and window, to their end.
    async fn fly_on(&mut self, pilot: &mut Pilot) -> Result<(), Trouble> {
        let ramp_up = Duration::from_nanos(self.facts.ramp_up_ns);
        let begin = Instant::now() + LEAD;
        let window = match pilot.study.schedule.measure {
            Measure::Duration(window) if !self.order.smoke => Some(window),
            _ => None,
        };
        let tail = (Duration::from_nanos(self.facts.interval_ns) / 4).max(TAIL);
        let end = window.map(|window| begin + ramp_up + window + tail);
        let mut switches = self.switches(pilot);
        let mut unfinished = self.drivers.clone();
        let mut unserved = Unserved::default();
        loop {
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) || unfinished.is_empty() {
                return Ok(());
            }
            let sessions = unfinished.iter().map(|member| (member.name.as_str(), pilot.sessions(&member.name)));
            if let Some(agent) = unserved.too_long(now, sessions).filter(|_| end.is_none()) {
                return Err(Trouble::Failed { agent, message: unserved::message(), refused: false });
            }
            if switches.front().is_some_and(|switch| now >= begin + switch.at) {
                let switch = switches.pop_front().expect("it has just been looked at");
                self.switch(pilot, &switch).await?;
                continue;
            }
            self.show_load(pilot, begin, ramp_up, window);
            let next = switches.front().map_or(now + ROUND, |switch| begin + switch.at).min(now + ROUND);
            let heard = pilot.next(end.unwrap_or(next).min(next)).await?;
            self.notice_absence(pilot)?;
            let Some((name, told)) = self.step_of_a_member(heard) else { continue };
            match told.kind() {
                phase::Kind::Finished => unfinished.retain(|member| member.name != name),
                phase::Kind::Failed | phase::Kind::LeaseLost => return Err(failed(pilot, name, told)),
                _ => {}
            }
        }
    }

    fn show_load(&self, pilot: &Pilot, begin: Instant, ramp_up: Duration, window: Option<Duration>) {
        let since = Instant::now().saturating_duration_since(begin);
        let (phase, length, passed) = match window {
            _ if since < ramp_up => ("ramp-up", Some(ramp_up), since),
            window => ("measure", window, since.saturating_sub(ramp_up)),
        };
        pilot.show(v1::Live {
            phase: phase.to_owned(),
            left_s: length.map(|length| length.saturating_sub(passed).as_secs_f64()),
            fraction: length.map(|length| (passed.as_secs_f64() / length.as_secs_f64().max(1e-9)).min(1.0)),
            ..self.live()
        });
    }

    fn live(&self) -> v1::Live {
        let planned = self.order.planned;
        let again = if self.order.attempt > 1 { format!(", attempt {}", self.order.attempt) } else { String::new() };
        v1::Live {
            what: format!("{planned}{again}"),
            run: planned.number,
            runs: self.order.runs,
            sessions_wanted: self.facts.sessions,
            ..Default::default()
        }
    }

    /// Waits until each of `members` has reached a step.
    async fn await_phase(
        &self,
        pilot: &mut Pilot,
        members: &[Member],
        wanted: phase::Kind,
        deadline: Instant,
        step: &str,
    ) -> Result<Vec<v1::Phase>, Trouble> {
        let mut missing = members.to_vec();
        let mut told = Vec::new();
        while let Some(first) = missing.first() {
            let now = Instant::now();
            if now >= deadline {
                let message = format!("it did not {step} in time; look at its log");
                return Err(Trouble::Failed { agent: first.name.clone(), message, refused: false });
            }
            pilot.show(v1::Live { phase: step.to_owned(), ..self.live() });
            let heard = pilot.next(deadline.min(now + ROUND)).await?;
            self.notice_absence(pilot)?;
            let Some((name, phase)) = self.step_of_a_member(heard) else { continue };
            if phase.kind() == wanted {
                missing.retain(|member| member.name != name);
                told.push(phase);
            } else if matches!(phase.kind(), phase::Kind::Failed | phase::Kind::LeaseLost) {
                return Err(failed(pilot, name, phase));
            }
        }
        Ok(told)
    }

    /// A step that somebody who takes part has told of. Others have no say in this run.
    fn step_of_a_member(&self, heard: Option<FleetEvent>) -> Option<(String, v1::Phase)> {
        let Some(FleetEvent::Event { name, event }) = heard else { return None };
        let Some(event::Body::Phase(told)) = event.body.filter(|_| event.run == self.run.0) else { return None };
        self.everybody().iter().any(|member| member.name == name).then_some((name, told))
    }

    fn notice_absence(&self, pilot: &Pilot) -> Result<(), Trouble> {
        match pilot.absent(&self.everybody()) {
            Some((member, reason)) => {
                Err(Trouble::AgentLost { at_ns: pilot.last_heard_ns(&member), agent: member.name, reason })
            }
            None => Ok(()),
        }
    }

    /// Everybody who takes part, once.
    fn everybody(&self) -> Vec<Member> {
        let mut all = self.drivers.clone();
        all.extend(self.observers.iter().filter(|member| !self.drivers.contains(member)).cloned());
        all
    }
}

impl Trouble {
    /// For people.
    pub(super) fn sentence(&self) -> String {
        match self {
            Trouble::Halt(halt) => halt.message(),
            Trouble::AgentLost { agent, reason, .. } => format!("agent {agent} was lost: {reason}"),
            Trouble::Failed { agent, message, .. } if agent.is_empty() => message.clone(),
            Trouble::Failed { agent, message, .. } => format!("agent {agent}: {message}"),
            Trouble::WrongState { found } => format!("the database is not as the study requires: {found}"),
        }
    }
}

fn is_of_orders(counters: &v1::Counters) -> bool {
    counters.values.contains_key(ORDERS) || counters.error.starts_with(ORDERS)
}

/// The ids of all sessions, or none where those of one agent are missing.
fn session_ids(phases: &[v1::Phase]) -> Vec<u64> {
    let told = phases.iter().all(|phase| phase.session_ids.len() == phase.sessions as usize);
    phases.iter().filter(|_| told).flat_map(|phase| &phase.session_ids).copied().collect()
}

/// How long the agent with most sessions needs to open them.
fn connect_time(allotments: &[Allotment], sessions_per_vu: u32, per_s: f64) -> Duration {
    let largest = allotments.iter().map(|allotment| allotment.count).max().unwrap_or(0);
    Duration::from_secs_f64(f64::from(largest) * f64::from(sessions_per_vu) / per_s)
}

fn failed(pilot: &Pilot, agent: String, told: v1::Phase) -> Trouble {
    if told.kind() == phase::Kind::LeaseLost {
        return Trouble::AgentLost { agent, at_ns: pilot.core.clock.now(), reason: told.message };
    }
    let refused = matches!(told.fault(), v1::FaultKind::FaultRefused | v1::FaultKind::FaultStatement);
    Trouble::Failed { agent, message: told.message, refused }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_are_known_of_all_sessions_or_of_none() {
        let phase = |sessions, ids: &[u64]| v1::Phase { sessions, session_ids: ids.to_vec(), ..Default::default() };
        assert_eq!(session_ids(&[phase(2, &[51, 52]), phase(1, &[60])]), [51, 52, 60]);
        assert_eq!(session_ids(&[phase(2, &[51, 52]), phase(65, &[])]), [] as [u64; 0]);
        assert_eq!(session_ids(&[phase(2, &[51])]), [] as [u64; 0], "one has no id");
    }

    #[test]
    fn the_time_to_connect_is_the_largest_shares() {
        let of = |name: &str, first, count| Allotment { name: name.to_owned(), first, count };
        let shares = [of("a", 0, 100), of("b", 100, 300)];
        assert_eq!(connect_time(&shares, 2, 200.0), Duration::from_secs(3));
        // Users times sessions are more than 32 bits hold.
        assert_eq!(connect_time(&[of("a", 0, 70_000)], 100_000, 1e6), Duration::from_secs(7_000));
        assert_eq!(connect_time(&[], 1, 200.0), Duration::ZERO);
    }
}
