//! Whether the disk has room for what a study will record. Asked before there is any load: a ledger that fills up in
//! the middle costs the hours until then.

use std::path::Path;
use std::time::Duration;

use nix::sys::statvfs::statvfs;

use super::{Ledger, LedgerError};

const MB: u64 = 1_000_000;
/// What an agent may record in an hour of one-second intervals.
const PER_AGENT_HOUR: u64 = 40 * MB;
/// Less than this is too little for anything: the log of the ledger alone takes a few megabytes.
const LEAST: u64 = 16 * MB;

impl Ledger {
    /// Refuses when there is too little room for so many agents over that time, cut into intervals of that length.
    pub fn make_sure_of_room(&self, agents: usize, time: Duration, interval: Duration) -> Result<(), LedgerError> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let disk = statvfs(dir).map_err(|errno| LedgerError::io(dir, errno.into()))?;
        let free = disk.blocks_available() * disk.fragment_size();
        let needed = needed(agents, time, interval);
        if free >= needed {
            return Ok(());
        }
        Err(LedgerError::NoRoom { dir: dir.to_owned(), free_mb: free / MB, needed_mb: needed.div_ceil(MB) })
    }
}

/// An event of a short interval is hardly smaller than that of a second. One of a long interval is larger, so that nothing is
/// saved there.
fn needed(agents: usize, time: Duration, interval: Duration) -> u64 {
    let hours = time.as_secs_f64() / 3_600.0;
    let per_s = (1.0 / interval.as_secs_f64()).max(1.0);
    LEAST + (PER_AGENT_HOUR as f64 * agents as f64 * hours * per_s) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_with_agents_and_hours() {
        let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3_600));
        assert_eq!(needed(3, Duration::ZERO, second), 16 * MB);
        assert_eq!(needed(1, hour, second), 56 * MB);
        assert_eq!(needed(5, 12 * hour, second), 2_416 * MB);
        assert_eq!(needed(1, hour, second / 10), 416 * MB);
        assert_eq!(needed(1, hour, second * 60), 56 * MB);
    }

    #[test]
    fn a_study_that_no_disk_has_room_for_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path()).unwrap();
        let second = Duration::from_secs(1);
        ledger.make_sure_of_room(3, 60 * second, second).unwrap();
        let refusal = ledger.make_sure_of_room(1_000_000, 1_000_000_000 * second, second).unwrap_err();
        let refusal = refusal.to_string();
        assert!(refusal.contains("free some space") && refusal.contains("--data"), "{refusal}");
    }
}
