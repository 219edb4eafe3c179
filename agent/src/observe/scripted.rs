//! A database for tests that answers what the test wrote down, and can fall silent or die.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use vufleet_scenarios::session::{Access, Dialect, Fault, Interrupt, Row, Rows, Session, Source, Stmt, Value};
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::{self, Edits, Target};

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
    let text = "
        name = 'scripted'
        target = { kind = 'mysql', host = 'db.example', database = 'sbtest', user = 'bench' }
        workload = { kind = 'oltp', script = 'read_only' }
        profiles = [{ vus = 1 }]
        schedule = { measure = '1s' }
    ";
    study::read(text, &Edits::default()).expect("a study").target
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

    fn bulk_way(&self) -> &'static str {
        "script"
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
