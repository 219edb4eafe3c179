//! A lab of several hosts at work: MariaDB on one, the coordinator on another, agents and an operator on theirs.

use std::path::PathBuf;
use std::process::Command;

use nix::sys::signal::Signal;
use vufleet_testbed::MariaDb;
use vufleet_trust::authority::{Authority, Order};
use vufleet_trust::files::Existing;
use vufleet_trust::identity::{Identity, Role};
use vufleet_trust::validity::Validity;

use super::hosts::{COORD, DB, Hosts, Net, OP};
use super::lab::{Ended, Job, Lab, agent_executable, eventually, fleet, study};
use super::pulse::Pulse;

/// Where the coordinator listens.
pub const PORT: u16 = 7411;

/// How the programs of a lab talk to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Certificates,
    Insecure,
}

/// Hosts, a database with the tables of a small study, and a directory to work in.
pub struct Site {
    pub lab: Lab,
    pub db: MariaDb,
    pub hosts: Hosts,
    wire: Wire,
}

impl Site {
    /// None where there can be no hosts.
    pub fn new() -> Option<Site> {
        Site::with(|text| text)
    }

    /// Without certificates.
    pub fn insecure() -> Option<Site> {
        Some(Site { wire: Wire::Insecure, ..Site::new()? })
    }

    /// The same with another study.
    pub fn with(edit: impl FnOnce(String) -> String) -> Option<Site> {
        let hosts = Hosts::start()?;
        let db = MariaDb::builder().namespace(&hosts.namespace(DB)).start().unwrap();
        let text = study::small(&study::mariadb_with_control(&db)).replace("port = ", "host = \"db.lab\"\nport = ");
        let text = edit(text);
        let lab = Lab::new(&text);
        let site = Site { lab, db, hosts, wire: Wire::Certificates };
        site.certify();
        if !text.contains("kind = \"sql\"") {
            site.vufleet(DB, "schema build study.toml --data builder").end().expect(0);
        }
        Some(site)
    }

    /// Certificates of everybody, by an authority of this lab's own.
    fn certify(&self) {
        let authority = Authority::create("net", Validity::days(2)).unwrap();
        let agents = ["load1", "load2", "load3", DB].map(|name| (Role::Agent, name));
        for (role, name) in agents.into_iter().chain([(Role::Coordinator, COORD), (Role::Operator, OP)]) {
            let identity = Identity::new(role, name).unwrap();
            let hosts = if role == Role::Coordinator { vec!["coord.lab".parse().unwrap()] } else { Vec::new() };
            let pair = authority.issue(&Order { identity, hosts, validity: Validity::days(1) }).unwrap();
            pair.save(&self.certificates(name), &authority, Existing::Keep).unwrap();
        }
    }

    fn certificates(&self, name: &str) -> PathBuf {
        self.lab.path(&format!("certs-{name}"))
    }

    /// Where the coordinator is, whatever way leads there.
    pub fn url(&self) -> &'static str {
        match self.wire {
            Wire::Certificates => "https://coord.lab:7411",
            Wire::Insecure => "http://coord.lab:7411",
        }
    }

    /// What a program that talks as `name` is told of it.
    fn as_(&self, name: &str) -> String {
        match self.wire {
            Wire::Certificates => format!("--certs {}", self.certificates(name).display()),
            Wire::Insecure => "--insecure".to_owned(),
        }
    }

    /// What an operator types to reach the coordinator.
    pub fn reached(&self) -> String {
        format!("--coordinator {} {}", self.url(), self.as_(OP))
    }

    /// Starts `vufleet` on a host.
    pub fn vufleet(&self, host: &str, line: &str) -> Job {
        agent_executable();
        self.lab.spawn(self.hosts.on(host, &self.lab.vufleet(line)))
    }

    /// The coordinator, which listens.
    pub fn coordinator(&self, options: &str) -> Job {
        self.serving(self.coordinator_command(options))
    }

    /// The same in an environment of its own.
    pub fn coordinator_with(&self, environment: impl FnOnce(&mut Command)) -> Job {
        let mut command = self.coordinator_command("");
        environment(&mut command);
        self.serving(command)
    }

    fn coordinator_command(&self, options: &str) -> Command {
        let address = Net::Control.address(COORD);
        let line = format!("coordinator --listen {address}:{PORT} {} {options}", self.as_(COORD));
        self.hosts.on(COORD, &self.lab.vufleet(&line))
    }

    fn serving(&self, command: Command) -> Job {
        let mut job = self.lab.spawn(command);
        job.await_words("coordinator at ");
        job
    }

    /// An agent that has not been started, named after its host.
    pub fn agent_command(&self, host: &str, roles: &str) -> Command {
        let mut command = fleet::agent_command(self.url(), roles, host);
        command.args(self.as_(host).split(' '));
        self.hosts.on(host, &command)
    }

    /// An agent that has joined.
    pub fn agent(&self, host: &str, roles: &str) -> Job {
        self.joined(host, self.agent_command(host, roles))
    }

    /// The same of a command.
    pub fn joined(&self, host: &str, command: Command) -> Job {
        let mut job = self.lab.spawn(command);
        job.await_that("it joins", || self.is_here(host));
        job
    }

    /// `vufleet agents`, a line each. A coordinator that is out of reach has none.
    pub fn agents(&self) -> Vec<String> {
        let ended = self.vufleet(OP, &format!("agents {}", self.reached())).end();
        ended.out.lines().map(str::to_owned).collect()
    }

    pub fn is_here(&self, name: &str) -> bool {
        self.agents().iter().any(|line| fleet::is_here(line, name))
    }

    /// What is known of the clock of an agent's host: offset and uncertainty in milliseconds, as the coordinator tells them.
    pub fn clock_of(&self, name: &str) -> (f64, f64) {
        let lines = self.agents();
        let line = lines.iter().find(|line| fleet::is_here(line, name)).unwrap_or_else(|| panic!("{name}: {lines:?}"));
        let words: Vec<&str> = line.split_whitespace().collect();
        let unit = words.iter().position(|word| *word == "ms,").unwrap_or_else(|| panic!("{line}"));
        let number = |word: usize| words[word].parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
        (number(unit - 1), number(unit + 1))
    }

    /// A study from the operator's host, with result files in `out`.
    pub fn run(&self, options: &str) -> Job {
        self.run_on(OP, options)
    }

    /// The same from another host.
    pub fn run_on(&self, host: &str, options: &str) -> Job {
        self.vufleet(host, &format!("run study.toml {} --out out {options}", self.reached()))
    }

    /// Waits until so many intervals of a run are in the ledger.
    pub fn await_load(&self, job: &mut Job, run: u64, intervals: u64) {
        self.lab.await_load(job, run, intervals);
    }

    /// Ends whatever runs, and waits until nothing does.
    pub fn stop_all(&self) {
        eventually("nothing runs", || {
            let ended = self.vufleet(OP, &format!("stop {}", self.reached())).end();
            ended.out.contains("nothing") || ended.err.contains("nothing")
        });
    }

    /// Ids of the studies in the ledger.
    pub fn studies(&self) -> Vec<String> {
        let listed = self.lab.run("studies").expect(0).out;
        let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
        listed.lines().filter_map(first).filter(|word| word.starts_with("20")).collect()
    }

    /// The directory of the coordinator's ledger.
    pub fn data(&self) -> PathBuf {
        self.lab.path("vufleet-data")
    }

    /// Counts the database's commits from now on.
    pub fn pulse(&self) -> Pulse {
        Pulse::of(&self.db)
    }

    /// Ends the coordinator, so that its ledger can be read by others.
    pub fn dismiss(&self, coordinator: Job) -> Ended {
        coordinator.signal(Signal::SIGTERM);
        coordinator.end().expect(0)
    }

    /// Waits until no session of a virtual user is connected.
    pub fn await_quiet(&self) {
        let sql = "SELECT count(*) FROM information_schema.processlist WHERE user = 'bench'";
        eventually("no session is left", || self.db.sql(sql).unwrap().trim() == "0");
    }
}
