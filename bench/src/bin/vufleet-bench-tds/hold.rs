//! Sessions that stay: what each holds resident.
//!
//! A session's memory is the growth of this process while it opens the second half of its sessions, divided by that half:
//! what a process has anyway was there with the first.

use std::rc::Rc;

use anyhow::{Context, Result};
use procfs::process::Process;
use serde_json::json;
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::Target;

use crate::bare::Bare;
use crate::calls::{self, Call};
use crate::compare::{Caller, Way, open};
use crate::ours::Ours;

/// Calls of each session, so many that its buffers have been gone through.
const CALLS: usize = 40;

/// Bytes of a session: connected, after calls of TPROC-C's payment, and, of ours, with all of TPROC-C's statements prepared.
pub async fn hold(target: &Target, sessions: usize, way: Way) -> Result<serde_json::Value> {
    let call = Call::Payment;
    // What thousands of users of one floor share.
    let mut statements = vec![call.statement()];
    statements.extend(calls::statements_of_tprocc());
    let statements: Rc<[Statement]> = statements.into();
    match way {
        Way::Ours => {
            let (mut held, mut all) = Held::<Ours>::open(target, &statements, sessions, call).await?;
            for session in &mut all {
                for (index, statement) in statements.iter().enumerate().skip(1) {
                    session.execute(index, statement.slots.len()).await?;
                }
            }
            held.prepared = Some(held.each()?);
            held.tell()
        }
        Way::Bare => Held::<Bare>::open(target, &statements, sessions, call).await?.0.tell(),
    }
}

/// What the later half of the sessions holds.
struct Held<C> {
    base: f64,
    later: usize,
    connected: f64,
    used: f64,
    prepared: Option<f64>,
    before: Vec<C>,
}

impl<C: Caller> Held<C> {
    async fn open(
        target: &Target,
        statements: &Rc<[Statement]>,
        sessions: usize,
        call: Call,
    ) -> Result<(Held<C>, Vec<C>)> {
        let first = sessions / 2;
        let mut before: Vec<C> = open(target, statements, first).await?;
        use_all(&mut before, call).await?;
        let (base, later) = (resident()?, sessions - first);
        let mut held = Held { base, later, connected: 0.0, used: 0.0, prepared: None, before };
        let mut all: Vec<C> = open(target, statements, later).await?;
        held.connected = held.each()?;
        use_all(&mut all, call).await?;
        held.used = held.each()?;
        Ok((held, all))
    }

    fn each(&self) -> Result<f64> {
        Ok((resident()? - self.base) / self.later as f64)
    }

    fn tell(self) -> Result<serde_json::Value> {
        Ok(json!({
            "sessions": self.before.len() + self.later,
            "connected_bytes": self.connected,
            "used_bytes": self.used,
            "prepared_bytes": self.prepared,
        }))
    }
}

async fn use_all<C: Caller>(callers: &mut [C], call: Call) -> Result<()> {
    for caller in callers {
        for _ in 0..CALLS {
            caller.call(call).await?;
        }
    }
    Ok(())
}

fn resident() -> Result<f64> {
    let status = Process::myself().and_then(|process| process.status()).context("cannot read /proc/self/status")?;
    Ok(status.vmrss.context("no VmRSS")? as f64 * 1024.0)
}
