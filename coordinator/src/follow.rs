//! One job from submit to exit: shows what the coordinator tells, writes the files that arrive, and turns Ctrl-C into a
//! stop that keeps what was measured. A second Ctrl-C leaves at once.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use vufleet_proto::v1::progress::Body;
use vufleet_proto::v1::{Finished, Job, Progress};

use crate::exit::Exit;
use crate::live::Console;
use crate::operator::Operator;
use crate::results::Results;

/// How long a coordinator whose stream broke is looked for.
const BACK: Duration = Duration::from_secs(10);

/// What reaches a verb from beside the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nudge {
    /// Ctrl-C or SIGTERM.
    Interrupt,
    /// Something to tell the operator.
    Note(String),
    /// An agent of the embedded fleet is gone for good, and why.
    Broken(String),
}

/// How following ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The job ended.
    Job(Exit),
    /// The operator would not wait for the job's end.
    Left,
}

/// Where result files go.
#[derive(Debug)]
pub enum Destination {
    /// The job leaves none.
    Nowhere,
    /// A directory that is open already.
    Open(Results),
    /// A directory below this one, named after the study's id.
    Below(PathBuf),
}

/// Follows a job to its end.
pub async fn follow(
    operator: &Operator,
    job: Job,
    nudges: &mut mpsc::Receiver<Nudge>,
    console: &mut Console,
    destination: Destination,
) -> anyhow::Result<Ended> {
    let mut course = Course::new(operator.clone(), console, destination);
    let mut submitting = operator.clone();
    let submit = submitting.submit(job);
    tokio::pin!(submit);
    let mut stream = loop {
        tokio::select! {
            stream = &mut submit => break stream?,
            Some(nudge) = nudges.recv() => {
                if let Some(ended) = course.nudged(nudge)? {
                    return Ok(ended);
                }
            }
        }
    };
    let why = loop {
        tokio::select! {
            message = stream.message() => match message {
                Ok(Some(progress)) => {
                    if let Some(finished) = course.take(progress) {
                        return course.end(&finished).map(Ended::Job);
                    }
                }
                Ok(None) => break "it closed the stream".to_owned(),
                Err(status) => break status.message().to_owned(),
            },
            Some(nudge) = nudges.recv() => {
                if let Some(ended) = course.nudged(nudge)? {
                    return Ok(ended);
                }
            }
            answer = Course::answered(&mut course.stopping), if course.stopping.is_some() => course.stop_answered(answer),
        }
    };
    course.looks_for_coordinator(&why);
    // Looking for it takes a while, and whoever does not want to wait leaves as before.
    let looking = job_at_hand(operator);
    tokio::pin!(looking);
    loop {
        tokio::select! {
            found = &mut looking => return Err(course.cut_off(&why, found.as_deref())),
            Some(nudge) = nudges.recv() => {
                if let Some(ended) = course.nudged(nudge)? {
                    return Ok(ended);
                }
            }
            answer = Course::answered(&mut course.stopping), if course.stopping.is_some() => course.stop_answered(answer),
        }
    }
}

/// What a coordinator is at, if it answers soon: it may be back, and a network may have to come back first.
async fn job_at_hand(operator: &Operator) -> Option<String> {
    let deadline = Instant::now() + BACK;
    while Instant::now() < deadline {
        if let Ok(mut operator) = operator.dial_again().await
            && let Ok(reply) = operator.agents().await
        {
            return Some(reply.job);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    None
}

/// What is known about the job so far.
struct Course<'a> {
    operator: Operator,
    console: &'a mut Console,
    destination: Destination,
    study_id: Option<String>,
    /// What the coordinator calls the job.
    job: Option<String>,
    interrupted: bool,
    /// Why the job is to fail whatever the coordinator says.
    failure: Option<anyhow::Error>,
    stopping: Option<JoinHandle<anyhow::Result<Option<String>>>>,
    stop_sent: bool,
}

impl<'a> Course<'a> {
    fn new(operator: Operator, console: &'a mut Console, destination: Destination) -> Self {
        Course {
            operator,
            console,
            destination,
            study_id: None,
            job: None,
            interrupted: false,
            failure: None,
            stopping: None,
            stop_sent: false,
        }
    }

    /// Takes one message; the last one comes back.
    fn take(&mut self, progress: Progress) -> Option<Finished> {
        match progress.body? {
            Body::Accepted(accepted) => {
                self.study_id = Some(accepted.study_id).filter(|id| !id.is_empty());
                self.job = self.study_id.clone().or(Some(accepted.job).filter(|job| !job.is_empty()));
                if let Err(error) = self.open_results() {
                    self.fail(error);
                }
                if self.interrupted || self.failure.is_some() {
                    self.stop();
                }
            }
            Body::Line(line) => self.console.line(&line),
            Body::Live(live) => self.console.live(&live),
            Body::Output(output) => {
                if let Destination::Open(results) = &mut self.destination
                    && let Err(error) = results.piece(&output.name, &output.data)
                {
                    self.fail(error);
                }
            }
            Body::Finished(finished) => return Some(finished),
        }
        None
    }

    fn open_results(&mut self) -> anyhow::Result<()> {
        if let (Destination::Below(parent), Some(id)) = (&self.destination, &self.study_id) {
            self.destination = Destination::Open(Results::open(&parent.join(id))?);
        }
        Ok(())
    }

    /// The first failure is the one to tell; the files that depend on it are given up.
    fn fail(&mut self, error: anyhow::Error) {
        self.destination = Destination::Nowhere;
        self.failure.get_or_insert(error);
    }

    /// Acts on a nudge. Before the coordinator accepted the job there is nothing to stop by name: the stop follows then.
    fn nudged(&mut self, nudge: Nudge) -> anyhow::Result<Option<Ended>> {
        match nudge {
            Nudge::Note(text) => self.console.note(&text),
            Nudge::Interrupt if self.interrupted => return Ok(Some(self.leave())),
            Nudge::Interrupt => {
                self.interrupted = true;
                self.console.note("stopping; what was measured is kept (Ctrl-C again leaves at once)");
                self.stop();
            }
            Nudge::Broken(why) if self.study_id.is_none() => {
                self.console.clear();
                return Err(anyhow!(why));
            }
            Nudge::Broken(why) => {
                self.console.note(&format!("error: {why}"));
                self.failure.get_or_insert_with(|| anyhow!("the fleet on this machine broke; the study was stopped"));
                self.stop();
            }
        }
        Ok(None)
    }

    fn leave(&mut self) -> Ended {
        self.console.clear();
        let url = self.operator.url();
        if self.study_id.is_none() {
            self.console.note(&format!("left; if the job goes on, stop it with: vufleet stop --coordinator {url}"));
        }
        Ended::Left
    }

    fn stop(&mut self) {
        let Some(job) = self.job.clone().filter(|_| !self.stop_sent) else { return };
        self.stop_sent = true;
        let mut operator = self.operator.clone();
        self.stopping = Some(tokio::spawn(async move { operator.stop(&job).await }));
    }

    async fn answered(
        stopping: &mut Option<JoinHandle<anyhow::Result<Option<String>>>>,
    ) -> anyhow::Result<Option<String>> {
        let answer = stopping.as_mut().expect("polled only while a stop is under way").await;
        answer.context("the stop was not sent")?
    }

    fn stop_answered(&mut self, answer: anyhow::Result<Option<String>>) {
        self.stopping = None;
        if let Err(error) = answer {
            self.console.note(&format!("error: cannot stop the study: {error:#}"));
        }
    }

    /// A connection that broke is no job that ended: whoever can be asked is asked.
    fn looks_for_coordinator(&mut self, why: &str) {
        self.console.clear();
        self.console.note(&format!(
            "the connection to the coordinator broke ({why}); it is looked for, at most {} s",
            BACK.as_secs()
        ));
    }

    /// Nobody tells any more; what the coordinator is at, if it could be asked.
    fn cut_off(&mut self, why: &str, found: Option<&str>) -> anyhow::Error {
        self.console.clear();
        let (url, job) = (self.operator.url(), self.job.as_deref().unwrap_or_default());
        if !job.is_empty() && found == Some(job) {
            return anyhow!(
                "the connection to the coordinator at {url} broke ({why}); {job} goes on there without this terminal. What it \
                 measures is in the coordinator's ledger: vufleet report {job}; to end it: vufleet stop {job} --coordinator {url}"
            );
        }
        let id = self.study_id.as_deref();
        let id =
            id.map_or(String::new(), |id| format!(": vufleet report {id}, or go on with vufleet run --resume {id}"));
        if found.is_some() {
            return anyhow!(
                "the connection to the coordinator at {url} broke ({why}), and {job} is not at hand there any more: it has ended \
                 meanwhile, or the coordinator went away and was started again; what it recorded is in its ledger{id}"
            );
        }
        anyhow!("the coordinator at {url} went away ({why}); what it recorded until then is in its ledger{id}")
    }

    /// Keeps the files, then says how it ended: an operator's interrupt first, a failure on this side second, the
    /// coordinator's word last.
    fn end(mut self, finished: &Finished) -> anyhow::Result<Exit> {
        self.console.clear();
        if let Destination::Open(results) = std::mem::replace(&mut self.destination, Destination::Nowhere) {
            let directory = results.directory().to_owned();
            match results.keep() {
                Ok(kept) if kept.is_empty() => {}
                Ok(kept) => {
                    self.console.result(&format!("files in {}:", directory.display()));
                    for path in kept {
                        self.console.result(&format!("  {}", path.display()));
                    }
                }
                Err(error) => self.fail(error),
            }
        }
        if !finished.message.is_empty() {
            let kind = if finished.exit_code == 0 { "" } else { "error: " };
            self.console.note(&format!("{kind}{}", finished.message));
        }
        match self.failure {
            _ if self.interrupted => Ok(Exit::Interrupted),
            Some(error) => Err(error),
            None => Ok(Exit::from_code(finished.exit_code)),
        }
    }
}
