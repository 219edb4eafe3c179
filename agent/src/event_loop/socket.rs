//! Sockets of the loop.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::sockopt::SocketError;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, UnixAddr, connect, getsockopt, socket};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::core::Core;
use super::resolve::resolve;
use crate::fine;

/// How soon a unix socket is tried again whose listener has no room in its queue: the kernel tells nobody when there is.
const CROWDED: Duration = Duration::from_millis(2);

/// A connected socket.
pub(crate) struct Socket {
    io: Io,
    source: u32,
    /// Room in the send buffer was missed and is waited for.
    is_full: bool,
    core: Rc<Core>,
}

enum Io {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl AsFd for Io {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Io::Tcp(stream) => stream.as_fd(),
            Io::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
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
        let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let descriptor = new_socket(family)?;
        let begun = connect(descriptor.as_raw_fd(), &SockaddrStorage::from(address));
        let mut socket = Socket::register(Io::Tcp(descriptor.into()), EpollFlags::EPOLLOUT)?;
        match begun {
            Ok(()) => {}
            Err(Errno::EINPROGRESS) => std::future::poll_fn(|context| socket.poll_connected(context)).await?,
            Err(errno) => return Err(errno.into()),
        }
        socket.wait_for(EpollFlags::empty())?;
        Ok(socket)
    }

    /// Connects to a listener in the file system.
    pub(crate) async fn connect_unix(path: &Path) -> io::Result<Socket> {
        let address = UnixAddr::new(path)?;
        let descriptor = new_socket(AddressFamily::Unix)?;
        loop {
            match connect(descriptor.as_raw_fd(), &address) {
                Ok(()) => return Socket::register(Io::Unix(descriptor.into()), EpollFlags::empty()),
                Err(Errno::EAGAIN) => fine::sleep(CROWDED).await,
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn register(io: Io, also: EpollFlags) -> io::Result<Socket> {
        let core =
            Core::here().ok_or_else(|| io::Error::other("a socket of the event loop was opened outside of it"))?;
        let source = core.register(&io, also)?;
        Ok(Socket { io, source, is_full: false, core })
    }

    fn wait_for(&self, also: EpollFlags) -> io::Result<()> {
        self.core.change(self.source, &self.io, also)
    }

    /// One that is not connected yet has neither an error nor an address at the other end.
    fn poll_connected(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Io::Tcp(stream) = &self.io else { return Poll::Ready(Ok(())) };
        match getsockopt(&self.io, SocketError)? {
            0 => match stream.peer_addr() {
                Ok(_) => Poll::Ready(Ok(())),
                Err(error) if error.kind() == ErrorKind::NotConnected => {
                    self.core.watch_write(self.source, context);
                    Poll::Pending
                }
                Err(error) => Poll::Ready(Err(error)),
            },
            error => Poll::Ready(Err(io::Error::from_raw_os_error(error))),
        }
    }

    /// Whether the other end is on this host for sure.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.io, Io::Unix(_))
    }

    /// Sends without a delay for more to come.
    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        match &self.io {
            Io::Tcp(stream) => stream.set_nodelay(true),
            Io::Unix(_) => Ok(()),
        }
    }

    /// Reads what is there, without asking the kernel while nothing can be. Nothing read is the end.
    pub(crate) fn poll_receive(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            if !self.core.may_read(self.source, context) {
                return Poll::Pending;
            }
            let received = match &self.io {
                Io::Tcp(stream) => (&mut &*stream).read(buffer),
                Io::Unix(stream) => (&mut &*stream).read(buffer),
            };
            match received {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.core.drained(self.source),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(count) => {
                    if count < buffer.len() {
                        self.core.drained(self.source);
                    }
                    return Poll::Ready(Ok(count));
                }
                error => return Poll::Ready(error),
            }
        }
    }

    /// Sends as much as the kernel takes.
    pub(crate) fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let sent = match &self.io {
                Io::Tcp(stream) => (&mut &*stream).write(bytes),
                Io::Unix(stream) => (&mut &*stream).write(bytes),
            };
            match sent {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.core.watch_write(self.source, context);
                    self.is_full = true;
                    // Tells at once if there has been room meanwhile.
                    self.wait_for(EpollFlags::EPOLLOUT)?;
                    return Poll::Pending;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => {
                    if std::mem::take(&mut self.is_full) {
                        self.wait_for(EpollFlags::empty())?;
                    }
                    return Poll::Ready(sent);
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
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket(family, SockType::Stream, flags, None)?)
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
        let how = std::net::Shutdown::Write;
        Poll::Ready(match &self.io {
            Io::Tcp(stream) => stream.shutdown(how),
            Io::Unix(stream) => stream.shutdown(how),
        })
    }
}

#[cfg(test)]
impl From<UnixStream> for Socket {
    /// One end of a pair, for tests.
    fn from(stream: UnixStream) -> Socket {
        stream.set_nonblocking(true).expect("a socket can be told so");
        Socket::register(Io::Unix(stream), EpollFlags::empty()).expect("tests run inside of a loop")
    }
}
