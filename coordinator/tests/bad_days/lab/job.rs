//! A process under test, and how it ended.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::PATIENCE;

/// A process that is killed when the test lets go of it.
pub struct Job {
    line: String,
    child: Child,
    begun: Instant,
    out: PathBuf,
    err: PathBuf,
}

/// A process that has ended by itself.
#[derive(Debug)]
pub struct Ended {
    pub line: String,
    /// As a shell has it: 128 and the signal's number where a signal ended it.
    pub code: i32,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

impl Job {
    /// Starts it; what it says goes to files beside `said`.
    pub fn start(mut command: Command, said: &Path) -> Job {
        let (out, err) = (said.with_extension("out"), said.with_extension("err"));
        let line = command.get_args().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program()));
        Job { line, child, begun: Instant::now(), out, err }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// What it has said on stdout so far.
    pub fn out(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap()
    }

    /// What it has said on stderr so far.
    pub fn err(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap()
    }

    /// Waits until something holds while it runs.
    pub fn await_that(&mut self, what: &str, mut holds: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !holds() {
            let ended = self.child.try_wait().unwrap();
            let late = begun.elapsed() > PATIENCE;
            assert!(ended.is_none() && !late, "{}: it never came about that {what}\n{}", self.line, self.words());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until it has said something on stderr.
    pub fn await_words(&mut self, words: &str) {
        let err = self.err.clone();
        self.await_that(&format!("it says {words:?}"), || std::fs::read_to_string(&err).unwrap().contains(words));
    }

    /// Whether it has ended by itself.
    #[allow(dead_code, reason = "only the tests between hosts ask")]
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "{} does not end\n{}", self.line, self.words());
            std::thread::sleep(Duration::from_millis(20));
        };
        Ended {
            code: status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap(),
            out: self.out(),
            err: self.err(),
            took: self.begun.elapsed(),
            line: std::mem::take(&mut self.line),
        }
    }

    /// SIGKILL, and its end.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn words(&self) -> String {
        format!("stdout:\n{}\nstderr:\n{}", self.out(), self.err())
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

impl Ended {
    /// Fails, with all it said, unless it ended with this exit code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// Fails unless it has said every one of these words.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Ended {
        for words in words {
            let told = self.out.contains(words) || self.err.contains(words);
            assert!(told, "no {words:?} in\n{self}");
        }
        self
    }

    /// Fails unless it refused: exit code 1, one sentence with these words, and that within seconds.
    #[track_caller]
    pub fn refused(self, words: &[&str]) -> Ended {
        let ended = self.expect(1).says(words);
        let errors = ended.err.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "one error, told once:\n{ended}");
        assert!(ended.took < Duration::from_secs(30), "not for hours:\n{ended}");
        ended
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ended { line, code, out, err, took } = self;
        write!(f, "{line}: exit code {code} after {took:?}\nstdout:\n{out}\nstderr:\n{err}")
    }
}
