//! A coordinator of its own with agents that dial it.

use std::process::Command;

use super::{Job, Lab, agent_executable};

/// `vufleet coordinator` on a port of the system's choice, its ledger in `vufleet-data`.
pub struct Coordinator {
    pub job: Job,
    pub url: String,
}

impl Coordinator {
    /// Waits until it listens.
    pub fn start(lab: &Lab, options: &str) -> Coordinator {
        Coordinator::listen(lab, "127.0.0.1:0", options)
    }

    /// The same at an address.
    pub fn listen(lab: &Lab, address: &str, options: &str) -> Coordinator {
        Coordinator::of(lab.start(&format!("coordinator --listen {address} {options}")))
    }

    /// The coordinator that a process is.
    pub fn of(mut job: Job) -> Coordinator {
        job.await_words("coordinator at http://");
        let said = job.err();
        let (_, rest) = said.split_once("coordinator at ").unwrap();
        let (url, _) = rest.split_once(';').unwrap();
        Coordinator { job, url: url.to_owned() }
    }

    /// The address in its URL.
    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }
}

/// An agent that has not been started, which allows all that studies do.
pub fn agent_command(url: &str, roles: &str, name: &str) -> Command {
    let mut command = Command::new(agent_executable());
    command.args(["--coordinator", url, "--roles", roles, "--name", name, "--allow-control"]);
    command
}

/// An agent that has joined.
pub fn agent(lab: &Lab, coordinator: &Coordinator, roles: &str, name: &str) -> Job {
    let mut job = lab.spawn(agent_command(&coordinator.url, roles, name));
    job.await_that("it joins", || listed(lab, &coordinator.url).iter().any(|line| is_here(line, name)));
    job
}

/// What `vufleet agents` prints, a line each.
pub fn listed(lab: &Lab, url: &str) -> Vec<String> {
    let ended = lab.run(&format!("agents --coordinator {url}")).expect(0);
    ended.out.lines().map(str::to_owned).collect()
}

/// Whether a line of it is about an agent that is connected.
pub fn is_here(line: &str, name: &str) -> bool {
    line.split_whitespace().next() == Some(name) && line.trim_end().ends_with("connected")
}
