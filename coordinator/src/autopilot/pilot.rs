//! The autopilot's hands: hears the fleet, commands it, asks the database through it, and notices who is gone.

mod ask;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use vufleet_proto::v1::{self, command, event, phase};
use vufleet_scenarios::session::Dialect;
use vufleet_scenarios::study::{self, Edits, Study};

use super::Halt;
use super::figures::Figures;
use super::reset::Resets;
use super::teller::Teller;
use crate::fleet::Core;
use crate::fleet::registry::{Agent, FleetEvent};
use crate::ledger::Settings;

pub(super) use self::ask::Ask;

/// How long the fleet may take to come together.
const MUSTER: Duration = Duration::from_secs(15);
/// How often absent agents are looked for while nothing else happens.
const ROUND: Duration = Duration::from_millis(200);

/// A job under way.
pub(super) struct Pilot {
    pub(super) core: Arc<Core>,
    pub(super) study: Arc<Study>,
    pub(super) job: v1::Job,
    pub(super) teller: Teller,
    pub(super) figures: Figures,
    pub(super) resets: Resets,
    events: mpsc::UnboundedReceiver<FleetEvent>,
    stopped: watch::Receiver<bool>,
    /// The phase that was last shown, and when.
    shown: Mutex<Option<(String, Instant)>>,
    /// Whether the operator's stop interrupts [`next`](Pilot::next).
    heeds_stop: bool,
    controls: u64,
    /// The settings that the study last wrote down, by source; none before its first reading of this job.
    pub(super) settings: Option<BTreeMap<String, Settings>>,
    /// Which agents are ready for which run, or in the middle of it: prepared, and not stopped yet.
    crews: BTreeMap<String, u64>,
}

/// A task that ends with this.
pub(super) struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
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
            resets: Resets::default(),
            events,
            stopped,
            shown: Mutex::default(),
            heeds_stop: true,
            controls: 0,
            settings: None,
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

    /// From now on the operator's stop does not interrupt: what is under way goes on to its end. These words say so, at the very
    /// moment of the stop.
    pub(super) fn see_through(&mut self, words: String) -> AbortOnDrop {
        self.heeds_stop = false;
        let (mut stopped, teller) = (self.stopped.clone(), self.teller.clone());
        let task = tokio::spawn(async move {
            if stopped.wait_for(|stopped| *stopped).await.is_ok() {
                teller.warn(words).await;
            }
        });
        AbortOnDrop(task.abort_handle())
    }

    /// Why the job was stopped.
    pub(super) fn who_stopped(&self) -> String {
        if self.core.is_closing() { super::COORDINATOR_ENDS.to_owned() } else { Halt::Stopped.message() }
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
        agents.filter(|agent| agent.is_here() && agent.has_role(role) && agent.has_labels(labels)).collect()
    }

    /// Who of these is gone, and why.
    pub(super) fn absent(&self, members: &[Member]) -> Option<(Member, String)> {
        members.iter().find_map(|member| self.absence(member).map(|reason| (member.clone(), reason)))
    }

    fn absence(&self, member: &Member) -> Option<String> {
        let seen =
            self.core.registry.look(&member.name, |agent| (agent.hello.boot, agent.connected, agent.goodbye.clone()));
        let Some((boot, connected, goodbye)) = seen else {
            return Some("it is not known any more".to_owned());
        };
        if boot != member.boot {
            return Some("its process was started again".to_owned());
        }
        if let Some(goodbye) = goodbye {
            return Some(format!("it {goodbye}"));
        }
        let silence = self.core.registry.silence(member.boot)?;
        (!connected && silence > self.core.options.lease)
            .then(|| format!("it has not been heard of for {:.0} s", silence.as_secs_f64()))
    }

    /// Whether a member's stream is open.
    pub(super) fn is_connected(&self, member: &Member) -> bool {
        let is_there = |agent: &Agent| agent.connected && agent.hello.boot == member.boot;
        self.core.registry.look(&member.name, is_there).unwrap_or(false)
    }

    /// Whether a member has been told to end and is still handing over what it has.
    pub(super) fn is_leaving(&self, member: &Member) -> bool {
        let leaves = |agent: &Agent| agent.connected && agent.goodbye.is_some() && agent.hello.boot == member.boot;
        self.core.registry.look(&member.name, leaves).unwrap_or(false)
    }

    /// When a member was last heard of, nanoseconds since the Unix epoch.
    pub(super) fn last_heard_ns(&self, member: &Member) -> u64 {
        let silence = self.core.registry.silence(member.boot).unwrap_or_default();
        self.core.clock.now().saturating_sub(silence.as_nanos() as u64)
    }

    /// Sessions that an agent has open, as it last said.
    pub(super) fn sessions(&self, name: &str) -> u32 {
        self.core.registry.look(name, |agent| agent.heartbeat.sessions).unwrap_or(0)
    }

    /// Waits until as many agents as the job counts on have joined, and at least one can drive.
    pub(super) async fn await_fleet(&mut self) -> Result<(), Halt> {
        let deadline = Instant::now() + MUSTER;
        loop {
            let here = self.core.registry.agents().iter().filter(|agent| agent.is_here()).count();
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
            let agents = self.core.registry.agents();
            let names: Vec<&str> =
                agents.iter().filter(|agent| agent.is_here()).map(|agent| agent.hello.name.as_str()).collect();
            let who = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
            return format!(
                "{here} of {wanted} agents are here after {} s{who}; start the others, or look at their logs",
                MUSTER.as_secs()
            );
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

    /// Shows what is true now, unless the same phase was shown a moment ago: a large fleet says hundreds of things a second,
    /// and present figures are made of what every agent last said.
    pub(super) fn show(&self, live: v1::Live) {
        let now = Instant::now();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.as_ref().is_some_and(|(phase, at)| *phase == live.phase && now < *at + ROUND) {
            return;
        }
        *shown = Some((live.phase.clone(), now));
        drop(shown);
        self.core.progress.show(&live);
        self.teller.live(self.figures.fill(live));
    }
}
