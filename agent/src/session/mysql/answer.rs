//! What a server answers to a command: results, one after the other, or an error.
//!
//! <https://mariadb.com/kb/en/2-text-protocol/>, <https://mariadb.com/kb/en/com_stmt_prepare/>

use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;

use vufleet_scenarios::session::{Fault, Rows};

use super::channel::{ERROR, Reader, malformed};
use super::codec::Cursor;
use super::fault::of_server;
use super::row::{Encoding, Kind, WireRow};

/// First byte of an answer, or of a packet among rows.
const OK: u8 = 0x00;
const END: u8 = 0xfe;
const LOCAL_FILE: u8 = 0xfb;
/// From this length on, a packet that begins like an end is a row.
const LONGEST_END: usize = 0xff_ffff;
/// Flag of the server's status: another result follows.
const MORE_RESULTS: u16 = 8;

/// What was agreed upon at login and shapes the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Dialogue {
    /// No packet stands between columns and rows, and rows end with an OK (CLIENT_DEPRECATE_EOF).
    pub(super) short_ends: bool,
    /// A prepared statement's columns are told again only when they have changed (MariaDB's cache of metadata).
    pub(super) known_columns: bool,
    /// A prepared statement can be sent with many rows of parameters (MariaDB's bulk operations).
    pub(super) arrays: bool,
}

/// An error packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) struct ServerError {
    pub(in crate::session) code: u16,
    /// The SQL standard's class and subclass; empty before login.
    pub(in crate::session) state: String,
    pub(in crate::session) message: String,
}

impl ServerError {
    /// Reads what follows the first byte. Before login there is no SQL state.
    pub(super) fn read(mut cursor: Cursor<'_>) -> io::Result<ServerError> {
        let code = cursor.u16()?;
        let state = if cursor.0.first() == Some(&b'#') { &cursor.bytes(6)?[1..] } else { &[][..] };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Ok(ServerError { code, state: text(state), message: text(cursor.0) })
    }
}

/// The part of an OK packet that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Done {
    affected: u64,
    more: bool,
    warnings: u16,
}

impl Done {
    /// Reads what follows the first byte.
    #[inline]
    fn read(cursor: Cursor<'_>) -> io::Result<Done> {
        // Nearly always both numbers take a byte each.
        if let [affected @ 0..=0xfa, 0..=0xfa, low, high, warned, often, ..] = *cursor.0 {
            let more = u16::from_le_bytes([low, high]) & MORE_RESULTS != 0;
            return Ok(Done { affected: affected.into(), more, warnings: u16::from_le_bytes([warned, often]) });
        }
        Done::read_long(cursor)
    }

    fn read_long(mut cursor: Cursor<'_>) -> io::Result<Done> {
        let affected = cursor.length()?;
        let _last_id = cursor.length()?;
        let status = cursor.u16()?;
        Ok(Done { affected, more: status & MORE_RESULTS != 0, warnings: cursor.u16()? })
    }
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begin,
    Columns(usize),
    EndOfColumns,
    Rows,
}

/// Reads the results of one command.
pub(super) struct Results<'a, R> {
    dialogue: Dialogue,
    encoding: Encoding,
    /// Columns of the current result; at first, those that were told when the statement was prepared.
    columns: &'a mut Vec<Kind>,
    rows: &'a mut R,
    state: State,
    /// Results with rows so far.
    pub(super) sets: usize,
    affected: u64,
    /// Warnings about the last result.
    pub(super) warnings: u16,
    error: Option<ServerError>,
}

impl<'a, R: Rows> Results<'a, R> {
    pub(super) fn new(dialogue: Dialogue, encoding: Encoding, columns: &'a mut Vec<Kind>, rows: &'a mut R) -> Self {
        Results {
            dialogue,
            encoding,
            columns,
            rows,
            state: State::Begin,
            sets: 0,
            affected: 0,
            warnings: 0,
            error: None,
        }
    }

    /// Affected rows of all statements behind the command, or the error that ended it.
    pub(super) fn outcome(&mut self) -> Result<u64, Fault> {
        self.error.take().map_or(Ok(self.affected), |error| Err(of_server(error)))
    }

    fn begin(&mut self, payload: &[u8]) -> io::Result<ControlFlow<()>> {
        let (first, rest) = first(payload)?;
        match first {
            OK => {
                let ok = Done::read(rest)?;
                let sum = self.affected.checked_add(ok.affected);
                self.affected = sum.ok_or_else(|| malformed("more affected rows than there can be"))?;
                Ok(self.after(ok))
            }
            ERROR => self.fail(rest),
            LOCAL_FILE => Err(malformed("the server asks for a file of this host")),
            _ => self.begin_set(payload),
        }
    }

    fn begin_set(&mut self, payload: &[u8]) -> io::Result<ControlFlow<()>> {
        let mut cursor = Cursor(payload);
        let count = usize::try_from(cursor.length()?).map_err(|_| malformed("too many columns"))?;
        if count == 0 {
            return Err(malformed("a result without columns"));
        }
        // Then a byte that says whether definitions follow, where leaving them out was agreed upon.
        let told = !(self.dialogue.known_columns && cursor.0.first() == Some(&0));
        self.rows.set(self.sets);
        self.sets += 1;
        if told {
            self.columns.clear();
            self.state = State::Columns(count);
        } else if self.columns.len() == count {
            self.end_columns();
        } else {
            return Err(malformed("the columns of a result are not those of its statement"));
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end_columns(&mut self) {
        self.state = if self.dialogue.short_ends { State::Rows } else { State::EndOfColumns };
    }

    fn row(&mut self, payload: &[u8]) -> io::Result<ControlFlow<()>> {
        let (first, rest) = first(payload)?;
        match first {
            END if payload.len() < LONGEST_END => {
                let end = if self.dialogue.short_ends { Done::read(rest)? } else { old_end(rest)? };
                Ok(self.after(end))
            }
            ERROR => self.fail(rest),
            _ => {
                let broken = Cell::new(false);
                self.rows.row(&WireRow::new(payload, self.columns, self.encoding, &broken));
                if broken.get() { Err(malformed("a row is too short")) } else { Ok(ControlFlow::Continue(())) }
            }
        }
    }

    fn after(&mut self, end: Done) -> ControlFlow<()> {
        self.state = State::Begin;
        self.warnings = end.warnings;
        if end.more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn fail(&mut self, rest: Cursor<'_>) -> io::Result<ControlFlow<()>> {
        self.error = Some(ServerError::read(rest)?);
        Ok(ControlFlow::Break(()))
    }
}

impl<R: Rows> Reader for Results<'_, R> {
    #[inline]
    fn packet(&mut self, payload: &[u8]) -> io::Result<ControlFlow<()>> {
        match self.state {
            State::Begin => return self.begin(payload),
            State::Rows => return self.row(payload),
            State::Columns(_) | State::EndOfColumns if payload.first() == Some(&ERROR) => {
                return self.fail(first(payload)?.1);
            }
            State::Columns(left) => {
                self.columns.push(Kind::read(payload)?);
                if left > 1 {
                    self.state = State::Columns(left - 1);
                } else {
                    self.end_columns();
                }
            }
            State::EndOfColumns => {
                let (END, rest) = first(payload)? else { return Err(malformed("columns without an end")) };
                old_end(rest)?;
                self.state = State::Rows;
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Reads the answer to COM_STMT_PREPARE.
pub(super) struct Preparation {
    dialogue: Dialogue,
    begun: bool,
    /// Packets that are still to come, and how many of them are about parameters.
    left: usize,
    left_of_params: usize,
    /// Columns whose definitions are still to come.
    left_of_columns: u16,
    pub(super) id: u32,
    pub(super) params: u16,
    pub(super) columns: Vec<Kind>,
    pub(super) error: Option<ServerError>,
}

impl Preparation {
    pub(super) fn new(dialogue: Dialogue) -> Self {
        Preparation {
            dialogue,
            begun: false,
            left: 0,
            left_of_params: 0,
            left_of_columns: 0,
            id: 0,
            params: 0,
            columns: Vec::new(),
            error: None,
        }
    }

    fn begin(&mut self, payload: &[u8]) -> io::Result<()> {
        let (first, mut rest) = first(payload)?;
        match first {
            OK => {
                self.id = rest.u32()?;
                self.left_of_columns = rest.u16()?;
                self.params = rest.u16()?;
                self.columns.reserve_exact(self.left_of_columns.into());
                let ends = if self.dialogue.short_ends { 0 } else { 1 };
                let list = |count: u16| if count == 0 { 0 } else { usize::from(count) + ends };
                self.left_of_params = list(self.params);
                self.left = self.left_of_params + list(self.left_of_columns);
                Ok(())
            }
            ERROR => {
                self.error = Some(ServerError::read(rest)?);
                Ok(())
            }
            _ => Err(malformed("a statement was neither prepared nor refused")),
        }
    }

    fn definition(&mut self, payload: &[u8]) -> io::Result<()> {
        if payload.first() == Some(&ERROR) {
            self.error = Some(ServerError::read(first(payload)?.1)?);
            self.left = 0;
            return Ok(());
        }
        self.left -= 1;
        if self.left_of_params > 0 {
            self.left_of_params -= 1;
        } else if self.left_of_columns > 0 {
            self.left_of_columns -= 1;
            self.columns.push(Kind::read(payload)?);
        }
        Ok(())
    }
}

impl Reader for Preparation {
    fn packet(&mut self, payload: &[u8]) -> io::Result<ControlFlow<()>> {
        if std::mem::replace(&mut self.begun, true) {
            self.definition(payload)?;
        } else {
            self.begin(payload)?;
        }
        Ok(if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// Reads one packet, whatever it is.
#[derive(Default)]
pub(super) struct Single(pub(super) Vec<u8>);

impl Reader for Single {
    fn packet(&mut self, payload: &[u8]) -> io::Result<ControlFlow<()>> {
        self.0.clear();
        self.0.extend_from_slice(payload);
        Ok(ControlFlow::Break(()))
    }
}

fn first(payload: &[u8]) -> io::Result<(u8, Cursor<'_>)> {
    let mut rest = Cursor(payload);
    Ok((rest.u8()?, rest))
}

/// The end of rows before CLIENT_DEPRECATE_EOF: warnings, then the status.
fn old_end(mut rest: Cursor<'_>) -> io::Result<Done> {
    let warnings = rest.u16()?;
    Ok(Done { affected: 0, more: rest.u16()? & MORE_RESULTS != 0, warnings })
}
