//! What a session calls the stored procedures with, and what it makes of the answer.
//!
//! Parameters and their order are HammerDB's, so that either program drives what the other has built. On MySQL results come
//! back through OUT parameters, each of which takes a value of the call; on SQL Server as rows, and the caller tells the time.

mod caught;

use super::Shape;
use super::draw::{Customer, Input, NewOrder, OrderStatus, Payment};
use super::names::LastName;
use super::statements::{Places, Step};
use super::transaction::whole;
use crate::session::{Dialect, Fault, Row, Rows, Session, Value};
use crate::workload::Outcome;

use self::caught::Caught;

/// Values that a call gives back and nobody gave in.
const OUT: Value<'static> = Value::Null;

/// Columns of NEWORD's result; the last is the order's number, which goes in too.
const NEW_ORDER_RESULTS: usize = 6;
const NEW_ORDER_OUTS: [Value<'static>; NEW_ORDER_RESULTS] = [OUT, OUT, OUT, OUT, OUT, Value::Int(0)];

/// Values of the longest call, PAYMENT's on MySQL.
const MOST_VALUES: usize = 32;

/// One call: what its procedure wants to know, and what is there for its results.
struct Call<'a> {
    step: Step,
    inputs: &'a [Value<'a>],
    /// MySQL: what stands for the OUT parameters.
    outs: &'a [Value<'a>],
    /// SQL Server: whether the time follows the inputs.
    timed: bool,
}

impl Call<'_> {
    async fn send<S: Session>(&self, places: &Places, session: &mut S, rows: &mut impl Rows) -> Result<u64, Fault> {
        let mut values = [OUT; MOST_VALUES];
        let now = [session.now().map_or(Value::Null, Value::Instant)];
        let rest = match S::DIALECT {
            Dialect::Mssql if self.timed => &now,
            Dialect::Mssql => &[][..],
            Dialect::Mysql | Dialect::Sqlite => self.outs,
        };
        let count = self.inputs.len() + rest.len();
        values[..self.inputs.len()].copy_from_slice(self.inputs);
        values[self.inputs.len()..count].copy_from_slice(rest);
        let mut caught = Caught::beside(rows);
        let affected = session.execute(places.stmt(self.step), &values[..count], &mut caught).await?;
        match caught.error {
            Some((number, words)) => Err(S::fault(number, &words)),
            None => Ok(affected),
        }
    }
}

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
            let inputs = &[int(warehouse), int(carrier)];
            let call = Call { step: Step::CallDelivery, inputs, outs: &[], timed: true };
            call.send(places, session, &mut ()).await?
        }
        Input::StockLevel { warehouse, district, threshold } => {
            let inputs = &[int(warehouse), int(district), int(threshold)];
            let call = Call { step: Step::CallStockLevel, inputs, outs: &[OUT], timed: false };
            call.send(places, session, &mut ()).await?
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
    let inputs = &[order.warehouse, shape.warehouses, order.district, order.customer, order.lines].map(int);
    let call = Call { step: Step::CallNewOrder, inputs, outs: &NEW_ORDER_OUTS, timed: true };
    let mut result = OrderNumber::Silent;
    let affected = call.send(places, session, &mut result).await?;
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
            *self = match row.get(NEW_ORDER_RESULTS - 1) {
                Value::Null => OrderNumber::None,
                // Somebody else's procedure may have its columns in another order, but none of them NULL.
                value => OrderNumber::Some(whole(value).unwrap_or_default()),
            };
        }
    }
}

/// Whether an order stayed. Our NEWORD gives back no number when it rolled back. HammerDB's always gives one, but
/// MariaDB's count of affected rows over the whole call tells: 4n + 5 for n lines that stayed, 4n - 1 for a rollback.
/// (MySQL counts those of the last statement only, never as many, and SQL Server none at all.)
fn outcome(number: OrderNumber, affected: u64, lines: u32) -> Outcome {
    match number {
        OrderNumber::None => Outcome::RolledBack,
        OrderNumber::Some(_) if affected + 1 == 4 * u64::from(lines) => Outcome::RolledBack,
        OrderNumber::Some(_) | OrderNumber::Silent => Outcome::Committed,
    }
}

async fn pay<S: Session>(places: &Places, payment: Payment, session: &mut S) -> Result<u64, Fault> {
    let (by_name, id, name) = spelt(payment.customer);
    let inputs = &[
        int(payment.warehouse),
        int(payment.district),
        int(payment.customer_warehouse),
        int(payment.customer_district),
        int(id),
        int(by_name),
        Value::Decimal(payment.amount.into(), 2),
        Value::Text(name.as_str()),
    ];
    let call = Call { step: Step::CallPayment, inputs, outs: &[OUT; 24], timed: true };
    call.send(places, session, &mut ()).await
}

async fn order_status<S: Session>(places: &Places, query: OrderStatus, session: &mut S) -> Result<u64, Fault> {
    let (by_name, id, name) = spelt(query.customer);
    let inputs = &[int(query.warehouse), int(query.district), int(id), int(by_name), Value::Text(name.as_str())];
    let call = Call { step: Step::CallOrderStatus, inputs, outs: &[OUT; 6], timed: false };
    call.send(places, session, &mut ()).await
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
            // Ours and HammerDB's on SQL Server, which count nothing.
            (None, 0, 10, Outcome::RolledBack),
            (Some(3001), 0, 5, Outcome::Committed),
            // No database.
            (Silent, 1, 10, Outcome::Committed),
        ] {
            assert_eq!(outcome(number, affected, lines), expected, "{number:?} {affected} {lines}");
        }
    }

    struct Answer([Value<'static>; 6]);

    impl Row for Answer {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn get(&self, column: usize) -> Value<'_> {
            self.0.get(column).copied().unwrap_or(Value::Null)
        }
    }

    #[test]
    fn only_a_missing_number_is_a_rollback() {
        let text = Value::Text("0.0123");
        for (row, expected) in [
            ([text, text, text, text, text, Value::Int(3001)], OrderNumber::Some(3001)),
            ([Value::Decimal(123, 4), text, text, text, text, Value::Null], OrderNumber::None),
            ([Value::Int(3001), text, text, text, text, text], OrderNumber::Some(0)),
        ] {
            let mut number = OrderNumber::Silent;
            number.row(&Answer(row));
            assert_eq!(number, expected, "{row:?}");
        }
    }
}
