//! Questions to the database, and orders to its host, through an agent.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::{self, command, event};
use vufleet_scenarios::permit::{Need, Permit};

use super::{Pilot, ROUND};
use crate::autopilot::Halt;
use crate::fleet::registry::{Agent, FleetEvent};

/// How long an agent may take beyond a command's limit, to end it and to say so.
const COMMAND_GRACE: Duration = Duration::from_secs(10);
/// The same for statements, which the server has to stop.
const STATEMENT_GRACE: Duration = Duration::from_secs(120);
/// How long control statements may take when nobody says otherwise.
const CONTROL_PATIENCE: Duration = Duration::from_secs(30);

impl Pilot {
    /// Runs SQL through an agent: with the `[control]` login if `as_control`, else with the target's own.
    pub(in crate::autopilot) async fn ask(&mut self, agent: &str, question: Ask) -> Result<v1::ControlResult, Halt> {
        let id = self.question();
        let Ask { statements, as_control, keep_going, changes, patience, limit, database } = question;
        let patience = limit.map_or(patience, |limit| limit + STATEMENT_GRACE);
        let control = v1::Control {
            id,
            study: self.study.text.clone(),
            secrets: self.job.secrets.clone(),
            as_control,
            statements,
            keep_going,
            changes,
            database,
            limit_ns: limit.map_or(0, |limit| limit.as_nanos() as u64),
        };
        self.command(agent, command::Body::Control(control));
        let heard = self.answer(agent, patience, |body| match body {
            event::Body::Control(result) if result.id == id => Some(result),
            _ => None,
        });
        if let Some(result) = heard.await? {
            return Ok(result);
        }
        let error = format!(
            "the database did not answer agent {agent} within {} s; is it overloaded, or behind a firewall?",
            patience.as_secs()
        );
        match limit {
            None => Err(Halt::Refused(error)),
            Some(_) => {
                let error = format!("{error} The last statement may go on, on the agent and in the database");
                Ok(v1::ControlResult { id, error, fault: v1::FaultKind::FaultDeadline.into(), ..Default::default() })
            }
        }
    }

    /// Has an agent run a command that its configuration names.
    pub(in crate::autopilot) async fn run_command(
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
    pub(in crate::autopilot) fn question(&mut self) -> u64 {
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
            if let Some(FleetEvent::Event { name, event }) = self.next(deadline.min(Instant::now() + ROUND)).await?
                && name == agent
                && let Some(answer) = event.body.and_then(&wanted)
            {
                return Ok(Some(answer));
            }
            let known = self.core.registry.agent(agent);
            if known.as_ref().is_none_or(|agent| !agent.connected) {
                let what = match known.and_then(|agent| agent.goodbye) {
                    Some(goodbye) => format!("agent {agent} {goodbye} while it was asked"),
                    None => format!("agent {agent} was lost while it was asked; look at its log"),
                };
                return Err(Halt::Refused(what));
            }
        }
        Ok(None)
    }

    /// The agent that control statements go through: beside the database, if anybody is.
    pub(in crate::autopilot) fn spokesman(&self) -> Result<String, Halt> {
        let agents = self.observers().into_iter().chain(self.drivers());
        agents.map(|agent| agent.hello.name).next().ok_or_else(|| {
            Halt::Refused("no agent is left to ask the database through; start one with vufleet-agent".to_owned())
        })
    }

    /// The agent that a workload's own tables are made and dropped through.
    pub(in crate::autopilot) fn builder(&self) -> Result<String, Halt> {
        self.spokesman_who("makes tables", "the role drive", |agent| {
            agent.hello.allow_control || agent.has_role("drive")
        })
    }

    /// The agent that what changes the database goes through, and what undoes it.
    pub(in crate::autopilot) fn changer(&self) -> Result<String, Halt> {
        self.spokesman_who(
            "allows changes to the database",
            "allow_control = true in its --config, or --allow-control",
            |agent| agent.hello.allow_control,
        )
    }

    /// The agent that these statements go through: any, where they are questions.
    pub(in crate::autopilot) fn spokesman_for(&self, statements: &[String]) -> Result<String, Halt> {
        let permit = Permit::of(&self.study);
        let needs = statements.iter().map(|sql| permit.need(sql));
        needs.fold(self.spokesman(), |agent, need| match need {
            Need::Nothing => agent,
            Need::Drive => self.builder(),
            Need::Control(_) => self.changer(),
        })
    }

    fn spokesman_who(&self, does: &str, means: &str, is_one: impl Fn(&Agent) -> bool) -> Result<String, Halt> {
        let any = self.spokesman()?;
        let agents: Vec<Agent> = self.observers().into_iter().chain(self.drivers()).collect();
        if let Some(agent) = agents.iter().find(|agent| is_one(agent)) {
            return Ok(agent.hello.name.clone());
        }
        let mut names: Vec<&str> = agents.iter().map(|agent| agent.hello.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let best = format!("give one of them {means}, best the one beside the database ({any})");
        Err(Halt::Refused(format!("none of the agents here {does} ({}); {best}", names.join(", "))))
    }

    /// An agent with these labels that runs a command of that name.
    pub(in crate::autopilot) fn who_has(&self, command: &str, labels: &BTreeMap<String, String>) -> Option<String> {
        let mut agents = self.core.registry.agents().into_iter();
        let fits = |agent: &Agent| {
            agent.is_here() && agent.has_labels(labels) && agent.hello.commands.iter().any(|name| name == command)
        };
        agents.find(fits).map(|agent| agent.hello.name)
    }
}

/// Statements for [`Pilot::ask`].
pub(in crate::autopilot) struct Ask {
    pub(in crate::autopilot) statements: Vec<String>,
    pub(in crate::autopilot) as_control: bool,
    pub(in crate::autopilot) keep_going: bool,
    /// They apply or undo a variant: one such thing at a time.
    pub(in crate::autopilot) changes: bool,
    pub(in crate::autopilot) patience: Duration,
    /// After which the agent stops them; none: they take as long as they take, heard or not.
    pub(in crate::autopilot) limit: Option<Duration>,
    /// To be in, instead of the login's own; empty: that one.
    pub(in crate::autopilot) database: String,
}

impl Ask {
    /// With the target's own login, all or nothing.
    pub(in crate::autopilot) fn target(statements: Vec<String>) -> Self {
        let (patience, database) = (CONTROL_PATIENCE, String::new());
        Ask { statements, as_control: false, keep_going: false, changes: false, patience, limit: None, database }
    }

    /// With the `[control]` login, all or nothing.
    pub(in crate::autopilot) fn control(statements: Vec<String>) -> Self {
        Ask { as_control: true, ..Ask::target(statements) }
    }

    /// A failed statement does not stop the others.
    pub(in crate::autopilot) fn keep_going(self) -> Self {
        Ask { keep_going: true, ..self }
    }

    /// They apply or undo a variant.
    pub(in crate::autopilot) fn changes(self) -> Self {
        Ask { changes: true, ..self }
    }

    /// In another database than the login's own.
    pub(in crate::autopilot) fn database(self, name: &str) -> Self {
        Ask { database: name.to_owned(), ..self }
    }

    pub(in crate::autopilot) fn patience(self, patience: Duration) -> Self {
        Ask { patience, ..self }
    }

    /// The agent stops what takes longer. An answer that does not come even then is one of a deadline that has passed.
    pub(in crate::autopilot) fn limit(self, limit: Duration) -> Self {
        Ask { limit: Some(limit), ..self }
    }
}
