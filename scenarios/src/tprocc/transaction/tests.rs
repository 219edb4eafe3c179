//! Transactions against a session that writes down what it is asked, answers with ones, and lacks the rows that the test
//! says. Other answers are a real database's business.

use super::*;
use crate::ready::ready;
use crate::session::{Access, Interrupt, Row, Source, Stmt};
use crate::study::Target;

#[derive(Debug, Clone, PartialEq)]
enum Call {
    Begin(Access),
    Commit,
    Rollback,
    Execute(String, Vec<String>),
}

/// Every statement affects one row or returns one, but those that say so find none.
struct Scripted<const MSSQL: bool> {
    statements: Vec<Statement>,
    lacking: &'static str,
    calls: Vec<Call>,
}

/// A row of ones, as wide as anybody looks.
struct Ones;

impl Row for Ones {
    fn len(&self) -> usize {
        usize::MAX
    }
    fn get(&self, _column: usize) -> Value<'_> {
        Value::Int(1)
    }
}

impl<const MSSQL: bool> Session for Scripted<MSSQL> {
    const DIALECT: Dialect = if MSSQL { Dialect::Mssql } else { Dialect::Mysql };

    async fn connect(_target: &Target, _statements: Rc<[Statement]>) -> Result<Self, Fault> {
        unreachable!("made by hand")
    }
    async fn prepare(&mut self, _stmt: Stmt) -> Result<(), Fault> {
        Ok(())
    }
    async fn execute(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        let statement = &self.statements[usize::from(stmt.0)];
        assert_eq!(statement.slots.len(), params.len(), "{}", statement.sql);
        let params = params.iter().map(|value| format!("{value:?}")).collect();
        self.calls.push(Call::Execute(statement.sql.clone(), params));
        let is_there = self.lacking.is_empty() || !statement.sql.starts_with(self.lacking);
        if is_there && statement.sql.starts_with("SELECT") {
            rows.row(&Ones);
        }
        Ok(u64::from(is_there))
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
        self.calls.push(Call::Rollback);
        Ok(())
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
    fn now(&self) -> Option<i64> {
        Some(86_400_000_000)
    }
    fn version(&self) -> String {
        "scripted".to_owned()
    }
    fn describe(&self) -> String {
        "in memory".to_owned()
    }
    fn discard(self) {}
    async fn close(self) {}
}

const SEAT: Seat = Seat { seed: 42, vu: 3, session: 0, vus: 8, sessions_per_vu: 1, run: 1 };

fn seated(shape: &Shape, seat: Seat) -> TprocC {
    TprocC::seat(Rc::new(shape.clone()), seat)
}

fn session(shape: &Shape, lacking: &'static str) -> Scripted<false> {
    Scripted { statements: TprocC::statements(shape, Dialect::Mysql), lacking, calls: Vec::new() }
}

fn mssql_session(shape: &Shape) -> Scripted<true> {
    Scripted { statements: TprocC::statements(shape, Dialect::Mssql), lacking: "", calls: Vec::new() }
}

fn statements() -> Shape {
    Shape::new(4, Calls::Statements)
}

/// Kind, result and calls of so many transactions.
fn calls(shape: &Shape, seat: Seat, count: usize) -> Vec<(usize, Outcome, Vec<Call>)> {
    let (mut workload, mut session) = (seated(shape, seat), session(shape, ""));
    let mut one = || {
        let kind = workload.draw().kind;
        let outcome = ready(workload.run(&mut session)).unwrap();
        (kind, outcome, std::mem::take(&mut session.calls))
    };
    (0..count).map(|_| one()).collect()
}

#[test]
fn a_call_is_one_round_trip() {
    for (kind, outcome, calls) in calls(&Shape::new(4, Calls::Procedures), SEAT, 46) {
        assert_eq!((outcome, calls.len()), (Outcome::Committed, 1));
        let names = ["NEWORD", "PAYMENT", "OSTAT", "DELIVERY", "SLEV"];
        let Call::Execute(sql, _) = &calls[0] else { panic!("{calls:?}") };
        assert!(sql.starts_with(&format!("CALL {}(", names[kind])), "{sql}");
    }
}

#[test]
fn sql_server_is_told_the_time_and_gives_its_results_as_rows() {
    let shape = Shape::new(4, Calls::Procedures);
    let (mut workload, mut session) = (seated(&shape, SEAT), mssql_session(&shape));
    let names = ["neword", "payment", "ostat", "delivery", "slev"];
    let now = format!("{:?}", Value::Instant(86_400_000_000));
    let mut seen = [false; 5];
    for _ in 0..46 {
        let kind = workload.draw().kind;
        assert_eq!(ready(workload.run(&mut session)), Ok(Outcome::Committed));
        let calls = std::mem::take(&mut session.calls);
        let [Call::Execute(sql, values)] = calls.as_slice() else { panic!("{calls:?}") };
        assert!(sql.starts_with(&format!("EXEC dbo.{} @", names[kind])), "{sql}");
        assert_eq!(values.last() == Some(&now), sql.to_ascii_lowercase().contains("@timestamp = "), "{sql}");
        seen[kind] = true;
    }
    assert_eq!(seen, [true; 5]);
}

#[test]
fn on_sql_server_a_district_is_locked_after_its_warehouse_was_waited_for_and_before_its_number_is_read() {
    let (mut workload, mut session) = (seated(&statements(), SEAT), mssql_session(&statements()));
    while workload.draw().kind != 0 {}
    ready(workload.run(&mut session)).unwrap();
    let at = |begin: &str| {
        let is_it = |call: &Call| matches!(call, Call::Execute(sql, _) if sql.starts_with(begin));
        session.calls.iter().position(is_it).unwrap()
    };
    assert!(at("SELECT c.c_discount") < at("UPDATE district SET d_next_o_id"));
    assert!(at("UPDATE district SET d_next_o_id") < at("SELECT d_next_o_id - 1"));
}

#[test]
fn statements_are_enclosed_and_rollbacks_are_intended() {
    let mut rolled_back = 0;
    let transactions = calls(&statements(), SEAT, 23 * 100);
    for (kind, outcome, calls) in &transactions {
        let access = if matches!(kind, 2 | 4) { Access::Read } else { Access::Write };
        assert_eq!(calls[0], Call::Begin(access));
        let end = if *outcome == Outcome::RolledBack { Call::Rollback } else { Call::Commit };
        assert_eq!(calls.last(), Some(&end));
        assert!(*outcome == Outcome::Committed || *kind == 0, "only a new order is rolled back on purpose");
        rolled_back += u32::from(*outcome == Outcome::RolledBack);
    }
    assert!((1..=25).contains(&rolled_back), "1 % of 1000: {rolled_back}");
    let of = |kind: usize| transactions.iter().filter(move |it| it.0 == kind && it.1 == Outcome::Committed);
    assert!(of(0).all(|(_, _, calls)| (calls.len() - 7) % 4 == 0 && (27..=67).contains(&calls.len())));
}

#[test]
fn a_retry_sends_the_same_inputs() {
    for shape in [statements(), Shape::new(4, Calls::Procedures)] {
        let (mut workload, mut session) = (seated(&shape, SEAT), session(&shape, ""));
        for _ in 0..46 {
            workload.draw();
            let first = ready(workload.run(&mut session));
            let sent = std::mem::take(&mut session.calls);
            assert_eq!(ready(workload.run(&mut session)), first);
            assert_eq!(std::mem::take(&mut session.calls), sent);
        }
    }
}

#[test]
fn a_seat_draws_the_same_in_every_run_and_another_one_differently() {
    let alone = calls(&statements(), SEAT, 23);
    assert_eq!(calls(&statements(), Seat { run: 9, ..SEAT }, 23), alone);
    for other in [Seat { seed: 43, ..SEAT }, Seat { vu: 2, ..SEAT }, Seat { session: 1, ..SEAT }] {
        assert_ne!(calls(&statements(), other, 23), alone);
    }
}

#[test]
fn rows_that_are_not_there_are_a_fault_that_says_which() {
    for (lacking, kind, words) in [
        ("UPDATE district SET d_next_o_id", 0, "warehouse 2 has no district"),
        ("UPDATE stock", 0, "has no stock of item"),
        ("UPDATE warehouse", 1, "warehouse 2 has no row"),
        ("UPDATE district SET d_ytd", 1, "warehouse 2 has no district"),
        ("UPDATE customer", 1, "has no customer"),
        ("SELECT c_balance", 2, "warehouse 2 has no customer"),
        ("SELECT d_next_o_id FROM district", 4, "warehouse 2 has no district 4"),
    ] {
        let (mut workload, mut session) = (seated(&statements(), SEAT), session(&statements(), lacking));
        while workload.draw().kind != kind {}
        let fault = ready(workload.run(&mut session)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Statement);
        assert!(fault.message.contains(words) && fault.message.contains("schema verify"), "{lacking}: {fault}");
    }
}

#[test]
fn an_order_that_somebody_else_delivers_is_not_delivered_twice() {
    let (mut workload, mut session) = (seated(&statements(), SEAT), session(&statements(), "DELETE FROM new_order"));
    while workload.draw().kind != 3 {}
    let fault = ready(workload.run(&mut session)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Serialization);
    let credited = |call: &Call| matches!(call, Call::Execute(sql, _) if sql.starts_with("UPDATE"));
    assert!(!session.calls.iter().any(credited), "{:?}", session.calls);
}

#[test]
fn the_mean_cycle_follows_the_mix() {
    let terminal = |mix| TprocC::terminal(&Shape { mix, ..statements() }).unwrap();
    // (10 x 30 + 10 x 15 + 12 + 7 + 7) / 23
    assert_eq!(terminal(Mix::default()).mean_cycle.as_millis(), 20_695);
    assert_eq!(terminal(Mix { delivery: 3, ..Mix::NOTHING }).mean_cycle, Duration::from_secs(7));
    // 60 / 20.695 transactions a minute, 10 of 23 of them new orders.
    let new_orders = 60.0 / terminal(Mix::default()).mean_cycle.as_secs_f64() * 10.0 / 23.0;
    assert!((new_orders - 1.26).abs() < 0.01, "{new_orders}");
}

#[test]
fn a_seat_is_small() {
    // Thousands of sessions of one agent have one each, and the future of a transaction beside it.
    assert!(size_of::<TprocC>() <= 280, "{}", size_of::<TprocC>());
}
