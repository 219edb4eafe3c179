//! A connection that knows its peer.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsStream;
use tonic::transport::server::Connected;

use super::gate::Place;
use crate::certificate::Facts;
use crate::identity::Identity;
use crate::stream::Begun;

/// Who is at the other end. Every request carries one (tonic's `ConnectInfo`).
#[derive(Clone)]
pub struct Peer {
    /// Where it dialled from.
    pub address: SocketAddr,
    /// What its certificate says; none in plaintext.
    pub identity: Option<Identity>,
    line: Arc<Line>,
}

/// What cuts the connection.
struct Line {
    cut: Mutex<Option<oneshot::Sender<()>>>,
    is_cut: Mutex<Option<oneshot::Receiver<()>>>,
}

impl Peer {
    /// Somebody whose connection is there.
    pub fn new(address: SocketAddr, identity: Option<Identity>) -> Peer {
        let (cut, is_cut) = oneshot::channel();
        let line = Arc::new(Line { cut: Mutex::new(Some(cut)), is_cut: Mutex::new(Some(is_cut)) });
        Peer { address, identity, line }
    }

    /// Cuts the connection with everything on it: for peers that take no answers.
    pub fn hang_up(&self) {
        if let Some(cut) = self.line.cut.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // An error means that the connection has gone by itself.
            cut.send(()).unwrap_or_default();
        }
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.identity {
            Some(identity) => write!(f, "{identity} at {}", self.address),
            None => write!(f, "{}", self.address),
        }
    }
}

/// The identity in the certificate that a peer has shown; it was verified in the handshake.
pub(super) fn identity(stream: &TlsStream<TcpStream>) -> Result<Identity, String> {
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    certificate
        .and_then(|certificate| Facts::of(certificate).ok())
        .and_then(|facts| facts.identity)
        .ok_or_else(|| "showed no identity".to_owned())
}

/// A connection that is ready to be served.
#[derive(Debug)]
pub struct Connection {
    begun: Begun,
    peer: Peer,
    is_cut: Option<oneshot::Receiver<()>>,
    _place: Place,
}

impl Connection {
    pub(super) fn new(begun: Begun, peer: Peer, place: Place) -> Connection {
        let is_cut = peer.line.is_cut.lock().unwrap_or_else(PoisonError::into_inner).take();
        Connection { begun, peer, is_cut, _place: place }
    }

    /// Who is at the other end.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    fn poll_cut(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Some(is_cut) = &mut self.is_cut else { return Ok(()) };
        match Pin::new(is_cut).poll(cx) {
            Poll::Pending => Ok(()),
            Poll::Ready(cut) => {
                self.is_cut = None;
                cut.map_or(Ok(()), |()| Err(io::ErrorKind::ConnectionAborted.into()))
            }
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_cut(cx)?;
        Pin::new(&mut self.begun).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.begun).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.begun).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.begun).poll_shutdown(cx)
    }
}
