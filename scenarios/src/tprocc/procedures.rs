//! What a session calls the stored procedures with, and what it makes of the answer.
//!
//! Parameters and their order are HammerDB's, so that either program drives what the other has built.

use super::Shape;
use super::draw::{Customer, Input, NewOrder, OrderStatus, Payment};
use super::names::LastName;
use super::statements::{Places, Step};
use super::transaction::whole;
use crate::session::{Fault, Row, Rows, Session, Value};
use crate::workload::Outcome;

/// Values that a call gives back and nobody gave in.
const OUT: Value<'static> = Value::Null;

/// Columns of NEWORD's parameters that come back; the last is the order's number.
const NEW_ORDER_RESULTS: usize = 6;

/// Calls the procedure of a transaction.
pub(super) async fn call<S: Session>(
    shape: &Shape,
    places: &Places,
    input: &Input,
    session: &mut S,
) -> Result<Outcome, Fault> {
    match *input {
        Input::NewOrder(order) => return new_order(shape, places, order, session).await,
        Input::Payment(payment) => pay(places, payment, session).await?,
        Input::OrderStatus(query) => order_status(places, query, session).await?,
        Input::Delivery { warehouse, carrier } => {
            let values = [int(warehouse), int(carrier)];
            session.execute(places.stmt(Step::CallDelivery), &values, &mut ()).await?
        }
        Input::StockLevel { warehouse, district, threshold } => {
            let values = [int(warehouse), int(district), int(threshold), OUT];
            session.execute(places.stmt(Step::CallStockLevel), &values, &mut ()).await?
        }
    };
    Ok(Outcome::Committed)
}

async fn new_order<S: Session>(
    shape: &Shape,
    places: &Places,
    order: NewOrder,
    session: &mut S,
) -> Result<Outcome, Fault> {
    let inputs = [order.warehouse, shape.warehouses, order.district, order.customer, order.lines].map(int);
    let [w, all, d, c, lines] = inputs;
    let values = [w, all, d, c, lines, OUT, OUT, OUT, OUT, OUT, Value::Int(0)];
    let mut result = OrderNumber::Silent;
    let affected = session.execute(places.stmt(Step::CallNewOrder), &values, &mut result).await?;
    Ok(outcome(result, affected, order.lines))
}

/// What NEWORD said of the order's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OrderNumber {
    /// Nothing came back.
    Silent,
    None,
    Some(i64),
}

impl Rows for OrderNumber {
    fn row(&mut self, row: &impl Row) {
        if row.len() == NEW_ORDER_RESULTS {
            *self = whole(row.get(NEW_ORDER_RESULTS - 1)).map_or(OrderNumber::None, OrderNumber::Some);
        }
    }
}

/// Whether an order stayed. Our NEWORD gives back no number when it rolled back. HammerDB's always gives one, but
/// MariaDB's count of affected rows over the whole call tells: 4n + 5 for n lines that stayed, 4n - 1 for a rollback.
/// (MySQL counts those of the last statement only, never as many.)
fn outcome(number: OrderNumber, affected: u64, lines: u32) -> Outcome {
    match number {
        OrderNumber::None => Outcome::RolledBack,
        OrderNumber::Some(_) if affected + 1 == 4 * u64::from(lines) => Outcome::RolledBack,
        OrderNumber::Some(_) | OrderNumber::Silent => Outcome::Committed,
    }
}

async fn pay<S: Session>(places: &Places, payment: Payment, session: &mut S) -> Result<u64, Fault> {
    let (by_name, id, name) = spelt(payment.customer);
    let mut values = [OUT; 32];
    values[0] = int(payment.warehouse);
    values[1] = int(payment.district);
    values[2] = int(payment.customer_warehouse);
    values[3] = int(payment.customer_district);
    values[4] = int(id);
    values[5] = int(by_name);
    values[6] = Value::Decimal(payment.amount.into(), 2);
    values[7] = Value::Text(name.as_str());
    session.execute(places.stmt(Step::CallPayment), &values, &mut ()).await
}

async fn order_status<S: Session>(places: &Places, query: OrderStatus, session: &mut S) -> Result<u64, Fault> {
    let (by_name, id, name) = spelt(query.customer);
    let mut values = [OUT; 11];
    values[0] = int(query.warehouse);
    values[1] = int(query.district);
    values[2] = int(id);
    values[3] = int(by_name);
    values[4] = Value::Text(name.as_str());
    session.execute(places.stmt(Step::CallOrderStatus), &values, &mut ()).await
}

/// By name or not, the customer's number and last name; the one that is not asked for says nothing.
fn spelt(customer: Customer) -> (u32, u32, LastName) {
    match customer {
        Customer::Id(id) => (0, id, LastName::of(0)),
        Customer::Name(number) => (1, 0, LastName::of(number)),
    }
}

fn int(number: u32) -> Value<'static> {
    Value::Int(number.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollbacks_are_told_by_the_number_or_by_the_affected_rows() {
        use OrderNumber::{None, Silent, Some};
        for (number, affected, lines, expected) in [
            // Our own procedure.
            (Some(3001), 45, 10, Outcome::Committed),
            (None, 41, 10, Outcome::RolledBack),
            // HammerDB's on MariaDB.
            (Some(3001), 25, 5, Outcome::Committed),
            (Some(3001), 19, 5, Outcome::RolledBack),
            (Some(3001), 65, 15, Outcome::Committed),
            (Some(3001), 59, 15, Outcome::RolledBack),
            // Any on MySQL, which counts the last statement alone.
            (Some(3001), 0, 10, Outcome::Committed),
            (Some(3001), 1, 5, Outcome::Committed),
            // No database.
            (Silent, 1, 10, Outcome::Committed),
        ] {
            assert_eq!(outcome(number, affected, lines), expected, "{number:?} {affected} {lines}");
        }
    }
}
