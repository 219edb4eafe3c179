//! One writer per data directory.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::LedgerError;

const FILE_NAME: &str = "ledger.lock";

/// How long somebody who only looks has the lock, at most, and how often that is waited for.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: u32 = 5;

/// An advisory lock that ends with the process, kill -9 included. The file stays; only the lock on it counts.
#[derive(Debug)]
pub(super) struct WriterLock {
    _file: Flock<File>,
}

impl WriterLock {
    pub(super) fn take(dir: &Path) -> Result<WriterLock, LedgerError> {
        let path = dir.join(FILE_NAME);
        let io = |source| LedgerError::io(&path, source);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        let mut file = exclusive(file).map_err(|(file, errno)| match errno {
            Errno::EWOULDBLOCK => LedgerError::Locked { dir: dir.to_owned(), holder: holder(file) },
            other => io(other.into()),
        })?;
        file.set_len(0).map_err(io)?;
        file.rewind().map_err(io)?;
        write!(file, "{}", std::process::id()).map_err(io)?;
        Ok(WriterLock { _file: file })
    }
}

/// Whoever asks whether there is a writer holds the lock for a moment; that is no writer.
fn exclusive(mut file: File) -> Result<Flock<File>, (File, Errno)> {
    for _ in 0..LOOKS {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Err((again, Errno::EWOULDBLOCK)) => file = again,
            other => return other,
        }
        std::thread::sleep(LOOK);
    }
    Flock::lock(file, FlockArg::LockExclusiveNonblock)
}

/// Whether somebody writes to a directory's ledger now.
pub(super) fn is_taken(dir: &Path) -> bool {
    let Ok(file) = File::open(dir.join(FILE_NAME)) else { return false };
    matches!(Flock::lock(file, FlockArg::LockSharedNonblock), Err((_, Errno::EWOULDBLOCK)))
}

/// Who wrote its number into the lock file.
fn holder(mut file: File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if !text.is_empty() => format!("process {text}"),
        _ => "another process".to_owned(),
    }
}
