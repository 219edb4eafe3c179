//! Answers cut into pieces, cut off, and made up.

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use vufleet_scenarios::session::{Row, Rows, Value};

use super::*;
use crate::session::mysql::answer::{Dialogue, Preparation, Results, Single};
use crate::session::mysql::row::{Encoding, Kind};

/// Text of every first column, and how many results there were.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen(Vec<String>, usize);

impl Rows for Seen {
    fn set(&mut self, index: usize) {
        self.1 = index + 1;
    }

    fn row(&mut self, row: &impl Row) {
        let Value::Text(text) = row.get(0) else { return };
        self.0.push(text.to_owned());
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    crate::event_loop::block_on_tokio(test).unwrap()
}

fn pair() -> (Channel, UnixStream) {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    (Channel::new(Stream::Plain(ours.into())), UnixStream::from_std(theirs).unwrap())
}

/// Payloads with the headers that a server gives them.
fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (sequence, payload) in payloads.iter().enumerate() {
        let [low, middle, high, _] = (payload.len() as u32).to_le_bytes();
        out.extend_from_slice(&[low, middle, high, sequence as u8]);
        out.extend_from_slice(payload);
    }
    out
}

fn definition() -> Vec<u8> {
    let names: [&[u8]; 6] = [b"\x03def", b"\x00", b"\x01t", b"\x01t", b"\x01c", b"\x01c"];
    [&names.concat()[..], &[0x0c, 45, 0, 255, 0, 0, 0, 253, 0, 0, 0, 0, 0]].concat()
}

const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
const END_AND_MORE: &[u8] = &[0xfe, 0, 0, 10, 0, 0, 0];

/// Two results: rows "one" and "two", then three affected rows.
fn answer(dialogue: Dialogue) -> Vec<u8> {
    let definition = definition();
    let mut payloads: Vec<&[u8]> = vec![if dialogue.known_columns { &[1, 1] } else { &[1] }, &definition];
    // Before CLIENT_DEPRECATE_EOF: warnings, then the status.
    let (between, end): (&[u8], &[u8]) = (&[0xfe, 0, 0, 2, 0], &[0xfe, 0, 0, 10, 0]);
    if !dialogue.short_ends {
        payloads.push(between);
    }
    payloads.extend([&b"\x03one"[..], b"\x03two", if dialogue.short_ends { END_AND_MORE } else { end }]);
    payloads.push(&[0, 3, 0, 2, 0, 0, 0]);
    packets(&payloads)
}

const DIALOGUES: [Dialogue; 3] = [
    Dialogue { short_ends: true, known_columns: true },
    Dialogue { short_ends: true, known_columns: false },
    Dialogue { short_ends: false, known_columns: false },
];

/// What a client makes of `bytes`, of which `first` come at once and the others later; then the server is gone.
async fn read(bytes: &[u8], first: usize, dialogue: Dialogue) -> io::Result<(Seen, Option<u64>)> {
    let (mut channel, mut server) = pair();
    let (begin, rest) = bytes.split_at(first);
    server.write_all(begin).await?;
    let (mut seen, mut columns) = (Seen::default(), Vec::new());
    let mut results = Results::new(dialogue, Encoding::Text, &mut columns, &mut seen);
    // Polled in this order: the client has taken what is there before more of it comes.
    let (received, _) = tokio::join!(channel.receive(&mut results), async move {
        server.write_all(rest).await.ok();
    });
    received?;
    let affected = results.outcome().ok();
    Ok((seen, affected))
}

#[test]
fn an_answer_in_any_two_pieces_is_the_same() {
    run(async {
        for dialogue in DIALOGUES {
            let bytes = answer(dialogue);
            for cut in 0..=bytes.len() {
                let (seen, affected) = read(&bytes, cut, dialogue).await.unwrap();
                let rows = ["one", "two"].map(str::to_owned).to_vec();
                assert_eq!((seen, affected), (Seen(rows, 1), Some(3)), "{dialogue:?} cut at {cut}");
            }
        }
    });
}

#[test]
fn an_answer_cut_off_anywhere_is_an_error() {
    run(async {
        for dialogue in DIALOGUES {
            let bytes = answer(dialogue);
            for cut in 0..bytes.len() {
                let error = read(&bytes[..cut], cut / 2, dialogue).await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{dialogue:?} cut at {cut}");
            }
        }
    });
}

#[test]
fn an_error_ends_an_answer_wherever_it_stands() {
    let error: &[u8] = b"\xff\x07\x04#40001Deadlock";
    let (definition, dialogue) = (definition(), DIALOGUES[1]);
    run(async {
        for before in [&[][..], &[&[1][..], &definition], &[&[1][..], &definition, b"\x03one"]] {
            let bytes = packets(&[before, &[error]].concat());
            assert_eq!(read(&bytes, 0, dialogue).await.unwrap().1, None);
        }
    });
}

#[test]
fn what_the_protocol_does_not_allow_is_refused() {
    let definition = definition();
    let file: &[u8] = b"\xfb/etc/passwd";
    let mut late = packets(&[&[0, 0, 0, 2, 0, 0, 0]]);
    late[3] = 1;
    run(async {
        for (bytes, dialogue) in [
            (packets(&[file]), DIALOGUES[1]),
            (packets(&[&[]]), DIALOGUES[1]),
            (packets(&[&[0xff]]), DIALOGUES[1]),
            (packets(&[&[1], &definition[..5]]), DIALOGUES[1]),
            // A result of no columns.
            (packets(&[&[0xfc, 0, 0], &definition]), DIALOGUES[1]),
            // Affected rows that cannot be added up.
            (
                packets(&[&[&[0, 0xfe][..], &[0xff; 8], &[0, 8, 0, 0, 0]].concat(), &[0, 1, 0, 2, 0, 0, 0]]),
                DIALOGUES[1],
            ),
            // Columns that nobody told.
            (packets(&[&[1, 0]]), DIALOGUES[0]),
            // A row that ends inside a value.
            (packets(&[&[1], &definition, b"\x09one"]), DIALOGUES[1]),
            (late, DIALOGUES[1]),
        ] {
            let error = read(&bytes, 0, dialogue).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{bytes:?}");
        }
    });
}

#[test]
fn columns_that_are_known_need_not_be_told_again() {
    let dialogue = DIALOGUES[0];
    run(async {
        let (mut channel, mut server) = pair();
        server.write_all(&packets(&[&[1, 0], b"\0\0\x03one", END])).await.unwrap();
        let mut columns = vec![Kind::new(253, 0, 45)];
        let mut seen = Seen::default();
        let mut results = Results::new(dialogue, Encoding::Binary, &mut columns, &mut seen);
        channel.receive(&mut results).await.unwrap();
        assert_eq!(seen.0, ["one"]);
    });
}

#[test]
fn a_statement_is_prepared_whatever_it_has() {
    let definition = definition();
    run(async {
        for dialogue in [DIALOGUES[1], DIALOGUES[2]] {
            for (columns, params) in [(0_u8, 0_u8), (0, 2), (2, 0), (1, 3)] {
                let head = [0, 9, 0, 0, 0, columns, 0, params, 0, 0, 0, 0];
                let mut payloads: Vec<&[u8]> = vec![&head];
                for count in [params, columns] {
                    payloads.extend(std::iter::repeat_n(&definition[..], count.into()));
                    if count > 0 && !dialogue.short_ends {
                        payloads.push(&[0xfe, 0, 0, 2, 0]);
                    }
                }
                let (mut channel, mut server) = pair();
                server.write_all(&packets(&payloads)).await.unwrap();
                let mut preparation = Preparation::new(dialogue);
                channel.receive(&mut preparation).await.unwrap();
                let Preparation { id, params: found, columns: kinds, error, .. } = preparation;
                assert_eq!((id, found, kinds.len(), error), (9, params.into(), columns.into(), None));
            }
        }
    });
}

#[test]
fn more_than_was_asked_for_ends_the_conversation() {
    run(async {
        let (mut channel, mut server) = pair();
        let answer: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
        let mut bytes = packets(&[&[], answer, answer]);
        bytes.drain(..HEADER);
        let mut single = Single::default();
        let (result, ()) = tokio::join!(channel.exchange(|out| out.push(3), &mut single), async {
            let mut command = [0; 5];
            server.read_exact(&mut command).await.unwrap();
            assert_eq!(command, [1, 0, 0, 0, 3]);
            server.write_all(&bytes).await.unwrap();
        });
        assert!(result.unwrap_err().to_string().contains("more than it was asked"));
    });
}

#[test]
fn a_payload_longer_than_a_packet_travels_in_parts() {
    run(async {
        for length in [LONGEST - 1, LONGEST, LONGEST + 5] {
            let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
            let [mut ours, mut server] = [ours, theirs].map(|end| Channel::new(Stream::Plain(end.into())));
            let payload: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut single = Single::default();
            let (sent, received) =
                tokio::join!(ours.send(|out| out.extend_from_slice(&payload)), server.receive(&mut single));
            sent.unwrap();
            received.unwrap();
            assert!(single.0 == payload, "{length} bytes");
            assert_eq!(ours.sequence, server.sequence);
            assert_eq!((ours.unsent.capacity(), server.partial.len()), (0, 0));
        }
    });
}

proptest! {
    #[test]
    fn no_server_makes_a_client_panic(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..8),
        dialogue in 0..DIALOGUES.len(),
    ) {
        let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        let bytes = packets(&payloads);
        run(async {
            read(&bytes, bytes.len() / 2, DIALOGUES[dialogue]).await.ok();
            let (mut channel, mut server) = pair();
            server.write_all(&bytes).await.unwrap();
            drop(server);
            channel.receive(&mut Preparation::new(DIALOGUES[dialogue])).await.ok();
        });
    }
}
