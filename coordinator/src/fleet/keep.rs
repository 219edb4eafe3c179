//! Looks after what is kept: once when the coordinator starts and then once a day, runs that are older than `--keep` are
//! rolled up. Only while there is no job: nothing that is measured is disturbed, and recording waits for nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::Core;
use crate::ledger::{Ledger, LedgerError, RunId};
use crate::rollup::{Judgement, PAGES, Rollup};

/// How often runs that have become old are looked for.
const DAILY: Duration = Duration::from_secs(86_400);
/// How soon it is looked again whether the job has ended.
const BUSY: Duration = Duration::from_secs(5);

/// Rolls up what has become old, for as long as the coordinator lives.
pub(super) async fn look_after(core: Arc<Core>) {
    loop {
        if let Err(error) = roll_up_old(&core).await {
            tracing::warn!(%error, "runs that are older than --keep could not be rolled up; tomorrow it is tried again");
        }
        sleep(DAILY).await;
    }
}

async fn roll_up_old(core: &Arc<Core>) -> Result<(), LedgerError> {
    let (keep, now_ns) = (core.options.keep, core.clock.now());
    let due = core.record.with(move |ledger| keep.due(ledger, now_ns)).await?;
    for run in &due {
        roll_up(core, *run).await?;
    }
    if !due.is_empty() {
        tracing::info!(runs = due.len(), "rolled up what is older than --keep");
    }
    Ok(())
}

async fn roll_up(core: &Arc<Core>, run: RunId) -> Result<(), LedgerError> {
    idle(core).await;
    let now_ns = core.clock.now();
    // Judging reads all of the run, and the ledger's thread is to be there for a study that begins meanwhile.
    let data = core.options.data.clone();
    let judged = tokio::task::spawn_blocking(move || Rollup::judge(&Ledger::read_only(&data)?, run, now_ns)).await;
    let mut rollup = match judged.map_err(|_| LedgerError::Closed)?? {
        Judgement::Nothing => return core.record.with(move |ledger| ledger.set_thinned(run, now_ns)).await,
        Judgement::Before(rollup) => rollup,
        Judgement::Now(rollup, fact) => {
            idle(core).await;
            core.record.with(move |ledger| ledger.note(run, &fact)).await?;
            rollup
        }
    };
    loop {
        idle(core).await;
        let begun = Instant::now();
        let step = move |ledger: &mut Ledger| rollup.step(ledger).map(|more| (rollup, more));
        let (back, more) = core.record.with(step).await?;
        rollup = back;
        if !more {
            break;
        }
        // As long again for whoever else needs the disk.
        sleep(begun.elapsed()).await;
    }
    core.record.with(move |ledger| ledger.set_thinned(run, now_ns)).await?;
    loop {
        idle(core).await;
        if core.record.with(|ledger| ledger.give_back(PAGES)).await? == 0 {
            return Ok(());
        }
    }
}

/// Waits until there is no job.
async fn idle(core: &Core) {
    while !core.is_idle() {
        sleep(BUSY).await;
    }
}
