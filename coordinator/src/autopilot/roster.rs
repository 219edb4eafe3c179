//! Who takes part in a study, from run to run. The fleet never changes in silence: who is missing at the start of a run is
//! waited for or told of, as the operator wants it, and so is who is new.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::job::OnAgentLoss;

use super::Halt;
use super::pilot::Pilot;

/// How many leases a lost agent is waited for before the remaining ones carry on.
const RETURN_LEASES: u32 = 3;
/// The same for one that was told to end: it may only be started again, by an upgrade for example.
const RESTART_LEASES: u32 = 1;

/// Names of the agents that took part in the last run.
#[derive(Debug)]
pub(super) struct Roster {
    names: BTreeSet<String>,
}

impl Roster {
    /// Everybody who is here now.
    pub(super) fn of(pilot: &Pilot) -> Roster {
        Roster { names: present(pilot) }
    }

    /// Makes sure before a run that everybody of the last one is here, or that it is known who is not.
    pub(super) async fn call(&mut self, pilot: &mut Pilot) -> Result<(), Halt> {
        let missing: Vec<String> = self.names.difference(&present(pilot)).cloned().collect();
        for agent in missing {
            match pilot.job.on_agent_loss() {
                OnAgentLoss::Stop => return Err(stopped(&agent)),
                OnAgentLoss::Repeat => await_return(pilot, &agent).await?,
                OnAgentLoss::Continue => {
                    pilot.teller.warn(format!("agent {agent} is not here; the remaining agents carry on")).await;
                }
            }
        }
        let here = present(pilot);
        for agent in here.difference(&self.names) {
            pilot.teller.warn(format!("agent {agent} takes part from now on")).await;
        }
        self.names = here;
        Ok(())
    }
}

/// The study ends here because the operator wants it so.
pub(super) fn stopped(agent: &str) -> Halt {
    Halt::Short(format!("agent {agent} was lost, and --on-agent-loss is stop"))
}

fn present(pilot: &Pilot) -> BTreeSet<String> {
    pilot.drivers().into_iter().chain(pilot.observers()).map(|agent| agent.hello.name).collect()
}

/// Gives a lost agent time to come back; after that the remaining ones carry on.
async fn await_return(pilot: &mut Pilot, agent: &str) -> Result<(), Halt> {
    let known = pilot.core.registry.agent(agent);
    let leases = match known.and_then(|agent| agent.goodbye) {
        Some(goodbye) => {
            let words = format!("agent {agent} {goodbye}; waiting a lease for it, in case that it is started again");
            pilot.teller.note(words).await;
            RESTART_LEASES
        }
        None => {
            pilot.teller.note(format!("waiting for agent {agent} to come back")).await;
            RETURN_LEASES
        }
    };
    let deadline = Instant::now() + pilot.core.options.lease * leases;
    while Instant::now() < deadline {
        if pilot.core.registry.agent(agent).is_some_and(|agent| agent.is_here()) {
            pilot.teller.note(format!("agent {agent} is back")).await;
            return Ok(());
        }
        pilot.rest(Duration::from_millis(200)).await?;
    }
    if pilot.drivers().is_empty() {
        return Err(Halt::Short(format!("agent {agent} did not come back, and no other can drive")));
    }
    pilot.teller.warn(format!("agent {agent} did not come back; the remaining agents carry on")).await;
    Ok(())
}
