//! A fleet on this machine for the length of one verb: the coordinator's service in this process on a loopback port of
//! the system's choice, and `vufleet-agent` processes that lie beside this executable.
//!
//! The verb then is a client like any other. No agent survives it: they are stopped, or killed, by their own ids.

mod keeper;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use vufleet_trust::address::{Plaintext, Security};

use crate::fleet::{self, ServeOptions, Server};
use crate::follow::Nudge;
use crate::rollup::Keep;

use keeper::{Agent, Patience};

/// How long a job that goes on although nobody follows it any more is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long an embedded coordinator lets an agent be silent.
pub const LEASE: Duration = Duration::from_secs(10);

/// A running embedded fleet.
#[derive(Debug)]
pub struct Embedded {
    url: String,
    /// None once it was told to end.
    server: Option<Server>,
    crew: Crew,
}

impl Embedded {
    /// Starts the service and `driving` driving agents with one observing agent.
    ///
    /// The agents get their passwords over the wire like all others, and this process's variables without the hidden ones.
    pub async fn start(
        data: &Path,
        driving: u32,
        hidden: Vec<OsString>,
        nudges: mpsc::Sender<Nudge>,
    ) -> anyhow::Result<Embedded> {
        let executable = agent_beside(&std::env::current_exe().context("cannot tell where this executable lies")?)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("cannot listen on 127.0.0.1")?;
        let security = Security::Plaintext(Plaintext::Loopback);
        // Whoever started it rolls up when its job is done.
        let options = ServeOptions { data: data.to_owned(), lease: LEASE, security, keep: Keep::Forever };
        let server = fleet::serve(listener, options).await?;
        let url = server.url();
        let logs = data.join("agents");
        std::fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
        let agents = roster(driving).into_iter().map(|(name, role)| {
            let log = logs.join(format!("{name}.log"));
            Agent { executable: executable.clone(), url: url.clone(), name, role, log, hidden: hidden.clone() }
        });
        let crew = Crew::start(agents, Patience::default(), nudges);
        Ok(Embedded { url, server: Some(server), crew })
    }

    /// Where its coordinator is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops agents and service in good order. Both at once: an agent that the service lets go is not to be started
    /// again, and the service waits for nobody who has ended.
    ///
    /// Whoever does not wait for the end of this calls [`kill`](Embedded::kill).
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        let server = self.server.take();
        let ended = async {
            match server {
                Some(server) => server.shutdown(PATIENCE).await,
                None => Ok(()),
            }
        };
        tokio::join!(ended, self.crew.stop()).0
    }

    /// Kills what agents there are; the service ends with this process.
    pub async fn kill(self) {
        self.crew.kill().await;
    }
}

/// Names and roles of the agents.
fn roster(driving: u32) -> Vec<(String, &'static str)> {
    let drive = (1..=driving).map(|n| (format!("drive-{n}"), "drive"));
    drive.chain([("observe-1".to_owned(), "observe")]).collect()
}

/// The agent's executable, beside this one.
fn agent_beside(this: &Path) -> anyhow::Result<PathBuf> {
    let agent = this.with_file_name(format!("vufleet-agent{}", std::env::consts::EXE_SUFFIX));
    if !agent.is_file() {
        bail!(
            "{} is missing; build both with `cargo build --workspace`, or name a coordinator with --coordinator",
            agent.display()
        );
    }
    Ok(agent)
}

/// The agent processes, each with a task that keeps it alive.
#[derive(Debug)]
struct Crew {
    keepers: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Crew {
    fn start(agents: impl Iterator<Item = Agent>, patience: Patience, nudges: mpsc::Sender<Nudge>) -> Crew {
        let (stop, stopped) = watch::channel(false);
        let mut keepers = JoinSet::new();
        for agent in agents {
            keepers.spawn(keeper::keep(agent, patience, stopped.clone(), nudges.clone()));
        }
        Crew { keepers, stop }
    }

    async fn stop(&mut self) {
        self.stop.send_replace(true);
        while let Some(kept) = self.keepers.join_next().await {
            if let Err(error) = kept {
                tracing::warn!("an agent's keeper died: {error}");
            }
        }
    }

    /// A keeper that is dropped kills its process; this waits until all of them are dropped.
    async fn kill(mut self) {
        self.keepers.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// An agent that is a shell script; `$2` is the coordinator's URL, `$6` the name.
    fn scripted(dir: &Path, script: &str) -> Agent {
        let executable = dir.join("agent.sh");
        std::fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o755)).unwrap();
        let log = dir.join("drive-1.log");
        Agent {
            executable,
            url: "http://127.0.0.1:1".into(),
            name: "drive-1".into(),
            role: "drive",
            log,
            hidden: Vec::new(),
        }
    }

    const HASTY: Patience =
        Patience { restarts: 2, back_off: Duration::from_millis(1), grace: Duration::from_millis(300) };

    async fn pid_of(path: &Path) -> nix::unistd::Pid {
        loop {
            if let Some(pid) = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()) {
                return nix::unistd::Pid::from_raw(pid);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn is_alive(pid: nix::unistd::Pid) -> bool {
        // A killed child that nobody has waited for yet is a zombie, which is as good as gone.
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
    }

    /// SIGKILL takes effect a moment after it was sent.
    async fn gone(pid: nix::unistd::Pid) {
        for _ in 0..1_000 {
            if !is_alive(pid) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        nix::sys::signal::kill(pid, nix::sys::signal::SIGKILL).unwrap();
        panic!("process {pid} outlived its keeper");
    }

    #[test]
    fn the_roster_is_named_by_role() {
        let names: Vec<_> = roster(2).into_iter().map(|(name, role)| format!("{name}:{role}")).collect();
        assert_eq!(names, ["drive-1:drive", "drive-2:drive", "observe-1:observe"]);
    }

    #[test]
    fn a_missing_agent_is_named_with_its_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let error = agent_beside(&dir.path().join("vufleet")).unwrap_err().to_string();
        assert!(error.contains("vufleet-agent") && error.contains("cargo build --workspace"), "{error}");
        std::fs::write(dir.path().join("vufleet-agent"), "").unwrap();
        agent_beside(&dir.path().join("vufleet")).unwrap();
    }

    #[tokio::test]
    async fn an_agent_that_dies_is_started_again_within_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let agent = scripted(dir.path(), "echo \"$*\" >&2; exit 7");
        let (nudges, mut told) = mpsc::channel(16);
        let mut crew = Crew::start([agent].into_iter(), HASTY, nudges);
        for n in 1..=2 {
            let Some(Nudge::Note(note)) = told.recv().await else { panic!("a note is due") };
            assert!(note.contains("drive-1") && note.contains(&format!("{n} of 2")), "{note}");
        }
        let Some(Nudge::Broken(why)) = told.recv().await else { panic!("it is broken now") };
        let line = "--coordinator http://127.0.0.1:1 --roles drive --name drive-1";
        assert!(why.contains("exit status: 7") && why.contains("drive-1.log"), "{why}");
        assert_eq!(why.matches(line).count(), 3, "its last words, of every start: {why}");
        crew.stop().await;
    }

    #[tokio::test]
    async fn an_agent_that_ignores_sigterm_is_killed_after_its_grace() {
        let dir = tempfile::tempdir().unwrap();
        let pid_file = dir.path().join("pid");
        let script = format!("trap '' TERM; echo $$ > {}; while :; do sleep 0.05; done", pid_file.display());
        let (nudges, _told) = mpsc::channel(16);
        let mut crew = Crew::start([scripted(dir.path(), &script)].into_iter(), HASTY, nudges);
        let pid = pid_of(&pid_file).await;
        assert!(is_alive(pid));
        crew.stop().await;
        assert!(!is_alive(pid));
    }

    #[tokio::test]
    async fn killing_leaves_no_agent_and_waits_for_none() {
        let dir = tempfile::tempdir().unwrap();
        let pid_file = dir.path().join("pid");
        let script = format!("trap '' TERM; echo $$ > {}; while :; do sleep 0.05; done", pid_file.display());
        let (nudges, _told) = mpsc::channel(16);
        let patience = Patience { grace: Duration::from_secs(3_600), ..HASTY };
        let crew = Crew::start([scripted(dir.path(), &script)].into_iter(), patience, nudges);
        let pid = pid_of(&pid_file).await;
        crew.kill().await;
        gone(pid).await;
    }

    #[tokio::test]
    async fn an_end_that_nobody_waits_for_becomes_a_kill() {
        let dir = tempfile::tempdir().unwrap();
        let pid_file = dir.path().join("pid");
        let script = format!("trap '' TERM; echo $$ > {}; while :; do sleep 0.05; done", pid_file.display());
        let (nudges, _told) = mpsc::channel(16);
        let patience = Patience { grace: Duration::from_secs(3_600), ..HASTY };
        let mut crew = Crew::start([scripted(dir.path(), &script)].into_iter(), patience, nudges);
        let pid = pid_of(&pid_file).await;
        tokio::select! {
            () = crew.stop() => panic!("it ignores SIGTERM"),
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
        assert!(is_alive(pid));
        crew.kill().await;
        gone(pid).await;
    }

    #[tokio::test]
    async fn an_agent_has_a_process_group_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let pid_file = dir.path().join("pid");
        let script = format!("echo $$ > {}; sleep 60", pid_file.display());
        let (nudges, _told) = mpsc::channel(16);
        let crew = Crew::start([scripted(dir.path(), &script)].into_iter(), HASTY, nudges);
        let pid = pid_of(&pid_file).await;
        assert_eq!(nix::unistd::getpgid(Some(pid)), Ok(pid));
        crew.kill().await;
    }
}
