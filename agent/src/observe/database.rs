//! The database's own counters, the second opinion on what virtual users counted.
//!
//! MySQL and MariaDB: `SHOW GLOBAL STATUS`, one statement a reading. It needs no privilege, both servers parse it, and
//! it moves none of the counters below but Questions and the bytes of the network; a SELECT on the status tables would
//! move Com_select, which is the witness of autocommitted work. Other kinds of target have no counters, and no observer.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use vufleet_proto::v1;
use vufleet_scenarios::session::{Fault, FaultKind, Row, Rows, Session, Value};
use vufleet_scenarios::study::Target;

/// What is read. A server that lacks one of them leaves it out.
pub const COUNTERS: [&str; 42] = [
    "Aborted_clients",
    "Aborted_connects",
    "Bytes_received",
    "Bytes_sent",
    "Com_begin",
    "Com_call_procedure",
    "Com_commit",
    "Com_delete",
    "Com_delete_multi",
    "Com_insert",
    "Com_insert_select",
    "Com_replace",
    "Com_replace_select",
    "Com_rollback",
    "Com_select",
    "Com_update",
    "Com_update_multi",
    "Connection_errors_max_connections",
    "Connections",
    "Created_tmp_disk_tables",
    "Handler_commit",
    "Handler_rollback",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_data_fsyncs",
    "Innodb_data_read",
    "Innodb_data_written",
    "Innodb_log_waits",
    "Innodb_os_log_written",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Innodb_rows_deleted",
    "Innodb_rows_inserted",
    "Innodb_rows_read",
    "Innodb_rows_updated",
    "Prepared_stmt_count",
    "Questions",
    "Slow_queries",
    "Sort_merge_passes",
    "Threads_connected",
    "Threads_running",
    "Uptime",
];

/// How long a reading waits for a connection: a dead server must not hold up the samples of its host.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// How long it waits for the answer. Beside 64 busy sessions a server takes up to half a second.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// One reading, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Right before the statement was sent. Opening a connection is not part of the span.
    pub before: Instant,
    /// Right after its answer was complete.
    pub after: Instant,
    /// Cumulative since the server's start.
    pub values: HashMap<String, u64>,
    /// The observer's own statements on this connection, this reading's included: what Questions holds of them. A fall
    /// is a new connection.
    pub own_statements: u64,
    /// Of the server. A fall is a restart.
    pub uptime_s: u64,
    /// Why there are no values.
    pub error: Option<String>,
}

impl Reading {
    /// The reading as it travels; the caller knows what its instants are on the common clock.
    pub fn into_counters(self, before_ns: u64, after_ns: u64) -> v1::Counters {
        v1::Counters {
            before_ns,
            after_ns,
            values: self.values,
            own_statements: self.own_statements,
            uptime_s: self.uptime_s,
            error: self.error.unwrap_or_default(),
        }
    }
}

/// Reads the counters on a connection of its own, which it opens again after the server was away.
pub struct DatabaseObserver<S> {
    target: Target,
    statement: String,
    session: Option<S>,
    own_statements: u64,
}

impl<S: Session> DatabaseObserver<S> {
    /// Observes `target`, which holds the control login with its password resolved. Nothing is opened before the first
    /// reading.
    pub fn new(target: Target) -> DatabaseObserver<S> {
        let names = COUNTERS.map(|name| format!("'{name}'")).join(", ");
        let statement = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})");
        DatabaseObserver { target, statement, session: None, own_statements: 0 }
    }

    /// Reads the counters now. A failed reading drops the connection, and the next one opens another; no reading takes
    /// longer than both patiences together.
    pub async fn read(&mut self) -> Reading {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => match self.open().await {
                Ok(session) => session,
                Err(fault) => return self.failed(Instant::now(), &fault),
            },
        };
        let mut counters = CounterRows(HashMap::new());
        let before = Instant::now();
        self.own_statements += 1;
        let answer = timeout(ANSWER_PATIENCE, session.query(&self.statement, &mut counters)).await;
        let answer = answer.unwrap_or_else(|_| Err(silent("to the counters' statement", ANSWER_PATIENCE)));
        let after = Instant::now();
        match answer {
            Ok(()) if counters.0.is_empty() => {
                self.session = Some(session);
                let what =
                    "the server shows none of the counters to this login; grant it what SHOW GLOBAL STATUS needs";
                self.failed(before, &Fault::new(FaultKind::Statement, what))
            }
            Ok(()) => {
                self.session = Some(session);
                let uptime_s = counters.0.get("Uptime").copied().unwrap_or(0);
                let (values, own_statements) = (counters.0, self.own_statements);
                Reading { before, after, values, own_statements, uptime_s, error: None }
            }
            Err(fault) => {
                session.discard();
                self.failed(before, &fault)
            }
        }
    }

    /// Ends the connection in an orderly way.
    pub async fn close(mut self) {
        if let Some(session) = self.session.take() {
            session.close().await;
        }
    }

    async fn open(&mut self) -> Result<S, Fault> {
        self.own_statements = 0;
        let connect = Box::pin(S::connect(&self.target, Rc::from([])));
        timeout(CONNECT_PATIENCE, connect)
            .await
            .unwrap_or_else(|_| Err(silent("to a new connection", CONNECT_PATIENCE)))
    }

    fn failed(&self, before: Instant, fault: &Fault) -> Reading {
        Reading {
            before,
            after: Instant::now(),
            values: HashMap::new(),
            own_statements: self.own_statements,
            uptime_s: 0,
            error: Some(format!("{}: {fault}", fault.kind.name())),
        }
    }
}

fn silent(what: &str, patience: Duration) -> Fault {
    Fault::new(FaultKind::ConnectionLost, format!("the server gave no answer {what} within {patience:?}"))
}

/// Rows of name and value. What is not a number (ON, a version) is no counter.
struct CounterRows(HashMap<String, u64>);

impl Rows for CounterRows {
    fn row(&mut self, row: &impl Row) {
        let (Some(name), Some(value)) = (text(row.get(0)), number(row.get(1))) else { return };
        self.0.insert(name.to_owned(), value);
    }
}

fn text(value: Value<'_>) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        Value::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(number).ok(),
        other => text(other)?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::scripted::{Scripted, Step, script, take_sent, target};

    fn counters(questions: &'static str) -> Step {
        Step::Answer(vec![
            vec![Value::Bytes(b"Questions"), Value::Bytes(questions.as_bytes())],
            vec![Value::Text("Com_commit"), Value::Int(7)],
            vec![Value::Text("Uptime"), Value::Text("99")],
            vec![Value::Text("Innodb_status"), Value::Text("ON")],
            vec![Value::Null, Value::Int(1)],
            vec![Value::Text("Threads_running"), Value::Int(-1)],
        ])
    }

    fn observer() -> DatabaseObserver<Scripted> {
        DatabaseObserver::new(target())
    }

    #[tokio::test]
    async fn a_reading_holds_the_numbers_and_its_own_statements() {
        script([Step::Answer(vec![]), counters("41"), counters("42")]);
        let mut observer = observer();
        let first = observer.read().await;
        let expected = [("Questions", 41), ("Com_commit", 7), ("Uptime", 99)].map(|(k, v)| (k.to_owned(), v));
        assert_eq!(first.values, HashMap::from(expected));
        assert_eq!((first.own_statements, first.uptime_s, first.error.clone()), (1, 99, None));
        assert!(first.before <= first.after);
        let second = observer.read().await;
        assert_eq!((second.own_statements, second.values["Questions"]), (2, 42));
        observer.close().await;
        let sent = take_sent();
        assert_eq!((sent[0].as_str(), sent[3].as_str(), sent.len()), ("connect", "close", 4));
        assert!(sent[1].starts_with("SHOW GLOBAL STATUS WHERE Variable_name IN ('Aborted_clients', "), "{}", sent[1]);
    }

    #[tokio::test]
    async fn a_killed_server_is_an_error_of_its_readings_and_reached_again() {
        let gone = || Step::Fail(Fault::new(FaultKind::ConnectionLost, "server has gone away"));
        script([Step::Answer(vec![]), counters("41"), gone(), gone(), Step::Answer(vec![]), counters("1")]);
        let mut observer = observer();
        assert_eq!(observer.read().await.error, None);
        for _ in ["while asking", "while connecting"] {
            let reading = observer.read().await;
            assert_eq!(reading.error.as_deref(), Some("connection_lost: server has gone away"));
            assert!(reading.values.is_empty());
        }
        let again = observer.read().await;
        assert_eq!((again.own_statements, again.values["Questions"], again.error), (1, 1, None));
        assert_eq!(take_sent().iter().filter(|sent| *sent == "discard").count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_holds_nothing_up() {
        script([Step::Silence, Step::Answer(vec![]), Step::Silence]);
        let mut observer = observer();
        let started = tokio::time::Instant::now();
        let error = observer.read().await.error.unwrap();
        assert!(error.contains("no answer to a new connection within 2s"), "{error}");
        assert_eq!(started.elapsed(), CONNECT_PATIENCE);
        let error = observer.read().await.error.unwrap();
        assert!(error.contains("no answer to the counters' statement within 5s"), "{error}");
        assert_eq!(started.elapsed(), CONNECT_PATIENCE + ANSWER_PATIENCE);
        assert_eq!(take_sent().last().map(String::as_str), Some("discard"), "its answer may still come");
    }

    #[tokio::test]
    async fn an_empty_answer_is_an_error_and_keeps_the_connection() {
        script([Step::Answer(vec![]), Step::Answer(vec![]), counters("3")]);
        let mut observer = observer();
        assert!(observer.read().await.error.unwrap().contains("none of the counters"));
        assert_eq!(observer.read().await.own_statements, 2);
    }

    #[test]
    fn a_reading_travels_whole() {
        let now = Instant::now();
        let reading = Reading {
            before: now,
            after: now,
            values: HashMap::from([("Questions".to_owned(), 3)]),
            own_statements: 2,
            uptime_s: 5,
            error: None,
        };
        let counters = reading.into_counters(10, 20);
        assert_eq!((counters.before_ns, counters.after_ns), (10, 20));
        assert_eq!((counters.values["Questions"], counters.own_statements, counters.uptime_s), (3, 2, 5));
        assert_eq!(counters.error, "");
    }
}
