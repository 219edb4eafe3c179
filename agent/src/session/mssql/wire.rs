//! The socket under the client, and whether what goes over it is encrypted.
//!
//! The client and the server settle that between them: a server may insist on TLS that nobody asked for. The client does
//! not tell, but the bytes do: a TLS record of data begins with 23, a TDS packet with its type, which is 18 at most. [RFC
//! 8446 5.1; MS-TDS 2.2.3.1.1]

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

const TLS_DATA: u8 = 23;

/// A socket that remembers how its last write began.
#[derive(Debug)]
pub(super) struct Wire {
    socket: TcpStream,
    first_byte: Arc<AtomicU8>,
}

/// Tells how the last write to a [`Wire`] began.
#[derive(Debug, Clone)]
pub(super) struct Look(Arc<AtomicU8>);

impl Wire {
    pub fn new(socket: TcpStream) -> (Wire, Look) {
        let first_byte = Arc::new(AtomicU8::new(0));
        (Wire { socket, first_byte: Arc::clone(&first_byte) }, Look(first_byte))
    }
}

impl Look {
    /// Whether it was data under TLS.
    pub fn is_encrypted(&self) -> bool {
        self.0.load(Ordering::Relaxed) == TLS_DATA
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if let Some(first) = buf.first() {
            self.first_byte.store(*first, Ordering::Relaxed);
        }
        Pin::new(&mut self.socket).poll_write(context, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
