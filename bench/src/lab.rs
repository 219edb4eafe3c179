//! A coordinator and agents as processes of this host, each started as anybody would.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::time::sleep;
use vufleet::operator::Operator;
use vufleet_testbed::MariaDb;
use vufleet_trust::address::{Plaintext, Security};

use crate::program::PASSWORD;

/// How often agents are counted.
const POLL: Duration = Duration::from_millis(100);
const PLAINTEXT: Security = Security::Plaintext(Plaintext::Loopback);
const PATIENCE: Duration = Duration::from_secs(60);
/// The coordinator's own default.
pub const LEASE: Duration = Duration::from_secs(10);

/// A coordinator and its agents, all ended with this.
pub struct Lab {
    programs: PathBuf,
    dir: TempDir,
    port: u16,
    lease: Duration,
    coordinator: Child,
    agents: Vec<Child>,
}

impl Lab {
    /// Starts the coordinator. `lease`: a silence after which an agent is taken for lost.
    pub fn start(programs: &Path, lease: Duration) -> Result<Lab> {
        let dir = TempDir::with_prefix("vufleet-bench-lab-")?;
        // Another program may take it in the moment between; then the coordinator says so.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let coordinator = coordinator(programs, port, lease, dir.path())?;
        Ok(Lab { programs: programs.to_owned(), dir, port, lease, coordinator, agents: Vec::new() })
    }

    /// Where the ledger is.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Somebody who asks the coordinator.
    pub async fn operator(&self) -> Result<Operator> {
        Operator::dial(&self.url(), &PLAINTEXT).await
    }

    /// Process id of the coordinator.
    pub fn coordinator_pid(&self) -> i32 {
        self.coordinator.id() as i32
    }

    /// Kills the coordinator and starts it on the same ledger.
    pub fn restart_coordinator(&mut self) -> Result<()> {
        self.coordinator.kill()?;
        self.coordinator.wait()?;
        self.coordinator = coordinator(&self.programs, self.port, self.lease, self.dir.path())?;
        Ok(())
    }

    /// Starts that many agents that drive.
    pub fn hire(&mut self, count: u32) -> Result<()> {
        for number in 1..=count {
            let command = self.agent(&format!("load-{number:03}"));
            self.start_agent(command)?;
        }
        Ok(())
    }

    /// The command line of one that drives.
    pub fn agent(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join("vufleet-agent"));
        command.args(["--coordinator", &self.url(), "--roles", "drive", "--name", name]);
        command
    }

    /// Starts one by its command line.
    pub fn start_agent(&mut self, command: Command) -> Result<()> {
        self.agents.push(spawn(command, &self.dir.path().join("agents.log"))?);
        Ok(())
    }

    /// Tells all agents to end, and waits until they have.
    pub fn dismiss(&mut self) -> Result<()> {
        for agent in &mut self.agents {
            kill(Pid::from_raw(agent.id() as i32), Signal::SIGTERM).context("an agent is gone")?;
            agent.wait()?;
        }
        self.agents.clear();
        Ok(())
    }

    /// Waits until that many agents are connected; how long that is after `begun`.
    pub async fn await_agents(&mut self, count: u32, begun: Instant) -> Result<Duration> {
        let patience = Instant::now() + PATIENCE;
        while Instant::now() < patience {
            if let Ok(mut operator) = self.operator().await
                && let Ok(reply) = operator.agents().await
                && reply.agents.iter().filter(|agent| agent.connected).count() >= count as usize
            {
                return Ok(begun.elapsed());
            }
            ensure!(self.coordinator.try_wait()?.is_none(), "the coordinator ended: {}", self.last_words());
            for agent in &mut self.agents {
                let ended = agent.try_wait()?;
                ensure!(ended.is_none(), "an agent ended: {}", last_lines(&self.dir.path().join("agents.log")));
            }
            sleep(POLL).await;
        }
        bail!("not all of {count} agents joined within {PATIENCE:?}")
    }

    /// Starts a run.
    pub fn run(&self, study: &str, agents: u32) -> Result<Child> {
        let file = self.dir.path().join("study.toml");
        std::fs::write(&file, study)?;
        let mut command = Command::new(self.programs.join("vufleet"));
        command.arg("run").arg(file).args(["--coordinator", &self.url(), "--wait-for-agents", &agents.to_string()]);
        command.arg("--quiet").arg("--out").arg(self.dir.path().join("out")).env(PASSWORD, MariaDb::BENCH.password);
        spawn(command, &self.dir.path().join("run.log"))
    }

    /// The end of what coordinator and run said.
    pub fn last_words(&self) -> String {
        ["coordinator.log", "run.log"].map(|name| last_lines(&self.dir.path().join(name))).join("\n")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for child in self.agents.iter_mut().chain([&mut self.coordinator]) {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}

fn coordinator(programs: &Path, port: u16, lease: Duration, dir: &Path) -> Result<Child> {
    let mut command = Command::new(programs.join("vufleet"));
    command.args(["coordinator", "--listen", &format!("127.0.0.1:{port}")]);
    command.args(["--lease", &format!("{}s", lease.as_secs()), "--data"]).arg(dir.join("data"));
    spawn(command, &dir.join("coordinator.log"))
}

fn spawn(mut command: Command, log: &Path) -> Result<Child> {
    let log = File::options().create(true).append(true).open(log)?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))
}
