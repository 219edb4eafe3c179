//! What this agent undoes by itself when nobody is left to tell it to: the reverts of variants that are on.
//!
//! The coordinator hands over a hold before it applies a variant and takes it back once the variant is undone. In between
//! the agent undoes it when its lease runs out, when another coordinator takes over, and when the agent itself is to end.
//! Undoing what was undone already, or never applied, does no harm: studies promise that of every revert.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use vufleet_proto::v1::{self, event::Body, step};
use vufleet_scenarios::session::Fault;
use vufleet_scenarios::study::Target;

use crate::clock::CommonClock;
use crate::command;
use crate::observe::control;
use crate::outbox::Outlet;

/// A database that was lost with its coordinator is given this long to come back.
const PATIENCE: Duration = Duration::from_secs(600);
/// Before the second attempt; doubled each time, up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Attempts of statements that the database refuses: those it will refuse again.
const ATTEMPTS: u32 = 4;
/// How long a command may take here.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);

/// One thing at a time that changes the database's state: a revert never overtakes its apply.
pub type OneAtATime = Arc<Mutex<()>>;

/// How one variant is undone.
#[derive(Debug, Clone)]
struct Hold {
    target: Target,
    steps: Vec<step::Body>,
}

/// Every variant that this agent would undo.
#[derive(Debug, Default)]
pub struct Holds {
    held: BTreeMap<u64, Hold>,
    /// Being undone, with the flag that says nobody needs it any more.
    undoing: BTreeMap<u64, Undoing>,
}

#[derive(Debug)]
struct Undoing {
    unneeded: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

/// What undoing needs beside the holds.
#[derive(Debug, Clone)]
pub struct Means {
    /// Commands of this host, by name.
    pub commands: BTreeMap<String, Vec<String>>,
    /// For the instant that is told.
    pub clock: CommonClock,
    /// Kept while something is changed.
    pub one_at_a_time: OneAtATime,
}

impl Holds {
    /// Keeps what undoes the variant of a run.
    ///
    /// # Errors
    /// When the study that came with it cannot be read.
    pub fn keep(&mut self, hold: v1::Hold) -> Result<(), Fault> {
        let target = control::target_of(&v1::Control {
            study: hold.study,
            secrets: hold.secrets,
            as_control: true,
            ..Default::default()
        })?;
        let steps = hold.steps.into_iter().filter_map(|step| step.body).collect();
        self.held.insert(hold.run, Hold { target, steps });
        Ok(())
    }

    /// Forgets it: the variant is undone. One that is being undone here is not tried again.
    pub fn release(&mut self, run: u64) {
        self.held.remove(&run);
        if let Some(undoing) = self.undoing.remove(&run) {
            undoing.unneeded.store(true, Ordering::Relaxed);
        }
    }

    /// The runs whose variants this agent would undo, or is undoing.
    pub fn runs(&self) -> Vec<u64> {
        let undoing = self.undoing.iter().filter(|(_, undoing)| !undoing.over.load(Ordering::Relaxed));
        self.held.keys().chain(undoing.map(|(run, _)| run)).copied().collect()
    }

    /// Whether anything waits to be undone.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether something is being undone.
    pub fn are_undoing(&self) -> bool {
        self.undoing.values().any(|undoing| !undoing.over.load(Ordering::Relaxed))
    }

    /// Undoes everything, each on a thread of its own, and leaves word of it.
    pub fn undo(&mut self, means: &Means, outlet: &Outlet) {
        for (run, hold) in std::mem::take(&mut self.held) {
            tracing::warn!(run, "undoing the variant of this run: its coordinator does not");
            let undoing = Undoing { unneeded: Arc::default(), over: Arc::default() };
            let (unneeded, over) = (Arc::clone(&undoing.unneeded), Arc::clone(&undoing.over));
            let (means, outlet, held) = (means.clone(), outlet.clone(), hold.clone());
            let work = move || {
                let failure = hold.undo(&means, &unneeded);
                if let Some(error) = &failure {
                    tracing::error!(run, error, "the variant is not undone; undo it by hand: {}", hold.sentence());
                }
                let at_ns = means.clock.now();
                outlet.send(run, Body::Undone(v1::Undone { error: failure.unwrap_or_default(), at_ns }));
                over.store(true, Ordering::Relaxed);
            };
            match thread::Builder::new().name("undo".to_owned()).spawn(work) {
                Ok(_) => drop(self.undoing.insert(run, undoing)),
                Err(error) => {
                    tracing::error!(run, %error, "no thread to undo the variant; tried again, or undo it by hand: {}", held.sentence());
                    self.held.insert(run, held);
                }
            }
        }
    }

    /// Whatever is being undone goes on, but concerns nobody whom this agent serves.
    pub fn forget(&mut self) {
        self.undoing.clear();
    }
}

impl Hold {
    /// Undoes it. Returns why it is not undone, if it is not.
    fn undo(&self, means: &Means, unneeded: &AtomicBool) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = PAUSE;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let failure = {
                let _alone = means.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
                if unneeded.load(Ordering::Relaxed) {
                    return None;
                }
                self.attempt(means)
            };
            let (error, reached) = match failure {
                None => return None,
                Some(Failure { error, reached }) => (error, reached),
            };
            let is_hopeless = reached && attempt >= ATTEMPTS;
            if is_hopeless || Instant::now() >= deadline {
                return Some(error);
            }
            tracing::warn!(error, "undoing a variant did not work yet; trying again in {pause:?}");
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Every step once, all statements in a row on one connection.
    fn attempt(&self, means: &Means) -> Option<Failure> {
        let mut first = None;
        for chunk in self.steps.chunk_by(|one, next| is_sql(one) && is_sql(next)) {
            let failure = match &chunk[0] {
                step::Body::Command(name) => command::run(&means.commands, name, COMMAND_LIMIT)
                    .failure()
                    .map(|error| Failure { error: format!("command {name}: {error}"), reached: true }),
                step::Body::Sql(_) => self.ask(chunk),
            };
            first = first.or(failure);
        }
        first
    }

    fn ask(&self, steps: &[step::Body]) -> Option<Failure> {
        let statements = steps.iter().filter_map(sql).map(str::to_owned).collect();
        let command = v1::Control { statements, keep_going: true, ..Default::default() };
        let result = control::run_on(&self.target, &command);
        (!result.error.is_empty()).then_some(Failure { reached: !result.tables.is_empty(), error: result.error })
    }

    /// For people who have to do it by hand.
    fn sentence(&self) -> String {
        let step = |step: &step::Body| match step {
            step::Body::Sql(sql) => sql.clone(),
            step::Body::Command(name) => format!("(command {name})"),
        };
        self.steps.iter().map(step).collect::<Vec<_>>().join("; ")
    }
}

/// Why an attempt failed.
struct Failure {
    error: String,
    /// The database was there and refused.
    reached: bool,
}

fn is_sql(step: &step::Body) -> bool {
    sql(step).is_some()
}

fn sql(step: &step::Body) -> Option<&str> {
    match step {
        step::Body::Sql(sql) => Some(sql),
        step::Body::Command(_) => None,
    }
}

#[cfg(test)]
mod tests;
