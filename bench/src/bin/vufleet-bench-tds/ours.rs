//! vufleet's session, called as a virtual user calls it.

use std::rc::Rc;

use anyhow::Result;
use vufleet_agent::session::MssqlSession;
use vufleet_scenarios::session::{Row, Rows, Session, Stmt, Value};
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::Target;

use crate::calls::Call;
use crate::compare::Caller;

/// A session; what is called is its first statement.
pub struct Ours(MssqlSession);

impl Ours {
    /// Executes a statement that has so many parameters, as nothing but NULL.
    pub async fn execute(&mut self, statement: usize, parameters: usize) -> Result<()> {
        let values = vec![Value::Null; parameters];
        self.0.execute(Stmt(u16::try_from(statement)?), &values, &mut ()).await?;
        Ok(())
    }
}

/// Counts rows, and looks at their last column, as TPROC-C does for the number of an order.
#[derive(Default)]
struct Last {
    rows: u64,
    is_there: bool,
}

impl Rows for Last {
    fn row(&mut self, row: &impl Row) {
        self.rows += 1;
        self.is_there = row.get(row.len().saturating_sub(1)) != Value::Null;
    }
}

impl Caller for Ours {
    async fn open(target: &Target, statements: &Rc<[Statement]>) -> Result<Ours> {
        Ok(Ours(MssqlSession::connect(target, Rc::clone(statements)).await?))
    }

    async fn call(&mut self, call: Call) -> Result<u64> {
        let mut last = Last::default();
        self.0.execute(Stmt(0), call.values(), &mut last).await?;
        Ok(if last.is_there { last.rows } else { 0 })
    }
}
