//! Between a job and the operator who follows it: the job never waits for a terminal, a network or a full disk at the other end.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tonic::Status;
use vufleet_proto::v1::Progress;

/// Messages that may wait for an operator.
const WAITING: usize = 16_384;
/// How long an operator may take nothing at all.
const PATIENCE: Duration = Duration::from_secs(30);
/// Messages that are on their way to the network, and one place for the reason why no more will come.
const ON_THE_WAY: usize = 64;

/// What the operator reads, and what the job writes into.
pub fn relay() -> (mpsc::Sender<Progress>, mpsc::Receiver<Result<Progress, Status>>) {
    let (progress, told) = mpsc::channel(ON_THE_WAY);
    let (outgoing, followed) = mpsc::channel(ON_THE_WAY);
    tokio::spawn(pass_on(told, outgoing));
    (progress, followed)
}

/// Ends with the job, with the operator, or with its patience; the job is told by a closed channel and goes on.
async fn pass_on(mut told: mpsc::Receiver<Progress>, outgoing: mpsc::Sender<Result<Progress, Status>>) {
    let Ok(last_word) = outgoing.clone().try_reserve_owned() else { return };
    let mut waiting = VecDeque::new();
    let mut taken = Instant::now();
    let mut job_goes_on = true;
    while job_goes_on || !waiting.is_empty() {
        tokio::select! {
            progress = told.recv(), if job_goes_on => match progress {
                Some(progress) => {
                    if waiting.is_empty() {
                        taken = Instant::now();
                    }
                    waiting.push_back(progress);
                }
                None => job_goes_on = false,
            },
            place = outgoing.reserve(), if !waiting.is_empty() => match place {
                Ok(place) => {
                    taken = Instant::now();
                    if let Some(progress) = waiting.pop_front() {
                        place.send(Ok(progress));
                    }
                }
                Err(_) => return,
            },
            () = tokio::time::sleep_until(taken + PATIENCE), if !waiting.is_empty() => break,
        }
        if waiting.len() > WAITING {
            break;
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
mod tests {
    use super::*;
    use vufleet_proto::v1::{Finished, progress::Body};

    fn message(code: u32) -> Progress {
        Progress { body: Some(Body::Finished(Finished { exit_code: code, message: String::new() })) }
    }

    fn code(progress: Option<Result<Progress, Status>>) -> Result<u32, Status> {
        match progress.expect("something is told")?.body {
            Some(Body::Finished(finished)) => Ok(finished.exit_code),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn everything_arrives_in_order_and_then_the_end() {
        let (progress, mut followed) = relay();
        let sender = tokio::spawn(async move {
            for n in 0..1_000 {
                progress.send(message(n)).await.unwrap();
            }
        });
        for n in 0..1_000 {
            assert_eq!(code(followed.recv().await).unwrap(), n);
        }
        assert!(followed.recv().await.is_none());
        sender.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_does_not_wait_for_who_takes_nothing() {
        let (progress, mut followed) = relay();
        let begun = Instant::now();
        for n in 0..10_000 {
            progress.send(message(n)).await.unwrap();
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
        progress.closed().await;
        assert!((PATIENCE..PATIENCE * 2).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        for n in 0..ON_THE_WAY as u32 - 1 {
            assert_eq!(code(followed.recv().await).unwrap(), n);
        }
        let why = code(followed.recv().await).unwrap_err();
        assert!(why.message().contains("the job goes on"), "{why}");
        assert!(followed.recv().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_is_bounded() {
        let (progress, _followed) = relay();
        let begun = Instant::now();
        let mut sent = 0;
        while progress.send(message(sent)).await.is_ok() {
            sent += 1;
        }
        assert!(begun.elapsed() < PATIENCE && (sent as usize) < WAITING + 3 * ON_THE_WAY, "{sent}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_that_is_silent_for_long_is_followed_on() {
        let (progress, mut followed) = relay();
        tokio::time::sleep(PATIENCE * 3).await;
        progress.send(message(7)).await.unwrap();
        tokio::time::sleep(PATIENCE / 2).await;
        assert_eq!(code(followed.recv().await).unwrap(), 7);
        tokio::time::sleep(PATIENCE * 3).await;
        assert!(!progress.is_closed());
    }
}
