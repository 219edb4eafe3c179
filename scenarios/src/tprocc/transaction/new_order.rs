//! New-Order by statements [2.4.2].

use super::rows::{Cents, DistInfo, Whole};
use super::{Step, TprocC, What, int};
use crate::session::{Access, Dialect, Fault, Session, Value};
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
        let district = [w, d];
        let what = What("district", order.district, order.warehouse);
        let id = match S::DIALECT {
            // A plain read locks nothing, but may wait for whoever pays, who has the warehouse and waits for the district: it
            // comes before the district's lock, and the change that locks it before its number is read.
            Dialect::Mssql => {
                self.send(session, Step::CustomerTerms, &[w, d, c], &mut ()).await?;
                self.change(session, Step::TakeOrderNumber, &district, what).await?;
                self.order_number(session, &district).await?
            }
            // The district's lock first: what is read after it is no older.
            Dialect::Mysql | Dialect::Sqlite => {
                let id = self.order_number(session, &district).await?;
                self.change(session, Step::TakeOrderNumber, &district, what).await?;
                self.send(session, Step::CustomerTerms, &[w, d, c], &mut ()).await?;
                id
            }
        };
        let all_local = self.lines.iter().all(|line| line.supplier == order.warehouse);
        let values = [id, d, w, c, int(order.lines), int(all_local.into())];
        self.send(session, Step::InsertOrder, &values, &mut ()).await?;
        self.send(session, Step::InsertNewOrder, &[id, d, w], &mut ()).await?;
        Ok(id)
    }

    /// The number of the order that is being taken.
    async fn order_number<S: Session>(&self, session: &mut S, district: &[Value<'_>]) -> Result<Value<'static>, Fault> {
        let mut number = Whole::default();
        self.send(session, Step::NextOrder, district, &mut number).await?;
        Ok(Value::Int(number.0.unwrap_or(0)))
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
        let read = self.send(session, Step::Stock, &[d, supplier, item], &mut DistInfo(&mut dist_info)).await;
        self.text = dist_info;
        read?;
        let (quantity, remote) = (int(line.quantity), int((line.supplier != order.warehouse).into()));
        let taken = [quantity, quantity, quantity, remote, supplier, item];
        self.change(session, Step::TakeStock, &taken, What("stock of item", line.item, line.supplier)).await?;
        let amount = Value::Decimal(price.0.unwrap_or(0) * i64::from(line.quantity), 2);
        let values = [id, d, w, int(number), item, amount, supplier, quantity, Value::Text(&self.text)];
        self.send(session, Step::InsertLine, &values, &mut ()).await?;
        Ok(true)
    }
}
