//! Looks after what is kept: soon after the coordinator has started and then once a day, runs that are older than `--keep` are
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
/// Leases that agents have to come back with what the coordinator before this one did not acknowledge.
const LEASES: u32 = 3;

/// Rolls up what has become old, for as long as the coordinator lives.
pub(super) async fn look_after(core: Arc<Core>) {
    sleep(core.options.lease * LEASES).await;
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
    let mut done = 0;
    for run in due {
        match roll_up(core, run).await {
            Ok(()) => done += 1,
            Err(error) if error.is_of_all_runs() => return Err(error),
            Err(error) => tracing::warn!(%run, %error, "this run could not be rolled up; tomorrow it is tried again"),
        }
    }
    if done > 0 {
        tracing::info!(runs = done, "rolled up what is older than --keep");
    }
    Ok(())
}

async fn roll_up(core: &Arc<Core>, run: RunId) -> Result<(), LedgerError> {
    let now_ns = core.clock.now();
    let judged = loop {
        idle(core).await;
        match judge(core, run, now_ns).await? {
            Judgement::Left => sleep(BUSY).await,
            Judgement::Nothing => break None,
            Judgement::Before(rollup) => break Some(rollup),
            Judgement::Now(rollup, fact) => {
                idle(core).await;
                let begin = move |ledger: &mut Ledger| rollup.begin(ledger, &fact).map(|begun| (rollup, begun));
                let (rollup, begun) = core.record.with(begin).await?;
                if begun {
                    break Some(rollup);
                }
            }
        }
    };
    let Some(mut rollup) = judged else {
        return core.record.with(move |ledger| ledger.set_thinned(run, now_ns)).await;
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

/// Reads all of a run, beside the ledger's thread, which is to be there for a study that begins meanwhile; and leaves off for it.
async fn judge(core: &Arc<Core>, run: RunId, now_ns: u64) -> Result<Judgement, LedgerError> {
    let core = Arc::clone(core);
    let judging = tokio::task::spawn_blocking(move || {
        let ledger = Ledger::read_only(&core.options.data)?;
        Rollup::judge(&ledger, run, now_ns, &mut || core.is_idle() && !core.is_closing())
    });
    judging.await.map_err(|source| LedgerError::Died { what: format!("judging run {run}"), source })?
}

/// Waits until there is no job.
async fn idle(core: &Core) {
    while !core.is_idle() {
        sleep(BUSY).await;
    }
}
