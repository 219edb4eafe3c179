//! A network between an agent and its coordinator, which a test may cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const OPEN: u8 = 0;
/// What is sent is accepted and goes nowhere.
const STALLED: u8 = 1;
/// Nobody gets through, and who was through is thrown out.
const CUT: u8 = 2;

/// A way to an address.
pub struct Link {
    address: SocketAddr,
    state: Arc<AtomicU8>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
}

impl Link {
    /// An open way to an address.
    pub fn to(address: &str) -> Link {
        let address = address.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = Link {
            address: listener.local_addr().unwrap(),
            state: Arc::new(AtomicU8::new(OPEN)),
            sockets: Arc::default(),
        };
        let (state, sockets) = (Arc::clone(&link.state), Arc::clone(&link.sockets));
        thread::spawn(move || {
            for inner in listener.incoming() {
                let Ok(inner) = inner else { return };
                if state.load(Ordering::SeqCst) == CUT {
                    continue;
                }
                let Ok(outer) = TcpStream::connect(&address) else { continue };
                sockets.lock().unwrap().extend([inner.try_clone().unwrap(), outer.try_clone().unwrap()]);
                for (from, to) in [(inner.try_clone(), outer.try_clone()), (Ok(outer), Ok(inner))] {
                    let state = Arc::clone(&state);
                    thread::spawn(move || carry(from.unwrap(), to.unwrap(), &state));
                }
            }
        });
        link
    }

    /// Where an agent dials.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on nothing arrives any more; nobody is told.
    pub fn stall(&self) {
        self.state.store(STALLED, Ordering::SeqCst);
    }

    /// Breaks every connection. What was on its way is lost.
    pub fn cut(&self) {
        self.state.store(CUT, Ordering::SeqCst);
        for socket in self.sockets.lock().unwrap().drain(..) {
            socket.shutdown(Shutdown::Both).ok();
        }
    }

    /// Lets everybody through again.
    pub fn mend(&self) {
        self.state.store(OPEN, Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, state: &AtomicU8) {
    let mut buffer = [0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        while state.load(Ordering::SeqCst) == STALLED {
            thread::sleep(Duration::from_millis(5));
        }
        if state.load(Ordering::SeqCst) == CUT || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    // One end that has gone takes the other along.
    to.shutdown(Shutdown::Both).ok();
}
