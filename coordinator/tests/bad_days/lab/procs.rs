//! Processes, as /proc has them.

use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: Pid,
    pub arguments: Vec<String>,
}

impl Process {
    /// The agent's name, where it is one.
    pub fn agent_name(&self) -> Option<&str> {
        let name = self.arguments.iter().position(|argument| argument == "--name")?;
        self.arguments.first()?.ends_with("vufleet-agent").then(|| self.arguments.get(name + 1))?.map(String::as_str)
    }

    pub fn kill(&self) {
        kill(self.pid, Signal::SIGKILL).unwrap();
    }
}

/// Everybody who works in a directory. What has been killed and not yet waited for does not count.
pub fn working_in(directory: &Path) -> Vec<Process> {
    let directory = directory.canonicalize().unwrap();
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.ok()?;
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        (std::fs::read_link(entry.path().join("cwd")).ok()? == directory).then_some(pid)
    });
    pids.filter_map(process).collect()
}

fn process(pid: i32) -> Option<Process> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let arguments: Vec<_> = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    (!arguments.is_empty()).then_some(Process { pid: Pid::from_raw(pid), arguments })
}

/// The agent of that name among them.
pub fn agent(processes: &[Process], name: &str) -> Process {
    let found = processes.iter().find(|process| process.agent_name() == Some(name));
    found.unwrap_or_else(|| panic!("no agent {name} among {processes:?}")).clone()
}
