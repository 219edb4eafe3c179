//! Jobs for a fleet: the one on this machine or a coordinator's. Whatever happens in between, an embedded fleet that
//! was started here is ended here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use vufleet_proto::v1::{Job, job};
use vufleet_trust::address::{Plaintext, Security};

use crate::args::FleetArgs;
use crate::embedded::Embedded;
use crate::exit::{Exit, Usage};
use crate::follow::{Destination, Ended, Nudge, follow};
use crate::interrupt;
use crate::ledger::Ledger;
use crate::live::Console;
use crate::operator::Operator;
use crate::rollup::{self, Keep};
use crate::secrets::Passwords;
use crate::study_file::Checked;

/// A roll-up that takes longer than this is told of.
const PATIENCE: Duration = Duration::from_secs(1);

/// Which fleet works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fleet {
    /// One that is started here.
    Embedded {
        /// Directory of the ledger.
        data: PathBuf,
        /// Driving agents.
        driving: u32,
        /// How long everything is kept as it was received.
        keep: Keep,
    },
    /// A coordinator's.
    At {
        /// Its URL.
        url: String,
        /// How it is talked to.
        security: Security,
        /// Agents to wait for.
        agents: u32,
    },
}

impl Fleet {
    /// The fleet that the arguments ask for.
    pub fn from_args(args: &FleetArgs) -> Result<Fleet, Usage> {
        match &args.coordinator {
            Some(url) => {
                let security = args.wire.security()?;
                Ok(Fleet::At { url: security.url(url)?, security, agents: args.wait_for_agents })
            }
            None => Ok(Fleet::embedded(args.data(), args.agents).keeping(args.keep.unwrap_or(Keep::DEFAULT))),
        }
    }

    /// A fleet on this machine.
    pub fn embedded(data: &Path, driving: u32) -> Fleet {
        Fleet::Embedded { data: data.to_owned(), driving, keep: Keep::DEFAULT }
    }

    /// The same with another time for which everything is kept.
    fn keeping(self, keep: Keep) -> Fleet {
        match self {
            Fleet::Embedded { data, driving, .. } => Fleet::Embedded { data, driving, keep },
            at => at,
        }
    }

    /// Agents that have to be there before a job begins.
    fn agents(&self) -> u32 {
        match self {
            Fleet::Embedded { driving, .. } => driving + 1,
            Fleet::At { agents, .. } => *agents,
        }
    }
}

/// A job of the given kind for a study; [`dispatch`] fills in the fleet's part.
pub fn job(kind: job::Kind, checked: &Checked, passwords: &Passwords) -> Job {
    Job {
        kind: kind.into(),
        study: checked.study.text.clone(),
        seed_drawn: checked.seed_drawn,
        secrets: Some(passwords.on_the_wire()),
        ..Job::default()
    }
}

/// Variables of this process that hold a password of one of the jobs, whatever they are called.
fn variables_with_passwords(jobs: &[(Job, Destination)]) -> Vec<OsString> {
    let secrets = jobs.iter().filter_map(|(job, _)| job.secrets.as_ref());
    let passwords: Vec<&String> = secrets
        .flat_map(|secrets| [&secrets.password, &secrets.control_password])
        .flatten()
        .filter(|it| !it.is_empty())
        .collect();
    let holds = |value: &OsString| passwords.iter().any(|password| value.as_os_str() == password.as_str());
    std::env::vars_os().filter(|(_, value)| holds(value)).map(|(name, _)| name).collect()
}

/// Has jobs done one after the other, until one of them does not end well.
pub async fn dispatch(fleet: &Fleet, console: &mut Console, jobs: Vec<(Job, Destination)>) -> anyhow::Result<Exit> {
    let (sender, mut nudges) = mpsc::channel(64);
    interrupt::listen(sender.clone())?;
    let (embedded, url, security) = match fleet {
        Fleet::Embedded { data, driving, .. } => {
            let embedded = Embedded::start(data, *driving, variables_with_passwords(&jobs), sender).await?;
            let url = embedded.url().to_owned();
            (Some(embedded), url, Security::Plaintext(Plaintext::Loopback))
        }
        Fleet::At { url, security, .. } => (None, url.clone(), security.clone()),
    };
    let ended = match Operator::dial(&url, &security).await {
        Ok(operator) => do_all(&operator, fleet.agents(), &mut nudges, console, jobs).await,
        Err(error) => Err(error),
    };
    if let Some(embedded) = embedded
        && let Err(error) = close(embedded, &ended, &mut nudges).await
    {
        console.note(&format!("warning: the fleet on this machine did not end in good order: {error:#}"));
    }
    if let Fleet::Embedded { data, keep, .. } = fleet {
        tell_standing(data, console);
        if matches!(ended, Ok(Ended::Job(_))) {
            roll_up(data, *keep, console, &mut nudges).await;
        }
    }
    match ended? {
        Ended::Job(exit) => Ok(exit),
        Ended::Left => Ok(Exit::Interrupted),
    }
}

/// Tells of variants that a fleet on this machine left on.
fn tell_standing(data: &Path, console: &mut Console) {
    match Ledger::read_only(data).and_then(|ledger| ledger.standing()) {
        Ok(standing) => {
            for standing in standing {
                console.note(&format!(
                    "warning: {}\nthe next `vufleet run` on that database undoes it before anything else",
                    standing.sentence()
                ));
            }
        }
        Err(error) => tracing::debug!(%error, "no word on variants that were left on"),
    }
}

/// Rolls up what has become old. Whoever does not want to wait for it interrupts it, and the next job goes on with it.
async fn roll_up(data: &Path, keep: Keep, console: &mut Console, nudges: &mut mpsc::Receiver<Nudge>) {
    let go_on = Arc::new(AtomicBool::new(true));
    let (wanted, data) = (Arc::clone(&go_on), data.to_owned());
    let mut work =
        tokio::task::spawn_blocking(move || rollup::all_old(&data, keep, &mut |_| wanted.load(Ordering::Relaxed)));
    let mut told = false;
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            () = tokio::time::sleep(PATIENCE), if !told => {
                told = true;
                console.note("runs that are older than --keep become 10-second sums; Ctrl-C leaves the rest for the next time");
            }
            () = interrupted(nudges) => go_on.store(false, Ordering::Relaxed),
        }
    };
    match done {
        Ok(Ok(failed)) => {
            for (run, error) in failed {
                console.note(&format!("warning: run {run} is older than --keep and could not be rolled up: {error}"));
            }
        }
        Ok(Err(error)) => {
            console.note(&format!("warning: not everything that is older than --keep could be rolled up: {error}"))
        }
        Err(error) => console.note(&format!("warning: rolling up what is older than --keep died: {error}")),
    }
}

async fn do_all(
    operator: &Operator,
    agents: u32,
    nudges: &mut mpsc::Receiver<Nudge>,
    console: &mut Console,
    jobs: Vec<(Job, Destination)>,
) -> anyhow::Result<Ended> {
    for (job, destination) in jobs {
        let ended = follow(operator, Job { agents, ..job }, nudges, console, destination).await?;
        if ended != Ended::Job(Exit::Done) {
            return Ok(ended);
        }
    }
    Ok(Ended::Job(Exit::Done))
}

/// Ends the fleet in good order, unless the operator would not wait or no longer waits.
async fn close(
    mut embedded: Embedded,
    ended: &anyhow::Result<Ended>,
    nudges: &mut mpsc::Receiver<Nudge>,
) -> anyhow::Result<()> {
    let mut left = matches!(ended, Ok(Ended::Left));
    let mut result = Ok(());
    if !left {
        tokio::select! {
            stopped = embedded.stop() => result = stopped,
            () = interrupted(nudges) => left = true,
        }
    }
    if left {
        embedded.kill().await;
    }
    result
}

async fn interrupted(nudges: &mut mpsc::Receiver<Nudge>) {
    loop {
        match nudges.recv().await {
            Some(Nudge::Interrupt) => return,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Verb};
    use clap::Parser;

    fn fleet(extra: &[&str]) -> Result<Fleet, String> {
        let line = ["vufleet", "run", "s.toml"].into_iter().chain(extra.iter().copied());
        let Verb::Run(run) = Cli::try_parse_from(line).unwrap().verb else { panic!("a run was typed") };
        Fleet::from_args(&run.fleet).map_err(|usage| usage.to_string())
    }

    #[test]
    fn without_a_coordinator_the_fleet_is_here_with_an_observer() {
        let here = fleet(&["--agents", "3", "--data", "d"]).unwrap();
        assert_eq!(here, Fleet::embedded(Path::new("d"), 3));
        assert_eq!(here.agents(), 4);
        assert_eq!(fleet(&[]).unwrap(), Fleet::embedded(Path::new("vufleet-data"), 2));
    }

    #[test]
    fn a_coordinator_is_asked_for_as_many_agents_as_typed() {
        let there = fleet(&["--coordinator", "localhost:7411", "--wait-for-agents", "5"]).unwrap();
        assert_eq!(
            there,
            Fleet::At {
                url: "http://localhost:7411".into(),
                security: Security::Plaintext(Plaintext::Loopback),
                agents: 5,
            }
        );
        assert_eq!(there.agents(), 5);
        fleet(&["--coordinator", "http://db1:7411"]).unwrap_err();
        fleet(&["--coordinator", "http://db1:7411", "--insecure"]).unwrap();
        fleet(&["--coordinator", "db1:7411", "--certs", "certs"]).unwrap();
        fleet(&["--coordinator", "http://db1:7411", "--certs", "certs"]).unwrap_err();
    }
}
