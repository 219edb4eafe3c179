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

use super::copies::Copies;
use super::tree::remove;
use super::{Done, Patience, look};
use crate::command;
use crate::config::ServerFiles;

/// Files that a server keeps locked as long as it has the directory.
const LOCKED: [&str; 2] = ["ibdata1", "aria_log_control"];
const ROUND: Duration = Duration::from_millis(50);

const STOPPED: &str = ".vufleet-stopped";

/// How long a server is waited for.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// From the end of the command that stops or starts it until it has let go of its files, or has them.
    settled: Duration,
    /// To start, whatever is left of the order's own limit, and to end where stopping it took longer than it was to: it is not to
    /// stay down.
    start: Duration,
}

impl Limits {
    const USUAL: Limits = Limits { settled: Duration::from_secs(60), start: Duration::from_secs(300) };
}

/// A server that was told to end and has not yet.
struct Unstopped {
    error: anyhow::Error,
    /// How long it may still take.
    may_take: Duration,
}

/// The server of a data directory, and how it is stopped and started.
#[derive(Debug)]
struct Server<'a> {
    files: &'a ServerFiles,
    directory: PathBuf,
    limits: Limits,
}

pub(super) fn act(act: Act, files: &ServerFiles, maker: &str, patience: &Patience<'_>) -> anyhow::Result<Done> {
    Server::of(files, Limits::USUAL)?.act(act, maker, patience)
}

impl Server<'_> {
    fn of(files: &ServerFiles, limits: Limits) -> anyhow::Result<Server<'_>> {
        Ok(Server { files, directory: whole(files)?, limits })
    }

    fn act(&self, act: Act, maker: &str, patience: &Patience<'_>) -> anyhow::Result<Done> {
        let copies = Copies::of(&self.directory, maker);
        match act {
            Act::Look => {
                ensure!(
                    is_held(&self.directory)?,
                    "no server has the files in {}, which [snapshot] of this agent names; write the data directory of the study's \
                     server there",
                    self.directory.display()
                );
                look(&copies)
            }
            Act::Take if copies.is_there() => {
                let data = copies.origin_tally()?;
                Ok(Done { place: copies.copy, data, found: true, ..Done::default() })
            }
            Act::Take => {
                copies.refuse_others()?;
                copies.check_place()?;
                copies.check_exchange()?;
                copies.check_room(copies.origin_tally()?)?;
                let data = self.while_stopped(patience, || copies.take(patience, |_| Ok(())))?;
                Ok(Done { place: copies.copy, data, found: false, ..Done::default() })
            }
            Act::PutBack => {
                // Copied while the server still runs: the copy is nobody's.
                let data = copies.make_fresh(patience)?;
                self.while_stopped(patience, || copies.put_in()).inspect_err(|_| copies.clean_up())?;
                Ok(Done { place: copies.copy, data, found: true, ..Done::default() })
            }
            Act::End => {
                let data = self.while_stopped(patience, || copies.use_up())?;
                Ok(Done { place: copies.copy, data, found: true, ..Done::default() })
            }
        }
    }

    /// Stops the server, does something, and starts it again whatever became of that.
    fn while_stopped<T>(&self, patience: &Patience<'_>, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        patience.check()?;
        let mark = mark(&self.directory);
        fs::write(&mark, std::process::id().to_string()).with_context(|| mark.display().to_string())?;
        let done = match self.stop(patience) {
            Ok(()) => work(),
            Err(error) => Err(self.after_a_failed_stop(error, &mark)?),
        };
        let started = if is_held(&self.directory)? { Ok(()) } else { self.start() };
        match (done, started) {
            (done, Ok(())) => {
                remove(&mark)?;
                done
            }
            (Ok(_), Err(down)) => Err(down.context("the server is stopped and does not start again; start it by hand")),
            (Err(error), Err(down)) => {
                Err(error
                    .context(format!("the server is stopped and does not start again: {down:#}; start it by hand")))
            }
        }
    }

    fn stop(&self, patience: &Patience<'_>) -> Result<(), Unstopped> {
        let Limits { settled, start } = self.limits;
        run("stop", &self.files.stop, patience.left()).map_err(|error| {
            // A command that had to be killed may have begun what it is for; one that failed by itself most likely has not.
            let may_take = if patience.left().is_zero() { start } else { settled };
            Unstopped { error, may_take }
        })?;
        self.await_held(false, settled).map_err(|error| {
            let error = error.context(
                "the server still has its files although the command of [snapshot] stop has ended; have that wait for the \
                 server's end",
            );
            Unstopped { error, may_take: start }
        })
    }

    /// A server that did not end in time may be about to: it is waited for, so that somebody starts it again. One that does not end at
    /// all keeps its mark: an agent that is started later starts it where it has ended after all.
    fn after_a_failed_stop(&self, unstopped: Unstopped, mark: &Path) -> anyhow::Result<anyhow::Error> {
        let Unstopped { error, may_take } = unstopped;
        let Err(still) = self.await_held(false, may_take) else { return Ok(error) };
        Err(error.context(format!(
            "the server was told to end and has not ({still:#}); if it ends after all, start it by hand, or start this agent \
             again: {} says that it is to run",
            mark.display()
        )))
    }

    fn start(&self) -> anyhow::Result<()> {
        run("start", &self.files.start, self.limits.start)?;
        self.await_held(true, self.limits.settled)
            .context("the command of [snapshot] start has ended, but no server has the files; look at its log")
    }

    fn await_held(&self, wanted: bool, longest: Duration) -> anyhow::Result<()> {
        let begun = Instant::now();
        while is_held(&self.directory)? != wanted {
            ensure!(begun.elapsed() < longest, "waited for {longest:?}");
            std::thread::sleep(ROUND);
        }
        Ok(())
    }
}

fn run(name: &str, line: &[String], limit: Duration) -> anyhow::Result<()> {
    let ending = command::run(&BTreeMap::from([(name.to_owned(), line.to_vec())]), name, limit);
    match ending.failure() {
        None => Ok(()),
        Some(failure) => bail!("the command of [snapshot] {name} ({}): {failure}", line.join(" ")),
    }
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
    match Server::of(files, Limits::USUAL).and_then(|server| server.try_recover()) {
        Ok(true) => {
            tracing::warn!(datadir = %files.datadir.display(), "an agent was killed while this server was stopped; it is started again")
        }
        Ok(false) => {}
        Err(error) => {
            tracing::error!("a server that was stopped for its snapshot is still stopped; start it by hand: {error:#}")
        }
    }
}

impl Server<'_> {
    /// Whether there was anything to do.
    fn try_recover(&self) -> anyhow::Result<bool> {
        let mark = mark(&self.directory);
        let Ok(text) = fs::read_to_string(&mark) else { return Ok(false) };
        if text.trim().parse::<u32>().is_ok_and(is_an_agent) {
            return Ok(false);
        }
        let copies = Copies::of(&self.directory, "");
        copies.settle()?;
        copies.clean()?;
        if !is_held(&self.directory)? {
            self.start()?;
        }
        remove(&mark)?;
        Ok(true)
    }
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

    const SHORT: Limits = Limits { settled: Duration::from_millis(1_500), start: Duration::from_secs(30) };

    fn await_held(directory: &Path, wanted: bool) {
        let begun = Instant::now();
        while is_held(directory).unwrap() != wanted {
            assert!(begun.elapsed() < Duration::from_secs(60), "it has not become {wanted}");
            std::thread::sleep(ROUND);
        }
    }

    impl Lab {
        fn new() -> Lab {
            let directory = tempfile::tempdir().unwrap();
            fs::create_dir(directory.path().join("data")).unwrap();
            fs::write(directory.path().join("data/ibdata1"), "first").unwrap();
            fs::write(directory.path().join("server.py"), SERVER).unwrap();
            let mut lab = Lab { directory, first: None };
            lab.first = Some(Command::new("sh").args(["-c", &lab.starting()]).stdin(Stdio::null()).spawn().unwrap());
            await_held(&lab.data(), true);
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
        let order = |what| act(what, &files, "one", &within(&over));
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
        let server = Server::of(&broken, SHORT).unwrap();
        let error = format!("{:#}", server.act(Act::Take, "one", &within(&over)).unwrap_err());
        assert!(error.contains("[snapshot] stop") && error.contains("no such unit"), "{error}");
        assert!(error.contains("if it ends after all, start it by hand") && mark(&lab.data()).exists(), "{error}");
        assert!(is_held(&lab.data()).unwrap(), "it runs on");
        fs::write(mark(&lab.data()), "0").unwrap();
        recover(&broken);
        assert!(is_held(&lab.data()).unwrap() && !mark(&lab.data()).exists(), "there was nothing to start");

        // As an agent leaves it that was killed.
        run("stop", &lab.files(&lab.stopping(), "").stop, Duration::from_secs(60)).unwrap();
        await_held(&lab.data(), false);
        fs::write(mark(&lab.data()), "0").unwrap();
        fs::create_dir(lab.path("data.vufleet-new")).unwrap();
        let files = lab.files(&lab.stopping(), &lab.starting());
        let stopped = act(Act::Look, &files, "one", &within(&over)).unwrap_err().to_string();
        assert!(stopped.contains("no server has the files"), "{stopped}");
        recover(&files);
        assert!(is_held(&lab.data()).unwrap() && !mark(&lab.data()).exists());
        assert!(!lab.path("data.vufleet-new").exists(), "half a copy is nobody's");
    }

    #[test]
    fn a_server_that_takes_longer_to_end_than_it_was_to_is_started_again() {
        let lab = Lab::new();
        let over = AtomicBool::new(false);
        let later = format!("(sleep 5; {}) </dev/null >/dev/null 2>&1 &", lab.stopping());
        // The other command is killed at its limit, after it has told the server to end.
        let killed = format!("setsid sh -c '{later}' & sleep 600");
        for (stop, limit) in [(later, Duration::from_secs(60)), (killed, Duration::from_secs(3))] {
            let patience = Patience { over: &over, deadline: Instant::now() + limit };
            let files = lab.files(&stop, &lab.starting());
            let error = Server::of(&files, SHORT).unwrap().act(Act::Take, "one", &patience).unwrap_err();
            assert!(format!("{error:#}").contains("[snapshot] stop"), "{error:#}");
            assert!(is_held(&lab.data()).unwrap() && !mark(&lab.data()).exists(), "it runs again: {error:#}");
            assert!(!lab.path("data.vufleet-snapshot-one").exists());
        }
    }

    #[test]
    fn a_copy_of_another_study_is_named_and_the_server_runs_on() {
        let lab = Lab::new();
        let files = lab.files("exit 1", "exit 1");
        let over = AtomicBool::new(false);
        fs::create_dir(lab.path("data.vufleet-snapshot-other")).unwrap();
        let looked = act(Act::Look, &files, "one", &within(&over)).unwrap();
        assert!(!looked.found && looked.others[0].maker == "other", "{looked:?}");
        let refused = act(Act::Take, &files, "one", &within(&over)).unwrap_err().to_string();
        assert!(refused.contains("study other has left a copy"), "{refused}");
    }
}
