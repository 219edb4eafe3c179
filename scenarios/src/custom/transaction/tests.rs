//! Transactions against a session that writes down what it is asked and fails where the test says.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::ready::ready;
use crate::session::{FaultKind, Interrupt, Rows, Source};
use crate::study::{Edits, Target, Workload as Chosen, read};

/// Writes down every call; the statement with the number `fails` does not succeed.
#[derive(Default)]
struct Scripted {
    calls: Vec<String>,
    fails: Option<usize>,
}

impl Session for Scripted {
    const DIALECT: Dialect = Dialect::Mysql;

    async fn connect(_target: &Target, _statements: Rc<[Statement]>) -> Result<Self, Fault> {
        Ok(Scripted::default())
    }
    async fn prepare(&mut self, _stmt: Stmt) -> Result<(), Fault> {
        Ok(())
    }
    async fn execute(&mut self, stmt: Stmt, params: &[Value<'_>], _rows: &mut impl Rows) -> Result<u64, Fault> {
        self.calls.push(format!("{} {params:?}", stmt.0));
        match self.fails {
            Some(number) if number == usize::from(stmt.0) => {
                Err(Fault::new(FaultKind::Deadlock, "as the test wants it"))
            }
            _ => Ok(1),
        }
    }
    async fn query(&mut self, sql: &str, _rows: &mut impl Rows) -> Result<(), Fault> {
        panic!("a transaction sends no text of its own: {sql}")
    }
    async fn begin(&mut self, access: Access) -> Result<(), Fault> {
        self.calls.push(format!("begin {access:?}"));
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), Fault> {
        self.calls.push("commit".to_owned());
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
    fn discard(self) {}
    async fn close(self) {}
}

const TRANSACTIONS: &str = r#"
[[workload.transactions]]
name = "transfer"
weight = 2
transaction = true
statements = [
    "UPDATE account SET balance = balance - :amount WHERE id = :from",
    "UPDATE account SET balance = balance + :amount WHERE id = :to",
    "INSERT INTO transfer VALUES (:from, :to, :amount, :note, :at)",
]
[workload.transactions.parameters]
from = { uniform = [1, 1000] }
to = { zipfian = [1, 1000] }
amount = { choice = [5, 10, 20] }
note = { text = 8 }
at = "now"

[[workload.transactions]]
name = "look"
transaction = true
statements = ["SELECT balance FROM account WHERE id = :id"]
parameters = { id = { sequence = [1, 1000000] } }

[[workload.transactions]]
name = "count"
weight = 3
statements = ["SELECT COUNT(*) FROM account", "DELETE FROM transfer WHERE id = :id"]
parameters = { id = { sequence = [1, 1000000] } }
"#;

fn shape() -> Shape {
    let text = format!(
        "name = 'own'\nseed = 42\n[target]\nkind = 'mysql'\ndatabase = 'bank'\nuser = 'bench'\n[workload]\nkind = 'sql'\n\
         {TRANSACTIONS}\n[[profiles]]\nvus = 8\n"
    );
    match read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}")).workload {
        Chosen::Custom(shape) => shape,
        other => panic!("{other:?}"),
    }
}

const SEAT: Seat = Seat { seed: 42, vu: 3, session: 0, vus: 8, sessions_per_vu: 1, run: 1 };

fn seated(seat: Seat) -> Custom {
    Custom::seat(Rc::new(shape()), seat)
}

/// Kinds and calls of so many transactions that meet no fault.
fn sent(workload: &mut Custom, count: usize) -> Vec<(usize, Vec<String>)> {
    let transaction = |_| {
        let mut session = Scripted::default();
        let kind = workload.draw().kind;
        assert_eq!(ready(workload.run(&mut session)), Ok(Outcome::Committed));
        (kind, session.calls)
    };
    (0..count).map(transaction).collect()
}

#[test]
fn statements_are_those_of_the_study_in_its_order() {
    let statements = Custom::statements(&shape(), Dialect::Mysql);
    let texts: Vec<&str> = statements.iter().map(|statement| statement.sql.as_str()).collect();
    assert_eq!(texts[2], "INSERT INTO transfer VALUES (?, ?, ?, ?, NOW(6))");
    assert_eq!(texts[3], "SELECT balance FROM account WHERE id = ?");
    assert_eq!(texts.len(), 6);
    assert_eq!(statements[0].slots, ["amount", "from"]);
    assert_eq!(Custom::kinds(&shape()), ["transfer", "look", "count"]);
    assert!(Custom::eager(&shape()) && !Custom::eager(&shape().sent_as(Protocol::Text)));
}

#[test]
fn each_kind_comes_as_often_as_its_weight_says() {
    let all = sent(&mut seated(SEAT), 60);
    for deck in all.chunks(6) {
        let mut counts = [0; 3];
        deck.iter().for_each(|(kind, _)| counts[*kind] += 1);
        assert_eq!(counts, [2, 1, 3]);
    }
}

#[test]
fn transactions_are_enclosed_where_the_study_says() {
    for (kind, calls) in sent(&mut seated(SEAT), 60) {
        let (first, last) = (calls[0].as_str(), calls[calls.len() - 1].as_str());
        match kind {
            0 => assert_eq!((first, last, calls.len()), ("begin Write", "commit", 5)),
            1 => assert_eq!((first, last, calls.len()), ("begin Read", "commit", 3)),
            _ => assert_eq!((first, calls.len()), ("4 []", 2), "{last}"),
        }
    }
}

#[test]
fn a_name_has_one_value_in_the_whole_transaction() {
    for (_, calls) in sent(&mut seated(SEAT), 60).into_iter().filter(|(kind, _)| *kind == 0) {
        let values = |call: &str| -> Vec<String> {
            let (_, list) = call.split_once(' ').unwrap();
            list.trim_matches(['[', ']']).split(", ").map(str::to_owned).collect()
        };
        let (debit, credit, insert) = (values(&calls[1]), values(&calls[2]), values(&calls[3]));
        assert_eq!(insert[..3], [debit[1].clone(), credit[1].clone(), debit[0].clone()]);
        assert_eq!((debit[0] == credit[0], insert.len()), (true, 4));
    }
}

#[test]
fn a_retry_sends_the_same_values_again() {
    let mut workload = seated(SEAT);
    for _ in 0..12 {
        let kind = workload.draw().kind;
        let failing = [1, 3, 5][kind];
        let mut session = Scripted { fails: Some(failing), ..Scripted::default() };
        let fault = ready(workload.run(&mut session)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Deadlock);
        let failed = session.calls;
        assert!(!failed.contains(&"commit".to_owned()), "nothing is sent after a fault: {failed:?}");
        let mut session = Scripted::default();
        assert_eq!(ready(workload.run(&mut session)), Ok(Outcome::Committed));
        assert_eq!(session.calls[..failed.len()], failed);
    }
}

#[test]
fn a_sequence_belongs_to_its_own_transaction() {
    let mut seen: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let mut count = 0;
    for vu in 0..8 {
        for (kind, calls) in sent(&mut seated(Seat { vu, ..SEAT }), 60).into_iter().filter(|(kind, _)| *kind > 0) {
            // Behind BEGIN, or behind the count of all rows.
            seen.entry(kind).or_default().insert(calls[1].clone());
            count += 1;
        }
    }
    assert_eq!(seen.values().map(BTreeSet::len).sum::<usize>(), count, "no number twice");
    let looked: Vec<&String> = seen[&1].iter().collect();
    assert!((1..=80).all(|id| looked.contains(&&format!("3 [Int({id})]"))), "{looked:?}");
}

#[test]
fn what_is_sent_follows_from_seed_user_and_session_alone() {
    let transfers = |seat| -> Vec<(usize, Vec<String>)> { sent(&mut seated(seat), 30) };
    let alone = transfers(SEAT);
    assert_eq!(alone, transfers(Seat { run: 9, ..SEAT }));
    for other in [Seat { seed: 43, ..SEAT }, Seat { vu: 4, ..SEAT }, Seat { session: 1, ..SEAT }] {
        assert_ne!(alone, transfers(other));
    }
}

#[test]
fn values_keep_their_memory_from_one_statement_to_the_next() {
    let mut workload = seated(SEAT);
    sent(&mut workload, 60);
    let before = (workload.values.as_ptr(), workload.values.capacity());
    sent(&mut workload, 60);
    assert_eq!((workload.values.as_ptr(), workload.values.capacity()), before);
    assert!(before.1 > 0 && workload.values.is_empty());
}

#[test]
fn a_seat_is_small() {
    // Thousands of sessions of one agent have one each, and the future of a transaction beside it.
    assert!(size_of::<Custom>() <= 232, "{}", size_of::<Custom>());
    let mut workload = seated(SEAT);
    let mut session = Scripted::default();
    let future = workload.run(&mut session);
    assert!(size_of_val(&future) <= 384, "{}", size_of_val(&future));
}
