//! Variants that are turned on under load, in the runs that exist to show that.

use std::collections::VecDeque;

use vufleet_scenarios::study::Switch;

use super::variant::change_of;
use super::{Flight, Trouble};
use crate::autopilot::pilot::Pilot;
use crate::autopilot::{Halt, undo};
use crate::ledger::Fact;

impl Flight<'_> {
    /// What is switched in this run, by its time; a smoke test has no time for it.
    pub(super) fn switches(&self, pilot: &Pilot) -> VecDeque<Switch> {
        match self.order.planned.is_switched() && !self.order.smoke {
            true => pilot.study.switches.iter().cloned().collect(),
            false => VecDeque::new(),
        }
    }

    /// The variant whose state the database is in, or is to be in.
    pub(super) fn variant(&self) -> &str {
        match (&self.switched_to, &self.on) {
            (Some(variant), _) => variant,
            (None, Some(on)) => &on.variant,
            (None, None) => &self.order.planned.variant,
        }
    }

    /// Undoes the variant of the moment, applies another, and writes down when that was. What undoes it is in the ledger first, as ever.
    pub(super) async fn switch(&mut self, pilot: &mut Pilot, switch: &Switch) -> Result<(), Trouble> {
        let from_ns = pilot.core.clock.now();
        self.turn_off(pilot).await?;
        self.switched_to = Some(switch.variant.clone());
        if let Some(change) = change_of(pilot, &switch.variant) {
            self.turn_on(pilot, &switch.variant, change, "after its switch").await?;
        }
        let (run, variant, to_ns) = (self.run, switch.variant.clone(), pilot.core.clock.now());
        let fact = Fact::Switched { variant, from_ns, to_ns };
        Ok(pilot.core.record.with(move |ledger| ledger.note(run, &fact)).await.map_err(Halt::from)?)
    }

    /// One that cannot be undone stays noted as on: the end of the run tries again and tells what to do.
    async fn turn_off(&mut self, pilot: &mut Pilot) -> Result<(), Trouble> {
        if let Some(undo) = self.on.as_ref().and_then(|on| on.undo.clone()) {
            match undo::undo(pilot, self.run, &undo).await {
                Ok(()) => {}
                Err(Halt::Refused(why)) => {
                    let message = format!("variant {} could not be undone for a switch: {why}", self.variant());
                    return Err(Trouble::Failed { agent: String::new(), message, refused: false });
                }
                Err(halt) => return Err(halt.into()),
            }
        }
        self.on = None;
        Ok(())
    }
}
