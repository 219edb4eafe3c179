//! Keeps one agent process alive: starts it, starts it again when it dies, ends it when told to.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};

use crate::follow::Nudge;

/// Tells an agent whose child it is, so that it can end with its parent even if that one is killed.
const PARENT: &str = "VUFLEET_PARENT";

/// Lines of an agent's log that are shown when it is given up.
const LAST_WORDS: usize = 12;

/// One agent process.
#[derive(Debug)]
pub struct Agent {
    /// What is started.
    pub executable: PathBuf,
    /// Coordinator it dials.
    pub url: String,
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: &'static str,
    /// Where its output goes.
    pub log: PathBuf,
    /// Variables that it does not inherit.
    pub hidden: Vec<OsString>,
}

/// How often and how long.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Restarts of an agent, at most.
    pub restarts: u32,
    /// Before the first restart; doubled each time.
    pub back_off: Duration,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { restarts: 5, back_off: Duration::from_millis(250), grace: Duration::from_secs(5) }
    }
}

/// Keeps an agent alive until it is to stop, or has died too often. Dropping this kills the process.
pub async fn keep(agent: Agent, patience: Patience, mut stop: watch::Receiver<bool>, nudges: mpsc::Sender<Nudge>) {
    let mut log = File::create(&agent.log);
    let mut back_off = patience.back_off;
    for restarts in 0.. {
        let cause = match log.as_ref().map_err(describe).and_then(|_| agent.start().map_err(|error| describe(&error))) {
            Ok(mut child) => tokio::select! {
                status = child.wait() => status.map_or_else(|error| describe(&error), died),
                () = told_to_stop(&mut stop) => return end(&agent.name, child, patience.grace).await,
            },
            Err(error) => error,
        };
        if restarts == patience.restarts {
            tell(&nudges, Nudge::Broken(agent.given_up(&cause, restarts))).await;
            return;
        }
        let attempt = format!("starting it again, {} of {}", restarts + 1, patience.restarts);
        tell(&nudges, Nudge::Note(format!("agent {} {cause}; {attempt}", agent.name))).await;
        tokio::select! {
            () = tokio::time::sleep(back_off) => {}
            () = told_to_stop(&mut stop) => return,
        }
        back_off *= 2;
        if log.is_err() {
            log = File::create(&agent.log);
        }
    }
}

impl Agent {
    /// In a process group of its own: the terminal's Ctrl-C is for the verb, which ends its agents in good order.
    fn start(&self) -> io::Result<Child> {
        let log = OpenOptions::new().append(true).open(&self.log)?;
        let mut command = Command::new(&self.executable);
        for variable in &self.hidden {
            command.env_remove(variable);
        }
        command
            .args(["--coordinator", &self.url, "--roles", self.role, "--name", &self.name, "--allow-control"])
            .env(PARENT, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }

    fn given_up(&self, cause: &str, restarts: u32) -> String {
        let log = self.log.display();
        let words = last_words(&self.log);
        let words =
            if words.is_empty() { " it said nothing".to_owned() } else { format!("\n  {}", words.join("\n  ")) };
        format!("agent {} {cause}, {restarts} restarts did not help; end of {log}:{words}", self.name)
    }
}

fn describe(error: &io::Error) -> String {
    format!("cannot be started: {error}")
}

fn died(status: ExitStatus) -> String {
    format!("ended by itself ({status})")
}

fn last_words(log: &Path) -> Vec<String> {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines[lines.len().saturating_sub(LAST_WORDS)..].to_vec()
}

/// Also when the one who would tell is gone.
async fn told_to_stop(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        tracing::debug!("the fleet was dropped");
    }
}

async fn tell(nudges: &mpsc::Sender<Nudge>, nudge: Nudge) {
    if nudges.send(nudge).await.is_err() {
        tracing::debug!("the verb has ended");
    }
}

/// SIGTERM, then SIGKILL.
async fn end(name: &str, mut child: Child, grace: Duration) {
    let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) else { return };
    if let Err(error) = kill(Pid::from_raw(id), Signal::SIGTERM) {
        tracing::debug!("agent {name} ({id}): {error}");
    }
    if tokio::time::timeout(grace, child.wait()).await.is_err() {
        tracing::warn!("agent {name} did not end on SIGTERM within {grace:?} and is killed");
        if let Err(error) = child.kill().await {
            tracing::warn!("agent {name} ({id}) cannot be killed: {error}");
        }
    }
}
