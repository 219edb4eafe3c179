//! MySQL, MariaDB and compatibles, by way of mysql_async: `driver = "mysql_async"`.
//!
//! The client's own cleverness is switched off: no move from TCP to the unix socket, no statement cache, no settings
//! read at each connect. A session sends what its caller asks for and nothing else, so that the server's counters can
//! be compared with ours. (Once a process and server, the first session asks for the version.)
//!
//! Affected rows are changed rows, as sysbench counts them, not found rows. A decimal parameter of a prepared statement
//! travels as text, since the client has no other form for it: exact when stored, but compared as a double by the
//! server; the text protocol writes it as a number. Per call the client wants its parameters as a vector of owned
//! values, which is the one allocation here that cannot be avoided.

mod connect;
mod row;

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use mysql_async::prelude::{Protocol as WireProtocol, Queryable};
use mysql_async::{Conn, Error, Params, QueryResult};
use vufleet_scenarios::session::{Access, Dialect, Fault, FaultKind, Interrupt, Rows, Session, Source, Stmt, Value};
use vufleet_scenarios::sql::{Protocol, Statement};
use vufleet_scenarios::study::Target;

use self::connect::Opened;
use self::row::AsyncRow;
use super::mysql::{MysqlSession, ServerError, bulk, of_commit, of_server};
use super::text;

/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// One connection to a MySQL or MariaDB server.
pub struct MysqlAsyncSession {
    conn: Conn,
    statements: Rc<[Statement]>,
    prepared: Box<[Option<mysql_async::Statement>]>,
    version: Arc<str>,
    route: &'static str,
    text: String,
}

impl MysqlAsyncSession {
    async fn command(&mut self, sql: &str) -> Result<(), Fault> {
        let result = self.conn.query_iter(sql).await.map_err(fault)?;
        read(result, &mut ()).await.map(drop)
    }

    async fn execute_prepared(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        let index = usize::from(stmt.0);
        if self.prepared[index].is_none() {
            self.prepare(stmt).await?;
        }
        let Some(prepared) = &self.prepared[index] else {
            unreachable!("a prepared statement that did not fail to prepare is there");
        };
        // The client would close the connection over a wrong number of parameters.
        if usize::from(prepared.num_params()) != params.len() {
            return Err(text::mismatch(&self.statements[index].sql, params.len()));
        }
        let result = self.conn.exec_iter(prepared, owned(params)?).await.map_err(fault)?;
        read(result, rows).await
    }

    async fn execute_text(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        self.text.clear();
        text::write(Dialect::Mysql, &self.statements[usize::from(stmt.0)].sql, params, &mut self.text)?;
        let result = self.conn.query_iter(self.text.as_str()).await.map_err(fault)?;
        read(result, rows).await
    }
}

/// Reads every result set to its end. Returns the affected rows of all statements behind it.
async fn read<P: WireProtocol>(mut result: QueryResult<'_, 'static, P>, rows: &mut impl Rows) -> Result<u64, Fault> {
    let mut affected = 0;
    let mut sets = 0;
    while let Some(columns) = result.columns() {
        if columns.is_empty() {
            affected += result.affected_rows();
        } else {
            rows.set(sets);
            sets += 1;
        }
        drop(columns);
        while let Some(row) = result.next().await.map_err(fault)? {
            rows.row(&AsyncRow(&row));
        }
    }
    // An error in a later result set looks like the end until somebody asks.
    result.drop_result().await.map_err(fault)?;
    Ok(affected)
}

/// A failed call on an open connection.
fn fault(error: Error) -> Fault {
    match error {
        Error::Server(error) => of_server(ServerError { code: error.code, state: error.state, message: error.message }),
        // The client closes the connection after any error that is not the server's.
        other => Fault::new(FaultKind::ConnectionLost, other.to_string()),
    }
}

fn owned(params: &[Value<'_>]) -> Result<Params, Fault> {
    if params.is_empty() {
        return Ok(Params::Empty);
    }
    params.iter().map(row::owned).collect::<Result<Vec<_>, Fault>>().map(Params::Positional)
}

impl Session for MysqlAsyncSession {
    const DIALECT: Dialect = Dialect::Mysql;
    const ON_TOKIO: bool = true;

    async fn connect(target: &Target, statements: Rc<[Statement]>) -> Result<Self, Fault> {
        // Boxed: it is the largest future of a session's life and done with in a moment.
        let Opened { conn, version, route } = Box::pin(connect::open(target)).await?;
        let prepared = statements.iter().map(|_| None).collect();
        Ok(MysqlAsyncSession { conn, statements, prepared, version, route, text: String::new() })
    }

    fn may_let_in(fault: &Fault) -> bool {
        MysqlSession::may_let_in(fault)
    }

    async fn prepare(&mut self, stmt: Stmt) -> Result<(), Fault> {
        let index = usize::from(stmt.0);
        let statement = &self.statements[index];
        if statement.protocol == Protocol::Prepared && self.prepared[index].is_none() {
            self.prepared[index] = Some(self.conn.prep(statement.sql.as_str()).await.map_err(fault)?);
        }
        Ok(())
    }

    async fn execute(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        match self.statements[usize::from(stmt.0)].protocol {
            Protocol::Prepared => self.execute_prepared(stmt, params, rows).await,
            Protocol::Text => self.execute_text(stmt, params, rows).await,
        }
    }

    async fn query(&mut self, sql: &str, rows: &mut impl Rows) -> Result<(), Fault> {
        let result = self.conn.query_iter(sql).await.map_err(fault)?;
        read(result, rows).await.map(drop)
    }

    /// Plain BEGIN whatever the access, so that the statements on the wire are those of other load generators.
    async fn begin(&mut self, _access: Access) -> Result<(), Fault> {
        self.command("BEGIN").await
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        self.command("COMMIT").await.map_err(of_commit)
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.command("ROLLBACK").await
    }

    async fn ping(&mut self) -> Result<(), Fault> {
        self.conn.ping().await.map_err(fault)
    }

    async fn bulk(&mut self, table: &str, columns: &[&str], rows: &mut dyn Source) -> Result<u64, Fault> {
        bulk(self, table, columns, rows).await
    }

    /// A KILL QUERY that arrives between two statements ends the next one: whoever sends it late must expect that.
    fn interrupt(&self) -> Interrupt {
        Interrupt::Statement(format!("KILL QUERY {}", self.conn.id()).into())
    }

    fn id(&self) -> Option<u64> {
        Some(self.conn.id().into())
    }

    fn version(&self) -> String {
        self.version.to_string()
    }

    fn describe(&self) -> String {
        format!("{}, mysql_async", self.route)
    }

    fn discard(mut self) {
        if self.conn.is_disconnected() {
            return;
        }
        // Dropped as it is, the client would say goodbye in a task of its own and wait for what is still under way. A
        // command that was begun and not finished makes it close the socket at once instead.
        let mut ping = self.conn.ping();
        let mut context = Context::from_waker(Waker::noop());
        if ping.as_mut().poll(&mut context).is_ready() {
            tracing::debug!("a discarded connection had been answered already");
        }
    }

    async fn close(self) {
        // Whether the server heard it does not matter to anybody: the socket is closed either way.
        tokio::time::timeout(GOODBYE, self.conn.disconnect()).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_without_its_buffers_is_small() {
        let size = size_of::<MysqlAsyncSession>();
        assert!(size <= 128, "{size} bytes");
    }

    #[test]
    fn params_become_the_clients_own() {
        assert_eq!(owned(&[]).unwrap(), Params::Empty);
        assert!(
            matches!(owned(&[Value::Int(1), Value::Null]).unwrap(), Params::Positional(values) if values.len() == 2)
        );
        assert_eq!(owned(&[Value::Float(f64::NAN)]).unwrap_err().kind, FaultKind::Statement);
    }
}
