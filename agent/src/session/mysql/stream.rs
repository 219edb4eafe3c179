//! The socket under a connection, encrypted or not.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use crate::event_loop::Socket;

/// Bytes both ways.
pub(super) enum Stream {
    Plain(Socket),
    /// Boxed: its state is large, and most sessions have none.
    Tls(Box<TlsStream<Socket>>),
}

impl Stream {
    /// For reports.
    pub(super) fn route(&self) -> &'static str {
        match self {
            Stream::Plain(socket) if socket.is_local() => "unix socket",
            Stream::Plain(_) => "tcp, no TLS",
            Stream::Tls(_) => "tcp, TLS",
        }
    }

    /// Whether nobody on the way can read along.
    pub(super) fn is_private(&self) -> bool {
        match self {
            Stream::Plain(socket) => socket.is_local(),
            Stream::Tls(_) => true,
        }
    }

    /// Reads what is there. Nothing read is the end.
    pub(super) fn poll_receive(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Plain(socket) => socket.poll_receive(context, buffer),
            Stream::Tls(stream) => {
                let mut read = ReadBuf::new(buffer);
                ready!(Pin::new(stream.as_mut()).poll_read(context, &mut read))?;
                Poll::Ready(Ok(read.filled().len()))
            }
        }
    }

    /// Sends as much as fits.
    pub(super) fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Plain(socket) => socket.poll_send(context, bytes),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_write(context, bytes),
        }
    }

    /// Sends what encryption has held back.
    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Plain(_) => Poll::Ready(Ok(())),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }
}
