//! The database's own counters, the second opinion on what virtual users counted.
//!
//! What is asked is a list of [`Part`]s, one a view of the server; how it is asked is here. The first reading of a connection
//! sends the parts one by one and gives up those that this server or login does not have; the readings after it send the
//! rest in one batch, as long as there is more than one. Other kinds of target have no counters, and no observer.

pub mod waits;

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use vufleet_proto::v1;
use vufleet_scenarios::counters::Part;
use vufleet_scenarios::session::{Fault, FaultKind, Row, Rows, Session, Value};
use vufleet_scenarios::study::Target;

/// How long a reading waits for a connection: a dead server must not hold up the samples of its host.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// How long it waits for the answer. Beside 64 busy sessions a server takes up to half a second.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// What names of waits begin with.
const WAIT: &str = "wait.";

/// Names under which servers tell how long they have been up.
const UPTIMES: [&str; 2] = ["Uptime", "uptime_s"];

/// One reading, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Right before the first statement was sent. Opening a connection is not part of the span.
    pub before: Instant,
    /// Right after its answer was complete.
    pub after: Instant,
    /// By name; most are cumulative since the server's start. Waits that did not grow are left out.
    pub values: HashMap<String, u64>,
    /// What sessions were doing, where that is asked for.
    pub requests: Vec<v1::RequestSample>,
    /// The observer's own statements on this connection, this reading's included: what the server's counter of
    /// statements or batches holds of them. A fall is a new connection.
    pub own_statements: u64,
    /// Of the server. A fall is a restart.
    pub uptime_s: u64,
    /// Why there are no values, or why some are missing.
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
            requests: self.requests,
        }
    }
}

/// Reads the counters on a connection of its own, which it opens again after the server was away.
pub struct DatabaseObserver<S> {
    target: Target,
    parts: Vec<Part>,
    session: Option<S>,
    /// What this connection is asked at every reading; none before its first one.
    asked: Option<String>,
    /// Why something or everything is missing on this connection.
    lacks: Option<String>,
    own_statements: u64,
    /// Waits as they were last told on this connection.
    told_waits: HashMap<String, u64>,
}

impl<S: Session> DatabaseObserver<S> {
    /// Reads `parts` of `target`, which holds the control login with its password resolved. Nothing is opened before the
    /// first reading.
    pub fn new(target: Target, parts: Vec<Part>) -> DatabaseObserver<S> {
        DatabaseObserver {
            target,
            parts,
            session: None,
            asked: None,
            lacks: None,
            own_statements: 0,
            told_waits: HashMap::new(),
        }
    }

    /// Reads the counters now. A failed reading drops the connection, and the next one opens another; no reading takes
    /// longer than both patiences together.
    pub async fn read(&mut self) -> Reading {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => match self.open().await {
                Ok(session) => session,
                Err(fault) => return self.failed(Instant::now(), told(&fault)),
            },
        };
        let mut answer = Answer::default();
        let before = Instant::now();
        let first = self.asked.is_none();
        let result = timeout(ANSWER_PATIENCE, self.ask(&mut session, &mut answer)).await;
        let result = result.unwrap_or_else(|_| Err(silent("to the counters' statement", ANSWER_PATIENCE)));
        let after = Instant::now();
        if let Err(fault) = result {
            session.discard();
            return self.failed(before, told(&fault));
        }
        self.session = Some(session);
        if answer.values.is_empty() {
            let nothing = || {
                let remedies: Vec<&str> = self.parts.iter().map(|part| part.remedy).take(1).collect();
                format!("statement: the server shows none of the counters to this login; {}", remedies.concat())
            };
            let why = self.lacks.clone().unwrap_or_else(nothing);
            return self.failed(before, why);
        }
        let uptime_s = UPTIMES.iter().find_map(|name| answer.values.get(*name).copied()).unwrap_or(0);
        self.leave_out_still_waits(&mut answer.values);
        Reading {
            before,
            after,
            values: answer.values,
            requests: answer.requests,
            own_statements: self.own_statements,
            uptime_s,
            error: self.lacks.clone().filter(|_| first),
        }
    }

    /// Ends the connection in an orderly way.
    pub async fn close(mut self) {
        if let Some(session) = self.session.take() {
            session.close().await;
        }
    }

    async fn open(&mut self) -> Result<S, Fault> {
        (self.asked, self.lacks, self.own_statements) = (None, None, 0);
        self.told_waits.clear();
        let connect = Box::pin(S::connect(&self.target, Rc::from([])));
        timeout(CONNECT_PATIENCE, connect)
            .await
            .unwrap_or_else(|_| Err(silent("to a new connection", CONNECT_PATIENCE)))
    }

    async fn ask(&mut self, session: &mut S, answer: &mut Answer) -> Result<(), Fault> {
        match &self.asked {
            // Nothing of it is there on this connection: asking again would not help.
            Some(batch) if batch.is_empty() => Ok(()),
            Some(batch) => {
                self.own_statements += 1;
                session.query(batch, answer).await
            }
            None => self.ask_for_each(session, answer).await,
        }
    }

    /// A server that does not have a view says so of the statement alone, and goes on.
    async fn ask_for_each(&mut self, session: &mut S, answer: &mut Answer) -> Result<(), Fault> {
        let (mut there, mut lacks, mut remedies) = (Vec::new(), Vec::new(), BTreeSet::new());
        for part in &self.parts {
            self.own_statements += 1;
            match session.query(&part.sql, answer).await {
                Ok(()) => there.push(part.sql.as_str()),
                Err(fault) if fault.kind == FaultKind::Statement => {
                    lacks.push(format!("{} cannot be read: {fault}", part.what));
                    remedies.insert(part.remedy);
                }
                Err(fault) => return Err(fault),
            }
        }
        self.asked = Some(there.join(";\n"));
        lacks.extend(remedies.into_iter().map(str::to_owned));
        self.lacks = (!lacks.is_empty()).then(|| lacks.join("; "));
        Ok(())
    }

    /// A server has hundreds of waits, and a load moves a few dozen of them.
    fn leave_out_still_waits(&mut self, values: &mut HashMap<String, u64>) {
        let told = &mut self.told_waits;
        values.retain(|name, value| !name.starts_with(WAIT) || told.get(name) != Some(value));
        let waits = values.iter().filter(|(name, _)| name.starts_with(WAIT));
        told.extend(waits.map(|(name, value)| (name.clone(), *value)));
    }

    fn failed(&self, before: Instant, why: String) -> Reading {
        Reading {
            before,
            after: Instant::now(),
            values: HashMap::new(),
            requests: Vec::new(),
            own_statements: self.own_statements,
            uptime_s: 0,
            error: Some(why),
        }
    }
}

fn told(fault: &Fault) -> String {
    format!("{}: {fault}", fault.kind.name())
}

fn silent(what: &str, patience: Duration) -> Fault {
    Fault::new(FaultKind::ConnectionLost, format!("the server gave no answer {what} within {patience:?}"))
}

/// The rows of all parts. What is not a number (ON, a version) is no counter.
#[derive(Default)]
struct Answer {
    values: HashMap<String, u64>,
    requests: Vec<v1::RequestSample>,
}

impl Rows for Answer {
    fn row(&mut self, row: &impl Row) {
        match row.len() {
            2 => self.counter(row),
            4 => self.wait(row),
            5 => self.request(row),
            _ => {}
        }
    }
}

impl Answer {
    fn counter(&mut self, row: &impl Row) {
        let (Some(name), Some(value)) = (text(row.get(0)), number(row.get(1))) else { return };
        self.values.insert(name.to_owned(), value);
    }

    fn wait(&mut self, row: &impl Row) {
        let Some(name) = text(row.get(0)).filter(|name| !waits::is_benign(name)) else { return };
        for (column, what) in [(1, "ms"), (2, "signal_ms"), (3, "count")] {
            if let Some(value) = number(row.get(column)) {
                self.values.insert(format!("{WAIT}{name}.{what}"), value);
            }
        }
    }

    fn request(&mut self, row: &impl Row) {
        let [session_id, started_ms, cpu_ms, elapsed_ms] = [0, 1, 2, 3].map(|column| number(row.get(column)));
        let (Some(session_id), Some(started_ms)) = (session_id, started_ms) else { return };
        self.requests.push(v1::RequestSample {
            session_id,
            started_ms,
            cpu_ms: cpu_ms.unwrap_or(0),
            elapsed_ms: elapsed_ms.unwrap_or(0),
            wait: text(row.get(4)).unwrap_or_default().to_owned(),
        });
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
    use vufleet_scenarios::counters::{mssql, mysql};

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
        DatabaseObserver::new(target(), mysql::parts())
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
            requests: vec![v1::RequestSample { session_id: 55, cpu_ms: 7, ..Default::default() }],
            own_statements: 2,
            uptime_s: 5,
            error: None,
        };
        let counters = reading.into_counters(10, 20);
        assert_eq!((counters.before_ns, counters.after_ns), (10, 20));
        assert_eq!((counters.values["Questions"], counters.own_statements, counters.uptime_s), (3, 2, 5));
        assert_eq!((counters.error.as_str(), counters.requests[0].session_id), ("", 55));
    }

    fn wait(name: &'static str, ms: i64) -> Vec<Value<'static>> {
        vec![Value::Text(name), Value::Int(ms), Value::Int(1), Value::Int(ms / 2)]
    }

    fn mssql_counters(batches: i64) -> Vec<Vec<Value<'static>>> {
        vec![vec![Value::Text("Batch Requests/sec"), Value::Int(batches)]]
    }

    fn mssql_process() -> Vec<Vec<Value<'static>>> {
        let rows = [("process_user_time_ms", 700), ("process_kernel_time_ms", 300), ("uptime_s", 50)];
        rows.map(|(name, value)| vec![Value::Text(name), Value::Int(value)]).to_vec()
    }

    fn request(cpu_ms: i64, wait: Value<'static>) -> Vec<Value<'static>> {
        vec![Value::Int(55), Value::Int(1_000), Value::Int(cpu_ms), Value::Int(cpu_ms + 1), wait]
    }

    fn of_mssql(requests: bool) -> DatabaseObserver<Scripted> {
        DatabaseObserver::new(target(), mssql::parts(Some("tpcc"), requests))
    }

    #[tokio::test]
    async fn the_views_are_asked_for_one_by_one_and_then_in_one_batch() {
        let waits = |ms| vec![wait("WRITELOG", ms), wait("LCK_M_X", 8), wait("SLEEP_TASK", ms)];
        script([
            Step::Answer(vec![]),
            Step::Answer(mssql_counters(10)),
            Step::Answer(mssql_process()),
            Step::Answer(waits(20)),
            Step::Answer(vec![request(40, Value::Null)]),
            Step::Sets(vec![
                mssql_counters(12),
                mssql_process(),
                waits(30),
                vec![request(90, Value::Text("SOS_SCHEDULER_YIELD"))],
            ]),
        ]);
        let mut observer = of_mssql(true);
        let first = observer.read().await;
        assert_eq!((first.own_statements, first.uptime_s, first.error.clone()), (4, 50, None));
        assert_eq!((first.values["Batch Requests/sec"], first.values["wait.LCK_M_X.ms"]), (10, 8));
        assert_eq!((first.values["wait.WRITELOG.signal_ms"], first.values["wait.WRITELOG.count"]), (1, 10));
        assert!(!first.values.keys().any(|name| name.contains("SLEEP_TASK")), "{:?}", first.values);
        assert_eq!((first.requests[0].cpu_ms, first.requests[0].wait.as_str()), (40, ""));
        let second = observer.read().await;
        assert_eq!((second.own_statements, second.values["wait.WRITELOG.ms"]), (5, 30));
        for still in ["wait.LCK_M_X.ms", "wait.WRITELOG.signal_ms"] {
            assert!(!second.values.contains_key(still), "{still} did not grow");
        }
        assert_eq!(second.values["process_user_time_ms"], 700, "only waits are left out");
        let known = v1::RequestSample {
            session_id: 55,
            started_ms: 1_000,
            cpu_ms: 90,
            elapsed_ms: 91,
            wait: "SOS_SCHEDULER_YIELD".to_owned(),
        };
        assert_eq!(second.requests, [known]);
        let sent = take_sent();
        assert_eq!(sent[5], sent[1..5].join(";\n"), "the same four statements");
    }

    #[tokio::test]
    async fn what_a_server_does_not_have_is_told_once_and_the_rest_is_read() {
        let missing = || Step::Fail(Fault::with_code(FaultKind::Statement, 208, "Invalid object name"));
        script([
            Step::Answer(vec![]),
            missing(),
            Step::Answer(mssql_process()),
            missing(),
            Step::Answer(mssql_process()),
        ]);
        let mut observer = of_mssql(false);
        let first = observer.read().await;
        assert_eq!(first.values["process_user_time_ms"], 700);
        let told = first.error.unwrap();
        for words in
            ["sys.dm_os_performance_counters cannot", "sys.dm_os_wait_stats cannot", "(208)", "GRANT VIEW SERVER"]
        {
            assert!(told.contains(words), "{words}: {told}");
        }
        assert_eq!(observer.read().await.error, None);
        assert_eq!(take_sent().len(), 5);
    }

    #[tokio::test]
    async fn a_server_that_has_nothing_is_asked_once_and_says_so_each_time() {
        let denied = || Step::Fail(Fault::with_code(FaultKind::Statement, 300, "VIEW SERVER STATE was denied"));
        script([Step::Answer(vec![]), denied(), denied(), denied()]);
        let mut observer = of_mssql(false);
        for _ in ["asked", "not asked again"] {
            let reading = observer.read().await;
            assert!(reading.error.unwrap().contains("VIEW SERVER STATE was denied"));
            assert_eq!(reading.own_statements, 3);
        }
        assert_eq!(take_sent().len(), 4);
    }

    #[tokio::test]
    async fn after_an_outage_every_wait_is_told_again() {
        let gone = || Step::Fail(Fault::new(FaultKind::ConnectionLost, "gone"));
        let connection = || {
            let parts = [mssql_counters(1), mssql_process(), vec![wait("WRITELOG", 20)]];
            [Step::Answer(vec![])].into_iter().chain(parts.map(Step::Answer))
        };
        script(connection().chain([gone()]).chain(connection()));
        let mut observer = of_mssql(false);
        assert_eq!(observer.read().await.values["wait.WRITELOG.ms"], 20);
        assert!(observer.read().await.error.is_some());
        let again = observer.read().await;
        assert_eq!((again.values["wait.WRITELOG.ms"], again.own_statements), (20, 3));
    }

    #[test]
    fn the_targets_database_is_named_and_quoted() {
        let sql = |database| mssql::parts(database, false)[0].sql.clone();
        assert!(sql(Some("it's")).contains("instance_name = N'it''s' AND counter_name IN (N'Active Transactions'"));
        assert!(sql(None).contains("instance_name = DB_NAME()"));
        assert_eq!(mssql::parts(None, true).len(), mssql::parts(None, false).len() + 1);
    }
}
