//! The end of a run: no load is left behind, and the ledger says how it went.

use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::{self, command};
use vufleet_scenarios::permit;
use vufleet_scenarios::study::TargetKind;

use super::{Flight, ROUND, Trouble};
use crate::autopilot::Halt;
use crate::autopilot::pilot::{Ask, Member, Pilot};
use crate::fleet::registry::FleetEvent;
use crate::ledger::{Fact, RunEnd};

/// Transactions under way at the end have this long before their queries are stopped.
const GRACE: Duration = Duration::from_secs(5);
/// Agents stop queries and drop sessions that do not end; then the run goes on without them.
const STOP_PATIENCE: Duration = Duration::from_secs(15);
/// How long a checkpoint may take: a large database that has not had one for hours writes for minutes.
const CHECKPOINT_PATIENCE: Duration = Duration::from_secs(900);

impl Flight<'_> {
    /// Stops the load, waits for the last samples, lets the database settle, and writes down how it went.
    /// Returns what went wrong so late that only this noticed: an agent that is gone, a variant that was not on.
    pub(super) async fn end(&mut self, pilot: &mut Pilot, trouble: Option<&Trouble>) -> Result<Option<Trouble>, Halt> {
        let noted = match trouble {
            Some(trouble) => self.note(pilot, trouble).await,
            None => Ok(()),
        };
        // A ledger that cannot be written is no reason to leave load behind.
        let quiet = self.quieten(pilot, trouble).await;
        // Nor to leave a variant on.
        let reverted = self.revert(pilot).await;
        let rested = self.rest(pilot, trouble).await;
        for member in &self.everybody() {
            pilot.command(&member.name, command::Body::Cancel(v1::Cancel { run: self.run.0 }));
        }
        pilot.core.registry.put_down(self.run.0);
        noted?;
        let lost = quiet?;
        reverted?;
        rested?;
        let end = match trouble {
            None => RunEnd::Finished,
            Some(Trouble::Halt(Halt::Stopped)) if pilot.core.is_closing() => RunEnd::CoordinatorEnded,
            Some(Trouble::Halt(Halt::Stopped)) => RunEnd::Stopped,
            Some(trouble) => RunEnd::Failed(trouble.sentence()),
        };
        let (run, at_ns) = (self.run, pilot.core.clock.now());
        pilot.core.record.with(move |ledger| ledger.end_run(run, at_ns, &end)).await?;
        Ok(lost)
    }

    async fn quieten(&self, pilot: &mut Pilot, trouble: Option<&Trouble>) -> Result<Option<Trouble>, Halt> {
        for member in &self.drivers {
            self.order_stop(pilot, &member.name);
        }
        self.await_stop(pilot).await?;
        let lost = self.note_lost(pilot, trouble).await?;
        if self.await_counters(pilot).await.is_err() {
            tracing::debug!("no counters after the load");
        }
        if trouble.is_some() || lost.is_some() {
            return Ok(lost);
        }
        match self.look_again(pilot).await {
            Ok(()) => Ok(None),
            Err(Trouble::Halt(halt)) => Err(halt),
            Err(wrong) => {
                self.note(pilot, &wrong).await?;
                Ok(Some(wrong))
            }
        }
    }

    /// What the database does for itself between two runs, in its own state again.
    async fn rest(&self, pilot: &mut Pilot, trouble: Option<&Trouble>) -> Result<(), Halt> {
        self.checkpoint(pilot).await?;
        if trouble.is_none() {
            self.settle(pilot).await?;
        }
        Ok(())
    }

    fn order_stop(&self, pilot: &Pilot, agent: &str) {
        let stop = v1::Stop { run: self.run.0, grace_ns: GRACE.as_nanos() as u64 };
        pilot.command(agent, command::Body::Stop(stop));
    }

    /// Notes every agent that the end of the load found gone, with what it had not told yet. Returns one of them.
    async fn note_lost(&self, pilot: &Pilot, trouble: Option<&Trouble>) -> Result<Option<Trouble>, Halt> {
        let mut lost = None;
        let is_gone = |member: &&Member| !pilot.is_connected(member) || pilot.is_leaving(member);
        for member in self.everybody().iter().filter(is_gone) {
            if matches!(trouble, Some(Trouble::AgentLost { agent, .. }) if *agent == member.name) {
                continue; // noted when it was noticed
            }
            let (agent, at_ns) = (member.name.clone(), pilot.last_heard_ns(member));
            let reason = pilot
                .absent(std::slice::from_ref(member))
                .map_or_else(|| "its connection broke and it has not come back".to_owned(), |(_, reason)| reason);
            let trouble = Trouble::AgentLost { agent, at_ns, reason };
            self.note(pilot, &trouble).await?;
            lost.get_or_insert(trouble);
        }
        Ok(lost)
    }

    async fn note(&self, pilot: &Pilot, trouble: &Trouble) -> Result<(), Halt> {
        let at_ns = pilot.core.clock.now();
        let fact = match trouble {
            Trouble::AgentLost { agent, at_ns, reason } => {
                Fact::AgentLost { agent: agent.clone(), at_ns: *at_ns, reason: reason.clone() }
            }
            Trouble::WrongState { found } => {
                Fact::WrongState { variant: self.variant().to_owned(), at_ns, found: found.clone() }
            }
            other => Fact::Note { at_ns, text: other.sentence() },
        };
        let run = self.run;
        Ok(pilot.core.record.with(move |ledger| ledger.note(run, &fact)).await?)
    }

    /// Waits until every driving agent has stopped. Who is out of reach is given the time to come back, is told again, and
    /// tells what it has left to tell.
    async fn await_stop(&self, pilot: &mut Pilot) -> Result<(), Halt> {
        let deadline = Instant::now() + STOP_PATIENCE;
        let everybody = self.everybody();
        while everybody.iter().any(|member| self.is_awaited(pilot, member)) && Instant::now() < deadline {
            pilot.show(v1::Live { phase: "stop".to_owned(), ..self.live() });
            let heard = pilot.next(deadline.min(Instant::now() + ROUND)).await?;
            if let Some(FleetEvent::Joined { name, boot }) = heard
                && self.drivers.iter().any(|member| member.name == name && member.boot == boot)
            {
                self.order_stop(pilot, &name);
            }
        }
        Ok(())
    }

    /// Whether there is more to come from a member.
    fn is_awaited(&self, pilot: &Pilot, member: &Member) -> bool {
        // An agent that never got ready has nothing to stop, and says nothing.
        let at_work = self.drivers.contains(member) && pilot.has_crew(&member.name, self.run.0);
        // One that has been told to end hands over what it has, and undoes what it holds, before it goes.
        if pilot.is_leaving(member) {
            return true;
        }
        (at_work || !pilot.is_connected(member)) && pilot.absent(std::slice::from_ref(member)).is_none()
    }

    async fn checkpoint(&self, pilot: &mut Pilot) -> Result<(), Halt> {
        if !pilot.study.schedule.checkpoint || self.facts.start_at_ns.is_none() {
            return Ok(());
        }
        let kind = pilot.study.target.kind;
        let Some(sql) = permit::checkpoint(kind) else { return Ok(()) };
        let order = match kind {
            // Of the database that the connection is in, which is the target's: [control] may have one of its own.
            TargetKind::Mssql => Ask::target(vec![sql.to_owned()]),
            _ => Ask::control(vec![sql.to_owned()]),
        };
        let agent = pilot.builder()?;
        let failure = match pilot.ask(&agent, order.patience(CHECKPOINT_PATIENCE)).await {
            Ok(result) => result.error,
            Err(halt) => halt.message(),
        };
        if !failure.is_empty() {
            pilot.teller.warn(format!("the checkpoint after run {} failed: {failure}", self.run)).await;
        }
        Ok(())
    }

    async fn settle(&self, pilot: &mut Pilot) -> Result<(), Halt> {
        let end = Instant::now() + Duration::from_nanos(self.facts.settle_ns);
        while Instant::now() < end && !pilot.is_stopped() {
            let left_s = Some(end.saturating_duration_since(Instant::now()).as_secs_f64());
            pilot.show(v1::Live { phase: "settle".to_owned(), left_s, ..self.live() });
            pilot.rest(ROUND.min(end.saturating_duration_since(Instant::now()))).await?;
        }
        Ok(())
    }
}
