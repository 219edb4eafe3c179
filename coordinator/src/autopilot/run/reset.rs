//! The reset before a run: the database is in its own state, and nobody of ours is connected.

use std::time::Duration;

use tokio::time::Instant;

use super::{Flight, Trouble};
use crate::autopilot::Halt;
use crate::autopilot::grid::whole_intervals;
use crate::autopilot::pilot::Pilot;
use crate::autopilot::reset::{self, Purpose};
use crate::ledger::Fact;

impl Flight<'_> {
    /// Brings the data back where this run begins with it, and lengthens its ramp-up: the caches are cold.
    pub(super) async fn reset(&mut self, pilot: &mut Pilot) -> Result<(), Trouble> {
        let Some(reset) = pilot.study.reset.clone() else { return Ok(()) };
        let purpose = if self.order.smoke { Purpose::Try } else { Purpose::Measure };
        if !pilot.resets.is_due(&reset, &self.order.planned.variant, purpose) {
            return Ok(());
        }
        let study = self.order.study_id.clone();
        let before = pilot.core.record.with(move |ledger| ledger.rows_after_reset(&study)).await?;
        let (at_ns, begun) = (pilot.core.clock.now(), Instant::now());
        let rows = reset::perform(pilot, &reset, &self.live(), before).await?;
        let fact = Fact::Reset { at_ns, took_ns: begun.elapsed().as_nanos() as u64, rows };
        let run = self.run;
        pilot.core.record.with(move |ledger| ledger.note(run, &fact)).await.map_err(Halt::from)?;
        if !self.order.smoke && !reset.warm_up.is_zero() {
            let longer = Duration::from_nanos(self.facts.ramp_up_ns) + reset.warm_up;
            let interval = Duration::from_nanos(self.facts.interval_ns);
            self.facts.ramp_up_ns = whole_intervals(longer, interval).as_nanos() as u64;
            self.write_facts(pilot).await?;
        }
        Ok(())
    }
}
