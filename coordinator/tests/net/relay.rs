//! A long way between two hosts: what passes is late, each direction by its own time, and may be held up.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};

/// How late each direction is.
#[derive(Debug, Clone, Copy)]
pub struct Lateness {
    pub there: Duration,
    pub back: Duration,
}

impl Lateness {
    pub fn ms(there: u64, back: u64) -> Lateness {
        Lateness { there: Duration::from_millis(there), back: Duration::from_millis(back) }
    }
}

/// Pieces that one direction may hold; then its sender waits, as for a full pipe.
const HELD: usize = 64;

/// A way from one address to another, on a host of its own.
pub struct Relay {
    held: Arc<AtomicBool>,
}

impl Relay {
    /// Passes on what arrives at `from` in the namespace at `place` to `to`.
    pub fn start(place: &Path, from: String, to: String, lateness: Lateness) -> Relay {
        let namespace = File::open(place).unwrap();
        let held = Arc::new(AtomicBool::new(false));
        let hold = Arc::clone(&held);
        let (ready, is_ready) = std::sync::mpsc::channel();
        thread::spawn(move || {
            // Of this thread alone; sockets stay where they are made.
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            let listener = TcpListener::bind(&from).unwrap();
            ready.send(()).unwrap();
            for inner in listener.incoming() {
                let Ok(inner) = inner else { return };
                let Ok(outer) = TcpStream::connect(&to) else { continue };
                for socket in [&inner, &outer] {
                    socket.set_nodelay(true).unwrap();
                }
                carry(inner.try_clone().unwrap(), outer.try_clone().unwrap(), lateness.there, &hold);
                carry(outer, inner, lateness.back, &hold);
            }
        });
        is_ready.recv().unwrap();
        Relay { held }
    }

    /// From now on nothing arrives any more; nobody is told.
    pub fn hold(&self) {
        self.held.store(true, Ordering::SeqCst);
    }

    /// All of it arrives now, and what comes passes again.
    pub fn release(&self) {
        self.held.store(false, Ordering::SeqCst);
    }
}

/// Pieces on their way with the instant at which each is to arrive; an empty one is the end.
#[derive(Default)]
struct Pipe {
    pieces: Mutex<VecDeque<(Instant, Vec<u8>)>>,
    changed: Condvar,
}

fn carry(mut from: TcpStream, mut to: TcpStream, late: Duration, held: &Arc<AtomicBool>) {
    let pipe = Arc::new(Pipe::default());
    let (inlet, held) = (Arc::clone(&pipe), Arc::clone(held));
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        loop {
            let length = from.read(&mut buffer).unwrap_or(0);
            let pieces = inlet.pieces.lock().unwrap();
            let mut pieces = inlet.changed.wait_while(pieces, |pieces| pieces.len() >= HELD).unwrap();
            pieces.push_back((Instant::now() + late, buffer[..length].to_vec()));
            inlet.changed.notify_all();
            if length == 0 {
                return;
            }
        }
    });
    thread::spawn(move || {
        loop {
            let pieces = pipe.pieces.lock().unwrap();
            let mut pieces = pipe.changed.wait_while(pieces, |pieces| pieces.is_empty()).unwrap();
            let (due, piece) = pieces.pop_front().unwrap();
            pipe.changed.notify_all();
            drop(pieces);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            while held.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(5));
            }
            if piece.is_empty() || to.write_all(&piece).is_err() {
                break;
            }
        }
        // One end that has gone takes the other along.
        to.shutdown(Shutdown::Both).ok();
        // Nobody waits for room any more.
        pipe.pieces.lock().unwrap().clear();
        pipe.changed.notify_all();
    });
}
