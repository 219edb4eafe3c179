//! A directory with a study in it, and `vufleet` at work there.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use vufleet_testbed::MariaDb;

/// Long enough for anything that a test waits for, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(240);

/// A study of so many warehouses.
pub fn study(target: &str, warehouses: u32, calls: &str) -> String {
    format!(
        r#"name = "orders"
seed = 42

[target]
{target}

[workload]
kind = "tprocc"
warehouses = {warehouses}
calls = "{calls}"

[[profiles]]
vus = 1

[schedule]
ramp_up = "500ms"
measure = "1s"
settle = "0s"
repetitions = 1
"#
    )
}

/// A server as a target.
pub fn target(server: &MariaDb) -> String {
    let (port, database, user) = (server.port(), MariaDb::DATABASE, MariaDb::BENCH.user);
    format!(
        "kind = \"mysql\"\nport = {port}\ndatabase = \"{database}\"\nuser = \"{user}\"\npassword = {{ env = \"BENCH_PASSWORD\" }}"
    )
}

/// Where one test works.
pub struct Lab(TempDir);

impl Lab {
    pub fn new(study: &str) -> Lab {
        let lab = Lab(TempDir::new().unwrap());
        std::fs::write(lab.path("study.toml"), study).unwrap();
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Starts `vufleet`.
    pub fn start(&self, line: &str) -> Job {
        let executable = Path::new(env!("CARGO_BIN_EXE_vufleet"));
        let agent = executable.with_file_name("vufleet-agent");
        assert!(agent.is_file(), "{} is missing: cargo build --workspace", agent.display());
        let child = Command::new(executable)
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .env("BENCH_PASSWORD", MariaDb::BENCH.password)
            .stdin(Stdio::null())
            .stdout(File::create(self.path("out")).unwrap())
            .stderr(File::create(self.path("err")).unwrap())
            .spawn()
            .unwrap();
        Job { child, line: line.to_owned(), directory: self.0.path().to_owned() }
    }

    /// Runs `vufleet` to its end. Returns what it said, after checking its exit code.
    #[track_caller]
    pub fn run(&self, line: &str, code: i32) -> String {
        self.start(line).end(code)
    }

    /// Kills the agent of that name that works here, as a crash would.
    pub fn kill_agent(&self, name: &str) {
        let here = self.0.path().canonicalize().unwrap();
        let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let entry = entry.ok()?;
            let line = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
            let is_it = line.contains("vufleet-agent\0") && line.contains(&format!("--name\0{name}\0"));
            let works_here = std::fs::read_link(entry.path().join("cwd")).ok()? == here;
            (is_it && works_here).then(|| entry.file_name().to_str()?.parse().ok()).flatten()
        });
        let pids: Vec<i32> = pids.collect();
        assert_eq!(pids.len(), 1, "agents {name} at work here");
        kill(Pid::from_raw(pids[0]), Signal::SIGKILL).unwrap();
    }
}

/// A `vufleet` that is killed when the test lets go of it.
pub struct Job {
    child: Child,
    line: String,
    directory: PathBuf,
}

impl Job {
    pub fn interrupt(&self) {
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGINT).unwrap();
    }

    /// Waits until something holds while it runs.
    pub fn await_that(&mut self, what: &str, mut holds: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(self.child.try_wait().unwrap().is_none(), "it ended before {what}\n{}", self.words());
            assert!(begun.elapsed() < PATIENCE, "it never came about that {what}\n{}", self.words());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for its end. Returns what it said, after checking its exit code.
    #[track_caller]
    pub fn end(self, code: i32) -> String {
        let (ended, words) = self.ended();
        assert_eq!(ended, code, "{words}");
        words
    }

    /// Waits for its end, whatever it may be: its exit code and what it said.
    pub fn ended(mut self) -> (i32, String) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code().expect("no signal ended it"), self.words());
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end\n{}", self.words());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn words(&self) -> String {
        let read = |name| std::fs::read_to_string(self.directory.join(name)).unwrap();
        format!("vufleet {}\n{}{}", self.line, read("out"), read("err"))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// Fails unless every one of these words was said.
#[track_caller]
pub fn says(said: &str, words: &[&str]) {
    for words in words {
        assert!(said.contains(words), "no {words:?} in\n{said}");
    }
}
