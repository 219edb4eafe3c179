//! One session's transactions: every input drawn up front, then sent in either spelling.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod rows;
mod stock_level;

pub(super) use rows::whole;

use std::rc::Rc;
use std::time::Duration;

use super::draw::{Draw, Home, Input, Line};
use super::procedures;
use super::statements::{self, Places, Step};
use super::{Calls, Mix, Shape};
use crate::deck::Deck;
use crate::random::{Stream, session_stream};
use crate::session::{Dialect, Fault, FaultKind, Rows, Session, Value};
use crate::sql::{Protocol, Statement};
use crate::workload::{Outcome, Seat, Terminal, Times, Txn, Workload};

/// Names of the transaction kinds, in their order.
const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Keying and mean thinking time of each kind, in seconds [5.2.5.2, 5.2.5.4]. (HammerDB has the thinking times of
/// order_status and delivery the other way round.)
const TIMES_S: [(u64, u64); 5] = [(18, 12), (3, 12), (2, 10), (2, 5), (2, 5)];

/// TPROC-C in one session.
#[derive(Debug)]
pub struct TprocC {
    shape: Rc<Shape>,
    places: Places,
    draw: Draw,
    deck: Deck,
    stream: Stream,
    input: Option<Input>,
    /// Lines of the drawn order.
    lines: Vec<Line>,
    /// Texts that came back and are sent again.
    text: String,
    /// Customers of one name.
    namesakes: Vec<u32>,
}

impl Workload for TprocC {
    type Shape = Shape;

    fn kinds(_shape: &Shape) -> Vec<String> {
        KINDS.map(str::to_owned).to_vec()
    }

    fn statements(shape: &Shape, dialect: Dialect) -> Vec<Statement> {
        statements::list(shape, dialect)
    }

    fn eager(shape: &Shape) -> bool {
        shape.protocol == Protocol::Prepared
    }

    fn terminal(shape: &Shape) -> Option<Terminal> {
        let seconds = Duration::from_secs;
        let kinds = TIMES_S.map(|(keying, think)| Times { keying: seconds(keying), think_mean: seconds(think) });
        Some(Terminal { mean_cycle: mean_cycle(&kinds, &shape.mix), kinds: kinds.to_vec() })
    }

    fn seat(shape: Rc<Shape>, seat: Seat) -> Self {
        TprocC {
            places: Places::of(&shape),
            draw: Draw::new(&shape, Home::of(&shape, &seat), seat.seed),
            deck: Deck::new(&shape.mix.weights()),
            stream: session_stream(&seat),
            input: None,
            lines: Vec::new(),
            text: String::new(),
            namesakes: Vec::new(),
            shape,
        }
    }

    fn draw(&mut self) -> Txn {
        let kind = self.deck.deal(&mut self.stream);
        self.input = Some(self.draw.inputs(kind, &mut self.stream, &mut self.lines));
        Txn { kind }
    }

    async fn run<S: Session>(&mut self, session: &mut S) -> Result<Outcome, Fault> {
        let Some(input) = self.input else { return Ok(Outcome::Committed) };
        if self.shape.calls == Calls::Procedures {
            return procedures::call(&self.shape, &self.places, &input, session).await;
        }
        match input {
            Input::NewOrder(order) => self.new_order(session, order).await,
            Input::Payment(payment) => self.payment(session, payment).await,
            Input::OrderStatus(query) => self.order_status(session, query).await,
            Input::Delivery { warehouse, carrier } => self.delivery(session, warehouse, carrier).await,
            Input::StockLevel { warehouse, district, threshold } => {
                self.stock_level(session, [warehouse, district, threshold]).await
            }
        }
    }
}

fn mean_cycle(kinds: &[Times; 5], mix: &Mix) -> Duration {
    let weights = mix.weights();
    let weighted = kinds.iter().zip(weights).map(|(times, weight)| (times.keying + times.think_mean) * weight);
    weighted.sum::<Duration>() / weights.iter().sum::<u32>().max(1)
}

impl TprocC {
    async fn send<S: Session>(
        &self,
        session: &mut S,
        step: Step,
        params: &[Value<'_>],
        rows: &mut impl Rows,
    ) -> Result<u64, Fault> {
        session.execute(self.places.stmt(step), params, rows).await
    }

    /// Sends a change of one row that has to be there.
    async fn change<S: Session>(
        &self,
        session: &mut S,
        step: Step,
        params: &[Value<'_>],
        what: What,
    ) -> Result<(), Fault> {
        match self.send(session, step, params, &mut ()).await? {
            0 => Err(missing(what)),
            _ => Ok(()),
        }
    }
}

/// A row of the schema: its kind, its number and its warehouse.
#[derive(Debug, Clone, Copy)]
struct What(&'static str, u32, u32);

/// A row that every transaction relies on is not there.
fn missing(What(kind, number, warehouse): What) -> Fault {
    let message = format!(
        "warehouse {warehouse} has no {kind} {number}; compare the study's warehouses with the database's, and look at \
         its tables with vufleet schema verify STUDY"
    );
    Fault::new(FaultKind::Statement, message)
}

/// A whole number as a parameter.
fn int(number: u32) -> Value<'static> {
    Value::Int(number.into())
}

#[cfg(test)]
mod tests;
