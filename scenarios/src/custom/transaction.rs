//! One session's transactions: which kind comes next and all its parameters are drawn up front, then its statements are
//! sent, again with the same values where that is tried again.

use std::rc::Rc;

use super::generator::Drawn;
use super::{Shape, Transaction};
use crate::deck::Deck;
use crate::random::{Stream, session_stream};
use crate::session::{Access, Dialect, Fault, Session, Stmt, Value};
use crate::sql::{Protocol, Statement};
use crate::workload::{Outcome, Seat, Txn, Workload};

/// The user's own SQL in one session.
#[derive(Debug)]
pub struct Custom {
    shape: Rc<Shape>,
    deck: Deck,
    stream: Stream,
    /// Sessions of the whole fleet.
    sessions: u64,
    /// What the generators remember, those of all transactions in their order.
    memories: Box<[u64]>,
    /// The drawn transaction.
    kind: usize,
    /// The values of its parameters.
    drawn: Vec<Drawn>,
    /// Its texts, one after the other.
    text: String,
    /// Empty between two statements: memory for the values of the next.
    values: Vec<Value<'static>>,
}

impl Workload for Custom {
    type Shape = Shape;

    fn kinds(shape: &Shape) -> Vec<String> {
        shape.transactions.iter().map(|transaction| transaction.name.clone()).collect()
    }

    /// They are written in one dialect only: a simulated database takes those of any.
    fn statements(shape: &Shape, _dialect: Dialect) -> Vec<Statement> {
        let steps = shape.transactions.iter().flat_map(|transaction| &transaction.steps);
        steps.map(|step| step.statement.clone()).collect()
    }

    fn eager(shape: &Shape) -> bool {
        shape.protocol() == Protocol::Prepared
    }

    fn seat(shape: Rc<Shape>, seat: Seat) -> Self {
        let parameters = shape.transactions.iter().flat_map(|transaction| &transaction.parameters);
        Custom {
            deck: Deck::new(&shape.weights()),
            stream: session_stream(&seat),
            sessions: u64::from(seat.vus) * u64::from(seat.sessions_per_vu),
            memories: parameters.map(|parameter| parameter.generator.memory(&seat)).collect(),
            kind: 0,
            drawn: Vec::new(),
            text: String::new(),
            values: Vec::new(),
            shape,
        }
    }

    fn draw(&mut self) -> Txn {
        self.kind = self.deck.deal(&mut self.stream);
        self.drawn.clear();
        self.text.clear();
        let (before, from_here) = self.shape.transactions.split_at(self.kind);
        let first: usize = before.iter().map(|transaction| transaction.parameters.len()).sum();
        for (parameter, memory) in from_here[0].parameters.iter().zip(&mut self.memories[first..]) {
            let drawn = parameter.generator.draw(memory, self.sessions, &mut self.stream, &mut self.text);
            self.drawn.push(drawn);
        }
        Txn { kind: self.kind }
    }

    async fn run<S: Session>(&mut self, session: &mut S) -> Result<Outcome, Fault> {
        let transaction = &self.shape.transactions[self.kind];
        if transaction.transactional {
            session.begin(access(transaction)).await?;
        }
        let before = self.shape.transactions[..self.kind].iter();
        let first: usize = before.map(|transaction| transaction.steps.len()).sum();
        for (index, step) in transaction.steps.iter().enumerate() {
            let mut values = emptied(std::mem::take(&mut self.values));
            let of = |slot: &u16| {
                let slot = usize::from(*slot);
                transaction.parameters[slot].generator.value(self.drawn[slot], &self.text)
            };
            values.extend(step.slots.iter().map(of));
            session.execute(Stmt((first + index) as u16), &values, &mut ()).await?;
            self.values = emptied(values);
        }
        if transaction.transactional {
            session.commit().await?;
        }
        Ok(Outcome::Committed)
    }
}

fn access(transaction: &Transaction) -> Access {
    let writes = transaction.steps.iter().any(|step| step.statement.writes);
    if writes { Access::Write } else { Access::Read }
}

/// The memory of a vector for values of another lifetime: what is collected from a vector of the same size stays where
/// it is.
fn emptied<'a>(mut used: Vec<Value<'_>>) -> Vec<Value<'a>> {
    used.clear();
    used.into_iter().map(|_| Value::Null).collect()
}

#[cfg(test)]
mod tests;
