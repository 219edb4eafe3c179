//! Payment by statements [2.5.2].

use std::fmt::Write;

use super::rows::{Ids, Word};
use super::{Step, TprocC, What, int};
use crate::session::{Access, Fault, Session, Value};
use crate::tprocc::draw::{Customer, Payment};
use crate::tprocc::names::LastName;
use crate::workload::Outcome;

impl TprocC {
    pub(super) async fn payment<S: Session>(&mut self, session: &mut S, payment: Payment) -> Result<Outcome, Fault> {
        session.begin(Access::Write).await?;
        let amount = Value::Decimal(payment.amount.into(), 2);
        self.receive(session, &payment, amount).await?;
        let (w, d) = (payment.customer_warehouse, payment.customer_district);
        let id = self.customer_id(session, w, d, payment.customer).await?;
        self.charge(session, &payment, id, amount).await?;
        let place = [int(id), int(d), int(w), int(payment.district), int(payment.warehouse)];
        let [c, c_d, c_w, d, w] = place;
        let values = [c, c_d, c_w, d, w, amount, Value::Text(&self.text)];
        self.send(session, Step::InsertHistory, &values, &mut ()).await?;
        session.commit().await?;
        Ok(Outcome::Committed)
    }

    /// Adds the amount to warehouse and district; their names, four spaces between them, are what the history says.
    async fn receive<S: Session>(
        &mut self,
        session: &mut S,
        payment: &Payment,
        amount: Value<'_>,
    ) -> Result<(), Fault> {
        let (warehouse, district) = (payment.warehouse, payment.district);
        let (w, d) = (int(warehouse), int(district));
        let mut names = std::mem::take(&mut self.text);
        names.clear();
        self.change(session, Step::PayWarehouse, &[amount, w], What("row of number", warehouse, warehouse)).await?;
        self.change(session, Step::PayDistrict, &[amount, w, d], What("district", district, warehouse)).await?;
        self.send(session, Step::Warehouse, &[w], &mut Word(&mut names)).await?;
        names.push_str("    ");
        self.send(session, Step::District, &[w, d], &mut Word(&mut names)).await?;
        self.text = names;
        Ok(())
    }

    /// Takes the amount off the customer's balance.
    async fn charge<S: Session>(
        &self,
        session: &mut S,
        payment: &Payment,
        id: u32,
        amount: Value<'_>,
    ) -> Result<(), Fault> {
        let (warehouse, district) = (payment.customer_warehouse, payment.customer_district);
        let (w, d, c) = (int(warehouse), int(district), int(id));
        let mut credit = String::new();
        self.send(session, Step::Customer, &[w, d, c], &mut Word(&mut credit)).await?;
        if credit != "BC" {
            return self.change(session, Step::Pay, &[amount, amount, w, d, c], What("customer", id, warehouse)).await;
        }
        let mut entry = String::new();
        let (whole, cents) = (payment.amount / 100, payment.amount % 100);
        let (own_d, own_w) = (payment.district, payment.warehouse);
        write!(entry, "{id} {district} {warehouse} {own_d} {own_w} {whole}.{cents:02} | ").expect("text takes all");
        let values = [amount, amount, Value::Text(&entry), w, d, c];
        self.change(session, Step::PayWithBadCredit, &values, What("customer", id, warehouse)).await
    }

    /// The customer's number; of those with the same name the one in the middle, by first name [2.5.2.2].
    pub(super) async fn customer_id<S: Session>(
        &mut self,
        session: &mut S,
        warehouse: u32,
        district: u32,
        customer: Customer,
    ) -> Result<u32, Fault> {
        let number = match customer {
            Customer::Id(id) => return Ok(id),
            Customer::Name(number) => number,
        };
        let name = LastName::of(number);
        let values = [int(warehouse), int(district), Value::Text(name.as_str())];
        let mut namesakes = std::mem::take(&mut self.namesakes);
        namesakes.clear();
        self.send(session, Step::CustomersByName, &values, &mut Ids(&mut namesakes)).await?;
        let id = middle(&namesakes);
        self.namesakes = namesakes;
        Ok(id.unwrap_or(0))
    }
}

fn middle(namesakes: &[u32]) -> Option<u32> {
    namesakes.get(namesakes.len().div_ceil(2).checked_sub(1)?).copied()
}
