//! What the log is told of refused peers: each, as long as they are few, and a number, when somebody scans the port.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Over which sentences are counted.
pub(super) const WINDOW: Duration = Duration::from_secs(60);
/// Sentences within it.
const SENTENCES: u32 = 20;

#[derive(Debug, Default)]
pub(super) struct Quiet {
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    since: Option<Instant>,
    sentences: u32,
    kept_back: u64,
}

impl Quiet {
    /// A peer was refused. `why` is the end of a sentence about it.
    pub(super) fn refused(&self, address: SocketAddr, why: &str) {
        if self.may_speak(Instant::now()) {
            tracing::warn!("refused {address}: it {why}");
        }
    }

    /// Something else to be said, as seldom.
    pub(super) fn say(&self, sentence: &str) {
        if self.may_speak(Instant::now()) {
            tracing::warn!("{sentence}");
        }
    }

    /// Tells how much was not told.
    pub(super) fn sum_up(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let kept_back = std::mem::take(&mut told.kept_back);
        if kept_back > 0 {
            tracing::warn!("refused {kept_back} more connections that are not told of one by one");
        }
    }

    fn may_speak(&self, now: Instant) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            told.since = Some(now);
            told.sentences = 0;
        }
        if told.sentences < SENTENCES {
            told.sentences += 1;
            return true;
        }
        told.kept_back += 1;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_told_in_few_lines() {
        let (quiet, start) = (Quiet::default(), Instant::now());
        let said = (0..10_000).filter(|_| quiet.may_speak(start)).count();
        assert_eq!(said, SENTENCES as usize);
        assert_eq!(quiet.told.lock().unwrap().kept_back, 10_000 - u64::from(SENTENCES));
        assert!(quiet.may_speak(start + WINDOW));
    }
}
