//! Order-Status by statements [2.6.2].

use super::rows::Whole;
use super::{Step, TprocC, int};
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
        let customer = int(self.customer_id(session, query.warehouse, query.district, query.customer).await?);
        self.send(session, Step::CustomerBalance, &[w, d, customer], &mut ()).await?;
        let mut order = Whole::default();
        self.send(session, Step::LastOrder, &[w, d, customer], &mut order).await?;
        // Every customer has an order, where there are customers.
        let order = Value::Int(order.0.unwrap_or(0));
        self.send(session, Step::OrderLines, &[w, d, order], &mut ()).await?;
        session.commit().await?;
        Ok(Outcome::Committed)
    }
}
