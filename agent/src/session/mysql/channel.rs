//! Packets over a socket: a command out, its answer in.
//!
//! Protocol: <https://mariadb.com/kb/en/0-packet/>. Both directions go through buffers that the sessions of a thread
//! share; a session keeps bytes of its own only while a packet is incomplete, so an idle one has none.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use vufleet_scenarios::study::Target;

use super::refusal::LoginError;
use super::stream::Stream;
use super::tls;

/// A packet's header: three bytes of length, one of sequence.
const HEADER: usize = 4;
/// Longest payload of one packet; one of exactly this length goes on in the next.
const LONGEST: usize = 0xff_ffff;
/// First byte of an error.
pub(super) const ERROR: u8 = 0xff;
/// What one read takes at most.
const READ_BYTES: usize = 64 * 1024;
/// A shared buffer that has grown beyond this is given back.
const KEEP_BYTES: usize = 2 << 20;

thread_local! {
    static INCOMING: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into_boxed_slice());
    static OUTGOING: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Takes the packets of one answer.
pub(super) trait Reader {
    /// One packet's payload; `Break` when it was the answer's last.
    ///
    /// # Errors
    /// When it is not what the protocol allows here.
    fn packet(&mut self, payload: &[u8]) -> io::Result<ControlFlow<()>>;
}

/// A connection on which commands and answers take turns.
pub(super) struct Channel {
    stream: Stream,
    /// Sequence number that the next packet must have.
    sequence: u8,
    /// The beginning of a packet whose end has not come yet.
    partial: Vec<u8>,
    /// What the socket would not take yet.
    unsent: Vec<u8>,
}

impl Channel {
    pub(super) fn new(stream: Stream) -> Self {
        Channel { stream, sequence: 0, partial: Vec::new(), unsent: Vec::new() }
    }

    /// What is underneath.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Goes on encrypted. Nothing may be under way.
    pub(super) async fn encrypted(self, target: &Target) -> Result<Channel, LoginError> {
        if !self.partial.is_empty() {
            return Err(malformed("plaintext behind the greeting of a connection that is to be encrypted").into());
        }
        let Stream::Plain(socket) = self.stream else { return Ok(self) };
        let stream = Stream::Tls(Box::new(tls::encrypt(socket, target).await?));
        Ok(Channel { stream, ..self })
    }

    /// Sends the payload that `write` appends, as the begin of a new exchange, and reads the answer to its end.
    pub(super) fn exchange<'a, W, R>(&'a mut self, write: W, reader: &'a mut R) -> Exchange<'a, W, R>
    where
        W: FnOnce(&mut Vec<u8>) + Unpin,
        R: Reader,
    {
        Exchange { channel: self, reader, step: Step::Begin(write) }
    }

    /// The next packet begins an exchange.
    pub(super) fn restart(&mut self) {
        self.sequence = 0;
    }

    /// Sends the next packet of this exchange.
    pub(super) async fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut write = Some(write);
        poll_fn(|context| {
            if let Some(write) = write.take() {
                return OUTGOING.with_borrow_mut(|buffer| self.begin_send(context, buffer, write));
            }
            self.go_on_sending(context)
        })
        .await
    }

    fn begin_send(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Poll<io::Result<()>> {
        buffer.clear();
        buffer.extend_from_slice(&[0; HEADER]);
        write(buffer);
        self.frame(buffer);
        let sent = self.stream.poll_send(context, buffer);
        let done = match &sent {
            Poll::Ready(Ok(done)) => *done,
            Poll::Ready(Err(_)) | Poll::Pending => 0,
        };
        if done < buffer.len() {
            self.unsent.extend_from_slice(&buffer[done..]);
        }
        if buffer.capacity() > KEEP_BYTES {
            *buffer = Vec::new();
        }
        ready!(sent)?;
        self.go_on_sending(context)
    }

    #[inline]
    fn go_on_sending(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let sent = ready!(self.stream.poll_send(context, &self.unsent))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unsent.drain(..sent);
            if self.unsent.is_empty() {
                self.unsent = Vec::new();
            }
        }
        self.stream.poll_flush(context)
    }

    /// Puts headers in: one in front, and one before each further part of what is too long for one packet.
    fn frame(&mut self, buffer: &mut Vec<u8>) {
        let mut start = 0;
        loop {
            let rest = buffer.len() - start - HEADER;
            let length = rest.min(LONGEST);
            let [low, middle, high, _] = (length as u32).to_le_bytes();
            buffer[start..start + HEADER].copy_from_slice(&[low, middle, high, self.sequence]);
            self.sequence = self.sequence.wrapping_add(1);
            if length < LONGEST {
                return;
            }
            start += HEADER + LONGEST;
            buffer.splice(start..start, [0; HEADER]);
        }
    }

    /// Reads packets until `reader` has seen the last of its answer.
    pub(super) async fn receive(&mut self, reader: &mut impl Reader) -> io::Result<()> {
        poll_fn(|context| INCOMING.with_borrow_mut(|buffer| self.poll_receive(context, buffer, reader))).await
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
        reader: &mut impl Reader,
    ) -> Poll<io::Result<()>> {
        // During login a packet may have come together with the one before.
        if !self.partial.is_empty() && self.take(&[], reader)?.is_break() {
            return Poll::Ready(Ok(()));
        }
        loop {
            let count = ready!(self.stream.poll_receive(context, buffer))?;
            if count == 0 {
                let closed = "the server closed the connection";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::UnexpectedEof, closed)));
            }
            if self.take(&buffer[..count], reader)?.is_break() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Hands over every complete packet, and keeps what is left.
    #[inline]
    fn take(&mut self, bytes: &[u8], reader: &mut impl Reader) -> io::Result<ControlFlow<()>> {
        if self.partial.is_empty() {
            let (used, flow) = self.deliver(bytes, reader)?;
            if used < bytes.len() {
                self.partial.extend_from_slice(&bytes[used..]);
            }
            return Ok(flow);
        }
        let mut partial = std::mem::take(&mut self.partial);
        partial.extend_from_slice(bytes);
        let (used, flow) = self.deliver(&partial, reader)?;
        if used < partial.len() {
            partial.drain(..used);
            self.partial = partial;
        }
        Ok(flow)
    }

    fn deliver(&mut self, bytes: &[u8], reader: &mut impl Reader) -> io::Result<(usize, ControlFlow<()>)> {
        let mut rest = bytes;
        let mut flow = ControlFlow::Continue(());
        while let Some((first, behind)) = part(rest) {
            flow = if first.payload.len() < LONGEST {
                self.expect(&first)?;
                rest = behind;
                reader.packet(first.payload)?
            } else {
                let Some((payload, behind)) = self.join(rest)? else { break };
                rest = behind;
                reader.packet(&payload)?
            };
            if flow.is_break() {
                break;
            }
        }
        Ok((bytes.len() - rest.len(), flow))
    }

    /// The payload of several parts that `bytes` begin with and what follows, once it is complete.
    #[cold]
    fn join<'a>(&mut self, mut bytes: &'a [u8]) -> io::Result<Option<(Vec<u8>, &'a [u8])>> {
        let mut parts = Vec::<Part<'_>>::new();
        while parts.last().is_none_or(|last| last.payload.len() == LONGEST) {
            let Some((next, behind)) = part(bytes) else { return Ok(None) };
            parts.push(next);
            bytes = behind;
        }
        for part in &parts {
            self.expect(part)?;
        }
        let payloads: Vec<_> = parts.iter().map(|part| part.payload).collect();
        Ok(Some((payloads.concat(), bytes)))
    }

    fn expect(&mut self, part: &Part<'_>) -> io::Result<()> {
        if part.sequence != self.sequence {
            self.expect_farewell(part)?;
        }
        self.sequence = part.sequence.wrapping_add(1);
        Ok(())
    }

    /// A server that closes an idle connection says why before anybody has asked.
    #[cold]
    fn expect_farewell(&self, part: &Part<'_>) -> io::Result<()> {
        let farewell = part.sequence == 0 && self.sequence == 1 && part.payload.first() == Some(&ERROR);
        if farewell { Ok(()) } else { Err(malformed("a packet is out of sequence")) }
    }
}

/// A command and its answer under way. One future instead of one for each step: every wake-up goes through all of them.
pub(super) struct Exchange<'a, W, R> {
    channel: &'a mut Channel,
    reader: &'a mut R,
    step: Step<W>,
}

enum Step<W> {
    Begin(W),
    Send,
    Receive,
}

impl<W: FnOnce(&mut Vec<u8>) + Unpin, R: Reader> Future for Exchange<'_, W, R> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Exchange { channel, reader, step } = self.get_mut();
        let mut sent_before = false;
        match std::mem::replace(step, Step::Send) {
            Step::Begin(write) => {
                channel.restart();
                ready!(OUTGOING.with_borrow_mut(|buffer| channel.begin_send(context, buffer, write)))?;
            }
            Step::Send => ready!(channel.go_on_sending(context))?,
            Step::Receive => sent_before = true,
        }
        *step = Step::Receive;
        // An answer is hardly ever there when its question has just gone out.
        if !sent_before && !channel.stream.may_receive(context) {
            return Poll::Pending;
        }
        ready!(INCOMING.with_borrow_mut(|buffer| channel.poll_receive(context, buffer, *reader)))?;
        let all = channel.partial.is_empty();
        Poll::Ready(if all { Ok(()) } else { Err(malformed("the server said more than it was asked")) })
    }
}

struct Part<'a> {
    sequence: u8,
    payload: &'a [u8],
}

/// The packet that `bytes` begin with, and what follows; none while it is incomplete.
fn part(bytes: &[u8]) -> Option<(Part<'_>, &[u8])> {
    let (&[low, middle, high, sequence], rest) = bytes.split_first_chunk()?;
    let (payload, rest) = rest.split_at_checked(u32::from_le_bytes([low, middle, high, 0]) as usize)?;
    Some((Part { sequence, payload }, rest))
}

/// The error of an answer that breaks the protocol.
pub(super) fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed answer: {what}"))
}

#[cfg(test)]
mod tests;
