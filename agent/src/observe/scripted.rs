//! A database for tests that answers what the test wrote down, and can fall silent or die.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use vufleet_scenarios::session::{Access, Dialect, Fault, Interrupt, Row, Rows, Session, Source, Stmt, Value};
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::{ServiceDistribution, Simulated, Target, TargetKind, Tls};

/// What the server does next.
pub enum Step {
    /// Fails the connect or the query.
    Fail(Fault),
    /// Accepts the connect, or answers the query with these rows, all in one result set.
    Answer(Vec<Vec<Value<'static>>>),
    /// Answers with several result sets.
    Sets(Vec<Vec<Vec<Value<'static>>>>),
    /// Never answers.
    Silence,
}

thread_local! {
    static SCRIPT: RefCell<VecDeque<Step>> = const { RefCell::new(VecDeque::new()) };
    static SENT: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Writes down what the server of this thread does: one step a connect or query.
pub fn script(steps: impl IntoIterator<Item = Step>) {
    SCRIPT.with_borrow_mut(|script| script.extend(steps));
}

/// What was done to the server of this thread since the last call.
pub fn take_sent() -> Vec<String> {
    SENT.take()
}

fn sent(what: &str) {
    SENT.with_borrow_mut(|sent| sent.push(what.to_owned()));
}

async fn next() -> Result<Vec<Vec<Vec<Value<'static>>>>, Fault> {
    match SCRIPT.with_borrow_mut(VecDeque::pop_front).expect("the test wrote a step for this") {
        Step::Fail(fault) => Err(fault),
        Step::Answer(rows) => Ok(vec![rows]),
        Step::Sets(sets) => Ok(sets),
        Step::Silence => std::future::pending().await,
    }
}

/// A target that nobody connects to.
pub fn target() -> Target {
    Target {
        kind: TargetKind::Mysql,
        host: Some("db.example".to_owned()),
        port: 3306,
        socket: None,
        path: None,
        database: Some("sbtest".to_owned()),
        user: Some("bench".to_owned()),
        password_source: None,
        password: None,
        tls: Tls::Disabled,
        ca_file: None,
        server_name: None,
        client_cert: None,
        client_key: None,
        deadline: std::time::Duration::from_secs(30),
        simulated: Simulated {
            service_time: std::time::Duration::ZERO,
            distribution: ServiceDistribution::Constant,
            faults: Vec::new(),
        },
    }
}

/// A connection to the scripted server.
pub struct Scripted;

struct Owned<'a>(&'a [Value<'static>]);

impl Row for Owned<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn get(&self, column: usize) -> Value<'_> {
        self.0.get(column).copied().unwrap_or(Value::Null)
    }
}

impl Session for Scripted {
    const DIALECT: Dialect = Dialect::Mysql;

    async fn connect(_target: &Target, _statements: Rc<[Statement]>) -> Result<Self, Fault> {
        sent("connect");
        next().await.map(|_| Scripted)
    }

    async fn query(&mut self, sql: &str, rows: &mut impl Rows) -> Result<(), Fault> {
        sent(sql);
        for (index, set) in next().await?.iter().enumerate() {
            rows.set(index);
            set.iter().for_each(|row| rows.row(&Owned(row)));
        }
        Ok(())
    }

    async fn prepare(&mut self, _stmt: Stmt) -> Result<(), Fault> {
        unreachable!("observers prepare nothing")
    }
    async fn execute(&mut self, _: Stmt, _: &[Value<'_>], _: &mut impl Rows) -> Result<u64, Fault> {
        unreachable!("observers prepare nothing")
    }
    async fn begin(&mut self, _access: Access) -> Result<(), Fault> {
        unreachable!("observers have no transactions")
    }
    async fn commit(&mut self) -> Result<(), Fault> {
        unreachable!("observers have no transactions")
    }
    async fn rollback(&mut self) -> Result<(), Fault> {
        unreachable!("observers have no transactions")
    }
    async fn ping(&mut self) -> Result<(), Fault> {
        unreachable!("observers do not ping")
    }
    async fn bulk(&mut self, _: &str, _: &[&str], _: &mut dyn Source) -> Result<u64, Fault> {
        unreachable!("observers load nothing")
    }
    fn interrupt(&self) -> Interrupt {
        Interrupt::None
    }
    fn version(&self) -> String {
        "1.0-scripted".to_owned()
    }
    fn describe(&self) -> String {
        "scripted".to_owned()
    }
    fn discard(self) {
        sent("discard");
    }
    async fn close(self) {
        sent("close");
    }
}
