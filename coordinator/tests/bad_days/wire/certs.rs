//! Certificates of a lab, good and bad.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use vufleet_trust::authority::{Authority, Order, Pair};
use vufleet_trust::files::Existing;
use vufleet_trust::identity::{Identity, Role};
use vufleet_trust::validity::{DAY, Validity};

use crate::lab::fleet::{Coordinator, is_here};
use crate::lab::{Job, Lab, agent_executable};

/// A lab with an authority, and one that is not its.
pub struct Certs {
    pub ours: Authority,
    pub other: Authority,
}

impl Certs {
    pub fn new() -> Certs {
        // Of one name, as two labs that both left it at the default have it.
        let authority = || Authority::create("vufleet lab", Validity::days(3_650)).unwrap();
        Certs { ours: authority(), other: authority() }
    }

    /// A directory of a role and a name, good for this host.
    pub fn good(&self, lab: &Lab, role: Role, name: &str) -> PathBuf {
        self.save(lab, &format!("{role}-{name}"), &pair(&self.ours, role, name, Validity::days(365)))
    }

    /// A directory with this pair in it, and our authority.
    pub fn save(&self, lab: &Lab, directory: &str, pair: &Pair) -> PathBuf {
        let path = lab.path(directory);
        pair.save(&path, &self.ours, Existing::Replace).unwrap();
        path
    }

    /// `vufleet coordinator` with certificates, and an operator's directory.
    pub fn coordinator(&self, lab: &Lab, options: &str) -> Coordinator {
        let certs = self.good(lab, Role::Coordinator, "lab");
        let mut job = lab.start(&format!("coordinator --listen 127.0.0.1:0 --certs {} {options}", certs.display()));
        job.await_words("coordinator at https://");
        let said = job.err();
        let (_, rest) = said.split_once("coordinator at ").unwrap();
        let url = rest.split_once(';').unwrap().0.to_owned();
        Coordinator { job, url }
    }

    /// An agent with a certificate of its own that has joined.
    pub fn agent(&self, lab: &Lab, coordinator: &Coordinator, roles: &str, name: &str) -> Job {
        let mut job = lab.spawn(agent_command(&coordinator.url, &self.good(lab, Role::Agent, name), roles));
        let operator = self.good(lab, Role::Operator, "alice");
        job.await_that("it joins", || listed(lab, &coordinator.url, &operator).iter().any(|line| is_here(line, name)));
        job
    }
}

/// A pair for this host.
pub fn pair(authority: &Authority, role: Role, name: &str, validity: Validity) -> Pair {
    pair_for(authority, role, name, &["localhost", "127.0.0.1"], validity)
}

pub fn pair_for(authority: &Authority, role: Role, name: &str, hosts: &[&str], validity: Validity) -> Pair {
    let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    authority.issue(&Order { identity: Identity::new(role, name).unwrap(), hosts, validity }).unwrap()
}

pub fn expired() -> Validity {
    Validity { from: SystemTime::now() - DAY * 9, until: SystemTime::now() - DAY * 2 }
}

pub fn not_yet() -> Validity {
    Validity { from: SystemTime::now() + DAY * 2, until: SystemTime::now() + DAY * 9 }
}

pub fn agent_command(url: &str, certs: &Path, roles: &str) -> Command {
    let mut command = Command::new(agent_executable());
    command.args(["--coordinator", url, "--roles", roles]).arg("--certs").arg(certs);
    command
}

/// What `vufleet agents` prints, a line each.
pub fn listed(lab: &Lab, url: &str, operator: &Path) -> Vec<String> {
    let ended = lab.run(&format!("agents --coordinator {url} --certs {}", operator.display())).expect(0);
    ended.out.lines().map(str::to_owned).collect()
}
