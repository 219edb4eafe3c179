//! What can go wrong with a ledger, told so that an operator knows what to do.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why the ledger could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// There is nothing to read.
    #[error("{}: there is no ledger here yet; run a study first, or name the right directory with --data", .path.display())]
    Missing {
        /// The file that was looked for.
        path: PathBuf,
    },
    /// Whether there is one cannot be seen.
    #[error("{}: {error}; read the ledger as its owner, for example with sudo -u vufleet", .path.display())]
    Unreadable {
        /// The file that was looked for.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Another process writes to the same directory.
    #[error(
        "{}: {holder} is writing to this ledger; submit to it with --coordinator, stop it, or choose another directory with --data",
        .dir.display()
    )]
    Locked {
        /// The data directory.
        dir: PathBuf,
        /// Who it is, as far as it said.
        holder: String,
    },
    /// Made by another vufleet.
    #[error(
        "{}: this ledger has version {found} and this vufleet reads version {known}; use the vufleet that made it, or another directory with --data",
        .path.display()
    )]
    Version {
        /// The ledger.
        path: PathBuf,
        /// The ledger's version.
        found: i64,
        /// This program's.
        known: i64,
    },
    /// A SQLite file, or any other, that is no ledger.
    #[error("{}: this file is not a vufleet ledger; move it away, or choose another directory with --data", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// No space left. Nothing of the refused transaction was kept; everything before it was.
    #[error(
        "{}: the disk is full; free some space (a busy agent needs up to 40 MB an hour) or move the data directory to a larger disk with --data",
        .path.display()
    )]
    Full {
        /// The ledger, or what could not be made for it.
        path: PathBuf,
    },
    /// Too little space for what is to come.
    #[error(
        "{}: {free_mb} MB are free, and this study may record about {needed_mb} MB; free some space, or move the data directory to a larger disk with --data",
        .dir.display()
    )]
    NoRoom {
        /// The data directory.
        dir: PathBuf,
        /// What is free.
        free_mb: u64,
        /// What should be.
        needed_mb: u64,
    },
    /// No study of that name.
    #[error("there is no study {wanted:?} in the ledger; `vufleet studies` lists them")]
    NoStudy {
        /// What was asked for.
        wanted: String,
    },
    /// Several studies begin like this.
    #[error("{wanted:?} could be {}; write more of the id", .matches.join(" or "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// Ids that begin with it.
        matches: Vec<String>,
    },
    /// No run of that number.
    #[error("there is no run {run} in the ledger; `vufleet show ID` lists the runs of a study")]
    NoRun {
        /// What was asked for.
        run: u64,
    },
    /// Something in the ledger cannot be read back.
    #[error("{}: {what} cannot be read back; the ledger is damaged or was changed by hand; restore a copy", .path.display())]
    Damaged {
        /// The ledger.
        path: PathBuf,
        /// What it was.
        what: String,
    },
    /// A task that reads it panicked.
    #[error("{what} died: {source}; this is a mistake in vufleet, please report it with the coordinator's log")]
    Died {
        /// What it was doing.
        what: String,
        /// How it ended.
        source: tokio::task::JoinError,
    },
    /// The ledger's thread has ended; its log says why.
    #[error("the ledger has been closed; start the coordinator again")]
    Closed,
    /// The file system refused.
    #[error("{}: {source}; vufleet must be able to write there, or choose another directory with --data", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("{}: cannot {doing} the ledger: {source}", .path.display())]
    Sqlite {
        /// The ledger.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Its reason.
        source: rusqlite::Error,
    },
}

impl LedgerError {
    /// Whether every run would meet it, and not only the one at hand.
    pub fn is_of_all_runs(&self) -> bool {
        matches!(
            self,
            LedgerError::Full { .. }
                | LedgerError::Closed
                | LedgerError::Io { .. }
                | LedgerError::Missing { .. }
                | LedgerError::Unreadable { .. }
        )
    }

    pub(super) fn io(path: &Path, source: io::Error) -> LedgerError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => LedgerError::Full { path: path.to_owned() },
            _ => LedgerError::Io { path: path.to_owned(), source },
        }
    }

    fn sqlite(path: &Path, doing: &'static str, source: rusqlite::Error) -> LedgerError {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => LedgerError::Full { path },
            Some(ErrorCode::NotADatabase) => LedgerError::Foreign { path },
            Some(ErrorCode::SystemIoFailure) if no_room_for_shared_memory(&source) => LedgerError::Full { path },
            _ => LedgerError::Sqlite { path, doing, source },
        }
    }
}

/// SQLite reports a full disk under its own code everywhere but where the WAL's index has to grow.
fn no_room_for_shared_memory(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|inner| inner.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}

/// Gives SQLite's errors the path and the deed that they lack.
pub(super) trait Doing<T> {
    fn doing(self, path: &Path, doing: &'static str) -> Result<T, LedgerError>;
}

impl<T> Doing<T> for Result<T, rusqlite::Error> {
    fn doing(self, path: &Path, doing: &'static str) -> Result<T, LedgerError> {
        self.map_err(|source| LedgerError::sqlite(path, doing, source))
    }
}
