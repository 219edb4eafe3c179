//! What a job tells its operator. An operator who has gone away is not waited for. Much of it is the words of agents, commands and
//! databases: a terminal is told them in characters that it does nothing with but show them.

use vufleet_proto::v1::{self, notice::Level, progress::Body};

use crate::fleet::hello::shown;
use crate::fleet::relay::Outbound;

/// The operator has gone away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operator has gone")]
pub(super) struct Gone;

/// The operator's end of a job.
#[derive(Debug, Clone)]
pub(super) struct Teller {
    progress: Outbound,
}

impl Teller {
    pub(super) fn new(progress: Outbound) -> Self {
        Teller { progress }
    }

    async fn tell(&self, body: Body) {
        if !self.progress.send(v1::Progress { body: Some(body) }).await {
            tracing::debug!("the operator has gone; the job goes on");
        }
    }

    async fn tell_line(&self, level: Level, text: &str) {
        self.tell(Body::Line(v1::Line { level: level as i32, text: shown(text) })).await;
    }

    /// The job has a name by which it can be stopped, and at some time a study.
    pub(super) async fn accepted(&self, job: &str, study_id: &str) {
        self.tell(Body::Accepted(v1::Accepted { study_id: study_id.to_owned(), job: job.to_owned() })).await;
    }

    /// A result, or a part of it.
    pub(super) async fn line(&self, text: impl Into<String>) {
        self.tell_line(Level::Info, &text.into()).await;
    }

    /// Worth knowing meanwhile.
    pub(super) async fn note(&self, text: impl Into<String>) {
        self.tell_line(Level::Note, &text.into()).await;
    }

    pub(super) async fn warn(&self, text: impl Into<String>) {
        let text = shown(&text.into());
        tracing::info!("{text}");
        self.tell_line(Level::Warn, &text).await;
    }

    /// What is true now is dropped rather than waited for.
    pub(super) fn live(&self, live: v1::Live) {
        if !self.progress.send_now(v1::Progress { body: Some(Body::Live(live)) }) {
            tracing::debug!("the operator's terminal is behind");
        }
    }

    /// A piece of a file, from a thread that may wait for a slow terminal.
    pub(super) fn output_from_thread(&self, name: &str, data: Vec<u8>) -> Result<(), Gone> {
        let body = Body::Output(v1::Output { name: name.to_owned(), data: data.into() });
        if self.progress.send_piece_from_thread(v1::Progress { body: Some(body) }) { Ok(()) } else { Err(Gone) }
    }

    pub(super) async fn finished(&self, finished: v1::Finished) {
        let message = shown(&finished.message);
        self.tell(Body::Finished(v1::Finished { message, ..finished })).await;
    }
}
