//! SQLite, inline: every call blocks its thread, so each session has a thread and an event loop of its own.
//!
//! Settings that differ from SQLite's own: `journal_mode = WAL` (readers and the writer do not block each other),
//! `synchronous = NORMAL` (a power cut may take the last transactions, never the file). Foreign keys stay off and the
//! automatic checkpoint stays at 1,000 pages, as in any plain connection.
//!
//! Writers of one process queue at a [gate](gate::Gate) per file, first come first served; a busy handler stays behind
//! it, because the gate does not span processes. A missing file is created, since building a schema starts with one; a
//! session that made it and put nothing into it takes it away again, so that a check of a mistyped path leaves no file.
//!
//! A session that only asks opens the file to read and leaves its journal mode alone; where there is no file, it asks the empty
//! database that there would be.
//!
//! Values: a decimal becomes a number (an integer when it has no digits after the point), a point in time the text
//! `2026-01-31 23:59:58.000000`, and both are read back as such.

mod fault;
mod gate;
mod values;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, OpenFlags};
use vufleet_scenarios::session::{Access, Dialect, Fault, FaultKind, Interrupt, Rows, Session, Source, Stmt, Value};
use vufleet_scenarios::sql::{Protocol, Statement};
use vufleet_scenarios::study::Target;

use self::fault::{fault, unopened};
use self::gate::{Gate, Passage, Signal};
use self::values::{Counted, bind, smuggled, step};
use super::text;
use crate::fine;

/// How long a writer of another process may keep us waiting, unless the deadline is shorter.
const BUSY_LIMIT: Duration = Duration::from_secs(5);
/// Rows of one transaction while loading: long enough to be cheap, short enough to let others write.
const BULK_ROWS: u64 = 10_000;
/// BEGIN, COMMIT and the like, kept prepared beside the workload's statements.
const CONTROL_STATEMENTS: usize = 8;

/// One connection to a SQLite file.
pub struct SqliteSession {
    connection: Connection,
    statements: Rc<[Statement]>,
    passage: Passage,
    text: String,
    /// The file, when this session made it.
    made: Option<PathBuf>,
}

impl SqliteSession {
    /// What comes before every statement. Outside of a transaction it starts something new.
    async fn enter(&mut self, access: Access) -> Result<(), Fault> {
        if self.connection.is_autocommit() {
            self.passage.start().await;
        }
        self.passage.enter(access).await
    }

    /// What comes after every statement: the turn ends, unless a transaction is open.
    fn leave<T>(&mut self, result: Result<T, rusqlite::Error>) -> Result<T, Fault> {
        if self.connection.is_autocommit() {
            self.passage.leave();
        }
        result.map_err(fault)
    }

    fn control(&mut self, sql: &str) -> Result<(), Fault> {
        let result = self.connection.prepare_cached(sql).and_then(|mut statement| statement.raw_execute());
        self.leave(result).map(drop)
    }

    fn run_prepared(&self, sql: &str, params: &[Value<'_>], rows: &mut impl Rows) -> rusqlite::Result<u64> {
        let mut statement = self.connection.prepare_cached(sql)?;
        bind(&mut statement, params)?;
        step(&self.connection, &mut statement, rows)
    }

    fn run_text(&mut self, sql: &str, params: &[Value<'_>], rows: &mut impl Rows) -> rusqlite::Result<u64> {
        self.text.clear();
        text::write(Dialect::Sqlite, sql, params, &mut self.text).map_err(smuggled)?;
        step(&self.connection, &mut self.connection.prepare(&self.text)?, rows)
    }

    /// Loads up to [`BULK_ROWS`] rows. Returns how many, and whether there may be more.
    fn load(&self, insert: &str, columns: usize, rows: &mut dyn Source) -> Result<(u64, bool), Fault> {
        let mut statement = self.connection.prepare_cached(insert).map_err(fault)?;
        let mut loaded = 0;
        while loaded < BULK_ROWS {
            let mut outcome = Ok(());
            let more = rows.next(&mut |row| {
                outcome = if row.len() == columns {
                    bind(&mut statement, row).and_then(|()| statement.raw_execute()).map(drop).map_err(fault)
                } else {
                    Err(text::mismatch(insert, row.len()))
                };
            });
            outcome?;
            if !more {
                return Ok((loaded, false));
            }
            loaded += 1;
        }
        Ok((loaded, true))
    }
}

fn path_of(target: &Target) -> Result<&PathBuf, Fault> {
    let missing = || Fault::new(FaultKind::Refused, "the target names no file; set target.path");
    target.path.as_ref().ok_or_else(missing)
}

/// Opens the file and its settings; the settings are written under the gate when the file is new.
async fn open(path: &Path, patience: Duration) -> Result<(Connection, Passage), rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let (connection, passage) = settle(connection, path, patience)?;
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode != "wal" {
        let _turn = Gate::of(path).pass().await;
        make_wal(&connection).await?;
    }
    Ok((connection, passage))
}

/// Opens the file and writes nothing to it.
fn open_to_ask(path: &Path, patience: Duration) -> Result<(Connection, Passage), rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).or_else(|error| {
        let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        if path.exists() || !directory.is_dir() { Err(error) } else { Connection::open_in_memory() }
    })?;
    let (connection, passage) = settle(connection, path, patience)?;
    connection.pragma_update(None, "query_only", true)?;
    // The file is looked at by the first statement, not by opening it.
    connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
    Ok((connection, passage))
}

/// What a connection has whatever it is for.
fn settle(
    mut connection: Connection,
    path: &Path,
    patience: Duration,
) -> Result<(Connection, Passage), rusqlite::Error> {
    let signal = Arc::new(Signal::new(connection.get_interrupt_handle()));
    let handler_signal = Arc::clone(&signal);
    let mut since = Instant::now();
    connection.busy_handler(Some(move |attempts: i32| {
        if attempts == 0 {
            since = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(1 << attempts.clamp(0, 5)));
        since.elapsed() < patience && !handler_signal.is_raised()
    }))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // The bundled build switches them on, unlike SQLite's own.
    connection.pragma_update(None, "foreign_keys", false)?;
    Ok((connection, Passage::new(Gate::of(path), signal)))
}

/// Switching the journal mode does not always ask the busy handler, so this asks again by itself.
async fn make_wal(connection: &Connection) -> Result<(), rusqlite::Error> {
    let start = Instant::now();
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && start.elapsed() < BUSY_LIMIT =>
            {
                fine::sleep(Duration::from_millis(10)).await;
            }
            result => return result,
        }
    }
}

impl Session for SqliteSession {
    const DIALECT: Dialect = Dialect::Sqlite;
    const BLOCKING: bool = true;

    async fn connect(target: &Target, statements: Rc<[Statement]>) -> Result<Self, Fault> {
        let path = path_of(target)?;
        let made = (!path.exists()).then(|| path.clone());
        let (connection, passage) =
            open(path, BUSY_LIMIT.min(target.deadline)).await.map_err(|error| unopened(path, error))?;
        connection.set_prepared_statement_cache_capacity(statements.len() + CONTROL_STATEMENTS);
        Ok(SqliteSession { connection, statements, passage, text: String::new(), made })
    }

    async fn connect_to_ask(target: &Target) -> Result<Self, Fault> {
        let path = path_of(target)?;
        let (connection, passage) =
            open_to_ask(path, BUSY_LIMIT.min(target.deadline)).map_err(|error| unopened(path, error))?;
        Ok(SqliteSession { connection, statements: Rc::from([]), passage, text: String::new(), made: None })
    }

    async fn prepare(&mut self, stmt: Stmt) -> Result<(), Fault> {
        let statement = &self.statements[usize::from(stmt.0)];
        match statement.protocol {
            Protocol::Prepared => self.connection.prepare_cached(&statement.sql).map(drop).map_err(fault),
            Protocol::Text => Ok(()),
        }
    }

    async fn execute(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        let statements = Rc::clone(&self.statements);
        let statement = &statements[usize::from(stmt.0)];
        if params.len() != statement.slots.len() {
            return Err(text::mismatch(&statement.sql, params.len()));
        }
        self.enter(if statement.writes { Access::Write } else { Access::Read }).await?;
        let result = match statement.protocol {
            Protocol::Prepared => self.run_prepared(&statement.sql, params, rows),
            Protocol::Text => self.run_text(&statement.sql, params, rows),
        };
        self.leave(result)
    }

    async fn query(&mut self, sql: &str, rows: &mut impl Rows) -> Result<(), Fault> {
        if self.connection.is_autocommit() {
            self.passage.start().await;
        }
        let mut batch = Batch::new(&self.connection, sql);
        let mut rows = Counted { rows, set: 0 };
        // Each statement is prepared when the one before has run: it may need a table that did not exist yet.
        while let Some(mut statement) = batch.next().map_err(fault)? {
            self.passage.enter(if statement.readonly() { Access::Read } else { Access::Write }).await?;
            let result = step(&self.connection, &mut statement, &mut rows);
            drop(statement);
            if self.connection.is_autocommit() {
                self.passage.leave();
            }
            result.map_err(fault)?;
        }
        Ok(())
    }

    async fn begin(&mut self, access: Access) -> Result<(), Fault> {
        self.enter(access).await?;
        self.control(match access {
            Access::Read => "BEGIN DEFERRED",
            Access::Write => "BEGIN IMMEDIATE",
        })
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        self.control("COMMIT")
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.passage.signal().clear();
        if self.connection.is_autocommit() { self.leave(Ok(())) } else { self.control("ROLLBACK") }
    }

    async fn ping(&mut self) -> Result<(), Fault> {
        let result = self.connection.query_row("PRAGMA user_version", [], |_| Ok(()));
        self.leave(result)
    }

    async fn bulk(&mut self, table: &str, columns: &[&str], rows: &mut dyn Source) -> Result<u64, Fault> {
        let places = vec!["?"; columns.len()].join(", ");
        let insert = format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", "));
        let within = !self.connection.is_autocommit();
        let mut total = 0;
        loop {
            if !within {
                self.begin(Access::Write).await?;
            }
            match self.load(&insert, columns.len(), rows) {
                Ok((loaded, more)) => {
                    if !within {
                        self.commit().await?;
                    }
                    total += loaded;
                    if !more {
                        return Ok(total);
                    }
                }
                Err(fault) if within => return Err(fault),
                Err(fault) => {
                    self.rollback().await?;
                    return Err(fault);
                }
            }
        }
    }

    fn bulk_way(&self) -> &'static str {
        "INSERT"
    }

    fn interrupt(&self) -> Interrupt {
        let signal = Arc::clone(self.passage.signal());
        Interrupt::Call(Arc::new(move || signal.raise()))
    }

    fn version(&self) -> String {
        rusqlite::version().to_owned()
    }

    fn describe(&self) -> String {
        "file".to_owned()
    }

    fn take_queued(&mut self) -> Duration {
        self.passage.take_queued()
    }

    fn discard(self) {}

    async fn close(self) {
        let Some(path) = &self.made else { return };
        let nothing = self.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        // Closing takes the log and its index away.
        drop(self.connection);
        if nothing == Ok(0)
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::debug!(%error, path = %path.display(), "an empty database stays");
        }
    }
}
