//! The programs that make load, each as a child process with the same tables, login and length.

mod sysbench;
mod vufleet;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

pub use self::vufleet::{PASSWORD, Second, Told, study};

use crate::load::Load;
use crate::processes;

/// Lines of a program's output that are shown when it fails.
const LAST_WORDS: usize = 15;

/// A program that makes load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// This one, its executables in a directory.
    Vufleet(PathBuf),
    /// The one compared with.
    Sysbench,
    /// vufleet's sessions without its measuring.
    Bare,
}

impl Program {
    /// vufleet as it was built together with this executable.
    pub fn beside() -> Result<Program> {
        let this = std::env::current_exe().context("cannot tell where this executable lies")?;
        Self::of_directory(this.parent().context("an executable lies in a directory")?)
    }

    /// vufleet in some directory.
    pub fn of_directory(directory: &Path) -> Result<Program> {
        for name in ["vufleet", "vufleet-agent"] {
            let file = directory.join(name);
            ensure!(file.is_file(), "{} is missing; build it with `cargo build --release --workspace`", file.display());
        }
        Ok(Program::Vufleet(directory.to_owned()))
    }

    /// Where its executables lie.
    pub fn directory(&self) -> Result<&Path> {
        match self {
            Program::Vufleet(directory) => Ok(directory),
            Program::Sysbench | Program::Bare => bail!("{} has no directory of its own", self.name()),
        }
    }

    /// What people call it.
    pub fn name(&self) -> &'static str {
        match self {
            Program::Vufleet(_) => "vufleet",
            Program::Sysbench => "sysbench",
            Program::Bare => "bare",
        }
    }

    /// Its version, as it tells it.
    pub fn version(&self) -> Result<String> {
        let executable = match self {
            Program::Vufleet(directory) => directory.join("vufleet"),
            Program::Sysbench => PathBuf::from("sysbench"),
            Program::Bare => std::env::current_exe()?,
        };
        let output = Command::new(&executable).arg("--version").output();
        let output = output.with_context(|| format!("cannot run {}; is it installed?", executable.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Starts it under a load.
    pub fn start(&self, load: &Load) -> Result<Running> {
        let work = tempfile::Builder::new().prefix("vufleet-bench-").tempdir()?;
        Running::start(self.command(load, work.path(), processes::cores())?, work, load.is_invalid())
    }

    /// Its command line under a load; on how many threads, where the program can be told.
    pub fn command(&self, load: &Load, work: &Path, threads: usize) -> Result<Command> {
        match self {
            Program::Vufleet(directory) => vufleet::run(directory, load, work),
            Program::Sysbench => sysbench::run(load),
            Program::Bare => vufleet::bare(load, work, threads),
        }
    }

    /// The process that makes the load, once it is there.
    pub fn driver(&self, running: &Running) -> Result<Option<i32>> {
        match self {
            Program::Vufleet(_) => processes::started_with(running.pid(), vufleet::DRIVER),
            Program::Sysbench | Program::Bare => Ok(Some(running.pid())),
        }
    }
}

/// Starts to build the tables of a load.
pub fn build_tables(program: &Program, load: &Load) -> Result<Running> {
    let Program::Vufleet(directory) = program else { bail!("vufleet builds the tables") };
    let work = tempfile::Builder::new().prefix("vufleet-bench-").tempdir()?;
    let command = vufleet::build(directory, load, work.path())?;
    Running::start(command, work, false)
}

/// A program at work; killed when dropped.
pub struct Running {
    child: Child,
    work: TempDir,
    /// vufleet will call the run invalid, and what it counts is wanted all the same.
    invalid: bool,
}

impl Running {
    fn start(mut command: Command, work: TempDir, invalid: bool) -> Result<Running> {
        let log = File::create(work.path().join("output.log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        Ok(Running { child, work, invalid })
    }

    /// Process id.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Whether it has not ended by itself.
    pub fn goes_on(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Waits for its end, which must be a good one. Returns what it tells of itself, if it does.
    pub fn finish(mut self) -> Result<Option<Told>> {
        let status = self.child.wait()?;
        let short_of_valid_runs = status.code() == Some(3);
        ensure!(
            status.success() || (self.invalid && short_of_valid_runs),
            "a program under test ended with {status}:\n{}",
            self.last_words()
        );
        vufleet::told(self.work.path())
    }

    /// The end of what it said.
    pub fn last_words(&self) -> String {
        let output = std::fs::read_to_string(self.work.path().join("output.log")).unwrap_or_default();
        let lines: Vec<_> = output.lines().collect();
        lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself. vufleet's agents end with it.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
