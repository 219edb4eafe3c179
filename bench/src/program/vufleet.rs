//! vufleet's command line: an embedded fleet of one driving and one observing agent, as `vufleet run` starts it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use vufleet_testbed::MariaDb;

use crate::load::{Load, Pause, Protocol, TABLE_SIZE, Target, Work};

/// Name of the agent that makes the load.
pub(super) const DRIVER: &str = "drive-1";
/// Directory of the results, inside a run's own.
const OUT: &str = "out";
/// Variable that the password is read from.
const PASSWORD: &str = "VUFLEET_BENCH_PASSWORD";

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

fn command(directory: &Path, verb: &[&str], load: &Load, work: &Path) -> Result<Command> {
    let file = work.join("study.toml");
    std::fs::write(&file, study(load)).with_context(|| format!("cannot write {}", file.display()))?;
    let mut command = Command::new(directory.join("vufleet"));
    command.args(verb).arg(file).args(["--agents", "1", "--quiet", "--data"]).arg(work.join("data"));
    command.env(PASSWORD, MariaDb::BENCH.password);
    Ok(command)
}

fn study(load: &Load) -> String {
    let target = match load.target {
        Target::MariaDb(port) => format!(
            "kind = \"mysql\"\nport = {port}\ndatabase = \"{}\"\nuser = \"{}\"\npassword = {{ env = \"{PASSWORD}\" }}\n\
             tls = \"disabled\"",
            MariaDb::DATABASE,
            MariaDb::BENCH.user,
        ),
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
        Pause::Wait(wait) => format!("{{ wait = \"{}ms\" }}", wait.as_millis()),
        Pause::KeyingThinking => "{ keying_thinking = { scale = 1.0 } }".to_owned(),
    };
    format!(
        "name = \"bench\"\nseed = 1\n\
         [target]\n{target}\n\
         [workload]\n{work}\n\
         [[profiles]]\nvus = {}\nsessions_per_vu = {}\npacing = {pacing}\n\
         [schedule]\nramp_up = \"0ms\"\nmeasure = \"{}ms\"\nsettle = \"0ms\"\nrepetitions = 1\nmax_repeats = 0\n\
         connect_rate = 1000000\n",
        load.sessions / load.sessions_per_vu,
        load.sessions_per_vu,
        load.length.as_millis(),
    )
}

/// What a finished run tells of itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Told {
    /// Seconds that opening the sessions took.
    pub connect_s: f64,
    /// Transactions a second; none where no session came to one.
    pub tps: Option<f64>,
}

/// Reads it; none of what was no run.
pub(super) fn told(work: &Path) -> Result<Option<Told>> {
    let file = work.join(OUT).join("results.json");
    if !file.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let results: serde_json::Value = serde_json::from_str(&text)?;
    let run = &results["runs"][0];
    let connect_s = run["connect_s"].as_f64();
    Ok(Some(Told {
        connect_s: connect_s.with_context(|| format!("{} does not tell how long connecting took", file.display()))?,
        tps: run["metrics"]["tps"].as_f64(),
    }))
}
