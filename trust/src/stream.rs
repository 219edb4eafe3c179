//! A connection of which a little has been said already: what was read ahead is read again, and what was written ahead is not
//! written twice.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

/// What every HTTP/2 client says first (RFC 9113, 3.4).
pub(crate) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes in the clear, or in TLS.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A stream whose first bytes were looked at.
#[derive(Debug)]
pub(crate) struct Begun {
    stream: Stream,
    head: Vec<u8>,
    head_read: usize,
    written_ahead: usize,
}

impl Begun {
    /// `head` was read from the stream already, and the first `written_ahead` bytes that will be written were written already.
    pub(crate) fn new(stream: Stream, head: Vec<u8>, written_ahead: usize) -> Begun {
        Begun { stream, head, head_read: 0, written_ahead }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

impl AsyncRead for Begun {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let left = &self.head[self.head_read..];
        if left.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let taken = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..taken]);
        self.head_read += taken;
        if self.head_read == self.head.len() {
            self.head = Vec::new();
            self.head_read = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Begun {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.written_ahead == 0 {
            return Pin::new(&mut self.stream).poll_write(cx, bytes);
        }
        let passed = self.written_ahead.min(bytes.len());
        self.written_ahead -= passed;
        Poll::Ready(Ok(passed))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
