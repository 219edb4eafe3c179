//! SQLite's errors as faults.

use std::path::Path;

use rusqlite::ffi;
use vufleet_scenarios::session::{Fault, FaultKind};

/// The kind of an extended result code.
fn kind(code: i32) -> FaultKind {
    match code {
        ffi::SQLITE_BUSY_SNAPSHOT => FaultKind::Serialization,
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            FaultKind::Duplicate
        }
        // The primary code is the low byte.
        _ => match code & 0xff {
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => FaultKind::LockTimeout,
            ffi::SQLITE_INTERRUPT => FaultKind::Deadline,
            ffi::SQLITE_CANTOPEN
            | ffi::SQLITE_NOTADB
            | ffi::SQLITE_READONLY
            | ffi::SQLITE_PERM
            | ffi::SQLITE_CORRUPT => FaultKind::Refused,
            // What was under way may or may not be in the file.
            ffi::SQLITE_IOERR => FaultKind::ConnectionLost,
            _ => FaultKind::Statement,
        },
    }
}

/// What to do about a primary code, where it is not obvious.
fn remedy(code: i32) -> Option<&'static str> {
    match code & 0xff {
        ffi::SQLITE_FULL => Some("disk full; free some space where the file lies"),
        ffi::SQLITE_BUSY => Some("another process writes to the file; stop it, or wait for it"),
        ffi::SQLITE_CANTOPEN => Some("create its directory and make it writable, or correct target.path"),
        ffi::SQLITE_NOTADB => Some("it is no SQLite file; correct target.path"),
        ffi::SQLITE_READONLY | ffi::SQLITE_PERM => Some("make the file and its directory writable"),
        ffi::SQLITE_CORRUPT => Some("delete the file and build the schema again"),
        _ => None,
    }
}

/// A failed call.
pub(super) fn fault(error: rusqlite::Error) -> Fault {
    let code = match &error {
        rusqlite::Error::SqliteFailure(failure, _) => failure.extended_code,
        rusqlite::Error::SqlInputError { error, .. } => error.extended_code,
        _ => return own_fault(error),
    };
    let message = match remedy(code) {
        Some(remedy) => format!("{error}: {remedy}"),
        None => error.to_string(),
    };
    Fault::with_code(kind(code), code, message)
}

/// A failure of the client rather than of SQLite; our own faults travel through it as conversion errors.
fn own_fault(error: rusqlite::Error) -> Fault {
    match error {
        rusqlite::Error::ToSqlConversionFailure(inner) => match inner.downcast::<Fault>() {
            Ok(fault) => *fault,
            Err(inner) => Fault::new(FaultKind::Statement, inner.to_string()),
        },
        other => Fault::new(FaultKind::Statement, other.to_string()),
    }
}

/// A file that could not be opened: whatever the reason, this session was refused.
pub(super) fn unopened(path: &Path, error: rusqlite::Error) -> Fault {
    let fault = fault(error);
    let message = format!("cannot open {}: {}", path.display(), fault.message);
    Fault { kind: FaultKind::Refused, code: fault.code, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_kinds() {
        for (code, expected) in [
            (ffi::SQLITE_BUSY, FaultKind::LockTimeout),
            (ffi::SQLITE_BUSY_RECOVERY, FaultKind::LockTimeout),
            (ffi::SQLITE_BUSY_SNAPSHOT, FaultKind::Serialization),
            (ffi::SQLITE_LOCKED_SHAREDCACHE, FaultKind::LockTimeout),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, FaultKind::Duplicate),
            (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, FaultKind::Duplicate),
            (ffi::SQLITE_CONSTRAINT_NOTNULL, FaultKind::Statement),
            (ffi::SQLITE_INTERRUPT, FaultKind::Deadline),
            (ffi::SQLITE_CANTOPEN_ISDIR, FaultKind::Refused),
            (ffi::SQLITE_READONLY_DBMOVED, FaultKind::Refused),
            (ffi::SQLITE_NOTADB, FaultKind::Refused),
            (ffi::SQLITE_IOERR_WRITE, FaultKind::ConnectionLost),
            (ffi::SQLITE_FULL, FaultKind::Statement),
            (ffi::SQLITE_ERROR, FaultKind::Statement),
        ] {
            assert_eq!(kind(code), expected, "{code}");
        }
    }

    #[test]
    fn a_full_disk_says_so() {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None);
        let fault = fault(error);
        assert!(fault.message.contains("disk full"), "{fault}");
        assert_eq!(fault.code, Some(ffi::SQLITE_FULL));
    }
}
