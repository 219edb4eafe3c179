//! Transactions against a session that writes down what it is asked and fails where the test says.

mod duplicates;
mod script;

use std::collections::VecDeque;
use std::time::Duration;

use super::*;
use crate::oltp::{Counts, Distribution, Script};
use crate::ready::ready;
use crate::session::{Interrupt, Rows, Source};
use crate::study::Target;

/// One call that a session received.
#[derive(Debug, Clone, PartialEq)]
enum Call {
    Begin(Access),
    Commit,
    Execute(u16, Vec<Sent>),
    Note(FaultKind),
}

#[derive(Debug, Clone, PartialEq)]
enum Sent {
    Int(i64),
    Text(String),
}

/// Writes down every call. The statements that `faults` names, counted from 0, fail.
struct Scripted<const SQLITE: bool> {
    calls: Vec<Call>,
    executed: usize,
    faults: VecDeque<(usize, FaultKind)>,
}

impl<const SQLITE: bool> Scripted<SQLITE> {
    fn new(faults: &[(usize, FaultKind)]) -> Self {
        Scripted { calls: Vec::new(), executed: 0, faults: faults.iter().copied().collect() }
    }

    fn take(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }
}

impl<const SQLITE: bool> Session for Scripted<SQLITE> {
    const DIALECT: Dialect = if SQLITE { Dialect::Sqlite } else { Dialect::Mysql };

    async fn connect(_target: &Target, _statements: Rc<[Statement]>) -> Result<Self, Fault> {
        Ok(Self::new(&[]))
    }
    async fn prepare(&mut self, _stmt: Stmt) -> Result<(), Fault> {
        Ok(())
    }
    async fn execute(&mut self, stmt: Stmt, params: &[Value<'_>], _rows: &mut impl Rows) -> Result<u64, Fault> {
        let sent = params.iter().map(|value| match value {
            Value::Int(number) => Sent::Int(*number),
            Value::Text(text) => Sent::Text((*text).to_owned()),
            other => panic!("unexpected value {other:?}"),
        });
        self.calls.push(Call::Execute(stmt.0, sent.collect()));
        let at = self.executed;
        self.executed += 1;
        match self.faults.front() {
            Some((due, kind)) if *due == at => {
                let kind = *kind;
                self.faults.pop_front();
                Err(Fault::new(kind, "as the test wants it"))
            }
            _ => Ok(1),
        }
    }
    async fn query(&mut self, sql: &str, _rows: &mut impl Rows) -> Result<(), Fault> {
        panic!("a transaction sends no text of its own: {sql}")
    }
    async fn begin(&mut self, access: Access) -> Result<(), Fault> {
        self.calls.push(Call::Begin(access));
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), Fault> {
        self.calls.push(Call::Commit);
        Ok(())
    }
    async fn rollback(&mut self) -> Result<(), Fault> {
        panic!("rolling back is the caller's business")
    }
    async fn ping(&mut self) -> Result<(), Fault> {
        Ok(())
    }
    async fn bulk(&mut self, table: &str, _columns: &[&str], _rows: &mut dyn Source) -> Result<u64, Fault> {
        panic!("a transaction loads nothing into {table}")
    }

    fn bulk_way(&self) -> &'static str {
        "script"
    }
    fn interrupt(&self) -> Interrupt {
        Interrupt::None
    }
    fn version(&self) -> String {
        "scripted".to_owned()
    }
    fn describe(&self) -> String {
        "in memory".to_owned()
    }
    fn take_queued(&mut self) -> Duration {
        Duration::ZERO
    }
    fn note(&mut self, fault: &Fault) {
        self.calls.push(Call::Note(fault.kind));
    }
    fn discard(self) {}
    async fn close(self) {}
}

const SEAT: Seat = Seat { seed: 42, vu: 3, session: 0, vus: 8, sessions_per_vu: 1, run: 1 };

fn seated(shape: Shape) -> Oltp {
    Oltp::seat(Rc::new(shape), SEAT)
}

/// Calls of one transaction that meets no fault.
fn calls(workload: &mut Oltp) -> Vec<Call> {
    let mut session = Scripted::<false>::new(&[]);
    assert_eq!(workload.draw().kind, 0);
    assert_eq!(ready(workload.run(&mut session)), Ok(Outcome::Committed));
    session.take()
}

/// Numbers of the executed statements in order.
fn statements_of(calls: &[Call]) -> Vec<u16> {
    let number = |call: &Call| if let Call::Execute(stmt, _) = call { Some(*stmt) } else { None };
    calls.iter().filter_map(number).collect()
}

/// Parameters of the executed statements in order.
fn parameters_of(calls: &[Call]) -> Vec<Vec<Sent>> {
    let sent = |call: &Call| if let Call::Execute(_, sent) = call { Some(sent.clone()) } else { None };
    calls.iter().filter_map(sent).collect()
}

fn int(sent: &Sent) -> i64 {
    match sent {
        Sent::Int(number) => *number,
        Sent::Text(text) => panic!("a number was expected, not {text}"),
    }
}

#[test]
fn a_seat_is_small() {
    // Thousands of sessions of one agent have one each, and the future of a transaction beside it.
    assert!(size_of::<Oltp>() <= 280, "{}", size_of::<Oltp>());
    let mut workload = seated(Shape::new(Script::ReadWrite));
    let mut session = Scripted::<false>::new(&[]);
    let future = workload.run(&mut session);
    assert!(size_of_val(&future) <= 512, "{}", size_of_val(&future));
}
