//! MySQL, MariaDB and compatibles: the protocol itself, as light as the wire allows.
//!
//! A session sends what its caller asks for and nothing else, so that the server's counters can be compared with ours.
//! Between two commands it is a socket and the ids of its prepared statements: buffers belong to the thread. Parameters
//! are encoded where they are sent from; rows are lent to their reader where they lie, and a value that nobody asks for
//! is never decoded.
//!
//! Affected rows are changed rows, as sysbench counts them, not found rows. Handshake, proofs of passwords and constants are
//! mysql_common's.

mod answer;
mod bulk;
mod channel;
mod codec;
mod fault;
mod login;
mod params;
mod refusal;
mod row;
mod stream;
mod tls;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use vufleet_scenarios::session::{Access, Dialect, Fault, FaultKind, Interrupt, Rows, Session, Source, Stmt, Value};
use vufleet_scenarios::sql::{Protocol, Statement};
use vufleet_scenarios::study::Target;

use self::answer::{Dialogue, Preparation, Results};
use self::bulk::left;
use self::channel::Channel;
use self::fault::lost;
use self::login::{Opened, Purpose};
use self::params::write_execute;
use self::row::Encoding;
use super::text;
use crate::fine;

pub(super) use self::answer::ServerError;
pub(super) use self::bulk::{ARRAYS, INSERTS, Insert, Left, Table, insert_all};
pub(super) use self::fault::{of_commit, of_server};
pub(super) use self::refusal::{LoginError, refused, silent};
pub(super) use self::row::{Kind, characters};

/// Commands: <https://mariadb.com/kb/en/2-text-protocol/>.
const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PING: u8 = 0x0e;
const PREPARE: u8 = 0x16;
/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// One connection to a MySQL or MariaDB server.
pub struct MysqlSession {
    channel: Channel,
    dialogue: Dialogue,
    statements: Rc<[Statement]>,
    prepared: Box<[Option<Prepared>]>,
    id: u32,
    version: Arc<str>,
    route: &'static str,
}

/// A statement that the server knows.
struct Prepared {
    id: u32,
    params: u16,
    columns: Vec<Kind>,
}

async fn prepare(channel: &mut Channel, dialogue: Dialogue, sql: &str) -> Result<Prepared, Fault> {
    let mut preparation = Preparation::new(dialogue);
    let write = |out: &mut Vec<u8>| {
        out.push(PREPARE);
        out.extend_from_slice(sql.as_bytes());
    };
    channel.exchange(write, &mut preparation).await.map_err(|error| lost(&error))?;
    let Preparation { id, params, columns, error, .. } = preparation;
    error.map_or(Ok(Prepared { id, params, columns }), |error| Err(of_server(error)))
}

impl MysqlSession {
    async fn open(target: &Target, purpose: Purpose, statements: Rc<[Statement]>) -> Result<Self, Fault> {
        // Boxed: it is the largest future of a session's life and done with in a moment.
        let Opened { channel, dialogue, id, version, route } = Box::pin(login::open(target, purpose)).await?;
        let prepared = statements.iter().map(|_| None).collect();
        Ok(MysqlSession { channel, dialogue, statements, prepared, id, version, route })
    }

    async fn execute_prepared(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        let index = usize::from(stmt.0);
        if self.prepared[index].is_none() {
            self.prepare(stmt).await?;
        }
        let Some(prepared) = &mut self.prepared[index] else {
            unreachable!("a prepared statement that did not fail to prepare is there");
        };
        if usize::from(prepared.params) != params.len() {
            return Err(text::mismatch(&self.statements[index].sql, params.len()));
        }
        params::check(params)?;
        let mut results = Results::new(self.dialogue, Encoding::Binary, &mut prepared.columns, rows);
        let write = |out: &mut Vec<u8>| write_execute(prepared.id, params, out);
        self.channel.exchange(write, &mut results).await.map_err(|error| lost(&error))?;
        let (outcome, sets) = (results.outcome(), results.sets);
        if sets > 1 {
            // They are those of the last result, and the next call begins with the first.
            prepared.columns.clear();
        }
        outcome
    }

    async fn execute_text(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        let mut written = String::new();
        text::write(Dialect::Mysql, &self.statements[usize::from(stmt.0)].sql, params, &mut written)?;
        self.command(QUERY, &written, rows).await.map(|left| left.affected)
    }

    /// Sends a command with a text and reads what it leaves behind.
    async fn command(&mut self, command: u8, sql: &str, rows: &mut impl Rows) -> Result<Left, Fault> {
        let mut columns = Vec::new();
        let mut results = Results::new(self.dialogue, Encoding::Text, &mut columns, rows);
        let write = |out: &mut Vec<u8>| {
            out.push(command);
            out.extend_from_slice(sql.as_bytes());
        };
        self.channel.exchange(write, &mut results).await.map_err(|error| lost(&error))?;
        left(&mut results)
    }
}

impl Session for MysqlSession {
    const DIALECT: Dialect = Dialect::Mysql;

    async fn connect(target: &Target, statements: Rc<[Statement]>) -> Result<Self, Fault> {
        MysqlSession::open(target, Purpose::Work, statements).await
    }

    async fn connect_to_load(target: &Target) -> Result<Self, Fault> {
        MysqlSession::open(target, Purpose::Load, Rc::from([])).await
    }

    /// 1040: too many connections. Those of the run before may still be closing.
    fn may_let_in(fault: &Fault) -> bool {
        fault.kind == FaultKind::ConnectionLost || fault.code == Some(1040)
    }

    async fn prepare(&mut self, stmt: Stmt) -> Result<(), Fault> {
        let index = usize::from(stmt.0);
        let statement = &self.statements[index];
        if statement.protocol != Protocol::Prepared || self.prepared[index].is_some() {
            return Ok(());
        }
        let sql = &statement.sql;
        self.prepared[index] = Some(prepare(&mut self.channel, self.dialogue, sql).await?);
        Ok(())
    }

    async fn execute(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        match self.statements[usize::from(stmt.0)].protocol {
            Protocol::Prepared => self.execute_prepared(stmt, params, rows).await,
            Protocol::Text => self.execute_text(stmt, params, rows).await,
        }
    }

    async fn query(&mut self, sql: &str, rows: &mut impl Rows) -> Result<(), Fault> {
        self.command(QUERY, sql, rows).await.map(drop)
    }

    /// Plain BEGIN whatever the access, so that the statements on the wire are those of other load generators.
    async fn begin(&mut self, _access: Access) -> Result<(), Fault> {
        self.batch("BEGIN").await
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        self.batch("COMMIT").await.map_err(of_commit)
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.batch("ROLLBACK").await
    }

    async fn ping(&mut self) -> Result<(), Fault> {
        self.command(PING, "", &mut ()).await.map(drop)
    }

    async fn bulk(&mut self, table: &str, columns: &[&str], rows: &mut dyn Source) -> Result<u64, Fault> {
        self.load(Table { name: table, columns }, rows).await
    }

    fn bulk_way(&self) -> &'static str {
        if self.dialogue.arrays { ARRAYS } else { INSERTS }
    }

    /// A KILL QUERY that arrives between two statements ends the next one: whoever sends it late must expect that.
    fn interrupt(&self) -> Interrupt {
        Interrupt::Statement(format!("KILL QUERY {}", self.id).into())
    }

    fn id(&self) -> Option<u64> {
        Some(self.id.into())
    }

    fn version(&self) -> String {
        self.version.to_string()
    }

    fn describe(&self) -> String {
        self.route.to_owned()
    }

    /// Dropping it closes the socket.
    fn discard(self) {}

    async fn close(mut self) {
        // Whether the server heard it does not matter to anybody: the socket is closed either way.
        self.channel.restart();
        fine::timeout(GOODBYE, self.channel.send(|out| out.push(QUIT))).await.map(Result::ok);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_small() {
        let size = size_of::<MysqlSession>();
        assert!(size <= 192, "{size} bytes");
    }
}
