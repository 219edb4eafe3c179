//! The autopilot's hands: hears the fleet, commands it, asks the database through it, and notices who is gone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use vufleet_proto::v1::{self, command, event, phase};
use vufleet_scenarios::session::Dialect;
use vufleet_scenarios::study::{self, Edits, Study};

use super::Halt;
use super::figures::Figures;
use super::teller::Teller;
use crate::fleet::Core;
use crate::fleet::registry::{Agent, FleetEvent};

/// How long the fleet may take to come together.
const MUSTER: Duration = Duration::from_secs(15);
/// How often absent agents are looked for while nothing else happens.
const ROUND: Duration = Duration::from_millis(200);
/// How long an agent may take beyond a command's limit, to end it and to say so.
const COMMAND_GRACE: Duration = Duration::from_secs(10);
/// How long control statements may take when nobody says otherwise.
pub(super) const CONTROL_PATIENCE: Duration = Duration::from_secs(30);

/// A job under way.
pub(super) struct Pilot {
    pub(super) core: Arc<Core>,
    pub(super) study: Arc<Study>,
    pub(super) job: v1::Job,
    pub(super) teller: Teller,
    pub(super) figures: Figures,
    events: mpsc::UnboundedReceiver<FleetEvent>,
    stopped: watch::Receiver<bool>,
    /// Whether the operator's stop interrupts [`next`](Pilot::next).
    heeds_stop: bool,
    controls: u64,
    /// Which agents are ready for which run, or in the middle of it: prepared, and not stopped yet.
    crews: BTreeMap<String, u64>,
}

/// An agent that takes part: gone when another process answers to its name, or none for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) boot: u64,
}

impl From<&Agent> for Member {
    fn from(agent: &Agent) -> Self {
        Member { name: agent.hello.name.clone(), boot: agent.hello.boot }
    }
}

impl Pilot {
    pub(super) fn new(
        core: Arc<Core>,
        study: Arc<Study>,
        job: v1::Job,
        stopped: watch::Receiver<bool>,
        teller: Teller,
    ) -> Self {
        let events = core.registry.listen();
        let figures = Figures::new(study.report.relative_only && !job.absolute, study.target.kind);
        Pilot {
            core,
            study,
            job,
            teller,
            figures,
            events,
            stopped,
            heeds_stop: true,
            controls: 0,
            crews: BTreeMap::new(),
        }
    }

    /// The study with another seed, for all that is still to be done.
    pub(super) fn set_seed(&mut self, seed: u64) -> Result<(), Halt> {
        let edits = Edits { set: vec![format!("seed={seed}")], ..Edits::default() };
        let study = study::read(&self.study.text, &edits)
            .map_err(|refusal| Halt::Refused(format!("the study is refused with seed {seed}:\n{refusal}")))?;
        self.study = Arc::new(study);
        Ok(())
    }

    /// The SQL that the target understands.
    pub(super) fn dialect(&self) -> Dialect {
        self.study.target.kind.dialect().unwrap_or(Dialect::Mysql)
    }

    /// The next thing that happens in the fleet; none when nothing did until `deadline`.
    pub(super) async fn next(&mut self, deadline: Instant) -> Result<Option<FleetEvent>, Halt> {
        if self.heeds_stop && *self.stopped.borrow() {
            return Err(Halt::Stopped);
        }
        let heard = tokio::select! {
            event = self.events.recv() => event,
            () = tokio::time::sleep_until(deadline) => return Ok(None),
            Ok(_) = self.stopped.wait_for(|stopped| *stopped), if self.heeds_stop => return Err(Halt::Stopped),
        };
        match heard {
            Some(FleetEvent::LedgerFailed(reason)) => Err(Halt::Refused(reason)),
            Some(event) => {
                self.figures.hear(&event);
                self.note_crew(&event);
                Ok(Some(event))
            }
            None => Err(Halt::Refused("this coordinator serves another job now".to_owned())),
        }
    }

    fn note_crew(&mut self, event: &FleetEvent) {
        let FleetEvent::Event { name, event } = event else { return };
        let Some(event::Body::Phase(told)) = &event.body else { return };
        match told.kind() {
            phase::Kind::Prepared => {
                self.crews.insert(name.clone(), event.run);
            }
            phase::Kind::Stopped | phase::Kind::LeaseLost if self.has_crew(name, event.run) => {
                self.crews.remove(name);
            }
            _ => {}
        }
    }

    /// Whether an agent has something to stop in a run, as far as it has said.
    pub(super) fn has_crew(&self, name: &str, run: u64) -> bool {
        self.crews.get(name) == Some(&run)
    }

    /// Lets time pass, hearing the fleet all the while.
    pub(super) async fn rest(&mut self, time: Duration) -> Result<(), Halt> {
        let deadline = Instant::now() + time;
        while self.next(deadline).await?.is_some() {}
        Ok(())
    }

    /// From now on the operator's stop is not looked at: the work at hand is the stopping itself.
    pub(super) fn finish_up(&mut self) {
        self.heeds_stop = false;
    }

    /// The operator's stop interrupts again.
    pub(super) fn heed_stop_again(&mut self) {
        self.heeds_stop = true;
    }

    /// Whether the operator has said to stop.
    pub(super) fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Sends a command; an agent that is not connected will be noticed by its absence.
    pub(super) fn command(&self, name: &str, body: command::Body) {
        if !self.core.registry.command(name, body) {
            tracing::debug!(agent = name, "a command for an agent that is not connected");
        }
    }

    /// Agents that can drive this study now.
    pub(super) fn drivers(&self) -> Vec<Agent> {
        self.members("drive", &self.study.fleet.drive)
    }

    /// Agents that can observe this study's database now.
    pub(super) fn observers(&self) -> Vec<Agent> {
        self.members("observe", &self.study.fleet.observe)
    }

    fn members(&self, role: &str, labels: &BTreeMap<String, String>) -> Vec<Agent> {
        let agents = self.core.registry.agents().into_iter();
        agents.filter(|agent| agent.connected && agent.has_role(role) && agent.has_labels(labels)).collect()
    }

    /// Who of these is gone, and why.
    pub(super) fn absent(&self, members: &[Member]) -> Option<(Member, String)> {
        members.iter().find_map(|member| self.absence(member).map(|reason| (member.clone(), reason)))
    }

    fn absence(&self, member: &Member) -> Option<String> {
        let Some(agent) = self.core.registry.agent(&member.name) else {
            return Some("it is not known any more".to_owned());
        };
        if agent.hello.boot != member.boot {
            return Some("its process was started again".to_owned());
        }
        let silence = self.core.registry.silence(member.boot)?;
        (!agent.connected && silence > self.core.options.lease)
            .then(|| format!("it has not been heard of for {:.0} s", silence.as_secs_f64()))
    }

    /// Whether a member's stream is open.
    pub(super) fn is_connected(&self, member: &Member) -> bool {
        let agent = self.core.registry.agent(&member.name);
        agent.is_some_and(|agent| agent.connected && agent.hello.boot == member.boot)
    }

    /// When a member was last heard of, nanoseconds since the Unix epoch.
    pub(super) fn last_heard_ns(&self, member: &Member) -> u64 {
        let silence = self.core.registry.silence(member.boot).unwrap_or_default();
        self.core.clock.now().saturating_sub(silence.as_nanos() as u64)
    }

    /// Sessions that an agent has open, as it last said.
    pub(super) fn sessions(&self, name: &str) -> u32 {
        self.core.registry.agent(name).map_or(0, |agent| agent.heartbeat.sessions)
    }

    /// Waits until as many agents as the job counts on have joined, and at least one can drive.
    pub(super) async fn await_fleet(&mut self) -> Result<(), Halt> {
        let deadline = Instant::now() + MUSTER;
        loop {
            let here = self.core.registry.agents().iter().filter(|agent| agent.connected).count();
            if here >= self.job.agents as usize && !self.drivers().is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Halt::Refused(self.nobody(here)));
            }
            self.next(deadline.min(Instant::now() + ROUND)).await?;
        }
    }

    fn nobody(&self, here: usize) -> String {
        let wanted = self.job.agents;
        if here < wanted as usize {
            return format!("{here} of {wanted} agents joined within {} s; look at their logs", MUSTER.as_secs());
        }
        let labels: Vec<String> = self.study.fleet.drive.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if labels.is_empty() {
            "no driving agent has joined; start one with `vufleet-agent --coordinator URL --roles drive`".to_owned()
        } else {
            format!(
                "no driving agent with the labels {} has joined; start one with --label, or change [fleet] drive",
                labels.join(", ")
            )
        }
    }

    /// Runs SQL through an agent: with the `[control]` login if `as_control`, else with the target's own.
    pub(super) async fn ask(&mut self, agent: &str, question: Ask) -> Result<v1::ControlResult, Halt> {
        let id = self.question();
        let Ask { statements, as_control, keep_going, changes, patience } = question;
        let control = v1::Control {
            id,
            study: self.study.text.clone(),
            secrets: self.job.secrets.clone(),
            as_control,
            statements,
            keep_going,
            changes,
        };
        self.command(agent, command::Body::Control(control));
        let heard = self.answer(agent, patience, |body| match body {
            event::Body::Control(result) if result.id == id => Some(result),
            _ => None,
        });
        heard.await?.ok_or_else(|| {
            Halt::Refused(format!(
                "the database did not answer agent {agent} within {} s; is it overloaded, or behind a firewall?",
                patience.as_secs()
            ))
        })
    }

    /// Has an agent run a command that its configuration names.
    pub(super) async fn run_command(
        &mut self,
        agent: &str,
        name: &str,
        limit: Duration,
    ) -> Result<v1::CommandResult, Halt> {
        let id = self.question();
        let order = v1::RunCommand { id, name: name.to_owned(), limit_ns: limit.as_nanos() as u64 };
        self.command(agent, command::Body::RunCommand(order));
        let heard = self.answer(agent, limit + COMMAND_GRACE, |body| match body {
            event::Body::Command(result) if result.id == id => Some(result),
            _ => None,
        });
        heard.await?.ok_or_else(|| {
            Halt::Refused(format!("agent {agent} did not say what became of command {name}; look at its log"))
        })
    }

    /// A number that no other question has.
    fn question(&mut self) -> u64 {
        self.controls += 1;
        self.core.clock.now() ^ self.controls
    }

    /// Waits for what an agent has to say; none when it did not in time.
    async fn answer<T>(
        &mut self,
        agent: &str,
        patience: Duration,
        wanted: impl Fn(event::Body) -> Option<T>,
    ) -> Result<Option<T>, Halt> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(FleetEvent::Event { event, .. }) = self.next(deadline.min(Instant::now() + ROUND)).await?
                && let Some(answer) = event.body.and_then(&wanted)
            {
                return Ok(Some(answer));
            }
            if self.core.registry.agent(agent).is_none_or(|agent| !agent.connected) {
                let what = format!("agent {agent} was lost while it was asked; look at its log");
                return Err(Halt::Refused(what));
            }
        }
        Ok(None)
    }

    /// The agent that control statements go through: beside the database, if anybody is.
    pub(super) fn spokesman(&self) -> Result<String, Halt> {
        let agents = self.observers().into_iter().chain(self.drivers());
        agents.map(|agent| agent.hello.name).next().ok_or_else(|| {
            Halt::Refused("no agent is left to ask the database through; start one with vufleet-agent".to_owned())
        })
    }

    /// An agent with these labels that runs a command of that name.
    pub(super) fn who_has(&self, command: &str, labels: &BTreeMap<String, String>) -> Option<String> {
        let mut agents = self.core.registry.agents().into_iter();
        let fits = |agent: &Agent| {
            agent.connected && agent.has_labels(labels) && agent.hello.commands.iter().any(|name| name == command)
        };
        agents.find(fits).map(|agent| agent.hello.name)
    }

    /// Shows what is true now.
    pub(super) fn show(&self, live: v1::Live) {
        self.teller.live(self.figures.fill(live));
    }
}

/// Statements for [`Pilot::ask`].
pub(super) struct Ask {
    pub(super) statements: Vec<String>,
    pub(super) as_control: bool,
    pub(super) keep_going: bool,
    /// They apply or undo a variant: one such thing at a time.
    pub(super) changes: bool,
    pub(super) patience: Duration,
}

impl Ask {
    /// With the target's own login, all or nothing.
    pub(super) fn target(statements: Vec<String>) -> Self {
        Ask { statements, as_control: false, keep_going: false, changes: false, patience: CONTROL_PATIENCE }
    }

    /// With the `[control]` login, all or nothing.
    pub(super) fn control(statements: Vec<String>) -> Self {
        Ask { as_control: true, ..Ask::target(statements) }
    }

    /// A failed statement does not stop the others.
    pub(super) fn keep_going(self) -> Self {
        Ask { keep_going: true, ..self }
    }

    /// They apply or undo a variant.
    pub(super) fn changes(self) -> Self {
        Ask { changes: true, ..self }
    }

    pub(super) fn patience(self, patience: Duration) -> Self {
        Ask { patience, ..self }
    }
}
