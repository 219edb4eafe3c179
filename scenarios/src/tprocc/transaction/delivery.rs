//! Delivery by statements, all ten districts in one transaction [2.7.4].

use super::rows::Whole;
use super::{Step, TprocC, What, int};
use crate::session::{Access, Fault, FaultKind, Row, Rows, Session, Value};
use crate::tprocc::draw::DISTRICTS;
use crate::workload::Outcome;

impl TprocC {
    pub(super) async fn delivery<S: Session>(
        &self,
        session: &mut S,
        warehouse: u32,
        carrier: u32,
    ) -> Result<Outcome, Fault> {
        session.begin(Access::Write).await?;
        for district in 1..=DISTRICTS {
            self.deliver(session, [warehouse, district, carrier]).await?;
        }
        session.commit().await?;
        Ok(Outcome::Committed)
    }

    /// Takes the oldest order of a district out of those that wait. Where a read does not lock, another delivery may have
    /// taken it in between: then the next one is the oldest.
    async fn take_oldest<S: Session>(&self, session: &mut S, [w, d]: [Value<'_>; 2]) -> Result<Option<i64>, Fault> {
        for _ in 0..ATTEMPTS {
            let mut oldest = Whole::default();
            self.send(session, Step::OldestNewOrder, &[w, d], &mut oldest).await?;
            let Some(id) = oldest.0 else { return Ok(None) };
            if self.send(session, Step::DeleteNewOrder, &[w, d, Value::Int(id)], &mut ()).await? > 0 {
                return Ok(Some(id));
            }
        }
        let message =
            format!("{ATTEMPTS} times the oldest new order of a district was gone when it was to be delivered");
        Err(Fault::new(FaultKind::Serialization, message))
    }

    /// Delivers the oldest order of a district that has one.
    async fn deliver<S: Session>(&self, session: &mut S, inputs: [u32; 3]) -> Result<(), Fault> {
        let [w, d, carrier] = inputs.map(int);
        let Some(id) = self.take_oldest(session, [w, d]).await? else { return Ok(()) };
        let order = [w, d, Value::Int(id)];
        let mut customer = Whole::default();
        self.send(session, Step::OrderCustomer, &order, &mut customer).await?;
        self.send(session, Step::SetCarrier, &[carrier, w, d, order[2]], &mut ()).await?;
        self.send(session, Step::DeliverLines, &order, &mut ()).await?;
        let mut total = Total::default();
        self.send(session, Step::OrderTotal, &order, &mut total).await?;
        let customer = u32::try_from(customer.0.unwrap_or(0)).unwrap_or(0);
        let credit = [total.0.unwrap_or(Value::Int(0)), w, d, int(customer)];
        self.change(session, Step::CreditCustomer, &credit, What("customer", customer, inputs[0])).await
    }
}

/// So many other deliveries in a row do not take the oldest order first by chance.
const ATTEMPTS: u32 = 100;

/// A sum, in the form in which it came and goes back: exact where the database is.
#[derive(Debug, Default)]
struct Total(Option<Value<'static>>);

impl Rows for Total {
    fn row(&mut self, row: &impl Row) {
        self.0 = match row.get(0) {
            Value::Int(number) => Some(Value::Int(number)),
            Value::Decimal(unscaled, digits) => Some(Value::Decimal(unscaled, digits)),
            Value::Float(number) => Some(Value::Float(number)),
            _ => None,
        };
    }
}
