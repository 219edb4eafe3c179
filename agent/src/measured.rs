//! A session that counts: what was sent, and whether a connection that breaks now leaves an outcome unknown.

use std::rc::Rc;
use std::time::Duration;

use vufleet_scenarios::session::{Access, Dialect, Fault, FaultKind, Interrupt, Rows, Session, Source, Stmt};
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::Target;

/// Wraps any session; adds no await, no allocation and no branch that a driver would notice.
pub struct Measured<S> {
    inner: S,
    statements: Rc<[Statement]>,
    sent: u64,
    in_transaction: bool,
    uncertain: bool,
    noted: Option<Box<[u32; FaultKind::ALL.len()]>>,
}

impl<S: Session> Measured<S> {
    /// Statements sent since the last call.
    pub fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }

    /// Whether something that commits was under way: if the connection broke, nobody knows whether it took effect.
    pub fn is_uncertain(&self) -> bool {
        self.uncertain
    }

    /// Faults that the workload handled by itself since the last call.
    pub fn take_noted(&mut self) -> Option<Box<[u32; FaultKind::ALL.len()]>> {
        self.noted.take()
    }

    fn ends(&mut self, result: &Result<(), Fault>) {
        self.in_transaction = false;
        self.settle(result);
    }

    /// Everything but a lost connection is an answer.
    fn settle<T>(&mut self, result: &Result<T, Fault>) {
        if !matches!(result, Err(fault) if fault.kind == FaultKind::ConnectionLost) {
            self.uncertain = false;
        }
    }
}

impl<S: Session> Session for Measured<S> {
    const DIALECT: Dialect = S::DIALECT;
    const BLOCKING: bool = S::BLOCKING;
    const ON_TOKIO: bool = S::ON_TOKIO;
    const HAS_ROWS: bool = S::HAS_ROWS;

    async fn connect(target: &Target, statements: Rc<[Statement]>) -> Result<Self, Fault> {
        let inner = S::connect(target, Rc::clone(&statements)).await?;
        Ok(Measured { inner, statements, sent: 0, in_transaction: false, uncertain: false, noted: None })
    }

    fn may_let_in(fault: &Fault) -> bool {
        S::may_let_in(fault)
    }

    async fn prepare(&mut self, stmt: Stmt) -> Result<(), Fault> {
        self.inner.prepare(stmt).await
    }

    async fn execute(
        &mut self,
        stmt: Stmt,
        params: &[vufleet_scenarios::session::Value<'_>],
        rows: &mut impl Rows,
    ) -> Result<u64, Fault> {
        self.sent += 1;
        self.uncertain = !self.in_transaction && self.statements[usize::from(stmt.0)].writes;
        let result = self.inner.execute(stmt, params, rows).await;
        self.settle(&result);
        result
    }

    async fn query(&mut self, sql: &str, rows: &mut impl Rows) -> Result<(), Fault> {
        self.sent += 1;
        self.inner.query(sql, rows).await
    }

    async fn begin(&mut self, access: Access) -> Result<(), Fault> {
        self.sent += 1;
        self.in_transaction = true;
        self.inner.begin(access).await
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        self.sent += 1;
        self.uncertain = true;
        let result = self.inner.commit().await;
        self.ends(&result);
        result
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.sent += 1;
        let result = self.inner.rollback().await;
        self.ends(&result);
        result
    }

    async fn ping(&mut self) -> Result<(), Fault> {
        self.inner.ping().await
    }

    async fn bulk(&mut self, table: &str, columns: &[&str], rows: &mut dyn Source) -> Result<u64, Fault> {
        self.inner.bulk(table, columns, rows).await
    }

    fn interrupt(&self) -> Interrupt {
        self.inner.interrupt()
    }

    fn id(&self) -> Option<u64> {
        self.inner.id()
    }

    fn now(&self) -> Option<i64> {
        self.inner.now()
    }

    fn fault(code: i32, message: &str) -> Fault {
        S::fault(code, message)
    }

    fn version(&self) -> String {
        self.inner.version()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn take_queued(&mut self) -> Duration {
        self.inner.take_queued()
    }

    fn note(&mut self, fault: &Fault) {
        self.noted.get_or_insert_default()[fault.kind.index()] += 1;
    }

    fn discard(self) {
        self.inner.discard();
    }

    async fn close(self) {
        self.inner.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::MssqlSession;

    #[test]
    fn what_an_error_in_a_row_means_is_the_drivers_to_say() {
        assert_eq!(Measured::<MssqlSession>::fault(1205, "chosen").kind, FaultKind::Deadlock);
        assert_eq!(Measured::<MssqlSession>::fault(547, "conflict").kind, FaultKind::Statement);
    }
}
