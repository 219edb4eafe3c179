//! Order-Status by statements [2.6.2].

use super::rows::{AnyRow, Whole};
use super::{Step, TprocC, What, int, missing};
use crate::session::{Access, Fault, Session, Value};
use crate::tprocc::draw::OrderStatus;
use crate::workload::Outcome;

impl TprocC {
    pub(super) async fn order_status<S: Session>(
        &mut self,
        session: &mut S,
        query: OrderStatus,
    ) -> Result<Outcome, Fault> {
        session.begin(Access::Read).await?;
        let (w, d) = (int(query.warehouse), int(query.district));
        let id = self.customer_id(session, query.warehouse, query.district, query.customer).await?;
        let customer = int(id);
        let mut is_there = AnyRow(false);
        self.send(session, Step::CustomerBalance, &[w, d, customer], &mut is_there).await?;
        if S::HAS_ROWS && !is_there.0 {
            return Err(missing(What("customer", id, query.warehouse)));
        }
        let mut order = Whole::default();
        self.send(session, Step::LastOrder, &[w, d, customer], &mut order).await?;
        // In a database that HammerDB loaded a customer may have none.
        let order = Value::Int(order.0.unwrap_or(0));
        self.send(session, Step::OrderLines, &[w, d, order], &mut ()).await?;
        session.commit().await?;
        Ok(Outcome::Committed)
    }
}
