//! The server's error numbers as faults.

use std::io;

use vufleet_scenarios::session::{Fault, FaultKind};

use super::answer::ServerError;

/// The kind of an error: by the server's number, or, where that says nothing, by the standard's class (40: rolled back, 08:
/// the connection; group replication and clusters have numbers of their own).
fn kind(code: u16, state: &str) -> FaultKind {
    match code {
        1213 | 1020 => FaultKind::Deadlock,
        // 3572 is MySQL's NOWAIT.
        1205 | 3572 => FaultKind::LockTimeout,
        1062 | 1022 | 1586 => FaultKind::Duplicate,
        1040 | 1044 | 1045 | 1049 | 1129 | 1130 | 1203 | 1226 | 1698 => FaultKind::Refused,
        // Shutdown, killed, gone, network errors of the server's own, idle for too long.
        // From 2000 on, what a proxy says of its own connection to the server.
        1053 | 1152 | 1158..=1161 | 1184 | 1927 | 2000..=2099 | 3169 | 4031 => FaultKind::ConnectionLost,
        1317 | 1969 | 3024 => FaultKind::Deadline,
        _ if state.starts_with("40") => FaultKind::Serialization,
        _ if state.starts_with("08") => FaultKind::ConnectionLost,
        _ => FaultKind::Statement,
    }
}

/// What to do about an error, where it is not obvious.
fn remedy(code: u16, message: &str) -> Option<&'static str> {
    match code {
        // Files that could not be written, with the system's number for a full disk.
        3 | 1026 | 1030
            if message.contains("rror 28") || message.contains("rrno: 28") || message.contains("rrcode: 28") =>
        {
            Some("free some space on the server")
        }
        1461 => Some("raise max_prepared_stmt_count on the server, or ask for fewer sessions"),
        1290 | 1836 => Some("the server is read-only; correct the target or switch read_only off"),
        1021 | 1114 => Some("free some space on the server"),
        1153 => Some("raise max_allowed_packet on the server"),
        _ => None,
    }
}

/// A call that the server refused.
pub(in crate::session) fn of_server(ServerError { code, state, message }: ServerError) -> Fault {
    let message = match remedy(code, &message) {
        Some(remedy) => format!("{message}; {remedy}"),
        None => message,
    };
    Fault::with_code(kind(code, &state), code.into(), message)
}

/// A commit that was refused for another reason than that the transaction is rolled back, as proxies do when they lose the server
/// behind them: nobody knows whether it took effect, as with a lost connection.
pub(in crate::session) fn of_commit(fault: Fault) -> Fault {
    match fault.kind {
        FaultKind::Statement | FaultKind::Refused | FaultKind::Overloaded => {
            Fault { kind: FaultKind::ConnectionLost, ..fault }
        }
        _ => fault,
    }
}

/// A connection that broke, or on which nobody knows any more what comes next.
pub(super) fn lost(error: &io::Error) -> Fault {
    Fault::new(FaultKind::ConnectionLost, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_kinds() {
        for (code, expected) in [
            (1213, FaultKind::Deadlock),
            (3572, FaultKind::LockTimeout),
            (1022, FaultKind::Duplicate),
            (1152, FaultKind::ConnectionLost),
            (1158, FaultKind::ConnectionLost),
            (1161, FaultKind::ConnectionLost),
            (1184, FaultKind::ConnectionLost),
            (2003, FaultKind::ConnectionLost),
            (3169, FaultKind::ConnectionLost),
            (4031, FaultKind::ConnectionLost),
            (1020, FaultKind::Deadlock),
            (1205, FaultKind::LockTimeout),
            (1062, FaultKind::Duplicate),
            (1586, FaultKind::Duplicate),
            (1040, FaultKind::Refused),
            (1044, FaultKind::Refused),
            (1045, FaultKind::Refused),
            (1049, FaultKind::Refused),
            (1129, FaultKind::Refused),
            (1130, FaultKind::Refused),
            (1203, FaultKind::Refused),
            (1226, FaultKind::Refused),
            (1698, FaultKind::Refused),
            (1053, FaultKind::ConnectionLost),
            (1927, FaultKind::ConnectionLost),
            (2006, FaultKind::ConnectionLost),
            (2013, FaultKind::ConnectionLost),
            (1317, FaultKind::Deadline),
            (1969, FaultKind::Deadline),
            (3024, FaultKind::Deadline),
            (1064, FaultKind::Statement),
            (1146, FaultKind::Statement),
            (1461, FaultKind::Statement),
        ] {
            assert_eq!(kind(code, ""), expected, "{code}");
        }
    }

    #[test]
    fn a_number_that_says_nothing_has_a_class() {
        for (code, state, expected) in [
            (3101, "40000", FaultKind::Serialization),
            (1047, "08S01", FaultKind::ConnectionLost),
            (1205, "HY000", FaultKind::LockTimeout),
            (1213, "40001", FaultKind::Deadlock),
            (1146, "42S02", FaultKind::Statement),
        ] {
            assert_eq!(kind(code, state), expected, "{code} {state}");
        }
    }

    #[test]
    fn a_commit_is_answered_by_a_rollback_alone() {
        for (kind, expected) in [
            (FaultKind::Deadlock, FaultKind::Deadlock),
            (FaultKind::Serialization, FaultKind::Serialization),
            (FaultKind::Duplicate, FaultKind::Duplicate),
            (FaultKind::Deadline, FaultKind::Deadline),
            (FaultKind::Statement, FaultKind::ConnectionLost),
            (FaultKind::Refused, FaultKind::ConnectionLost),
            (FaultKind::Overloaded, FaultKind::ConnectionLost),
        ] {
            assert_eq!(of_commit(Fault::new(kind, "no")).kind, expected, "{kind:?}");
        }
    }

    #[test]
    fn a_remedy_follows_the_servers_words() {
        let fault =
            of_server(ServerError { code: 1461, state: "42000".to_owned(), message: "Too many statements".to_owned() });
        assert_eq!((fault.kind, fault.code), (FaultKind::Statement, Some(1461)));
        assert!(fault.message.starts_with("Too many statements; raise max_prepared_stmt_count"), "{fault}");
    }

    #[test]
    fn a_full_disk_is_told_from_another_failure_to_write() {
        for (code, message, full) in [
            (1114, "The table 'stock' is full", true),
            (1030, "Got error 28 \"No space left on device\" from storage engine InnoDB", true),
            (1026, "Error writing file './bin.000001' (errno: 28 \"No space left on device\")", true),
            (1030, "Got error 5 \"Input/output error\" from storage engine InnoDB", false),
        ] {
            assert_eq!(remedy(code, message).is_some_and(|remedy| remedy.contains("space")), full, "{message}");
        }
    }

    #[test]
    fn a_broken_connection_is_lost() {
        let fault = lost(&io::ErrorKind::BrokenPipe.into());
        assert_eq!((fault.kind, fault.code), (FaultKind::ConnectionLost, None));
    }
}
