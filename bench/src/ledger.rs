//! What a day of four agents costs: a ledger written as a coordinator writes it, second by second, and the verbs that read
//! it, before and after its roll-up.

mod day;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use vufleet::ledger::FILE_NAME;
use vufleet::rollup::{self, Between, Keep};

pub use self::day::Day;

use crate::processes;

/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(20);
/// What is old enough to be rolled up: a run of the synthetic past.
const KEEP: Duration = Duration::from_secs(3_600);

/// What a program took.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// As it is typed.
    pub verb: &'static str,
    /// Wall time.
    pub took: Duration,
    /// Resident at most.
    pub peak_bytes: u64,
}

/// A ledger at one time of its life.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// On the disk, per hour of one agent.
    pub bytes_per_agent_hour: f64,
    /// What reading it costs.
    pub costs: Vec<Cost>,
    /// Of the files that export writes.
    pub page_bytes: u64,
    pub samples_bytes: u64,
    metrics: Value,
}

/// Everything that was found.
#[derive(Debug)]
pub struct Ages {
    /// What the day is made of.
    pub day: Day,
    /// Seconds of a write, one agent's second each.
    pub write_s: day::Writes,
    /// With every second.
    pub fine: Stage,
    /// How long rolling it up took.
    pub roll_up: Duration,
    /// The longest of its steps.
    pub longest_step: Duration,
    /// With sums.
    pub coarse: Stage,
}

impl Ages {
    /// Writes the day, reads it, rolls it up, reads it again. `programs`: where vufleet lies.
    pub fn measure(programs: &Path, day: Day) -> Result<Ages> {
        let dir = TempDir::with_prefix("vufleet-bench-ledger-")?;
        let write_s = day.write(dir.path())?;
        eprintln!("written: {} MB", size(dir.path())? / 1_000_000);
        let fine = Stage::look(programs, dir.path(), &day)?;
        let (begun, mut longest_step) = (Instant::now(), Duration::ZERO);
        let mut step = None;
        let mut go_on = |between: Between| {
            let now = Instant::now();
            // Judging a run holds nothing up: the first step comes after it.
            let last = match between {
                Between::Events => step.take().and(None),
                Between::Steps => step.replace(now),
            };
            longest_step = longest_step.max(last.map_or(Duration::ZERO, |last: Instant| now - last));
            true
        };
        let failed = rollup::all_old(dir.path(), Keep::For(KEEP), &mut go_on)?;
        ensure!(failed.is_empty(), "not every run could be rolled up: {failed:?}");
        let roll_up = begun.elapsed();
        eprintln!("rolled up: {} MB after {roll_up:.0?}", size(dir.path())? / 1_000_000);
        let coarse = Stage::look(programs, dir.path(), &day)?;
        ensure!(
            fine.metrics == coarse.metrics,
            "rolling up changed what a run is worth:\n{:#}\n{:#}",
            fine.metrics,
            coarse.metrics
        );
        Ok(Ages { day, write_s, fine, roll_up, longest_step, coarse })
    }
}

impl Stage {
    fn look(programs: &Path, data: &Path, day: &Day) -> Result<Stage> {
        let out = TempDir::with_prefix("vufleet-bench-out-")?;
        let mut costs = Vec::new();
        for verb in [
            "studies",
            "show last",
            "report last",
            "export last",
            "compare last last --cell-a baseline/VUS --cell-b again/VUS",
        ] {
            let line = verb.replace("VUS", &day.profile());
            let mut command = Command::new(programs.join("vufleet"));
            command.args(line.split(' ')).arg("--data").arg(data);
            if verb.starts_with("export") {
                command.arg("--out").arg(out.path());
            }
            let cost = cost(command, verb.split(" --").next().unwrap_or(verb))?;
            eprintln!("{}: {:.1} s, {} MB", cost.verb, cost.took.as_secs_f64(), cost.peak_bytes / 1_000_000);
            costs.push(cost);
        }
        let file = |name: &str| -> Result<u64> { Ok(std::fs::metadata(out.path().join(name))?.len()) };
        let results: Value = serde_json::from_slice(&std::fs::read(out.path().join("results.json"))?)?;
        Ok(Stage {
            bytes_per_agent_hour: size(data)? as f64 / day.agent_hours(),
            costs,
            page_bytes: file("report.html")?,
            samples_bytes: file("samples.csv")?,
            metrics: Value::Array(
                results["runs"].as_array().into_iter().flatten().map(|run| run["metrics"].clone()).collect(),
            ),
        })
    }
}

fn size(data: &Path) -> Result<u64> {
    let mut bytes = 0;
    for rest in ["", "-wal"] {
        let path = data.join(format!("{FILE_NAME}{rest}"));
        bytes += std::fs::metadata(path).map_or(0, |it| it.len());
    }
    Ok(bytes)
}

fn cost(mut command: Command, verb: &'static str) -> Result<Cost> {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn().context("cannot start vufleet")?;
    let mut peak_bytes = 0;
    let status = loop {
        peak_bytes = processes::peak_resident_bytes(child.id() as i32).unwrap_or(0).max(peak_bytes);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(POLL);
    };
    // One run of each cell has no interval, which `compare` says with this.
    let has_no_interval = verb.starts_with("compare") && status.code() == Some(3);
    ensure!(status.success() || has_no_interval, "vufleet {verb} ended with {status}");
    Ok(Cost { verb, took: begun.elapsed(), peak_bytes })
}
