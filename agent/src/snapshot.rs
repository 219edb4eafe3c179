//! Copies of a database's files, made before a study's first run and put back before others: of SQLite the target's own file,
//! of a server the data directory that this agent's configuration names, while the server is stopped.
//!
//! A copy, and what is put back, is complete or absent: everything is written under another name, counted, flushed and renamed.
//! Whenever this agent is told to end, or is killed, the data is what it was or what it was to be. A copy has the name of the study
//! that made it: no other study goes back to it, and none removes it.

mod copies;
mod file;
mod server;
mod tree;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use vufleet_proto::v1;
use vufleet_scenarios::study::{self, Edits, TargetKind};

use crate::config::ServerFiles;
use copies::{Copies, Leftover};

use tree::Tally;

pub use server::recover;

/// Until when somebody wants it.
struct Patience<'a> {
    over: &'a AtomicBool,
    deadline: Instant,
}

impl Patience<'_> {
    fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.over.load(Ordering::Relaxed), "it was cancelled; the data is as it was");
        ensure!(Instant::now() < self.deadline, "it took longer than [reset] timeout allows; the data is as it was");
        Ok(())
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// What was done.
#[derive(Debug, Default)]
struct Done {
    place: PathBuf,
    data: Tally,
    /// The study's own copy was there already.
    found: bool,
    others: Vec<Leftover>,
}

/// Does what an order says, on the calling thread.
pub fn run(order: &v1::Snapshot, server: Option<&ServerFiles>, over: &AtomicBool) -> v1::SnapshotResult {
    let patience = Patience { over, deadline: Instant::now() + Duration::from_nanos(order.limit_ns) };
    let id = order.id;
    match attempt(order, server, &patience) {
        Ok(Done { place, data, found, others }) => v1::SnapshotResult {
            id,
            place: place.display().to_string(),
            files: data.files,
            bytes: data.bytes,
            found,
            others: others.into_iter().map(told).collect(),
            ..Default::default()
        },
        Err(error) => v1::SnapshotResult { id, error: format!("{error:#}"), ..Default::default() },
    }
}

fn told(leftover: Leftover) -> v1::Leftover {
    let Leftover { place, maker, age } = leftover;
    v1::Leftover { place: place.display().to_string(), maker, age_ns: age.as_nanos() as u64 }
}

fn attempt(order: &v1::Snapshot, server: Option<&ServerFiles>, patience: &Patience<'_>) -> anyhow::Result<Done> {
    let target = study::read(&order.study, &Edits::default()).context("this agent cannot read the study")?.target;
    let act = order.act();
    match (target.kind, target.path, server) {
        (TargetKind::Sqlite, Some(path), _) => file::act(act, &path, &order.maker, patience),
        (TargetKind::Mysql, _, Some(files)) => server::act(act, files, &order.maker, patience),
        (TargetKind::Mysql, _, None) => {
            bail!(
                "this agent's configuration has no [snapshot]; write datadir, stop and start there, and allow_control = true"
            )
        }
        (kind, ..) => bail!("this agent does not copy the files of {}", kind.name()),
    }
}

/// What is there, whether there is room for the rest, and which copies were left behind.
fn look(copies: &Copies) -> anyhow::Result<Done> {
    copies.settle()?;
    copies.check_place()?;
    copies.check_whole()?;
    let data = copies.origin_tally()?;
    copies.check_room(data)?;
    Ok(Done { place: copies.copy.clone(), data, found: copies.is_there(), others: copies.others()? })
}
