//! vufleet's command line: an embedded fleet of one driving and one observing agent, as `vufleet run` starts it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use vufleet_testbed::MariaDb;

use crate::load::{Load, Protocol, TABLE_SIZE, Target};

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
        Target::Simulated => "kind = \"simulated\"\nservice_time = \"2ms\"".to_owned(),
    };
    let protocol = match load.protocol {
        Protocol::Prepared => "prepared",
        Protocol::Text => "text",
    };
    let pacing = match load.wait {
        Some(wait) => format!("{{ wait = \"{}ms\" }}", wait.as_millis()),
        None => "\"none\"".to_owned(),
    };
    format!(
        "name = \"bench\"\nseed = 1\n\
         [target]\n{target}\n\
         [workload]\nkind = \"oltp\"\nscript = \"{}\"\ntables = {}\ntable_size = {TABLE_SIZE}\nprotocol = \"{protocol}\"\n\
         [[profiles]]\nvus = {}\npacing = {pacing}\n\
         [schedule]\nramp_up = \"0ms\"\nmeasure = \"{}ms\"\nsettle = \"0ms\"\nrepetitions = 1\nmax_repeats = 0\n\
         connect_rate = 1000000\n",
        load.script,
        load.tables,
        load.sessions,
        load.length.as_millis(),
    )
}

/// How long a finished run took to open its sessions; none of what was no run.
pub(super) fn connect_s(work: &Path) -> Result<Option<f64>> {
    let file = work.join(OUT).join("results.json");
    if !file.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let results: serde_json::Value = serde_json::from_str(&text)?;
    let told = results["runs"][0]["connect_s"].as_f64();
    told.map(Some).with_context(|| format!("{} does not tell how long connecting took", file.display()))
}
