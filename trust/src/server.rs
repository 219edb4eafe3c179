//! The listening end: accepts, knows its peers, and drops who is slow, malformed or a stranger, before any of it costs the fleet.
//!
//! Accepting never waits for a peer: every handshake has a task and a deadline of its own. What comes out of here has shown its
//! certificate, where certificates are wanted, and has said the first words of the protocol.

mod connection;
mod gate;
mod renewal;

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use crate::address::Security;
use crate::credentials::Problems;
use crate::identity::Role;
use crate::quiet::{self, Quiet};
use crate::reason;
use crate::stream::{Begun, PREFACE, Stream};

pub use connection::{Connection, Peer};
pub use gate::Limits;

use gate::{Gate, Place};
use renewal::Renewal;

/// How long a TLS handshake may take, and then again the first words after it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a refused peer is listened to, so that it hears why before the connection is reset.
const LINGER: Duration = Duration::from_secs(1);
/// What is said to whom begins with anything but HTTP/2.
const WRONG_PORT: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 27\r\n\r\nthis port is for gRPC only\n";
/// Connections that wait to be served.
const WAITING: usize = 64;
/// Between tries to accept, when the system has no descriptor or memory for it.
const BACK_OFF: Duration = Duration::from_millis(200);

/// What is spoken on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC.
    Http2,
    /// Pages for people and Prometheus.
    Http1,
}

/// How a port is served.
#[derive(Debug, Clone)]
pub struct Options {
    /// What protects it.
    pub security: Security,
    /// What this process is.
    pub role: Role,
    /// Whom its certificate must name; who dials in plaintext is not asked.
    pub admits: Vec<Role>,
    /// What is spoken on it.
    pub protocol: Protocol,
    /// How many may come.
    pub limits: Limits,
}

/// The connections of a port, as they become ready to be served. Dropping it closes the port.
#[derive(Debug)]
pub struct Incoming {
    ready: mpsc::Receiver<Connection>,
}

impl tokio_stream::Stream for Incoming {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.ready.poll_recv(cx).map(|connection| connection.map(Ok))
    }
}

impl Incoming {
    /// The next connection; none when the port is closed.
    pub async fn next(&mut self) -> Option<Connection> {
        self.ready.recv().await
    }
}

/// Serves a port.
///
/// # Errors
/// What is wrong with the certificates.
pub fn incoming(listener: TcpListener, options: Options) -> Result<Incoming, Problems> {
    let renewal = match &options.security {
        Security::Plaintext(_) => None,
        Security::Certificates(directory) => {
            Some(Renewal::load(directory, options.role, options.admits.clone(), options.protocol)?)
        }
    };
    let (sender, ready) = mpsc::channel(WAITING);
    let door = Arc::new(Door {
        renewal,
        protocol: options.protocol,
        gate: Gate::new(options.limits),
        quiet: Quiet::default(),
        ready: sender,
    });
    tokio::spawn(accept(listener, door));
    Ok(Incoming { ready })
}

/// What all connections of a port share.
#[derive(Debug)]
struct Door {
    /// None: plaintext.
    renewal: Option<Renewal>,
    protocol: Protocol,
    gate: Gate,
    quiet: Quiet,
    ready: mpsc::Sender<Connection>,
}

async fn accept(listener: TcpListener, door: Arc<Door>) {
    let mut minute = tokio::time::interval(quiet::WINDOW);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = minute.tick() => {
                door.quiet.sum_up();
                continue;
            }
            () = door.ready.closed() => return,
        };
        match accepted {
            Ok((socket, address)) => match door.gate.enter(address.ip()) {
                Ok(place) => drop(tokio::spawn(Arc::clone(&door).receive(socket, address, place))),
                Err(full) => door.quiet.say(|| format!("refused {address}: it {full}")),
            },
            // The peer's business, and gone already.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                door.quiet.say(|| {
                    format!("no connection can be accepted ({error}); raise the limit of open files (ulimit -n)")
                });
                tokio::time::sleep(BACK_OFF).await;
            }
        }
    }
}

impl Door {
    async fn receive(self: Arc<Self>, socket: TcpStream, address: SocketAddr, place: Place) {
        match self.welcome(socket, address, place).await {
            // Nobody serves any more.
            Ok(connection) => drop(self.ready.send(connection).await),
            Err(why) => self.quiet.say(|| format!("refused {address}: it {why}")),
        }
    }

    async fn welcome(&self, socket: TcpStream, address: SocketAddr, place: Place) -> Result<Connection, String> {
        prepare(&socket);
        let too_slow = || format!("did not finish its handshake within {} s", PATIENCE.as_secs());
        let (mut stream, identity) = match &self.renewal {
            None => (Stream::Plain(socket), None),
            Some(renewal) => {
                let handshake = shake_hands(socket, TlsAcceptor::from(renewal.config()));
                let stream = tokio::time::timeout(PATIENCE, handshake).await.map_err(|_| too_slow())??;
                let identity = connection::identity(&stream)?;
                (Stream::Tls(Box::new(stream)), Some(identity))
            }
        };
        let head = match self.protocol {
            Protocol::Http1 => Vec::new(),
            Protocol::Http2 => {
                let preface = tokio::time::timeout(PATIENCE, read_preface(&mut stream)).await;
                match preface.map_err(|_| format!("said nothing for {} s", PATIENCE.as_secs()))? {
                    Ok(head) => head,
                    Err(why) => {
                        decline(stream).await;
                        return Err(why);
                    }
                }
            }
        };
        let begun = Begun::new(stream, head, 0);
        Ok(Connection::new(begun, Peer::new(address, identity), place.served()))
    }
}

async fn shake_hands(socket: TcpStream, acceptor: TlsAcceptor) -> Result<tokio_rustls::TlsStream<TcpStream>, String> {
    match acceptor.accept(socket).into_fallible().await {
        Ok(stream) => Ok(stream.into()),
        Err((error, socket)) => {
            let why = reason::of_client(&error);
            linger(socket).await;
            Err(why)
        }
    }
}

/// Says in the words that browsers and TLS clients can tell from their own that they are wrong here.
async fn decline(mut stream: Stream) {
    let said = async {
        stream.write_all(WRONG_PORT).await?;
        stream.shutdown().await
    };
    if !matches!(tokio::time::timeout(LINGER, said).await, Ok(Ok(()))) {
        tracing::trace!("a refused peer did not wait for the reason");
    }
    if let Stream::Plain(socket) = stream {
        linger(socket).await;
    }
}

/// Closing with unread bytes resets a connection, and a reset may overtake the alert that says why.
async fn linger(mut socket: TcpStream) {
    let drained = async {
        socket.shutdown().await?;
        let mut rest = [0; 4_096];
        for _ in 0..16 {
            if socket.read(&mut rest).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    if !matches!(tokio::time::timeout(LINGER, drained).await, Ok(Ok(()))) {
        tracing::trace!("a refused peer did not wait for the reason");
    }
}

/// The first words of HTTP/2, or what was said instead.
async fn read_preface(stream: &mut Stream) -> Result<Vec<u8>, String> {
    let mut head = [0; PREFACE.len()];
    let mut read = 0;
    while read < head.len() {
        match stream.read(&mut head[read..]).await {
            Ok(0) if read == 0 => return Err("hung up without a word".to_owned()),
            Ok(0) => return Err("hung up in its first words".to_owned()),
            Ok(more) => read += more,
            Err(error) => return Err(reason::of_first_words(&error)),
        }
        // Told apart as early as possible: an HTTP/1 request may be shorter than the preface.
        if head[..read] != PREFACE[..read] {
            return Err(match head {
                [0x16, 0x03, ..] => {
                    "speaks TLS, but this port is plaintext (this coordinator has no --certs)".to_owned()
                }
                _ if head[..read].iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => {
                    "speaks HTTP/1 or the like, not gRPC".to_owned()
                }
                _ => "speaks no HTTP/2".to_owned(),
            });
        }
    }
    Ok(head.to_vec())
}

/// Small messages go at once; a peer whose host has died is noticed by the kernel too, where the protocol has no ping.
fn prepare(socket: &TcpStream) {
    let kept = nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::KeepAlive, &true);
    if let Err(error) = socket.set_nodelay(true).and(kept.map_err(io::Error::from)) {
        tracing::debug!(%error, "a connection stays without its options");
    }
}
