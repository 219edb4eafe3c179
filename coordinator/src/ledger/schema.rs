//! Tables of the ledger and the version they have.

use std::path::Path;

use rusqlite::Connection;

use super::LedgerError;
use super::error::Doing;

/// Version of the tables. A later one is refused; an earlier one is read as it is, and brought here by the next writer.
pub(super) const VERSION: i64 = 2;
/// The first one. It knew no roll-up: sums would pass for intervals.
const FIRST: i64 = 1;

/// Marks the file as a ledger among SQLite files ("vufl").
const APPLICATION_ID: i64 = 0x7675_666c;

/// `events` is keyed by what the sender numbered, so that a resent event meets itself. `boot` is the agent process's
/// random number with its bits kept, hence often negative here; boot 0 is the coordinator.
const TABLES: &str = "
CREATE TABLE studies (
    id TEXT PRIMARY KEY,
    begun_ns INTEGER NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    relative_only INTEGER NOT NULL,
    outline TEXT NOT NULL,
    facts TEXT NOT NULL,
    state TEXT NOT NULL,
    ended_ns INTEGER,
    message TEXT NOT NULL DEFAULT ''
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    study TEXT NOT NULL REFERENCES studies (id),
    number INTEGER NOT NULL,
    variant TEXT NOT NULL,
    profile TEXT NOT NULL,
    repetition INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    facts TEXT,
    ended_ns INTEGER,
    ending TEXT,
    thinned_ns INTEGER
);
CREATE INDEX runs_of_study ON runs (study);
CREATE TABLE events (
    run INTEGER NOT NULL,
    agent TEXT NOT NULL,
    boot INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (boot, seq)
);
CREATE INDEX events_of_run ON events (run, agent, boot, seq);
";

/// Makes the tables in an empty file and checks those of any other.
pub(super) fn create(connection: &mut Connection, path: &Path) -> Result<(), LedgerError> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).doing(path, "read")?;
    if tables > 0 {
        check_version(connection, path)?;
    }
    // NORMAL loses at most the last moments when the machine fails, never anything when only the process does.
    if tables == 0 {
        // What a roll-up frees goes back to the disk, piece by piece. It can be asked for in an empty file only.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").doing(path, "set up")?;
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).doing(path, "set up")?;
    connection.pragma_update(None, "synchronous", "NORMAL").doing(path, "set up")?;
    connection.pragma_update(None, "foreign_keys", true).doing(path, "set up")?;
    if tables == 0 {
        let transaction = connection.transaction().doing(path, "set up")?;
        transaction.execute_batch(TABLES).doing(path, "set up")?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).doing(path, "set up")?;
        transaction.pragma_update(None, "user_version", VERSION).doing(path, "set up")?;
        transaction.commit().doing(path, "set up")?;
    }
    bring_up(connection, path)
}

/// Brings the tables of an earlier version to this one.
fn bring_up(connection: &mut Connection, path: &Path) -> Result<(), LedgerError> {
    if version(connection, path)? == FIRST {
        let transaction = connection.transaction().doing(path, "bring up to date")?;
        transaction.execute("ALTER TABLE runs ADD COLUMN thinned_ns INTEGER", []).doing(path, "bring up to date")?;
        transaction.pragma_update(None, "user_version", VERSION).doing(path, "bring up to date")?;
        transaction.commit().doing(path, "bring up to date")?;
    }
    Ok(())
}

/// Refuses files that are no ledger, and ledgers of another version.
pub(super) fn check_version(connection: &Connection, path: &Path) -> Result<(), LedgerError> {
    if pragma(connection, path, "application_id")? != APPLICATION_ID {
        return Err(LedgerError::Foreign { path: path.to_owned() });
    }
    match version(connection, path)? {
        FIRST..=VERSION => Ok(()),
        found => Err(LedgerError::Version { path: path.to_owned(), found, known: VERSION }),
    }
}

/// Version of a ledger's tables.
pub(super) fn version(connection: &Connection, path: &Path) -> Result<i64, LedgerError> {
    pragma(connection, path, "user_version")
}

fn pragma(connection: &Connection, path: &Path, name: &str) -> Result<i64, LedgerError> {
    connection.pragma_query_value(None, name, |row| row.get(0)).doing(path, "read")
}
