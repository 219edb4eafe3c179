//! A directory to work in, studies to work on, and processes that never outlive a test.

pub mod files;
pub mod fleet;
pub mod job;
pub mod link;
pub mod locks;
pub mod other;
pub mod page;
pub mod procs;
pub mod puppet;
pub mod study;
pub mod wall;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use vufleet_testbed::MariaDb;

pub use job::{Ended, Job};

/// Long enough for anything that a test waits for, on a machine that does other things too.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A place where one test works.
pub struct Lab {
    work: TempDir,
    /// Apart from the work, where nothing may be left behind.
    said: TempDir,
    jobs: Cell<u32>,
}

impl Lab {
    /// A directory with this study in `study.toml`.
    pub fn new(study: &str) -> Lab {
        let lab = Lab { work: TempDir::new().unwrap(), said: TempDir::new().unwrap(), jobs: Cell::new(0) };
        std::fs::write(lab.path("study.toml"), study).unwrap();
        lab
    }

    /// A file or directory in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    /// Names of what lies in it.
    pub fn entries(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.work.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A `vufleet` that has not been started. Words are separated by spaces.
    pub fn vufleet(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vufleet"));
        command.args(line.split_whitespace());
        command
    }

    /// Starts a command here, with the passwords of the test servers in its environment.
    pub fn spawn(&self, mut command: Command) -> Job {
        self.jobs.set(self.jobs.get() + 1);
        command
            .current_dir(self.work.path())
            .env("BENCH_PASSWORD", MariaDb::BENCH.password)
            .env("ADMIN_PASSWORD", MariaDb::ADMIN.password)
            .env("WRONG_PASSWORD", "wrong")
            .env_remove("VUFLEET_LOG")
            .env_remove("RUST_LOG");
        Job::start(command, &self.said.path().join(self.jobs.get().to_string()))
    }

    /// Starts `vufleet`.
    pub fn start(&self, line: &str) -> Job {
        agent_executable();
        self.spawn(self.vufleet(line))
    }

    /// Runs `vufleet` to its end.
    pub fn run(&self, line: &str) -> Ended {
        self.start(line).end()
    }

    /// Waits until the ledger has so many intervals of a run: its load is under way.
    pub fn await_load(&self, job: &mut Job, run: u64, intervals: u64) {
        let ledger = self.path("vufleet-data");
        job.await_that("load is under way", || files::intervals(&ledger, run) >= intervals);
    }

    /// Processes that work in this directory, wherever they come from.
    pub fn processes(&self) -> Vec<procs::Process> {
        procs::working_in(self.work.path())
    }

    /// Fails when a process is left. One that was just killed is given a moment.
    pub fn assert_deserted(&self) {
        eventually("nobody works here any more", || self.processes().is_empty());
    }
}

/// The agent's executable. `cargo test --workspace` builds it, and so does `cargo build`.
pub fn agent_executable() -> PathBuf {
    let agent = Path::new(env!("CARGO_BIN_EXE_vufleet")).with_file_name("vufleet-agent");
    assert!(agent.is_file(), "{} is missing: cargo build --workspace", agent.display());
    agent
}

/// Waits until something holds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it never came about that {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
