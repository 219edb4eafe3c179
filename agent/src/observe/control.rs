//! Control commands: SQL that the coordinator asks for on a fresh connection of this agent, answered as text.
//!
//! Checks, `[[require]]`, set-up SQL and `schema verify` all come this way. What they may do is what the login may do, and no more
//! than this agent's own configuration allows: see [`crate::allow`].

mod limit;

use std::rc::Rc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::timeout;
use vufleet_proto::v1;
use vufleet_scenarios::session::{Dialect, Fault, FaultKind, Row, Rows, Session, Value};
use vufleet_scenarios::study::{self, Edits, Study, Target, TargetKind};

use self::limit::Limit;
use crate::allow::{Allowance, Guards};
use crate::session::calendar::Civil;
use crate::session::text::write_decimal;
use crate::session::{MssqlSession, MysqlAsyncSession, SimulatedSession, SqliteSession};

/// How long opening the connection may take, where the driver does not give up by itself before and with better words.
/// Statements have no bound but what a command sets: an index is built as long as it takes.
const CONNECT_PATIENCE: Duration = Duration::from_secs(15);

/// Most text of one command's answer: it has to fit into a message.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Whoever changes the database of a MySQL server waits for whoever else does, in whatever process: of an agent that was lost with a
/// statement under way the server goes on with it, and two resets beside each other are none. The server gives the lock back when the
/// connection ends, which it does not before the statement has.
const LOCK: &str = "SELECT GET_LOCK('vufleet.changes', 86400)";

/// Runs a command to its end on the calling thread, which must be none of a runtime's own, as far as it is allowed.
pub fn run(command: &v1::Control, allowance: Allowance) -> v1::ControlResult {
    let result = admitted(command, allowance)
        .map_or_else(|fault| refused(&fault), |(target, guards)| run_guarded(&target, command, &guards));
    v1::ControlResult { id: command.id, ..result }
}

fn admitted(command: &v1::Control, allowance: Allowance) -> Result<(Target, Guards), Fault> {
    let study = study_of(command)?;
    let guards = allowance.statements(&study, command).map_err(|why| Fault::new(FaultKind::Refused, why))?;
    Ok((login_of(study, command), guards))
}

/// Runs what has been allowed before. What the command says of study and login is not looked at.
pub fn run_on(target: &Target, command: &v1::Control) -> v1::ControlResult {
    run_guarded(target, command, &Guards::default())
}

/// The one place where a kind of target becomes a driver.
fn run_guarded(target: &Target, command: &v1::Control, guards: &Guards) -> v1::ControlResult {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let what = format!("no runtime for control statements: {error}; raise the limit on open files (ulimit -n)");
            return refused(&Fault::new(FaultKind::Refused, what));
        }
    };
    match target.kind {
        TargetKind::Mysql => runtime.block_on(execute::<MysqlAsyncSession>(target, command, guards)),
        TargetKind::Mssql => runtime.block_on(execute::<MssqlSession>(target, command, guards)),
        TargetKind::Sqlite => runtime.block_on(execute::<SqliteSession>(target, command, guards)),
        TargetKind::Simulated => runtime.block_on(execute::<SimulatedSession>(target, command, guards)),
    }
}

/// The target of a command, with the login that it asks for and that login's password.
pub fn target_of(command: &v1::Control) -> Result<Target, Fault> {
    Ok(login_of(study_of(command)?, command))
}

fn study_of(command: &v1::Control) -> Result<Study, Fault> {
    study::read(&command.study, &Edits::default()).map_err(|refusal| {
        let what = format!("this agent cannot read the study it was sent; run one version of vufleet: {refusal}");
        Fault::new(FaultKind::Refused, what)
    })
}

fn login_of(study: Study, command: &v1::Control) -> Target {
    let mut secrets = command.secrets.clone().unwrap_or_default();
    let own_login = command.as_control && study.control.is_some();
    let (mut target, password) = if own_login {
        (study.control_target(), secrets.control_password.take())
    } else {
        (study.target, secrets.password.take())
    };
    target.password = password.map(Into::into);
    if !command.database.is_empty() {
        target.database = Some(command.database.clone());
    }
    target
}

/// Runs the statements one after the other on one fresh connection. `tables` has one entry a statement that was tried.
///
/// Without `keep_going` the first failure is the last statement tried. With it, a failed statement's table has no rows
/// and its error as the only column's name; answers carry no column names otherwise. When the connection cannot be
/// opened at all there are no tables and no version. A statement that is under way at the command's limit is stopped and fails
/// with a deadline; those that `keep_going` sends after it have a moment each.
/// Each statement has its guard sent ahead of it, where it has one; questions alone go on a connection that only asks.
pub async fn execute<S: Session>(target: &Target, command: &v1::Control, guards: &Guards) -> v1::ControlResult {
    let mut result = v1::ControlResult::default();
    let connect = Box::pin(async {
        if guards.asks { S::connect_to_ask(target).await } else { S::connect(target, Rc::from([])).await }
    });
    let mut session = match timeout(CONNECT_PATIENCE, connect).await.unwrap_or_else(|_| Err(silent(target))) {
        Ok(session) => session,
        Err(fault) => return refused(&fault),
    };
    result.version = session.version();
    let mut bytes_left = MAX_ANSWER_BYTES;
    let mut lost: Option<Fault> = None;
    let mut limit = Limit::of(command);
    if command.changes && S::DIALECT == Dialect::Mysql {
        let locking = async |session: &mut S| ask(session, LOCK, &mut bytes_left).await;
        let locked = limit.keep(target, &mut session, locking).await.and_then(|table| is_locked(&table));
        if let Err(fault) = locked {
            let late = limit.has_passed().then_some(v1::FaultKind::FaultDeadline);
            let refusal = refused(&fault);
            session.discard();
            return v1::ControlResult { fault: late.map_or(refusal.fault, i32::from), ..refusal };
        }
    }
    for (index, statement) in command.statements.iter().enumerate() {
        let answer = match &lost {
            None => {
                let guard = guards.each.get(index).copied().flatten();
                let asking = async |session: &mut S| {
                    if let Some(guard) = guard {
                        session.batch(guard).await?;
                    }
                    ask(session, statement, &mut bytes_left).await
                };
                limit.keep(target, &mut session, asking).await
            }
            Some(fault) => Err(fault.clone()),
        };
        match answer {
            Ok(table) => result.tables.push(table),
            Err(fault) => {
                note_failure(&mut result, index, &fault);
                if fault.kind.ends_connection() {
                    lost = Some(fault);
                }
                if !command.keep_going {
                    break;
                }
            }
        }
    }
    if limit.has_passed() {
        result.fault = v1::FaultKind::FaultDeadline.into();
    }
    match lost {
        Some(_) => session.discard(),
        // A goodbye that nobody hears changes nothing any more.
        None => drop(timeout(CONNECT_PATIENCE, session.close()).await),
    }
    result
}

/// The answer to a command whose connection could not be opened.
pub fn refused(fault: &Fault) -> v1::ControlResult {
    v1::ControlResult { error: fault.to_string(), fault: wire_kind(fault.kind).into(), ..Default::default() }
}

/// A kind of fault as it travels.
pub fn wire_kind(kind: FaultKind) -> v1::FaultKind {
    match kind {
        FaultKind::Deadlock => v1::FaultKind::FaultDeadlock,
        FaultKind::LockTimeout => v1::FaultKind::FaultLockTimeout,
        FaultKind::Serialization => v1::FaultKind::FaultSerialization,
        FaultKind::ConnectionLost => v1::FaultKind::FaultConnectionLost,
        FaultKind::Refused => v1::FaultKind::FaultRefused,
        FaultKind::Statement => v1::FaultKind::FaultStatement,
        FaultKind::Duplicate => v1::FaultKind::FaultDuplicate,
        FaultKind::Deadline => v1::FaultKind::FaultDeadline,
        FaultKind::Overloaded => v1::FaultKind::FaultOverloaded,
    }
}

fn is_locked(answer: &v1::Table) -> Result<(), Fault> {
    let held = answer.rows.first().and_then(|row| row.cells.first()).is_some_and(|cell| cell.text == "1");
    if held {
        return Ok(());
    }
    let what =
        "another change of this server by vufleet is still under way (lock vufleet.changes); look at SHOW PROCESSLIST";
    Err(Fault::new(FaultKind::LockTimeout, what.to_owned()))
}

async fn ask<S: Session>(session: &mut S, sql: &str, bytes_left: &mut usize) -> Result<v1::Table, Fault> {
    let mut answer = Answer { table: v1::Table::default(), set: 0, bytes_left, too_long: false };
    session.query(sql, &mut answer).await?;
    if answer.too_long {
        let what = format!("the answers are longer than {MAX_ANSWER_BYTES} bytes; select fewer rows, or add a LIMIT");
        return Err(Fault::new(FaultKind::Statement, what));
    }
    Ok(answer.table)
}

fn note_failure(result: &mut v1::ControlResult, index: usize, fault: &Fault) {
    if result.error.is_empty() {
        result.error = fault.to_string();
        result.failed = index as u32;
        result.fault = wire_kind(fault.kind).into();
    }
    result.tables.push(v1::Table { columns: vec![fault.to_string()], rows: Vec::new() });
}

fn silent(target: &Target) -> Fault {
    let place = match (&target.socket, &target.host) {
        (Some(socket), _) => socket.display().to_string(),
        (None, Some(host)) => format!("{host}:{}", target.port),
        (None, None) => target.kind.name().to_owned(),
    };
    let what = format!(
        "no answer from {place} within {CONNECT_PATIENCE:?}; check [target] host and port, and what lies between this \
         agent and the database"
    );
    Fault::new(FaultKind::ConnectionLost, what)
}

/// The first result set of a statement as text; further ones are read and left out.
struct Answer<'a> {
    table: v1::Table,
    set: usize,
    bytes_left: &'a mut usize,
    too_long: bool,
}

impl Rows for Answer<'_> {
    fn set(&mut self, index: usize) {
        self.set = index;
    }

    fn row(&mut self, row: &impl Row) {
        if self.set > 0 || self.too_long {
            return;
        }
        let cells: Vec<v1::Cell> = (0..row.len()).map(|column| cell(row.get(column))).collect();
        // A cell without text still takes a few bytes of the message.
        let bytes: usize = cells.iter().map(|cell| cell.text.len() + 4).sum();
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => *self.bytes_left = left,
            None => self.too_long = true,
        }
        if !self.too_long {
            self.table.rows.push(v1::TableRow { cells });
        }
    }
}

fn cell(value: Value<'_>) -> v1::Cell {
    let text = match value {
        Value::Null => return v1::Cell { text: String::new(), null: true },
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Decimal(unscaled, digits) => decimal(unscaled, digits),
        Value::Text(text) => text.to_owned(),
        Value::Bytes(bytes) => bytes_as_text(bytes),
        Value::Instant(micros) => instant(micros),
    };
    v1::Cell { text, null: false }
}

fn decimal(unscaled: i64, digits: u8) -> String {
    let mut text = String::new();
    write_decimal(unscaled, digits, &mut text);
    text
}

/// As SQL writes it, UTC, without a fraction that is zero.
fn instant(micros: i64) -> String {
    let text = Civil::from_micros(micros).to_string();
    text.strip_suffix(".000000").map_or(text.clone(), str::to_owned)
}

/// Servers send text as bytes too; what is no text becomes hexadecimal digits.
fn bytes_as_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().fold("0x".to_owned(), |mut text, byte| {
            text.push_str(&format!("{byte:02X}"));
            text
        }),
    }
}

#[cfg(test)]
mod tests;
