//! Which process of this host is the database, and what processes have used so far.
//!
//! The database is found by the socket it listens on, because that is what a study names anyway; a name is the way out
//! where the socket does not lead to it (another network namespace, another user's process).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use procfs::ProcError;
use procfs::net::{TcpState, UnixState};
use procfs::process::{FDTarget, Process, Stat};
use vufleet_proto::v1;
use vufleet_scenarios::study::{Study, TargetKind};

/// How the database's process is told from all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessChoice {
    /// There is none: the database lives inside the agents, or does not exist.
    None,
    /// It listens on this TCP port.
    Port(u16),
    /// It listens on this unix socket.
    Socket(PathBuf),
    /// It is called this.
    Name(String),
}

impl ProcessChoice {
    /// What a study says about its database's process: `monitor.process`, or else where the database listens.
    pub fn of(study: &Study) -> ProcessChoice {
        match (study.target.kind, &study.monitor.process, &study.target.socket) {
            (TargetKind::Sqlite | TargetKind::Simulated, _, _) => ProcessChoice::None,
            (TargetKind::Mysql | TargetKind::Mssql, Some(name), _) => ProcessChoice::Name(name.clone()),
            (TargetKind::Mysql | TargetKind::Mssql, None, Some(socket)) => ProcessChoice::Socket(socket.clone()),
            (TargetKind::Mysql | TargetKind::Mssql, None, None) => ProcessChoice::Port(study.target.port),
        }
    }

    /// Finds the process now, or says why not and what to do.
    fn find(&self) -> Result<Process, String> {
        match self {
            ProcessChoice::None => Err("the study's target has no process".to_owned()),
            ProcessChoice::Port(port) => holder(&listening_on_port(*port), &format!("TCP port {port}")),
            ProcessChoice::Socket(path) => holder(&listening_on_path(path), &format!("socket {}", path.display())),
            ProcessChoice::Name(name) => called(name),
        }
    }
}

fn listening_on_port(port: u16) -> Vec<u64> {
    let v4 = procfs::net::tcp().unwrap_or_default();
    let v6 = procfs::net::tcp6().unwrap_or_default(); // absent where IPv6 is off
    let listens = v4.into_iter().chain(v6).filter(|entry| entry.state == TcpState::Listen);
    listens.filter(|entry| entry.local_address.port() == port).map(|entry| entry.inode).collect()
}

/// Accepted connections carry the listener's path too; only the listener is unconnected.
fn listening_on_path(path: &Path) -> Vec<u64> {
    let entries = procfs::net::unix().unwrap_or_default().into_iter();
    let listens = entries.filter(|entry| entry.state == UnixState::UNCONNECTED);
    listens.filter(|e| e.path.as_deref().is_some_and(|bound| same_file(bound, path))).map(|e| e.inode).collect()
}

/// The server may have bound the path under another name of the same directory (/var/run, /run).
fn same_file(bound: &Path, wanted: &Path) -> bool {
    bound == wanted
        || (bound.file_name() == wanted.file_name()
            && matches!((bound.canonicalize(), wanted.canonicalize()), (Ok(a), Ok(b)) if a == b))
}

/// The process that holds one of these sockets: the oldest one, but PID 1 only if there is no other, because a service
/// manager keeps the sockets that it hands to its services.
fn holder(inodes: &[u64], place: &str) -> Result<Process, String> {
    if inodes.is_empty() {
        return Err(format!(
            "no process listens on {place} of this host; let an agent on the database's host observe, or name the \
             process with monitor.process"
        ));
    }
    let mut denied = 0;
    let mut found: Option<((bool, u64), Process)> = None;
    for process in all_processes()? {
        match holds(&process, inodes) {
            Ok(false) => continue,
            Err(()) => denied += 1,
            Ok(true) => {
                let Ok(stat) = process.stat() else { continue };
                let rank = (stat.pid == 1, stat.starttime);
                if found.as_ref().is_none_or(|(best, _)| rank < *best) {
                    found = Some((rank, process));
                }
            }
        }
    }
    found.map(|(_, process)| process).ok_or_else(|| unseen(place, denied))
}

fn unseen(place: &str, denied: usize) -> String {
    let cause = match denied {
        0 => "it runs in another PID namespace".to_owned(),
        _ => format!("{denied} processes hide their open files from this agent's user"),
    };
    format!(
        "this agent cannot see which process listens on {place}: {cause}; run the agent as root or as the database's \
         user, or name the process with monitor.process"
    )
}

/// Whether the process has one of the sockets open; an error where that is hidden from this agent.
fn holds(process: &Process, inodes: &[u64]) -> Result<bool, ()> {
    let descriptors = match process.fd() {
        Ok(descriptors) => descriptors,
        Err(ProcError::PermissionDenied(_)) => return Err(()),
        Err(_) => return Ok(false), // gone meanwhile
    };
    let is_one = |target| matches!(target, FDTarget::Socket(inode) if inodes.contains(&inode));
    Ok(descriptors.flatten().any(|descriptor| is_one(descriptor.target)))
}

fn called(name: &str) -> Result<Process, String> {
    let mut found: Vec<Process> = all_processes()?.filter(|process| is_called(process, name)).collect();
    match (found.pop(), found.len()) {
        (Some(process), 0) => Ok(process),
        (None, _) => Err(format!(
            "no process of this host is called {name}; correct monitor.process, or let an agent on the database's host \
             observe"
        )),
        (Some(_), others) => Err(format!(
            "{} processes of this host are called {name}, which does not tell the database's from the others; leave \
             monitor.process out to find it by the socket it listens on",
            others + 1
        )),
    }
}

/// By the kernel's name of 15 bytes, or by the program's file name on the command line.
fn is_called(process: &Process, name: &str) -> bool {
    let Ok(stat) = process.stat() else { return false };
    if !is_alive(&stat) {
        return false;
    }
    let program = || process.cmdline().ok()?.into_iter().next();
    stat.comm == name || program().is_some_and(|path| Path::new(&path).file_name().is_some_and(|file| file == name))
}

fn all_processes() -> Result<impl Iterator<Item = Process>, String> {
    let all = procfs::process::all_processes().map_err(|e| format!("cannot list processes: {e}; mount /proc"))?;
    Ok(all.flatten())
}

/// A killed process stays listed until its parent has asked for it.
fn is_alive(stat: &Stat) -> bool {
    !matches!(stat.state, 'Z' | 'X' | 'x')
}

/// What a process has used so far; none when it is gone.
pub fn sample(process: &Process, role: &str) -> Option<v1::ProcessSample> {
    let stat = process.stat().ok().filter(is_alive)?;
    Some(v1::ProcessSample {
        role: role.to_owned(),
        cpu_ticks: stat.utime + stat.stime,
        rss_bytes: stat.rss * procfs::page_size(),
        // Another user's process does not show its writes.
        write_bytes: process.io().map_or(0, |io| io.write_bytes),
        started_ticks: stat.starttime,
        pid: stat.pid,
        name: stat.comm,
    })
}

/// Time between two attempts to find a process that was not there.
const LOOKUP_EVERY: Duration = Duration::from_secs(1);

/// Keeps sight of the database's process through restarts.
///
/// The process's directory stays open, so that a new process of the same number is never taken for it. Looking for a
/// process costs milliseconds and is done only while none is in sight.
#[derive(Debug)]
pub struct ProcessWatch {
    choice: ProcessChoice,
    current: Option<(Process, String)>,
    /// How the last one in sight was called, once it is gone.
    lost: Option<String>,
    reported: bool,
    notice: Option<String>,
    lookup_every: Duration,
    next_lookup: Option<Instant>,
}

impl ProcessWatch {
    /// Watches what `choice` describes; nothing is looked up before the first sample.
    pub fn new(choice: ProcessChoice) -> ProcessWatch {
        ProcessWatch::with_lookup_every(choice, LOOKUP_EVERY)
    }

    fn with_lookup_every(choice: ProcessChoice, lookup_every: Duration) -> ProcessWatch {
        let (current, lost, notice, next_lookup) = (None, None, None, None);
        ProcessWatch { choice, current, lost, reported: false, notice, lookup_every, next_lookup }
    }

    /// What the process has used so far; none while there is none.
    pub fn sample(&mut self) -> Option<v1::ProcessSample> {
        if self.choice == ProcessChoice::None {
            return None;
        }
        if let Some((process, name)) = &self.current {
            if let Some(sample) = sample(process, "database") {
                return Some(sample);
            }
            self.lost = Some(name.clone());
            self.current = None;
        }
        self.look_again()
    }

    /// What is worth telling since the last call: once why there is no process, once that it is back.
    pub fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    fn look_again(&mut self) -> Option<v1::ProcessSample> {
        let now = Instant::now();
        if self.next_lookup.is_some_and(|at| now < at) {
            return None;
        }
        match self.choice.find() {
            Ok(process) => self.found(process),
            Err(reason) => {
                self.next_lookup = Some(now + self.lookup_every);
                if !self.reported {
                    let lost = self.lost.as_ref().map(|name| format!("{name} is gone, and ")).unwrap_or_default();
                    self.notice = Some(format!("no CPU and memory of the database process: {lost}{reason}"));
                    self.reported = true;
                }
                None
            }
        }
    }

    fn found(&mut self, process: Process) -> Option<v1::ProcessSample> {
        let sample = sample(&process, "database")?;
        let name = format!("{} (process {})", sample.name, sample.pid);
        if let Some(lost) = self.lost.take() {
            self.notice = Some(format!("the database process is back: {name}, before {lost}"));
        } else if self.reported {
            self.notice = Some(format!("the database process is there now: {name}"));
        }
        self.reported = false;
        self.next_lookup = None;
        self.current = Some((process, name));
        Some(sample)
    }
}

#[cfg(test)]
mod tests;
