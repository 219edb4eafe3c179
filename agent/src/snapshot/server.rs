//! MySQL and MariaDB: the whole data directory, while the server that has it is stopped.
//!
//! While the server is stopped because of that a mark lies beside the directory, so that an agent that comes after one that was
//! killed starts it again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use vufleet_proto::v1::snapshot::Act;

use super::copies::{Copies, remove};
use super::{Done, Patience, look};
use crate::command;
use crate::config::ServerFiles;

/// Files that a server keeps locked as long as it has the directory.
const LOCKED: [&str; 2] = ["ibdata1", "aria_log_control"];
/// From the end of the command that stops or starts the server until it has let go of its files, or has them.
const SETTLED: Duration = Duration::from_secs(60);
/// How long the server may take to start, whatever is left of the order's own limit: it is not to stay down.
const START_LIMIT: Duration = Duration::from_secs(300);
const ROUND: Duration = Duration::from_millis(50);

const STOPPED: &str = ".vufleet-stopped";

pub(super) fn act(act: Act, files: &ServerFiles, key: &str, patience: &Patience<'_>) -> anyhow::Result<Done> {
    let directory = whole(files)?;
    let copies = Copies::of(&directory, key);
    match act {
        Act::Look => {
            ensure!(
                is_held(&directory)?,
                "no server has the files in {}, which [snapshot] of this agent names; write the data directory of the study's \
                 server there",
                directory.display()
            );
            look(&copies)
        }
        Act::Take if copies.is_there() => {
            let data = copies.origin_tally()?;
            Ok(Done { place: copies.copy, data, found: true })
        }
        Act::Take => {
            copies.check_place()?;
            copies.check_exchange()?;
            copies.check_room(copies.origin_tally()?)?;
            let data = while_stopped(files, &directory, patience, || copies.take(patience))?;
            Ok(Done { place: copies.copy, data, found: false })
        }
        Act::PutBack => {
            // Copied while the server still runs: the copy is nobody's.
            let data = copies.make_fresh(patience)?;
            let replaced = while_stopped(files, &directory, patience, || copies.put_in());
            if replaced.is_err() {
                copies.clean()?;
            }
            replaced.map(|()| Done { place: copies.copy, data, found: true })
        }
        Act::End => {
            let data = while_stopped(files, &directory, patience, || {
                let data = copies.use_up()?;
                copies.put_in().map(|()| data)
            })?;
            Ok(Done { place: copies.copy, data, found: true })
        }
    }
}

/// Stops the server, does something, and starts it again whatever became of that.
fn while_stopped<T>(
    files: &ServerFiles,
    directory: &Path,
    patience: &Patience<'_>,
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    patience.check()?;
    let mark = mark(directory);
    fs::write(&mark, std::process::id().to_string()).with_context(|| mark.display().to_string())?;
    let done = stop(files, directory, patience).and_then(|()| work());
    let started = if is_held(directory)? { Ok(()) } else { start(files, directory) };
    match (done, started) {
        (done, Ok(())) => {
            remove(&mark)?;
            done
        }
        (Ok(_), Err(down)) => Err(down.context("the server is stopped and does not start again; start it by hand")),
        (Err(error), Err(down)) => {
            Err(error.context(format!("the server is stopped and does not start again: {down:#}; start it by hand")))
        }
    }
}

fn stop(files: &ServerFiles, directory: &Path, patience: &Patience<'_>) -> anyhow::Result<()> {
    run("stop", &files.stop, patience.left())?;
    await_held(directory, false).context(
        "the server still has its files although the command of [snapshot] stop has ended; have that wait for the server's end",
    )
}

fn start(files: &ServerFiles, directory: &Path) -> anyhow::Result<()> {
    run("start", &files.start, START_LIMIT)?;
    await_held(directory, true)
        .context("the command of [snapshot] start has ended, but no server has the files; look at its log")
}

fn run(name: &str, line: &[String], limit: Duration) -> anyhow::Result<()> {
    let ending = command::run(&BTreeMap::from([(name.to_owned(), line.to_vec())]), name, limit);
    match ending.failure() {
        None => Ok(()),
        Some(failure) => bail!("the command of [snapshot] {name} ({}): {failure}", line.join(" ")),
    }
}

fn await_held(directory: &Path, wanted: bool) -> anyhow::Result<()> {
    let begun = Instant::now();
    while is_held(directory)? != wanted {
        ensure!(begun.elapsed() < SETTLED, "waited for {SETTLED:?}");
        std::thread::sleep(ROUND);
    }
    Ok(())
}

/// Whether some process has a lock on the files that a running server keeps locked.
fn is_held(directory: &Path) -> anyhow::Result<bool> {
    for name in LOCKED {
        let path = directory.join(name);
        let Ok(file) = File::options().read(true).write(true).open(&path) else {
            ensure!(
                !path.exists(),
                "{} cannot be opened; run this agent as root, or as the server's user",
                path.display()
            );
            continue;
        };
        let mut lock = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        };
        fcntl(&file, FcntlArg::F_GETLK(&mut lock)).with_context(|| path.display().to_string())?;
        if lock.l_type != libc::F_UNLCK as libc::c_short {
            return Ok(true);
        }
    }
    Ok(false)
}

fn whole(files: &ServerFiles) -> anyhow::Result<PathBuf> {
    let named = files.datadir.display();
    files.datadir.canonicalize().with_context(|| format!("{named}, which [snapshot] of this agent names"))
}

fn mark(directory: &Path) -> PathBuf {
    let mut name: OsString = directory.as_os_str().to_owned();
    name.push(STOPPED);
    PathBuf::from(name)
}

/// Starts the server again that an agent has stopped and, being killed, not started.
pub fn recover(files: &ServerFiles) {
    match whole(files).and_then(|directory| try_recover(files, &directory)) {
        Ok(true) => {
            tracing::warn!(datadir = %files.datadir.display(), "an agent was killed while this server was stopped; it is started again")
        }
        Ok(false) => {}
        Err(error) => {
            tracing::error!("a server that was stopped for its snapshot is still stopped; start it by hand: {error:#}")
        }
    }
}

/// Whether there was anything to do.
fn try_recover(files: &ServerFiles, directory: &Path) -> anyhow::Result<bool> {
    let mark = mark(directory);
    let Ok(text) = fs::read_to_string(&mark) else { return Ok(false) };
    if text.trim().parse::<u32>().is_ok_and(is_an_agent) {
        return Ok(false);
    }
    Copies::of(directory, "").clean()?;
    if !is_held(directory)? {
        start(files, directory)?;
    }
    remove(&mark)?;
    Ok(true)
}

/// Whether a process is an agent that is still at work.
fn is_an_agent(pid: u32) -> bool {
    let exe = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    pid != std::process::id() && exe(pid).is_some_and(|it| Some(it) == exe(std::process::id()))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// A process that locks a file as InnoDB does, which `stop` ends and `start` starts.
    struct Lab {
        directory: tempfile::TempDir,
        first: Option<Child>,
    }

    const SERVER: &str = "import fcntl, os, sys, time\nf = open(sys.argv[1] + '/ibdata1', 'r+')\n\
                          fcntl.lockf(f, fcntl.LOCK_EX)\nopen(sys.argv[2], 'w').write(str(os.getpid()))\n\
                          time.sleep(600)\n";

    impl Lab {
        fn new() -> Lab {
            let directory = tempfile::tempdir().unwrap();
            fs::create_dir(directory.path().join("data")).unwrap();
            fs::write(directory.path().join("data/ibdata1"), "first").unwrap();
            fs::write(directory.path().join("server.py"), SERVER).unwrap();
            let mut lab = Lab { directory, first: None };
            lab.first = Some(Command::new("sh").args(["-c", &lab.starting()]).stdin(Stdio::null()).spawn().unwrap());
            await_held(&lab.data(), true).unwrap();
            lab
        }

        fn path(&self, name: &str) -> PathBuf {
            self.directory.path().join(name)
        }

        fn data(&self) -> PathBuf {
            self.path("data").canonicalize().unwrap()
        }

        fn starting(&self) -> String {
            let path = |name: &str| self.path(name).display().to_string();
            format!("python3 {} {} {} </dev/null >/dev/null 2>&1 &", path("server.py"), path("data"), path("pid"))
        }

        fn files(&self, stop: &str, start: &str) -> ServerFiles {
            let shell = |script: &str| vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()];
            ServerFiles { datadir: self.path("data"), stop: shell(stop), start: shell(start) }
        }

        fn stopping(&self) -> String {
            format!("kill $(cat {})", self.path("pid").display())
        }
    }

    impl Drop for Lab {
        fn drop(&mut self) {
            let ended = Command::new("sh").args(["-c", &self.stopping()]).stderr(Stdio::null()).status();
            assert!(ended.is_ok());
            self.first.take().map(|mut child| child.wait());
        }
    }

    fn within(over: &AtomicBool) -> Patience<'_> {
        Patience { over, deadline: Instant::now() + Duration::from_secs(60) }
    }

    #[test]
    fn a_directory_is_copied_and_replaced_while_its_server_is_stopped() {
        let lab = Lab::new();
        let files = lab.files(&lab.stopping(), &lab.starting());
        let over = AtomicBool::new(false);
        let order = |what| act(what, &files, "0123", &within(&over));
        assert!(!order(Act::Look).unwrap().found);
        assert!(!order(Act::Take).unwrap().found);
        assert!(is_held(&lab.data()).unwrap(), "it runs again");
        fs::write(lab.path("data/ibdata1"), "used").unwrap();
        order(Act::PutBack).unwrap();
        assert_eq!(fs::read_to_string(lab.path("data/ibdata1")).unwrap(), "first");
        assert!(is_held(&lab.data()).unwrap());
        fs::write(lab.path("data/ibdata1"), "used").unwrap();
        order(Act::End).unwrap();
        assert_eq!(fs::read_to_string(lab.path("data/ibdata1")).unwrap(), "first");
        let left: Vec<_> = fs::read_dir(lab.directory.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().contains("vufleet")), "{left:?}");
    }

    #[test]
    fn a_server_that_does_not_stop_keeps_its_files_and_one_that_was_left_stopped_is_started() {
        let lab = Lab::new();
        let over = AtomicBool::new(false);
        let broken = lab.files("echo no such unit >&2; exit 5", &lab.starting());
        let error = format!("{:#}", act(Act::Take, &broken, "0123", &within(&over)).unwrap_err());
        assert!(error.contains("[snapshot] stop") && error.contains("no such unit"), "{error}");
        assert!(is_held(&lab.data()).unwrap() && !mark(&lab.data()).exists(), "nothing has changed");

        // As an agent leaves it that was killed.
        run("stop", &lab.files(&lab.stopping(), "").stop, Duration::from_secs(60)).unwrap();
        await_held(&lab.data(), false).unwrap();
        fs::write(mark(&lab.data()), "0").unwrap();
        fs::create_dir(lab.path("data.vufleet-new")).unwrap();
        let files = lab.files(&lab.stopping(), &lab.starting());
        let stopped = act(Act::Look, &files, "0123", &within(&over)).unwrap_err().to_string();
        assert!(stopped.contains("no server has the files"), "{stopped}");
        recover(&files);
        assert!(is_held(&lab.data()).unwrap() && !mark(&lab.data()).exists());
        assert!(!lab.path("data.vufleet-new").exists(), "half a copy is nobody's");
    }
}
