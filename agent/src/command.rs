//! Commands of the agent's host, by the names that its own configuration gives them.
//!
//! A coordinator chooses among them and nothing else: neither program nor arguments, neither directory nor environment.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The end of what a command printed that is told.
const TAIL: usize = 2_000;
/// How often a command is looked at.
const ROUND: Duration = Duration::from_millis(20);
/// From asking a command that is late to end until it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// How long what it printed is waited for once it has ended: a process that it left behind may keep its output open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// 0 where it did what it is for; meaningless with an error.
    pub exit_code: i32,
    /// The end of what it printed, both streams.
    pub output: String,
    /// It could not be started, or did not end by itself.
    pub error: Option<String>,
}

impl Ending {
    /// Why it did not do what it is for, with its own last words.
    pub fn failure(&self) -> Option<String> {
        let cause = match (&self.error, self.exit_code) {
            (Some(error), _) => error.clone(),
            (None, 0) => return None,
            (None, code) => format!("it ended with exit code {code}"),
        };
        let words = self.output.trim();
        Some(if words.is_empty() { cause } else { format!("{cause}: {words}") })
    }

    fn refused(error: String) -> Ending {
        Ending { exit_code: -1, output: String::new(), error: Some(error) }
    }
}

/// Runs a command of `commands` to its end, at most for `limit`, on the calling thread.
pub fn run(commands: &BTreeMap<String, Vec<String>>, name: &str, limit: Duration) -> Ending {
    let Some((program, arguments)) = commands.get(name).and_then(|line| line.split_first()) else {
        return Ending::refused(format!(
            "this agent's configuration names no command {name:?}; add it to [commands], with allow_control = true"
        ));
    };
    // A group of its own, so that what it started ends with it.
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    match started {
        Ok(child) => watch(child, limit),
        Err(error) => Ending::refused(format!("{program} cannot be started: {error}; check [commands] of this agent")),
    }
}

fn watch(mut child: Child, limit: Duration) -> Ending {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let readers: Vec<_> = [child.stdout.take().map(boxed), child.stderr.take().map(boxed)]
        .into_iter()
        .flatten()
        .map(|stream| {
            let printed = Arc::clone(&printed);
            thread::spawn(move || keep_tail(stream, &printed))
        })
        .collect();
    let ended = wait(&mut child, limit);
    let patience = Instant::now() + LAST_WORDS;
    while readers.iter().any(|reader| !reader.is_finished()) && Instant::now() < patience {
        thread::sleep(ROUND);
    }
    let output = String::from_utf8_lossy(&printed.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
    match ended {
        Ok(Some(status)) => match status.code() {
            Some(exit_code) => Ending { exit_code, output, error: None },
            None => Ending { exit_code: -1, output, error: Some(format!("it was ended by a signal ({status})")) },
        },
        Ok(None) => {
            let error = format!("it was still running after {limit:?} and was killed");
            Ending { exit_code: -1, output, error: Some(error) }
        }
        Err(error) => Ending { exit_code: -1, output, error: Some(format!("it cannot be waited for: {error}")) },
    }
}

fn boxed(stream: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(stream)
}

fn keep_tail(mut stream: Box<dyn Read + Send>, printed: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4_096];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.extend_from_slice(&buffer[..length]);
        let surplus = printed.len().saturating_sub(TAIL);
        printed.drain(..surplus);
    }
}

/// The status of a child that ended by itself; none of one that had to be ended.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    if let Some(status) = wait_until(child, Instant::now() + limit)? {
        return Ok(Some(status));
    }
    end_group(child, Signal::SIGTERM);
    let ended = wait_until(child, Instant::now() + GRACE)?.is_some();
    // Whoever is left of its group: a child may ignore what its parent heeded.
    end_group(child, Signal::SIGKILL);
    if !ended {
        child.wait()?;
    }
    Ok(None)
}

fn wait_until(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(ROUND);
    }
}

fn end_group(child: &Child, signal: Signal) {
    let group = Pid::from_raw(child.id().cast_signed());
    if let Err(errno) = killpg(group, signal) {
        tracing::debug!(%errno, %group, "a command's processes had gone");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn shell(script: &str, limit: Duration) -> Ending {
        let line = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        run(&BTreeMap::from([("it".to_owned(), line)]), "it", limit)
    }

    #[test]
    fn a_command_tells_its_exit_code_and_its_last_words() {
        let ended = shell("echo out; echo err >&2", LONG);
        assert_eq!((ended.exit_code, ended.error.as_ref(), ended.failure()), (0, None, None));
        assert!(ended.output.contains("out\n") && ended.output.contains("err\n"), "{ended:?}");
        let failed = shell("echo no such backup >&2; exit 3", LONG);
        assert_eq!(failed.failure().unwrap(), "it ended with exit code 3: no such backup");
        let chatty = shell("seq 1 100000", LONG);
        assert!(chatty.output.len() <= TAIL && chatty.output.ends_with("100000\n"), "{chatty:?}");
    }

    #[test]
    fn what_is_not_named_or_not_there_is_refused() {
        let unnamed = run(&BTreeMap::new(), "rm -rf /", LONG).failure().unwrap();
        assert!(unnamed.contains("names no command \"rm -rf /\"") && unnamed.contains("[commands]"), "{unnamed}");
        let nowhere = BTreeMap::from([("it".to_owned(), vec!["/nowhere/restore".to_owned()])]);
        let missing = run(&nowhere, "it", LONG).failure().unwrap();
        assert!(missing.contains("/nowhere/restore cannot be started"), "{missing}");
    }

    #[test]
    fn a_command_that_is_late_is_killed_with_what_it_started() {
        let begun = Instant::now();
        let ended = shell("trap '' TERM; sleep 600 & sleep 600; echo never", Duration::from_millis(100));
        assert!(ended.failure().unwrap().contains("still running after 100ms"), "{ended:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert!(!ended.output.contains("never"), "{ended:?}");
    }

    #[test]
    fn a_process_left_behind_does_not_hold_it_up() {
        let begun = Instant::now();
        let ended = shell("sleep 20 & echo started", LONG);
        assert_eq!((ended.exit_code, ended.output.as_str()), (0, "started\n"));
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}
