//! Tables of the ledger and the version they have.

use std::path::Path;

use rusqlite::Connection;

use super::LedgerError;
use super::error::Doing;

/// Version of the tables. Any other is refused.
const VERSION: i64 = 1;

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
    ending TEXT
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
    Ok(())
}

/// Refuses files that are no ledger, and ledgers of another version.
pub(super) fn check_version(connection: &Connection, path: &Path) -> Result<(), LedgerError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).doing(path, "read");
    if pragma("application_id")? != APPLICATION_ID {
        return Err(LedgerError::Foreign { path: path.to_owned() });
    }
    match pragma("user_version")? {
        VERSION => Ok(()),
        found => Err(LedgerError::Version { path: path.to_owned(), found, known: VERSION }),
    }
}
