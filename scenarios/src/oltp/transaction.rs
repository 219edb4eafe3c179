//! One session's transactions: every input drawn up front into buffers that are used again, then sent.

use std::rc::Rc;

use super::digits::{C_LENGTH, PAD_LENGTH, push_c, push_pad};
use super::script::Action;
use super::{Ids, Prepare, Shape, statements};
use crate::random::{Stream, below, key_stream, session_stream};
use crate::session::{Access, Dialect, Fault, FaultKind, Session, Stmt, Value};
use crate::sql::{Protocol, Statement};
use crate::workload::{Outcome, Seat, Txn, Workload};

/// How often a row is inserted again whose id another session has taken since it was deleted.
const REINSERTS: u32 = 3;

/// How many ids are tried for a new row before its insert counts as failed.
const FRESH_IDS: u32 = 10;

/// The largest id.
const MAX_ID: i64 = Shape::MAX_TABLE_SIZE as i64;

/// The OLTP workload in one session.
#[derive(Debug)]
pub struct Oltp {
    shape: Rc<Shape>,
    seat: Seat,
    groups: Box<[Seated]>,
    /// Statements of one table.
    width: u32,
    ids: Ids,
    stream: Stream,
    /// Ids of new rows, and how often the stream behind them was changed.
    fresh: Stream,
    generation: u64,
    drawn: Vec<Input>,
    /// The texts of the drawn transaction, one after the other.
    text: String,
}

/// A group of statements and where its first one stands in the list of a table.
#[derive(Debug, Clone, Copy)]
struct Seated {
    action: Action,
    times: u32,
    position: u32,
}

/// The inputs of one member of a group.
#[derive(Debug, Clone, Copy)]
struct Input {
    action: Action,
    stmt: Stmt,
    id: u32,
    k: u32,
    /// Where its texts start.
    text: u32,
}

impl Workload for Oltp {
    type Shape = Shape;

    fn kinds(shape: &Shape) -> Vec<String> {
        vec![shape.script.name().to_owned()]
    }

    fn statements(shape: &Shape, dialect: Dialect) -> Vec<Statement> {
        statements::list(shape, dialect)
    }

    fn eager(shape: &Shape) -> bool {
        shape.prepare == Prepare::Eager && shape.protocol == Protocol::Prepared
    }

    fn seat(shape: Rc<Shape>, seat: Seat) -> Self {
        let mut width = 0;
        let groups = shape.groups().into_iter().map(|group| {
            let position = width;
            width += group.action.statements();
            Seated { action: group.action, times: group.times, position }
        });
        Oltp {
            groups: groups.collect(),
            width,
            ids: shape.distribution.over(shape.table_size),
            stream: session_stream(&seat),
            fresh: key_stream(&seat, 0),
            generation: 0,
            drawn: Vec::new(),
            text: String::new(),
            shape,
            seat,
        }
    }

    fn draw(&mut self) -> Txn {
        self.drawn.clear();
        self.text.clear();
        for at in 0..self.groups.len() {
            let group = self.groups[at];
            let table = below(&mut self.stream, self.shape.tables);
            let stmt = Stmt((table * self.width + group.position) as u16);
            for _ in 0..group.times {
                let input = self.input(group.action, stmt);
                self.drawn.push(input);
            }
        }
        Txn { kind: 0 }
    }

    async fn run<S: Session>(&mut self, session: &mut S) -> Result<Outcome, Fault> {
        let transactional = self.shape.transactional();
        if transactional {
            session.begin(self.access()).await?;
        }
        for at in 0..self.drawn.len() {
            match self.drawn[at].action {
                Action::Insert => self.insert(session, at).await?,
                Action::DeleteInsert => self.replace(session, self.drawn[at]).await?,
                _ => self.send(session, self.drawn[at]).await?,
            }
        }
        if transactional {
            session.commit().await?;
        }
        Ok(Outcome::Committed)
    }
}

impl Oltp {
    fn access(&self) -> Access {
        if self.groups.iter().any(|group| group.action.writes()) { Access::Write } else { Access::Read }
    }

    fn input(&mut self, action: Action, stmt: Stmt) -> Input {
        let text = self.text.len() as u32;
        let mut input = Input { action, stmt, id: 0, k: 0, text };
        input.id = if action == Action::Insert { self.fresh_id() } else { self.ids.draw(&mut self.stream) };
        if matches!(action, Action::Insert | Action::DeleteInsert) {
            input.k = self.ids.draw(&mut self.stream);
        }
        if matches!(action, Action::NonIndexUpdate | Action::Insert | Action::DeleteInsert) {
            push_c(&mut self.text, &mut self.stream);
        }
        if matches!(action, Action::Insert | Action::DeleteInsert) {
            push_pad(&mut self.text, &mut self.stream);
        }
        input
    }

    /// An id above those of the built tables; 0 when they have used all that an INTEGER can hold.
    fn fresh_id(&mut self) -> u32 {
        match Shape::MAX_TABLE_SIZE - self.shape.table_size {
            0 => 0,
            left => self.shape.table_size + 1 + below(&mut self.fresh, left),
        }
    }

    fn c(&self, input: Input) -> &str {
        &self.text[input.text as usize..][..C_LENGTH]
    }

    fn pad(&self, input: Input) -> &str {
        &self.text[input.text as usize + C_LENGTH..][..PAD_LENGTH]
    }

    /// Sends the only statement of `input`, or the first of its two.
    async fn send<S: Session>(&self, session: &mut S, input: Input) -> Result<(), Fault> {
        let id = Value::Int(input.id.into());
        let (values, count) = match input.action {
            Action::NonIndexUpdate => ([Value::Text(self.c(input)), id], 2),
            Action::SimpleRange | Action::SumRange | Action::OrderRange | Action::DistinctRange => {
                // No id lies beyond, nor does the type of the column.
                let last = (i64::from(input.id) + i64::from(self.shape.range_size) - 1).min(MAX_ID);
                ([id, Value::Int(last)], 2)
            }
            _ => ([id, Value::Null], 1),
        };
        session.execute(input.stmt, &values[..count], &mut ()).await.map(|_| ())
    }

    /// Deletes a row and inserts it anew. Without a transaction around both, another session may have taken the id in
    /// between; the row is gone already, so only its insert is worth another try.
    async fn replace<S: Session>(&self, session: &mut S, input: Input) -> Result<(), Fault> {
        self.send(session, input).await?;
        let insert = Stmt(input.stmt.0 + 1);
        let mut left = if self.shape.transactional() { 0 } else { REINSERTS };
        loop {
            match session.execute(insert, &self.row(input), &mut ()).await {
                Err(fault) if fault.kind == FaultKind::Duplicate && left > 0 => session.note(&fault),
                done => return done.map(|_| ()),
            }
            left -= 1;
        }
    }

    /// Inserts a new row. An id that turns out to be taken is drawn again from another stream: should somebody have
    /// used this seed and run on these tables before, all ids of the first stream are taken.
    async fn insert<S: Session>(&mut self, session: &mut S, at: usize) -> Result<(), Fault> {
        if self.shape.numbers_ids(S::DIALECT) {
            let input = self.drawn[at];
            return session.execute(input.stmt, &self.row(input)[1..], &mut ()).await.map(|_| ());
        }
        let mut left = FRESH_IDS;
        loop {
            let input = self.drawn[at];
            if input.id == 0 {
                return Err(no_id_left());
            }
            left -= 1;
            match session.execute(input.stmt, &self.row(input), &mut ()).await {
                Err(fault) if fault.kind == FaultKind::Duplicate && left > 0 => session.note(&fault),
                done => return done.map(|_| ()),
            }
            self.generation += 1;
            self.fresh = key_stream(&self.seat, self.generation);
            self.drawn[at].id = self.fresh_id();
        }
    }

    /// Values of a whole row, in the order of its columns.
    fn row(&self, input: Input) -> [Value<'_>; 4] {
        [
            Value::Int(input.id.into()),
            Value::Int(input.k.into()),
            Value::Text(self.c(input)),
            Value::Text(self.pad(input)),
        ]
    }
}

fn no_id_left() -> Fault {
    let message = "no id is left above a table_size of 2147483647; make the tables smaller or set auto_inc = true";
    Fault::new(FaultKind::Statement, message)
}

#[cfg(test)]
mod tests;
