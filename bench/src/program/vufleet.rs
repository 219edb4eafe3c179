//! vufleet's command line: an embedded fleet of one driving and one observing agent, as `vufleet run` starts it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use vufleet_testbed::MariaDb;

use crate::bare::CONNECTING;
use crate::load::{Length, Load, Pause, Protocol, TABLE_SIZE, Target, Work};

/// Name of the agent that makes the load.
pub(super) const DRIVER: &str = "drive-1";
/// Directory of the results, inside a run's own.
const OUT: &str = "out";
/// Variable that the password is read from.
pub const PASSWORD: &str = "VUFLEET_BENCH_PASSWORD";

/// `vufleet run`.
pub(super) fn run(directory: &Path, load: &Load, work: &Path) -> Result<Command> {
    let mut command = command(directory, &["run"], load, work)?;
    command.arg("--out").arg(work.join(OUT));
    Ok(command)
}

/// `vufleet schema build`.
pub(super) fn build(directory: &Path, load: &Load, work: &Path) -> Result<Command> {
    command(directory, &["schema", "build"], load, work)
}

/// The same sessions without the rest: this executable, by its hidden subcommand.
pub(super) fn bare(load: &Load, work: &Path, threads: usize) -> Result<Command> {
    let length = match load.length {
        Length::Time(time) => Length::Time(time + CONNECTING),
        counted => counted,
    };
    let file = work.join("study.toml");
    std::fs::write(&file, study(&Load { length, ..load.clone() }))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bare").arg(file).args(["--threads", &threads.to_string()]).env(PASSWORD, MariaDb::BENCH.password);
    Ok(command)
}

fn command(directory: &Path, verb: &[&str], load: &Load, work: &Path) -> Result<Command> {
    let file = work.join("study.toml");
    std::fs::write(&file, study(load)).with_context(|| format!("cannot write {}", file.display()))?;
    let mut command = Command::new(directory.join("vufleet"));
    command.args(verb).arg(file).args(["--agents", "1", "--quiet", "--data"]).arg(work.join("data"));
    command.env(PASSWORD, MariaDb::BENCH.password);
    Ok(command)
}

/// The study file of a load.
pub fn study(load: &Load) -> String {
    let mysql = |place: String| {
        format!(
            "kind = \"mysql\"\n{place}\ndatabase = \"{}\"\nuser = \"{}\"\npassword = {{ env = \"{PASSWORD}\" }}\n\
             tls = \"disabled\"",
            MariaDb::DATABASE,
            MariaDb::BENCH.user,
        )
    };
    let target = match &load.target {
        Target::MariaDb(port) => mysql(format!("port = {port}")),
        Target::Socket(path) => mysql(format!("socket = \"{}\"", path.display())),
        Target::Simulated(service_time) => {
            format!("kind = \"simulated\"\nservice_time = \"{}ms\"", service_time.as_millis())
        }
    };
    let work = match load.work {
        Work::Oltp { script, tables, protocol } => {
            let protocol = match protocol {
                Protocol::Prepared => "prepared",
                Protocol::Text => "text",
            };
            format!(
                "kind = \"oltp\"\nscript = \"{script}\"\ntables = {tables}\ntable_size = {TABLE_SIZE}\n\
                 protocol = \"{protocol}\""
            )
        }
        Work::Tprocc { calls, warehouses } => {
            format!("kind = \"tprocc\"\ncalls = \"{}\"\nwarehouses = {warehouses}", calls.name())
        }
    };
    let pacing = match load.pause {
        Pause::None => "\"none\"".to_owned(),
        Pause::Rate(rate) => format!("{{ rate = {rate:?} }}"),
        Pause::Wait(wait) => format!("{{ wait = \"{}ms\" }}", wait.as_millis()),
        Pause::KeyingThinking => "{ keying_thinking = { scale = 1.0 } }".to_owned(),
    };
    let (deadline, length) = match load.length {
        Length::Time(time) => ("30s", format!("ramp_up = \"0ms\"\nmeasure = \"{}ms\"", time.as_millis())),
        // An emulator may slow the program down as much as it likes.
        Length::Transactions(each) => ("1h", format!("transactions = {each}")),
    };
    format!(
        "name = \"bench\"\nseed = 1\n\
         [target]\n{target}\ndeadline = \"{deadline}\"\n\
         [workload]\n{work}\n\
         [[profiles]]\nvus = {}\nsessions_per_vu = {}\npacing = {pacing}\n\
         [schedule]\n{length}\nsettle = \"0ms\"\nrepetitions = 1\nmax_repeats = 0\n\
         connect_rate = 1000000\n",
        load.sessions / load.sessions_per_vu,
        load.sessions_per_vu,
    )
}

/// What a finished run tells of itself.
#[derive(Debug, Clone)]
pub struct Told {
    run: serde_json::Value,
    /// Every second of the driving agent.
    pub seconds: Vec<Second>,
}

/// What an agent counted between two cuts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// Whether it lies in the measured window.
    pub in_window: bool,
    /// Sessions connected at its end.
    pub sessions: u64,
    /// Arrivals that became due.
    pub due: u64,
    /// Of these, those that no session took.
    pub not_started: u64,
}

impl Told {
    /// Seconds that opening the sessions took.
    pub fn connect_s(&self) -> Result<f64> {
        self.number("connect_s")
    }

    /// A figure of the run, by its place in results.json: `metrics/tps`.
    pub fn number(&self, place: &str) -> Result<f64> {
        let value = self.run.pointer(&format!("/{place}")).and_then(serde_json::Value::as_f64);
        value.with_context(|| format!("vufleet's results.json does not tell {place}"))
    }

    /// Transactions of the whole run, of every kind: committed, and given up.
    pub fn transactions(&self) -> (u64, u64) {
        let sum = |place: &str, key: &str| {
            let kinds = self.run[place].as_object().into_iter().flat_map(|kinds| kinds.values());
            kinds.filter_map(|kind| kind[key].as_u64()).sum()
        };
        (sum("whole_run", "client"), sum("transactions", "failed") + sum("transactions", "unknown"))
    }
}

/// Reads it; none of what was no run.
pub(super) fn told(work: &Path) -> Result<Option<Told>> {
    let out = work.join(OUT);
    if !out.join("results.json").is_file() {
        return Ok(None);
    }
    let read = |name: &str| {
        let file = out.join(name);
        std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    let mut results: serde_json::Value = serde_json::from_str(&read("results.json")?)?;
    Ok(Some(Told { run: results["runs"][0].take(), seconds: seconds(&read("samples.csv")?) }))
}

/// The rows of samples.csv that driving agents wrote. Its first columns hold names without commas.
fn seconds(samples: &str) -> Vec<Second> {
    let mut lines = samples.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let Some(names) = lines.next() else { return Vec::new() };
    let place = |name: &str| names.iter().position(|it| *it == name);
    let [Some(role), Some(in_window), Some(sessions), Some(due), Some(not_started)] =
        ["role", "in_window", "sessions", "due", "not_started"].map(place)
    else {
        return Vec::new();
    };
    let count = |fields: &[&str], place: usize| fields.get(place).and_then(|text| text.parse().ok()).unwrap_or(0);
    let driving = lines.filter(|fields| fields.get(role) == Some(&"drive"));
    driving
        .map(|fields| Second {
            in_window: fields.get(in_window) == Some(&"true"),
            sessions: count(&fields, sessions),
            due: count(&fields, due),
            not_started: count(&fields, not_started),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_those_of_driving_agents() {
        let text = "run,role,in_window,sessions,due,not_started\n1,drive,true,64,20169,3\n1,observe,true,,,\n1,drive,false,63,7,0\n";
        let second = |in_window, sessions, due, not_started| Second { in_window, sessions, due, not_started };
        assert_eq!(seconds(text), [second(true, 64, 20_169, 3), second(false, 63, 7, 0)]);
        assert_eq!(seconds("run,role\n1,drive\n"), []);
    }

    #[test]
    fn figures_are_found_by_their_place() {
        let run = serde_json::json!({
            "connect_s": 1.5,
            "whole_run": { "a": { "client": 5 }, "b": { "client": 7 } },
            "transactions": { "a": { "failed": 1, "unknown": 2 } },
        });
        let told = Told { run, seconds: Vec::new() };
        assert_eq!((told.connect_s().unwrap(), told.transactions()), (1.5, (12, 3)));
        assert!(told.number("metrics/tps").unwrap_err().to_string().contains("does not tell metrics/tps"));
    }
}
