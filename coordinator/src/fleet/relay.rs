//! Between a job and the operator who follows it: the job never waits for a terminal, a network or a full disk at the other end. Result
//! files do: they are made no faster than they are taken, so that a slow link neither fills memory nor is cut off.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;
use tonic::Status;
use vufleet_proto::v1::{Line, Progress, notice::Level, progress::Body};

/// Bytes of result files that may wait for an operator.
const FILES: usize = 8 << 20;
/// Bytes of notes and warnings that may wait for one.
const NOTES: usize = 8 << 20;
/// What a message takes up beside its text.
const OVERHEAD: usize = 128;
/// How long an operator may take nothing at all.
const PATIENCE: Duration = Duration::from_secs(30);
/// Messages that are on their way to the network, and one place for the reason why no more will come.
const ON_THE_WAY: usize = 64;

/// What the job writes into.
#[derive(Debug, Clone)]
pub struct Outbound {
    messages: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct Queued {
    progress: Progress,
    /// Of a piece of a file: its part of what may wait.
    room: Option<OwnedSemaphorePermit>,
}

/// What the operator reads, and what the job writes into.
pub fn relay() -> (Outbound, mpsc::Receiver<Result<Progress, Status>>) {
    let (messages, told) = mpsc::channel(ON_THE_WAY);
    let (outgoing, followed) = mpsc::channel(ON_THE_WAY);
    let room = Arc::new(Semaphore::new(FILES));
    tokio::spawn(pass_on(told, outgoing, Closing(Arc::clone(&room))));
    (Outbound { messages, room }, followed)
}

impl Outbound {
    /// Tells something, at once. False when the operator has gone.
    pub async fn send(&self, progress: Progress) -> bool {
        self.messages.send(Queued { progress, room: None }).await.is_ok()
    }

    /// Tells what is only true now, unless there is no place for it. Whether it did.
    pub fn send_now(&self, progress: Progress) -> bool {
        self.messages.try_send(Queued { progress, room: None }).is_ok()
    }

    /// Tells a piece of a file when there is room. False when the operator has gone.
    pub async fn send_piece(&self, progress: Progress) -> bool {
        let bytes = progress.encoded_len().clamp(1, FILES) as u32;
        let Ok(room) = Arc::clone(&self.room).acquire_many_owned(bytes).await else { return false };
        self.messages.send(Queued { progress, room: Some(room) }).await.is_ok()
    }

    /// The same from a thread for work that blocks.
    pub fn send_piece_from_thread(&self, progress: Progress) -> bool {
        Handle::current().block_on(self.send_piece(progress))
    }
}

/// Tells whoever waits for room, however the relay ends.
struct Closing(Arc<Semaphore>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What an operator has not taken yet.
#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<Queued>,
    /// The latest, behind everything else: one that is older is worth nothing.
    live: Option<Progress>,
    notes: usize,
    left_out: u64,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.live.is_none()
    }

    fn push(&mut self, queued: Queued) {
        let bytes = note_bytes(&queued.progress);
        match &queued.progress.body {
            Some(Body::Live(_)) => {
                self.live = Some(queued.progress);
                return;
            }
            _ if bytes > 0 && self.notes + bytes > NOTES => {
                self.left_out += 1;
                return;
            }
            Some(Body::Finished(_)) => self.live = None,
            _ => {}
        }
        if self.left_out > 0 {
            self.queue.push_back(Queued { progress: gap(std::mem::take(&mut self.left_out)), room: None });
        }
        self.notes += bytes;
        self.queue.push_back(queued);
    }

    /// The next message. A piece of a file makes room for another.
    fn pop(&mut self) -> Option<Progress> {
        let Some(Queued { progress, room }) = self.queue.pop_front() else { return self.live.take() };
        drop(room);
        self.notes = self.notes.saturating_sub(note_bytes(&progress));
        Some(progress)
    }
}

/// What a message takes up of the room for notes; results are few, and none is left out.
fn note_bytes(progress: &Progress) -> usize {
    match &progress.body {
        Some(Body::Line(line)) if line.level() != Level::Info => line.text.len() + OVERHEAD,
        _ => 0,
    }
}

fn gap(left_out: u64) -> Progress {
    let text = format!("{left_out} notes are left out here: this terminal takes them more slowly than they come");
    Progress { body: Some(Body::Line(Line { level: Level::Note as i32, text })) }
}

/// Ends with the job, with the operator, or with its patience; the job is told by a closed channel and goes on.
async fn pass_on(
    mut told: mpsc::Receiver<Queued>,
    outgoing: mpsc::Sender<Result<Progress, Status>>,
    _closing: Closing,
) {
    let Ok(last_word) = outgoing.clone().try_reserve_owned() else { return };
    let mut waiting = Waiting::default();
    let mut taken = Instant::now();
    let mut job_goes_on = true;
    while job_goes_on || !waiting.is_empty() {
        tokio::select! {
            queued = told.recv(), if job_goes_on => match queued {
                Some(queued) => {
                    if waiting.is_empty() {
                        taken = Instant::now();
                    }
                    waiting.push(queued);
                }
                None => job_goes_on = false,
            },
            place = outgoing.reserve(), if !waiting.is_empty() => match place {
                Ok(place) => {
                    taken = Instant::now();
                    if let Some(progress) = waiting.pop() {
                        place.send(Ok(progress));
                    }
                }
                Err(_) => return,
            },
            () = tokio::time::sleep_until(taken + PATIENCE), if !waiting.is_empty() => break,
        }
    }
    if !waiting.is_empty() {
        tracing::warn!("an operator who follows a job takes no progress; the job goes on without telling it");
        last_word.send(Err(Status::resource_exhausted(
            "this terminal did not take what it was told; the job goes on, and what it measures is in the ledger",
        )));
    }
}

#[cfg(test)]
mod tests;
