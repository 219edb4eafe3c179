//! What happens after a job is submitted, without anybody watching: checks, builds, runs, repeats, reports.

mod actions;
mod build;
mod figures;
mod grid;
mod pilot;
mod preflight;
mod reset;
mod roster;
mod run;
mod sequence;
mod smoke;
mod teller;
mod undo;

use std::sync::Arc;

use tokio::sync::watch;
use vufleet_proto::v1;
use vufleet_scenarios::study::{self, Edits};

use crate::fleet::Core;
use crate::fleet::relay::Outbound;
use pilot::Pilot;
use teller::Teller;

/// Why a job that nobody stopped was stopped.
const COORDINATOR_ENDS: &str = "the coordinator was told to end; what was measured is kept";

/// Why a job ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Halt {
    /// The study, the fleet or the database does not allow it, or the ledger cannot be written.
    Refused(String),
    /// The operator ended it.
    Stopped,
    /// Something of it was not as asked for; what was measured is kept.
    Short(String),
}

impl Halt {
    fn exit_code(&self) -> u32 {
        match self {
            Halt::Refused(_) => 1,
            Halt::Stopped => 130,
            Halt::Short(_) => 3,
        }
    }

    fn message(&self) -> String {
        match self {
            Halt::Refused(message) | Halt::Short(message) => message.clone(),
            Halt::Stopped => "stopped by the operator".to_owned(),
        }
    }
}

impl From<crate::ledger::LedgerError> for Halt {
    fn from(error: crate::ledger::LedgerError) -> Self {
        Halt::Refused(error.to_string())
    }
}

/// What kind of job it is, for its name.
pub fn kind_of(job: &v1::Job) -> &'static str {
    match job.kind() {
        v1::job::Kind::Run => "run",
        v1::job::Kind::Smoke => "smoke",
        v1::job::Kind::Check => "check",
        v1::job::Kind::Build => "build",
        v1::job::Kind::Verify => "verify",
        v1::job::Kind::Drop => "drop",
    }
}

/// Does a job to its end and tells how it ended.
pub async fn work(core: Arc<Core>, job: v1::Job, name: String, stopped: watch::Receiver<bool>, progress: Outbound) {
    let teller = Teller::new(progress);
    teller.accepted(&name, "").await;
    let finished = match attempt(Arc::clone(&core), job, stopped, teller.clone()).await {
        Ok(()) => v1::Finished { exit_code: 0, message: String::new() },
        Err(halt) if halt == Halt::Stopped && core.is_closing() => {
            v1::Finished { exit_code: halt.exit_code(), message: COORDINATOR_ENDS.to_owned() }
        }
        Err(halt) => v1::Finished { exit_code: halt.exit_code(), message: halt.message() },
    };
    teller.finished(finished).await;
}

async fn attempt(core: Arc<Core>, job: v1::Job, stopped: watch::Receiver<bool>, teller: Teller) -> Result<(), Halt> {
    let kind = job.kind();
    let study = study::read(&job.study, &Edits::default())
        .map_err(|refusal| Halt::Refused(format!("the study is refused:\n{refusal}")))?;
    let resumed = match kind {
        v1::job::Kind::Run => sequence::resume::find(&core, &job, &study).await?,
        _ => None,
    };
    let mut pilot = Pilot::new(core, Arc::new(study), job, stopped, teller);
    pilot.await_fleet().await?;
    match kind {
        v1::job::Kind::Run => sequence::run(&mut pilot, resumed).await,
        v1::job::Kind::Smoke => smoke::run(&mut pilot).await,
        v1::job::Kind::Check => preflight::check(&mut pilot).await,
        v1::job::Kind::Build => build::build(&mut pilot).await,
        v1::job::Kind::Verify => build::verify::verify(&mut pilot).await,
        v1::job::Kind::Drop => build::drop_tables(&mut pilot).await,
    }
}
