//! The server's errors as faults: by number, by severity, and by words where the number says nothing. Procedures that
//! catch an error and raise it again give it a number of their own, and other engines behind the protocol have their own
//! numbers too.

use tiberius::error::Error;
use vufleet_scenarios::session::{Fault, FaultKind};

/// From this severity on the server closes the connection.
const FATAL: u8 = 20;

/// The kind of an error, by its number.
fn by_number(number: u32) -> Option<FaultKind> {
    Some(match number {
        1205 => FaultKind::Deadlock,
        1222 => FaultKind::LockTimeout,
        // Snapshot isolation, then in-memory tables.
        3960 | 3961 | 41301 | 41302 | 41305 | 41325 => FaultKind::Serialization,
        2601 | 2627 => FaultKind::Duplicate,
        // Memory, locks, threads; then the limits of Azure SQL Database.
        701 | 802 | 1204 | 8628 | 8645 | 8651 | 17803 | 10928 | 10929 | 10936 | 40501 | 40613 | 49918..=49920 => {
            FaultKind::Overloaded
        }
        // Database, login, firewall, connections.
        911 | 916 | 4060 | 4064 | 18452 | 18456 | 18461 | 18470 | 18486..=18488 | 40532 | 40615 | 17809 | 17810 => {
            FaultKind::Refused
        }
        // Killed, shut down, recovering, upgrading, failed over; sessions that Azure ends.
        596 | 6005 | 18451 | 18401 | 921 | 922 | 976 | 983 | 64 | 233 | 10053 | 10054 | 10060 | 40549..=40553 => {
            FaultKind::ConnectionLost
        }
        _ => return None,
    })
}

/// What says the same whatever the number, in lower case: SQL Server's words first, then PostgreSQL's, which plays SQL
/// Server with Babelfish.
const WORDS: [(&str, FaultKind); 22] = [
    ("chosen as the deadlock victim", FaultKind::Deadlock),
    ("lock request time out period exceeded", FaultKind::LockTimeout),
    ("snapshot isolation transaction aborted", FaultKind::Serialization),
    ("cannot insert duplicate key", FaultKind::Duplicate),
    ("insufficient system memory", FaultKind::Overloaded),
    ("insufficient memory", FaultKind::Overloaded),
    ("the session is in the kill state", FaultKind::ConnectionLost),
    ("connection reset", FaultKind::ConnectionLost),
    ("deadlock detected", FaultKind::Deadlock),
    ("due to lock timeout", FaultKind::LockTimeout),
    ("could not obtain lock", FaultKind::LockTimeout),
    ("could not serialize access", FaultKind::Serialization),
    ("duplicate key value", FaultKind::Duplicate),
    ("due to user request", FaultKind::Deadline),
    ("due to statement timeout", FaultKind::Deadline),
    ("out of shared memory", FaultKind::Overloaded),
    ("out of memory", FaultKind::Overloaded),
    ("terminating connection", FaultKind::ConnectionLost),
    ("database system is shutting down", FaultKind::ConnectionLost),
    ("database system is starting up", FaultKind::ConnectionLost),
    ("too many clients", FaultKind::Refused),
    ("remaining connection slots are reserved", FaultKind::Refused),
];

fn kind(number: u32, severity: u8, words: &str) -> FaultKind {
    let by_words = || {
        let words = words.to_ascii_lowercase();
        WORDS.iter().find(|(part, _)| words.contains(part)).map(|(_, kind)| *kind)
    };
    let fallback = if severity >= FATAL { FaultKind::ConnectionLost } else { FaultKind::Statement };
    by_number(number).or_else(by_words).unwrap_or(fallback)
}

/// What helps, where it is not obvious.
fn remedy(number: u32) -> Option<&'static str> {
    Some(match number {
        1105 | 1101 => "let the database grow, or free some space on the server",
        9002 => "back up the log, let it grow, or choose the simple recovery model",
        229 | 230 | 262 | 297 | 300 => "GRANT it to the login, or name one that has it",
        _ => return None,
    })
}

/// An error in the server's words, or in a procedure's that caught it.
pub(super) fn of_words(number: u32, severity: u8, words: &str) -> Fault {
    let words = words.trim_end();
    let message = match remedy(number) {
        Some(remedy) => format!("{words}; {remedy}"),
        None => words.to_owned(),
    };
    Fault::with_code(kind(number, severity, words), i32::try_from(number).unwrap_or(i32::MAX), message)
}

/// A failed call on an open connection.
pub(super) fn of(error: Error) -> Fault {
    match error {
        Error::Server(error) => {
            let fault = of_words(error.code(), error.class(), error.message());
            match error.procedure() {
                "" => fault,
                procedure => {
                    let message = format!("{} [procedure {procedure}, line {}]", fault.message, error.line());
                    Fault { message: message.into(), ..fault }
                }
            }
        }
        // Whatever else goes wrong, nobody knows what comes next on this connection.
        other => Fault::new(FaultKind::ConnectionLost, other.to_string()),
    }
}

/// A commit that was refused for another reason than that the transaction is rolled back: nobody knows whether it took
/// effect, as with a lost connection.
pub(super) fn of_commit(fault: Fault) -> Fault {
    match fault.kind {
        FaultKind::Statement | FaultKind::Refused | FaultKind::Overloaded => {
            Fault { kind: FaultKind::ConnectionLost, ..fault }
        }
        _ => fault,
    }
}

/// Whether a rollback found nothing to roll back.
pub(super) fn is_no_transaction(fault: &Fault) -> bool {
    fault.code == Some(3903)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_kinds() {
        for (numbers, expected) in [
            (&[1205][..], FaultKind::Deadlock),
            (&[1222], FaultKind::LockTimeout),
            (&[3960, 3961, 41302, 41305, 41325], FaultKind::Serialization),
            (&[2627, 2601], FaultKind::Duplicate),
            (&[8645, 8651, 701, 802, 10928, 10929, 40501, 40613, 49918, 49919, 49920], FaultKind::Overloaded),
            (&[4060, 18456, 18452, 18470, 18487, 18488], FaultKind::Refused),
            (&[596, 6005, 10054, 233], FaultKind::ConnectionLost),
            (&[208, 102, 515, 547, 50000, 266], FaultKind::Statement),
        ] {
            for number in numbers {
                let fault = of_words(*number, 16, "words");
                assert_eq!((fault.kind, fault.code), (expected, Some(*number as i32)), "{number}");
            }
        }
        assert_eq!(kind(9001, 21, "The log is not available"), FaultKind::ConnectionLost);
    }

    #[test]
    fn words_tell_where_the_number_does_not() {
        for (number, words, expected) in [
            (
                50_000,
                "Transaction (Process ID 52) was deadlocked on lock resources with another process and has been chosen \
                 as the deadlock victim. Rerun the transaction.",
                FaultKind::Deadlock,
            ),
            (33_557_097, "deadlock detected", FaultKind::Deadlock),
            (50_000, "Lock request time out period exceeded.", FaultKind::LockTimeout),
            (33_557_097, "canceling statement due to lock timeout", FaultKind::LockTimeout),
            (33_557_097, "could not serialize access due to concurrent update", FaultKind::Serialization),
            (50_000, "Snapshot isolation transaction aborted due to update conflict.", FaultKind::Serialization),
            (
                51_000,
                "Violation of PRIMARY KEY constraint 'pk'. Cannot insert duplicate key in object",
                FaultKind::Duplicate,
            ),
            (33_557_097, "duplicate key value violates unique constraint \"pk\"", FaultKind::Duplicate),
            (33_557_097, "canceling statement due to user request", FaultKind::Deadline),
            (33_557_097, "out of shared memory", FaultKind::Overloaded),
            (0, "Connection reset by peer", FaultKind::ConnectionLost),
            (33_557_097, "terminating connection due to administrator command", FaultKind::ConnectionLost),
            (33_557_097, "sorry, too many clients already", FaultKind::Refused),
            (50_000, "no stock", FaultKind::Statement),
            // The number is sure; words may quote anything.
            (1222, "deadlock detected", FaultKind::LockTimeout),
        ] {
            assert_eq!(kind(number, 16, words), expected, "{words}");
        }
    }

    #[test]
    fn a_commit_is_answered_by_a_rollback_alone() {
        for (kind, expected) in [
            (FaultKind::Deadlock, FaultKind::Deadlock),
            (FaultKind::Serialization, FaultKind::Serialization),
            (FaultKind::Statement, FaultKind::ConnectionLost),
            (FaultKind::Refused, FaultKind::ConnectionLost),
            (FaultKind::Overloaded, FaultKind::ConnectionLost),
        ] {
            assert_eq!(of_commit(Fault::new(kind, "no")).kind, expected, "{kind:?}");
        }
    }

    #[test]
    fn what_is_not_the_servers_own_error_ends_the_connection() {
        for error in [
            Error::Protocol("invalid token type 0".into()),
            Error::Utf16,
            std::io::Error::from(std::io::ErrorKind::BrokenPipe).into(),
        ] {
            assert_eq!(of(error).kind, FaultKind::ConnectionLost);
        }
    }

    #[test]
    fn a_remedy_follows_the_servers_words() {
        let fault = of_words(9002, 17, "The transaction log for database 'tpcc' is full.\n");
        assert_eq!(
            &*fault.message,
            "The transaction log for database 'tpcc' is full.; back up the log, let it grow, or \
                                     choose the simple recovery model"
        );
    }
}
