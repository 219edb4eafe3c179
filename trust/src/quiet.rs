//! What the log is told of peers that misbehave: each, as long as they are few, and a number, when somebody scans the port.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Over which sentences are counted.
pub const WINDOW: Duration = Duration::from_secs(60);
/// Sentences within it.
const SENTENCES: u32 = 20;

/// Warns, so many times a minute.
#[derive(Debug, Default)]
pub struct Quiet {
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    since: Option<Instant>,
    sentences: u32,
    kept_back: u64,
}

impl Quiet {
    /// Warns, unless it has done so often enough.
    pub fn say(&self, sentence: impl FnOnce() -> String) {
        if self.may_speak(Instant::now()) {
            tracing::warn!("{}", sentence());
        }
    }

    /// Tells how much was not told.
    pub fn sum_up(&self) {
        tell(std::mem::take(&mut self.lock().kept_back));
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_speak(&self, now: Instant) -> bool {
        let mut told = self.lock();
        if told.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            tell(std::mem::take(&mut told.kept_back));
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

fn tell(kept_back: u64) {
    if kept_back > 0 {
        tracing::warn!("{kept_back} more refusals are not told of one by one");
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
        assert_eq!(quiet.lock().kept_back, 10_000 - u64::from(SENTENCES));
        assert!(quiet.may_speak(start + WINDOW));
        assert_eq!(quiet.lock().kept_back, 0);
    }
}
