//! Between virtual users and their server: hands on what both say, and keeps what it saw, with the time.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use vufleet_testbed::MariaDb;

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const ERROR: u8 = 0xff;

/// A command and what came of it.
#[derive(Debug)]
struct Command {
    begun: Instant,
    /// From its kind on.
    said: Vec<u8>,
    answer: Vec<u8>,
    ended: Option<Instant>,
}

impl Command {
    fn kind(&self) -> u8 {
        self.said[0]
    }

    fn is(&self, sql: &[u8]) -> bool {
        self.kind() == QUERY && &self.said[1..] == sql
    }

    /// Number of the error that the answer ends with.
    fn error(&self) -> Option<u16> {
        let mut rest = &self.answer[..];
        let mut last = &rest[..0];
        while let Some((packet, behind)) = packet(rest) {
            (last, rest) = (packet, behind);
        }
        (last.get(4) == Some(&ERROR)).then(|| u16::from_le_bytes([last[5], last[6]]))
    }

    fn is_done(&self) -> bool {
        self.ended.is_some() && self.error().is_none()
    }
}

/// The packet that `bytes` begin with, header and all.
fn packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let header = bytes.first_chunk::<4>()?;
    bytes.split_at_checked(4 + u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize)
}

type Connection = Arc<Mutex<Vec<Command>>>;

/// Listens for virtual users.
pub struct Tap {
    directory: TempDir,
    connections: Arc<Mutex<Vec<Connection>>>,
}

/// What went over all connections since a moment.
#[derive(Debug, Default)]
pub struct Seen {
    /// On which something was executed: the watchdog has one of its own for emergencies.
    pub connections: usize,
    pub prepares: u64,
    pub executes: u64,
    pub begins: u64,
    /// BEGIN after a transaction that did not come to its end.
    pub begins_again: u64,
    pub commits_asked: u64,
    /// Those that the server answered with OK.
    pub commits: u64,
    pub rollbacks: u64,
    pub errors: BTreeMap<u16, u64>,
    /// Of each transaction that succeeded, from its first attempt's first byte to its last answer's.
    pub services: Vec<Duration>,
}

impl Tap {
    /// `delay`: how long an answer after the login is held back, by its number on its connection.
    pub fn new(server: &MariaDb, delay: fn(u64) -> Duration) -> Tap {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("s")).unwrap();
        let tap = Tap { directory, connections: Arc::default() };
        let (server, connections) = (server.socket(), Arc::clone(&tap.connections));
        thread::spawn(move || {
            for client in listener.incoming() {
                let connection = Connection::default();
                connections.lock().unwrap().push(Arc::clone(&connection));
                stand_between(client.unwrap(), &server, &connection, delay);
            }
        });
        tap
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    /// What was seen of transactions that began after `since`.
    pub fn seen(&self, since: Instant) -> Seen {
        let connections = self.connections.lock().unwrap();
        let mut seen = Seen::default();
        for connection in connections.iter() {
            let commands = connection.lock().unwrap();
            seen.connections += usize::from(commands.iter().any(|command| command.kind() == EXECUTE));
            seen.look_at(commands.iter().filter(|command| command.begun >= since));
        }
        seen
    }
}

impl Seen {
    fn look_at<'a>(&mut self, commands: impl Iterator<Item = &'a Command>) {
        let (mut begun, mut is_open) = (None, false);
        for command in commands {
            if let Some(error) = command.error() {
                *self.errors.entry(error).or_default() += 1;
            }
            let is_last = match command.kind() {
                // After a reconnect they are prepared again before anything begins.
                PREPARE => {
                    self.prepares += 1;
                    continue;
                }
                EXECUTE => {
                    self.executes += 1;
                    !is_open
                }
                _ if command.is(b"BEGIN") => {
                    self.begins += 1;
                    self.begins_again += u64::from(begun.is_some());
                    is_open = true;
                    false
                }
                _ if command.is(b"COMMIT") => {
                    self.commits_asked += 1;
                    self.commits += u64::from(command.is_done());
                    is_open = false;
                    true
                }
                _ if command.is(b"ROLLBACK") => {
                    self.rollbacks += 1;
                    is_open = false;
                    false
                }
                _ => continue,
            };
            let first = *begun.get_or_insert(command.begun);
            if let (true, true, Some(ended)) = (is_last, command.is_done(), command.ended) {
                self.services.push(ended - first);
                begun = None;
            }
        }
    }
}

fn stand_between(client: UnixStream, server: &Path, connection: &Connection, delay: fn(u64) -> Duration) {
    let server = UnixStream::connect(server).unwrap();
    let (from_client, to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let commands = Arc::clone(connection);
    thread::spawn(move || {
        let (mut said, mut begun) = (Vec::new(), Instant::now());
        hand_on(from_client, to_server, |bytes| {
            if said.is_empty() {
                begun = Instant::now();
            }
            said.extend_from_slice(bytes);
            while let Some((packet, rest)) = packet(&said) {
                // The packets of a login go on from the server's.
                if packet[3] == 0 {
                    let command = Command { begun, said: packet[4..].to_vec(), answer: vec![], ended: None };
                    commands.lock().unwrap().push(command);
                }
                said = rest.to_vec();
            }
        });
    });
    let commands = Arc::clone(connection);
    thread::spawn(move || {
        let mut answers = 0;
        hand_on(server, client, |bytes| {
            let is_answer = !commands.lock().unwrap().is_empty();
            if is_answer {
                thread::sleep(delay(answers));
                answers += 1;
            }
            if let Some(command) = commands.lock().unwrap().last_mut() {
                command.answer.extend_from_slice(bytes);
                command.ended = Some(Instant::now());
            }
        });
    });
}

/// `keep` sees everything before the other side does.
fn hand_on(mut from: UnixStream, mut to: UnixStream, mut keep: impl FnMut(&[u8])) {
    let mut buffer = [0; 1 << 14];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        keep(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // Either may be gone already.
    to.shutdown(Shutdown::Write).ok();
}
