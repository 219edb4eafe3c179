//! New-Order by statements [2.4.2].

use super::rows::{Cents, Stock, Whole};
use super::{Step, TprocC, What, int};
use crate::session::{Access, Fault, Session, Value};
use crate::tprocc::draw::{Line, NewOrder, UNUSED_ITEM};
use crate::workload::Outcome;

impl TprocC {
    pub(super) async fn new_order<S: Session>(&mut self, session: &mut S, order: NewOrder) -> Result<Outcome, Fault> {
        session.begin(Access::Write).await?;
        let id = self.open_order(session, &order).await?;
        for at in 0..self.lines.len() {
            let line = self.lines[at];
            if !self.order_line(session, &order, id, line, at as u32 + 1).await? {
                session.rollback().await?;
                return Ok(Outcome::RolledBack);
            }
        }
        session.commit().await?;
        Ok(Outcome::Committed)
    }

    /// Takes the district's next number and writes the order without its lines.
    async fn open_order<S: Session>(&self, session: &mut S, order: &NewOrder) -> Result<Value<'static>, Fault> {
        let (w, d, c) = (int(order.warehouse), int(order.district), int(order.customer));
        // The district's lock first: what is read after it is no older.
        let mut next = Whole::default();
        self.send(session, Step::NextOrder, &[w, d], &mut next).await?;
        self.change(session, Step::TakeOrderNumber, &[w, d], What("district", order.district, order.warehouse)).await?;
        self.send(session, Step::CustomerTerms, &[w, d, c], &mut ()).await?;
        let id = Value::Int(next.0.unwrap_or(0));
        let all_local = self.lines.iter().all(|line| line.supplier == order.warehouse);
        let values = [id, d, w, c, int(order.lines), int(all_local.into())];
        self.send(session, Step::InsertOrder, &values, &mut ()).await?;
        self.send(session, Step::InsertNewOrder, &[id, d, w], &mut ()).await?;
        Ok(id)
    }

    /// Writes a line. False where its item is the one that nobody has.
    async fn order_line<S: Session>(
        &mut self,
        session: &mut S,
        order: &NewOrder,
        id: Value<'_>,
        line: Line,
        number: u32,
    ) -> Result<bool, Fault> {
        let (w, d, item, supplier) = (int(order.warehouse), int(order.district), int(line.item), int(line.supplier));
        let mut price = Cents::default();
        self.send(session, Step::Item, &[item], &mut price).await?;
        if line.item == UNUSED_ITEM {
            return Ok(false);
        }
        let mut dist_info = std::mem::take(&mut self.text);
        let mut stock = Stock { quantity: 0, dist_info: &mut dist_info };
        let read = self.send(session, Step::Stock, &[d, supplier, item], &mut stock).await;
        let left = left_in_stock(stock.quantity, line.quantity.into());
        self.text = dist_info;
        read?;
        let (quantity, remote) = (int(line.quantity), int((line.supplier != order.warehouse).into()));
        let taken = [Value::Int(left), quantity, remote, supplier, item];
        self.change(session, Step::TakeStock, &taken, What("stock of item", line.item, line.supplier)).await?;
        let amount = Value::Decimal(price.0.unwrap_or(0) * i64::from(line.quantity), 2);
        let values = [id, d, w, int(number), item, amount, supplier, quantity, Value::Text(&self.text)];
        self.send(session, Step::InsertLine, &values, &mut ()).await?;
        Ok(true)
    }
}

/// What is left when `quantity` was taken; where that would be less than 10, 91 come in [2.4.2.2].
fn left_in_stock(before: i64, quantity: i64) -> i64 {
    if before >= quantity + 10 { before - quantity } else { before - quantity + 91 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_filled_up_before_it_runs_out() {
        for (before, quantity, left) in [(100, 10, 90), (20, 10, 10), (19, 10, 100), (10, 1, 100), (11, 1, 10)] {
            assert_eq!(left_in_stock(before, quantity), left, "{before} - {quantity}");
        }
    }
}
