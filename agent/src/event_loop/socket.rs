//! Sockets of the loop.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_nodelay, socket_error};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, getpeername, recv, send,
    shutdown, socket_with,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::core::Core;
use super::resolve::resolve;
use crate::fine;

/// How soon a unix socket is tried again whose listener has no room in its queue: the kernel tells nobody when there is.
const CROWDED: Duration = Duration::from_millis(2);

/// A connected socket.
pub(crate) struct Socket {
    descriptor: OwnedFd,
    source: u32,
    /// Room in the send buffer was missed and is waited for.
    is_full: bool,
    /// The other end is on this host for sure.
    is_local: bool,
    core: Rc<Core>,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Socket {
    /// Connects to the first of the host's addresses that answers.
    pub(crate) async fn connect(host: &str, port: u16) -> io::Result<Socket> {
        let mut failed = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in resolve(host, port).await?.iter() {
            match Self::connect_to(*address).await {
                Ok(socket) => return Ok(socket),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    async fn connect_to(address: SocketAddr) -> io::Result<Socket> {
        let descriptor = new_socket(if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 })?;
        let begun = connect(&descriptor, &address);
        let mut socket = Socket::register(descriptor, false, EventFlags::OUT)?;
        match begun {
            Ok(()) => {}
            Err(Errno::INPROGRESS) => std::future::poll_fn(|context| socket.poll_connected(context)).await?,
            Err(errno) => return Err(errno.into()),
        }
        socket.wait_for(EventFlags::empty())?;
        Ok(socket)
    }

    /// Connects to a listener in the file system.
    pub(crate) async fn connect_unix(path: &Path) -> io::Result<Socket> {
        let address = SocketAddrUnix::new(path)?;
        let descriptor = new_socket(AddressFamily::UNIX)?;
        loop {
            match connect(&descriptor, &address) {
                Ok(()) => return Socket::register(descriptor, true, EventFlags::empty()),
                Err(Errno::AGAIN) => fine::sleep(CROWDED).await,
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn register(descriptor: OwnedFd, is_local: bool, also: EventFlags) -> io::Result<Socket> {
        let core =
            Core::here().ok_or_else(|| io::Error::other("a socket of the event loop was opened outside of it"))?;
        let source = core.register(&descriptor, also)?;
        Ok(Socket { descriptor, source, is_full: false, is_local, core })
    }

    fn wait_for(&self, also: EventFlags) -> io::Result<()> {
        self.core.change(self.source, &self.descriptor, also)
    }

    /// One that is not connected yet has neither an error nor an address at the other end.
    fn poll_connected(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        socket_error(&self.descriptor)??;
        match getpeername(&self.descriptor) {
            Ok(_) => Poll::Ready(Ok(())),
            Err(Errno::NOTCONN) => {
                self.core.watch_write(self.source, context);
                Poll::Pending
            }
            Err(errno) => Poll::Ready(Err(errno.into())),
        }
    }

    /// Whether the other end is on this host for sure.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Sends without a delay for more to come.
    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        Ok(set_tcp_nodelay(&self.descriptor, true)?)
    }

    /// Whether the kernel may have something to read; if not, the reader is woken once it may.
    #[inline]
    pub(crate) fn may_receive(&self, context: &Context<'_>) -> bool {
        self.core.may_read(self.source, context)
    }

    /// Reads what is there, without asking the kernel while nothing can be. Nothing read is the end.
    pub(crate) fn poll_receive(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            if !self.may_receive(context) {
                return Poll::Pending;
            }
            match recv(&self.descriptor, &mut *buffer, RecvFlags::empty()) {
                Err(Errno::AGAIN) => self.core.found_nothing(self.source),
                Err(Errno::INTR) => {}
                Ok((count, _)) => {
                    if count < buffer.len() {
                        self.core.drained(self.source);
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(errno) => return Poll::Ready(Err(errno.into())),
            }
        }
    }

    /// Sends as much as the kernel takes.
    pub(crate) fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            match send(&self.descriptor, bytes, SendFlags::NOSIGNAL) {
                Err(Errno::AGAIN) => {
                    self.core.watch_write(self.source, context);
                    self.is_full = true;
                    // Tells at once if there has been room meanwhile.
                    self.wait_for(EventFlags::OUT)?;
                    return Poll::Pending;
                }
                Err(Errno::INTR) => {}
                sent => {
                    if std::mem::take(&mut self.is_full) {
                        self.wait_for(EventFlags::empty())?;
                    }
                    return Poll::Ready(sent.map_err(io::Error::from));
                }
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.core.unregister(self.source);
    }
}

fn new_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?)
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let count = ready!(self.get_mut().poll_receive(context, buffer.initialize_unfilled()))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().poll_send(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(shutdown(&self.descriptor, rustix::net::Shutdown::Write).map_err(io::Error::from))
    }
}

#[cfg(test)]
impl From<std::os::unix::net::UnixStream> for Socket {
    /// One end of a pair, for tests.
    fn from(stream: std::os::unix::net::UnixStream) -> Socket {
        stream.set_nonblocking(true).expect("a socket can be told so");
        Socket::register(stream.into(), true, EventFlags::empty()).expect("tests run inside of a loop")
    }
}
