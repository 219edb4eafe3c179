//! What a workload may ask of one database connection, whatever database it is.
//!
//! The traits belong to this crate because workloads consume them; drivers in `agent/src/session/` implement them.
//! Nothing here opens a socket or reads a clock.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::sql::Statement;
use crate::study::Target;

/// The SQL a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// MySQL, MariaDB and compatibles.
    Mysql,
    /// Microsoft SQL Server.
    Mssql,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// Name of the dialect as in `sql/<workload>/<dialect>.sql`.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Mysql => "mysql",
            Dialect::Mssql => "mssql",
            Dialect::Sqlite => "sqlite",
        }
    }
}

/// One value on its way to or from a database, borrowed from whoever owns it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// Any integer.
    Int(i64),
    /// A binary floating-point number.
    Float(f64),
    /// An exact number: unscaled digits and the digits after the point.
    Decimal(i64, u8),
    /// Character data.
    Text(&'a str),
    /// Binary data.
    Bytes(&'a [u8]),
    /// A point in time, microseconds since the Unix epoch, UTC.
    Instant(i64),
}

/// A statement's index in the list that the workload declared at [`Session::connect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stmt(pub u16);

/// One row of a result, valid while it is being looked at.
pub trait Row {
    /// Number of columns.
    fn len(&self) -> usize;
    /// Whether there are no columns.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Value of a column, counted from 0. [`Value::Null`] beyond the last one.
    fn get(&self, column: usize) -> Value<'_>;
}

/// Receives the rows of a statement. `()` ignores them.
pub trait Rows {
    /// A further result set begins; the first has index 0 and is announced too.
    fn set(&mut self, _index: usize) {}
    /// One row of the current set.
    fn row(&mut self, row: &impl Row);
}

impl Rows for () {
    fn row(&mut self, _row: &impl Row) {}
}

/// Whether a transaction will write. Databases that lock at the start need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads only.
    Read,
    /// Writes, or may write.
    Write,
}

/// Why a database call failed, as far as virtual users care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// Chosen as a deadlock's victim, or the record changed under the transaction (MySQL 1213, 1020).
    Deadlock,
    /// Waited too long for a lock (MySQL 1205, SQLite busy).
    LockTimeout,
    /// Snapshot or serialization conflict.
    Serialization,
    /// The connection is gone; what was under way may or may not have happened.
    ConnectionLost,
    /// The server would not let us in: login, limits, shutdown.
    Refused,
    /// The statement itself is wrong here: syntax, missing table, constraint.
    Statement,
    /// A unique key already has this value (MySQL 1062).
    Duplicate,
    /// The transaction outlived its deadline, or was interrupted to end the run.
    Deadline,
    /// The server is short of memory, threads or quota for now (SQL Server 701, 8645, 10928, 40501).
    Overloaded,
}

impl FaultKind {
    /// All kinds, in the order of reports.
    pub const ALL: [FaultKind; 9] = [
        FaultKind::Deadlock,
        FaultKind::LockTimeout,
        FaultKind::Serialization,
        FaultKind::ConnectionLost,
        FaultKind::Refused,
        FaultKind::Statement,
        FaultKind::Duplicate,
        FaultKind::Deadline,
        FaultKind::Overloaded,
    ];

    /// The kind's name in results.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Deadlock => "deadlock",
            FaultKind::LockTimeout => "lock_timeout",
            FaultKind::Serialization => "serialization",
            FaultKind::ConnectionLost => "connection_lost",
            FaultKind::Refused => "refused",
            FaultKind::Statement => "statement",
            FaultKind::Duplicate => "duplicate_key",
            FaultKind::Deadline => "deadline",
            FaultKind::Overloaded => "overloaded",
        }
    }

    /// Position in [`FaultKind::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether the same transaction, sent again with the same inputs, may well succeed.
    pub fn is_transient(self) -> bool {
        matches!(self, FaultKind::Deadlock | FaultKind::LockTimeout | FaultKind::Serialization | FaultKind::Overloaded)
    }

    /// Whether the connection cannot be used any more.
    pub fn ends_connection(self) -> bool {
        matches!(self, FaultKind::ConnectionLost | FaultKind::Refused)
    }
}

/// A failed database call: a kind to act on, and the database's own words to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// What to do about it.
    pub kind: FaultKind,
    /// The database's own number, where it has one.
    pub code: Option<i32>,
    /// The database's own words.
    pub message: Box<str>,
}

impl Fault {
    /// A fault without a number.
    pub fn new(kind: FaultKind, message: impl Into<Box<str>>) -> Self {
        Fault { kind, code: None, message: message.into() }
    }

    /// A fault with the database's number.
    pub fn with_code(kind: FaultKind, code: i32, message: impl Into<Box<str>>) -> Self {
        Fault { kind, code: Some(code), message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} ({code})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// How to stop the query that a session is busy with, from outside of it.
#[derive(Clone)]
pub enum Interrupt {
    /// Send this statement on another connection of the same login.
    Statement(Arc<str>),
    /// Call this; it returns at once.
    Call(Arc<dyn Stop>),
    /// Nothing can be done but dropping the session.
    None,
}

/// Something that stops a query when it is told to.
pub trait Stop: Send + Sync {
    /// Stops it. Returns at once.
    fn stop(&self);
}

impl<F: Fn() + Send + Sync> Stop for F {
    fn stop(&self) {
        self();
    }
}

/// Rows to load, one at a time, each lent to `put` so that no row is allocated.
pub trait Source {
    /// Lends the next row to `put`; false when there is none left.
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool;
}

/// One database connection with its own transaction stream.
///
/// After any `Err` of a kind that [ends the connection](FaultKind::ends_connection), and after a future of it was
/// dropped half-way, a session must not be used again, only [discarded](Session::discard).
#[allow(async_fn_in_trait)] // sessions never leave the thread they were opened on
pub trait Session: Sized + 'static {
    /// What SQL it speaks.
    const DIALECT: Dialect;
    /// Calls block the thread: each session gets a thread and an event loop of its own.
    const BLOCKING: bool = false;
    /// It brings tokio's sockets along, and works only inside of tokio's runtime.
    const ON_TOKIO: bool = false;
    /// There is a database behind it: a query that returns no row means that the row is not there.
    const HAS_ROWS: bool = true;

    /// Opens a connection that will send `statements`. None of them is prepared yet.
    async fn connect(target: &Target, statements: Rc<[Statement]>) -> Result<Self, Fault>;

    /// Opens a connection that only asks: nothing is changed by opening it either.
    async fn connect_to_ask(target: &Target) -> Result<Self, Fault> {
        Self::connect(target, Rc::from([])).await
    }

    /// Opens a connection that will load rows.
    async fn connect_to_load(target: &Target) -> Result<Self, Fault> {
        Self::connect(target, Rc::from([])).await
    }

    /// Whether a server that did not let us in with this fault may do so a moment later.
    fn may_let_in(fault: &Fault) -> bool {
        fault.kind == FaultKind::ConnectionLost
    }

    /// Prepares a declared statement now; without it, [`execute`](Session::execute) does so on first use.
    async fn prepare(&mut self, stmt: Stmt) -> Result<(), Fault>;

    /// Executes a declared statement with its parameters in slot order. Returns the affected rows. Every result set is
    /// read to its end, so that an error in a later one is not missed.
    async fn execute(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault>;

    /// Sends SQL text as it is: DDL, SET, control statements.
    async fn batch(&mut self, sql: &str) -> Result<(), Fault> {
        self.query(sql, &mut ()).await
    }

    /// Sends SQL text as it is and reads what it returns.
    async fn query(&mut self, sql: &str, rows: &mut impl Rows) -> Result<(), Fault>;

    /// Starts a transaction.
    async fn begin(&mut self, access: Access) -> Result<(), Fault>;

    /// Commits the transaction. A lost connection here means that its outcome is unknown.
    async fn commit(&mut self) -> Result<(), Fault>;

    /// Rolls the transaction back; harmless when there is none.
    async fn rollback(&mut self) -> Result<(), Fault>;

    /// Proves that the connection is alive without counting as a statement.
    async fn ping(&mut self) -> Result<(), Fault>;

    /// Loads rows in batches that the server accepts, each batch committed by itself unless a transaction is open
    /// already. Returns the rows loaded.
    async fn bulk(&mut self, table: &str, columns: &[&str], rows: &mut dyn Source) -> Result<u64, Fault>;

    /// How [`bulk`](Session::bulk) sends rows, for whoever reads about a build: "TDS bulk load".
    fn bulk_way(&self) -> &'static str;

    /// How another connection or thread stops this one's query.
    fn interrupt(&self) -> Interrupt;

    /// The server's id of this connection, where it has one.
    fn id(&self) -> Option<u64> {
        None
    }

    /// The time of this process's host, microseconds since the Unix epoch: for stored procedures that want their caller's.
    /// None where statements take the database's own.
    fn now(&self) -> Option<i64> {
        None
    }

    /// What an error means that arrived in a row: a procedure caught it and selected its number and its words.
    fn fault(code: i32, message: &str) -> Fault {
        Fault::with_code(FaultKind::Statement, code, message)
    }

    /// The server's version, as it tells it.
    fn version(&self) -> String;

    /// How the server was reached, for reports: "tcp, TLS", "unix socket", "file".
    fn describe(&self) -> String;

    /// Time spent since the last call waiting inside this process for the database (SQLite's writer gate).
    fn take_queued(&mut self) -> Duration {
        Duration::ZERO
    }

    /// A workload met this fault and handles it itself; whoever counts wants to know.
    fn note(&mut self, _fault: &Fault) {}

    /// Drops the connection without goodbye and without waiting.
    fn discard(self);

    /// Says goodbye.
    async fn close(self);
}
