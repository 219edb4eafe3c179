//! Says again what a server said, to a session that asks the same.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use crate::recorder::{Recorded, Turn};
use crate::scenes::{Told, play};

/// How long either side waits for the other before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a session may think about an answer that is wrong. On a machine so busy that it needs longer, it sees the rest of
/// its scene cut off.
const SHORT_PATIENCE: Duration = Duration::from_millis(10);

/// How the server's words arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Each answer at once.
    Whole,
    /// One answer in two pieces.
    Split { turn: usize, at: usize },
    /// Every answer in pieces of that many bytes.
    Pieces(usize),
    /// One answer stops there, and the server is gone.
    CutOff { turn: usize, at: usize },
}

/// Plays a scene against what was recorded of it. Every piece has been read before the next is sent.
pub fn replay(recorded: &Recorded, delivery: Delivery) -> Vec<Told> {
    perform(recorded, |client, pulse| {
        for (number, turn) in recorded.turns.iter().enumerate() {
            let mut asked = vec![0; turn.asked.len()];
            client.read_exact(&mut asked).expect("the session asks as before");
            assert!(asked == turn.asked, "another question in turn {number} than {:?}", turn.asked);
            let answer = &turn.answered;
            match delivery {
                Delivery::CutOff { turn, at } if turn == number => return send(client, &answer[..at]),
                Delivery::Split { turn, at } if turn == number => {
                    deliver(client, pulse, [&answer[..at], &answer[at..]])
                }
                Delivery::Pieces(size) => deliver(client, pulse, answer.chunks(size)),
                _ => send(client, answer),
            }
        }
    })
}

/// Plays a scene against answers that may fit it or not. Who waits for more of them is left alone soon.
pub fn improvise(recorded: &Recorded, turns: &[Turn]) -> Vec<Told> {
    perform(recorded, |client, _| {
        let mut asked = vec![0; 1 << 16];
        client.set_read_timeout(Some(SHORT_PATIENCE)).unwrap();
        for (number, turn) in turns.iter().enumerate() {
            if number > 0 && !matches!(client.read(&mut asked), Ok(1..)) {
                return;
            }
            send(client, &turn.answered);
        }
    })
}

fn perform(recorded: &Recorded, server: impl FnOnce(&mut UnixStream, &Pulse) + Send) -> Vec<Told> {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join("s")).unwrap();
    let target = crate::target(directory.path(), recorded.scene.user, recorded.scene.password);
    let pulse = Pulse::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut client, _) = listener.accept().unwrap();
            client.set_read_timeout(Some(PATIENCE)).unwrap();
            client.set_write_timeout(Some(PATIENCE)).unwrap();
            server(&mut client, &pulse);
        });
        crate::run(pulse.felt(play(&recorded.scene, &target)))
    })
}

/// A session that has given up does not listen.
fn send(client: &mut UnixStream, bytes: &[u8]) {
    client.write_all(bytes).ok();
}

fn deliver<'a>(client: &mut UnixStream, pulse: &Pulse, pieces: impl IntoIterator<Item = &'a [u8]>) {
    for piece in pieces {
        let asleep = pulse.when_asleep();
        send(client, piece);
        if !piece.is_empty() {
            pulse.when_beyond(asleep);
        }
    }
}

/// Counts begins and ends of a session's turns on its thread: an even number is one that waits.
#[derive(Default)]
struct Pulse(AtomicU64);

impl Pulse {
    const OVER: u64 = u64::MAX - 1;

    async fn felt<T>(&self, session: impl Future<Output = T>) -> T {
        let mut session = Box::pin(session);
        std::future::poll_fn(|context| {
            self.0.fetch_add(1, Ordering::SeqCst);
            let poll = session.as_mut().poll(context);
            match &poll {
                Poll::Ready(_) => self.0.store(Pulse::OVER, Ordering::SeqCst),
                Poll::Pending => _ = self.0.fetch_add(1, Ordering::SeqCst),
            }
            poll
        })
        .await
    }

    fn when_asleep(&self) -> u64 {
        self.when(|now| now > 0)
    }

    /// Once the session has slept, been woken, and sleeps again, it has read what there was.
    fn when_beyond(&self, asleep: u64) {
        self.when(|now| now > asleep || now == Pulse::OVER);
    }

    fn when(&self, is_so: impl Fn(u64) -> bool) -> u64 {
        let begun = Instant::now();
        loop {
            let now = self.0.load(Ordering::SeqCst);
            if now.is_multiple_of(2) && is_so(now) {
                return now;
            }
            assert!(begun.elapsed() < PATIENCE, "the session does not read");
            thread::yield_now();
        }
    }
}
