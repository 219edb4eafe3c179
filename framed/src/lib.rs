//! Packets on a socket, as tiberius wants them from the crate `asynchronous-codec`, and nothing else of that crate.
//!
//! That crate gives each connection two buffers of 8 KB for life, which traffic goes through from end to end, and thousands
//! of sessions that wait for their users keep them resident. Here a buffer exists while something is in it: what is read
//! goes through room that belongs to the thread, and what was written is let go.

use std::cell::Cell;
use std::io;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pub use bytes::{Bytes, BytesMut};
use futures_util::io::{AsyncRead, AsyncWrite};
use futures_util::{Sink, Stream};

/// Bytes of the thread's room to read into: two packets of the size that servers propose.
const ROOM: usize = 8 * 1024;
/// So much may wait to be written before a further item has to wait itself.
const MOST_UNWRITTEN: usize = 128 * 1024;

thread_local! {
    static READ: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Finds items in what was read.
pub trait Decoder {
    /// What it finds.
    type Item;
    /// Why it may not.
    type Error: From<io::Error>;

    /// Takes the next item from the front, unless it is not all there.
    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Self::Item>, Self::Error>;

    /// The same once nothing more will come; something is there.
    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Self::Item>, Self::Error> {
        self.decode(src)
    }
}

/// Puts items into what is written.
pub trait Encoder {
    /// What it puts there.
    type Item<'a>;
    /// Why it may not.
    type Error: From<io::Error>;

    /// Appends an item.
    fn encode(&mut self, item: Self::Item<'_>, dst: &mut BytesMut) -> Result<(), Self::Error>;
}

/// A socket that items are read from and written to.
#[derive(Debug)]
pub struct Framed<T, U> {
    socket: T,
    codec: U,
    unread: BytesMut,
    /// What is to be written, the first `written` bytes of which already are.
    unwritten: BytesMut,
    written: usize,
}

impl<T, U> Framed<T, U> {
    /// Of a socket.
    pub fn new(socket: T, codec: U) -> Framed<T, U> {
        Framed { socket, codec, unread: BytesMut::new(), unwritten: BytesMut::new(), written: 0 }
    }

    /// The socket alone. What was read and not asked for is lost.
    pub fn into_inner(self) -> T {
        self.socket
    }
}

impl<T, U> Deref for Framed<T, U> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.socket
    }
}

impl<T, U> DerefMut for Framed<T, U> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.socket
    }
}

impl<T: AsyncRead + Unpin, U> Framed<T, U> {
    /// Reads once. Returns how much.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // Taken and put back, so that a socket that is itself one of these finds none and makes its own.
        let mut room = READ.take();
        room.resize(ROOM, 0);
        let read = Pin::new(&mut self.socket).poll_read(context, &mut room);
        if let Poll::Ready(Ok(length)) = read {
            self.unread.extend_from_slice(&room[..length]);
        }
        READ.set(room);
        read
    }
}

impl<T: AsyncRead + Unpin, U: Decoder + Unpin> Stream for Framed<T, U> {
    type Item = Result<U::Item, U::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            // Not asked of nothing, for which a decoder makes room all the same.
            if !this.unread.is_empty()
                && let Some(item) = this.codec.decode(&mut this.unread)?
            {
                if this.unread.is_empty() {
                    this.unread = BytesMut::new();
                }
                return Poll::Ready(Some(Ok(item)));
            }
            if ready!(this.poll_more(context))? == 0 {
                if this.unread.is_empty() {
                    return Poll::Ready(None);
                }
                let half = || io::Error::new(io::ErrorKind::UnexpectedEof, "half an item at the end");
                let item = this.codec.decode_eof(&mut this.unread)?;
                return Poll::Ready(Some(item.ok_or_else(|| half().into())));
            }
        }
    }
}

impl<T: AsyncWrite + Unpin, U> Framed<T, U> {
    fn poll_written(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.unwritten.len() {
            let rest = &self.unwritten[self.written..];
            match ready!(Pin::new(&mut self.socket).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                length => self.written += length,
            }
        }
        (self.unwritten, self.written) = (BytesMut::new(), 0);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin, U: Encoder + Unpin> Sink<U::Item<'_>> for Framed<T, U> {
    type Error = U::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), U::Error>> {
        if self.unwritten.len() >= MOST_UNWRITTEN {
            ready!(self.poll_written(context))?;
        }
        Poll::Ready(Ok(()))
    }

    fn start_send(mut self: Pin<&mut Self>, item: U::Item<'_>) -> Result<(), U::Error> {
        let this = &mut *self;
        this.codec.encode(item, &mut this.unwritten)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), U::Error>> {
        ready!(self.poll_written(context))?;
        Pin::new(&mut self.socket).poll_flush(context).map_err(Into::into)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), U::Error>> {
        ready!(self.poll_written(context))?;
        Pin::new(&mut self.socket).poll_close(context).map_err(Into::into)
    }
}

#[cfg(test)]
mod tests;
