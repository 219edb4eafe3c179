//! Stock-Level by statements [2.8.2].

use super::rows::Whole;
use super::{Step, TprocC, What, int, missing};
use crate::session::{Access, Fault, Session, Value};
use crate::workload::Outcome;

/// How many of the district's last orders are looked at.
const LAST_ORDERS: i64 = 20;

impl TprocC {
    /// `inputs`: warehouse, district and threshold.
    pub(super) async fn stock_level<S: Session>(&self, session: &mut S, inputs: [u32; 3]) -> Result<Outcome, Fault> {
        let [w, d, threshold] = inputs.map(int);
        session.begin(Access::Read).await?;
        let mut next = Whole::default();
        self.send(session, Step::OrdersSoFar, &[w, d], &mut next).await?;
        if S::HAS_ROWS && next.0.is_none() {
            return Err(missing(What("district", inputs[1], inputs[0])));
        }
        let next = next.0.unwrap_or(0);
        let values = [w, d, Value::Int(next - LAST_ORDERS), Value::Int(next), threshold];
        self.send(session, Step::LowStock, &values, &mut ()).await?;
        session.commit().await?;
        Ok(Outcome::Committed)
    }
}
