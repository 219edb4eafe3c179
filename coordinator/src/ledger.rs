//! The ledger: an append-only record of everything that agents sent and that the coordinator knows by itself.
//!
//! One SQLite file (WAL) per data directory, one writer at a time, any number of readers. It keeps; it does not
//! judge or read clocks: every instant is passed in. What [`crate::rollup`] decides to keep less of goes through `thin`.

mod error;
mod events;
mod facts;
mod identity;
mod lock;
mod outline;
mod resets;
mod room;
mod runs;
mod schema;
mod settings;
mod standing;
mod studies;
mod thin;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub use error::LedgerError;
pub use events::Recorded;
pub use facts::{DATABASE, DrivingAgent, Fact, MeasureFacts, Moment, RunEnd, RunFacts, StudyFacts};
pub use outline::{KindOutline, OrderEntry, Outline, Pace, ProfileOutline, ScheduleOutline, UntilOutline};
pub use runs::{RunId, RunRecord};
pub use settings::{Settings, difference};
pub use standing::{Standing, Undo, UndoCheck, UndoStep};
pub use studies::{StudyId, StudyRecord, StudyState};
pub use thin::{Sender, Whole};

use error::Doing;
use lock::WriterLock;

/// Name of the ledger's file inside a data directory.
pub const FILE_NAME: &str = "ledger.sqlite3";

/// How long a reader waits for a writer's checkpoint before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    connection: Connection,
    /// Held by the writer for as long as the ledger is open; the kernel releases it however the process ends.
    _lock: Option<WriterLock>,
}

impl Ledger {
    /// Opens the ledger of a data directory for writing, and makes both where they are missing.
    ///
    /// Studies that an earlier writer left running are marked interrupted: it cannot be alive.
    pub fn open(dir: &Path) -> Result<Ledger, LedgerError> {
        let path = dir.join(FILE_NAME);
        std::fs::create_dir_all(dir).map_err(|source| LedgerError::io(dir, source))?;
        let lock = WriterLock::take(dir)?;
        let connection = Connection::open(&path).doing(&path, "open")?;
        let mut ledger = Ledger { path, connection, _lock: Some(lock) };
        ledger.prepare_to_write()?;
        ledger.interrupt_leftovers()?;
        Ok(ledger)
    }

    /// Opens an existing ledger for reading; somebody else may be writing meanwhile.
    pub fn read_only(dir: &Path) -> Result<Ledger, LedgerError> {
        let path = dir.join(FILE_NAME);
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(LedgerError::Missing { path }),
            Err(error) => return Err(LedgerError::Unreadable { path, error }),
        }
        let connection = open_for_reading(&path)?;
        schema::check_version(&connection, &path)?;
        Ok(Ledger { path, connection, _lock: None })
    }

    /// Whether somebody writes to it now: a study that says it is running runs only then.
    pub fn has_writer(&self) -> bool {
        self._lock.is_some() || self.path.parent().is_some_and(lock::is_taken)
    }

    /// Writes what is there already, to see whether it can be written.
    pub fn write_nothing_new(&mut self) -> Result<(), LedgerError> {
        if !self.path.exists() {
            return Err(LedgerError::Missing { path: self.path.clone() });
        }
        self.connection.execute("UPDATE identity SET id = id", []).map(drop).doing(&self.path, "write to")
    }

    /// Brings the log into the file, which alone is the ledger then. False when a reader held that up.
    pub fn fold_log(&mut self) -> Result<bool, LedgerError> {
        // SQLite tells that it was busy in the first column of an answer, not as an error.
        let is_busy = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        is_busy.map(|is_busy| !is_busy).doing(&self.path, "write to")
    }

    /// Where the ledger is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn prepare_to_write(&mut self) -> Result<(), LedgerError> {
        self.connection.busy_timeout(BUSY_TIMEOUT).doing(&self.path, "open")?;
        schema::create(&mut self.connection, &self.path)?;
        self.draw_identity()
    }

    /// Nobody may write to it any more, as on a disk that has failed.
    #[cfg(test)]
    fn forbid_writing(&self) {
        self.connection.pragma_update(None, "query_only", true).unwrap();
    }

    /// A ledger that is full once it has so many pages: what a full disk looks like.
    #[cfg(test)]
    fn open_with_pages(dir: &Path, max_pages: u32) -> Result<Ledger, LedgerError> {
        let ledger = Ledger::open(dir)?;
        ledger
            .connection
            .pragma_update_and_check(None, "max_page_count", max_pages, |_| Ok(()))
            .doing(&ledger.path, "limit")?;
        Ok(ledger)
    }
}

/// A reader of a WAL database needs its shared-memory file and may have to make it. Where the directory forbids that
/// and no writer left a log behind, the file cannot change under us and is read as it is.
fn open_for_reading(path: &Path) -> Result<Connection, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).doing(path, "open")?;
    connection.busy_timeout(BUSY_TIMEOUT).doing(path, "open")?;
    let first = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    match first {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::CannotOpen) && !has_log(path) => {
            let uri = format!("file:{}?immutable=1", percent_encoded(path));
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI).doing(path, "open")
        }
        other => other.map(|()| connection).doing(path, "read"),
    }
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Path::new(&log).exists()
}

/// The characters that end a path inside a URI, escaped.
fn percent_encoded(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_it_can_be_written_is_found_by_writing() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let identity = ledger.identity().unwrap();
        ledger.write_nothing_new().unwrap();
        assert_eq!(ledger.identity().unwrap(), identity);
        ledger.forbid_writing();
        ledger.write_nothing_new().unwrap_err();
        std::fs::remove_file(ledger.path()).unwrap();
        assert!(ledger.write_nothing_new().unwrap_err().to_string().contains(FILE_NAME));
    }

    #[test]
    fn its_log_can_be_brought_into_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let log = dir.path().join("ledger.sqlite3-wal");
        assert!(log.metadata().unwrap().len() > 0);
        assert!(ledger.fold_log().unwrap());
        assert_eq!(log.metadata().unwrap().len(), 0);
    }

    #[test]
    fn a_reader_keeps_the_log_where_it_is_and_that_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        ledger.connection.busy_timeout(Duration::ZERO).unwrap();
        let reader = Ledger::read_only(dir.path()).unwrap();
        reader.connection.execute_batch("BEGIN; SELECT count(*) FROM runs").unwrap();
        ledger.write_nothing_new().unwrap();
        assert!(!ledger.fold_log().unwrap());
        reader.connection.execute_batch("COMMIT").unwrap();
        assert!(ledger.fold_log().unwrap());
    }
}
