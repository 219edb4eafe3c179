//! Loads at a server that says what it is told to.

use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::*;
use crate::session::mysql::answer::Dialogue;
use crate::session::mysql::channel::Channel;
use crate::session::mysql::stream::Stream;

fn run<T>(test: impl Future<Output = T>) -> T {
    crate::event_loop::block_on_tokio(test).unwrap()
}

fn opened() -> (MysqlSession, Server) {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let theirs = UnixStream::from_std(theirs).unwrap();
    let dialogue = Dialogue { short_ends: true, known_columns: false, arrays: true };
    let session = MysqlSession {
        channel: Channel::new(Stream::Plain(ours.into())),
        dialogue,
        statements: Rc::from([]),
        prepared: Box::from([]),
        id: 1,
        version: "".into(),
        route: "",
    };
    (session, Server { stream: theirs, sequence: 0 })
}

struct Server {
    stream: UnixStream,
    sequence: u8,
}

impl Server {
    /// The next packet, and that it is in sequence.
    async fn hear(&mut self) -> Vec<u8> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).await.unwrap();
        assert!(header[3] == 0 || header[3] == self.sequence, "{header:?}");
        self.sequence = header[3].wrapping_add(1);
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.stream.read_exact(&mut payload).await.unwrap();
        payload
    }

    async fn say(&mut self, payload: &[u8]) {
        let mut header = (payload.len() as u32).to_le_bytes();
        header[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(&[&header, payload].concat()).await.unwrap();
    }
}

fn done(affected: u8, warnings: u8) -> [u8; 7] {
    [0, affected, 0, 1, 0, warnings, 0]
}

/// Rows that are there already.
struct Given(Vec<Vec<Value<'static>>>);

impl Source for Given {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        if self.0.is_empty() {
            return false;
        }
        put(&self.0.remove(0));
        true
    }
}

const TABLE: Table<'_> = Table { name: "t", columns: &["a", "b"] };
/// COM_STMT_BULK_EXECUTE of statement 7, types follow.
const HEAD: [u8; 7] = [0xfa, 7, 0, 0, 0, 128, 0];
const NULL: [u8; 2] = [6, 0];
const INT: [u8; 2] = [8, 0];
const TEXT: [u8; 2] = [253, 0];

fn int(number: i64) -> Vec<u8> {
    [&[0][..], &number.to_le_bytes()].concat()
}

async fn load(rows: Vec<Vec<Value<'static>>>, packet: usize, answers: &[&[u8]]) -> (Result<u64, Fault>, Vec<Vec<u8>>) {
    let (mut session, mut server) = opened();
    let serve = async {
        let mut heard = Vec::new();
        for answer in answers {
            heard.push(server.hear().await);
            server.say(answer).await;
        }
        let closed = server.hear().await;
        assert_eq!(closed, [0x19, 7, 0, 0, 0]);
        heard
    };
    let mut rows = Given(rows);
    let work = arrays::load(&mut session, TABLE, 7, &mut rows, packet);
    let (heard, loaded) = tokio::join!(serve, work);
    (loaded, heard)
}

#[test]
fn a_packet_is_laid_out_as_the_protocol_says() {
    run(async {
        let rows = vec![vec![Value::Int(1), Value::Null], vec![Value::Null, Value::Text("ab")]];
        let (loaded, heard) = load(rows, 1 << 20, &[&done(2, 0)]).await;
        assert_eq!(loaded, Ok(2));
        let expected: &[&[u8]] = &[&HEAD, &INT, &TEXT, &int(1), &[1], &[1], &[0, 2, b'a', b'b']];
        assert_eq!(heard, [expected.concat()]);
    });
}

#[test]
fn a_value_of_another_type_begins_another_packet() {
    run(async {
        let rows = vec![
            vec![Value::Int(1), Value::Null],
            vec![Value::Text("x"), Value::Int(5)],
            vec![Value::Null, Value::Int(6)],
            vec![Value::Int(2), Value::Null],
        ];
        let (loaded, heard) = load(rows, 1 << 20, &[&done(1, 0), &done(2, 0), &done(1, 0)]).await;
        assert_eq!(loaded, Ok(4));
        // The column that the row which did not fit has a value in: NULL in all of this packet, whatever its type.
        let first: &[&[u8]] = &[&HEAD, &INT, &INT, &int(1), &[1]];
        let second: &[&[u8]] = &[&HEAD, &TEXT, &INT, &[0, 1, b'x'], &int(5), &[1], &int(6)];
        let third: &[&[u8]] = &[&HEAD, &INT, &NULL, &int(2), &[1]];
        assert_eq!(heard, [first.concat(), second.concat(), third.concat()]);
    });
}

#[test]
fn a_packet_keeps_to_what_the_server_takes() {
    run(async {
        let rows = || (0..7).map(|number| vec![Value::Int(number), Value::Null]).collect();
        for (packet, answers) in [
            (1, vec![&done(1, 0)[..]; 7]),
            (2 * (HEAD.len() + 4 + 20), vec![&done(2, 0), &done(2, 0), &done(2, 0), &done(1, 0)]),
            (1 << 20, vec![&done(7, 0)]),
        ] {
            let (loaded, heard) = load(rows(), packet, &answers).await;
            assert_eq!((loaded, heard.len()), (Ok(7), answers.len()));
        }
        assert_eq!(load(vec![], 1 << 20, &[]).await, (Ok(0), vec![]));
    });
}

#[test]
fn rows_that_the_server_took_otherwise_are_a_fault() {
    run(async {
        for (affected, warnings, words) in [(1, 0, "1 of 2 rows"), (2, 1, "max_error_count"), (3, 0, "3 of 2 rows")] {
            let rows = vec![vec![Value::Int(1), Value::Null]; 2];
            let told = done(affected, warnings);
            // SHOW WARNINGS, of which the server has kept none.
            let answers: &[&[u8]] = if warnings > 0 { &[&told, &done(0, 0)] } else { &[&told] };
            let fault = load(rows, 1 << 20, answers).await.0.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Statement);
            assert!(fault.message.contains(words), "{fault}");
        }
    });
}

#[test]
fn rows_that_cannot_be_sent_leave_the_session_usable() {
    run(async {
        for unfit in [vec![Value::Int(1)], vec![Value::Float(f64::NAN), Value::Null]] {
            let fault = load(vec![vec![Value::Int(1), Value::Null], unfit], 1 << 20, &[]).await.0.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Statement, "{fault}");
        }
    });
}
