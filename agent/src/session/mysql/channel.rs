//! Packets over a socket: a command out, its answer in.
//!
//! Protocol: <https://mariadb.com/kb/en/0-packet/>. Both directions go through buffers that the sessions of a thread
//! share; a session keeps bytes of its own only while a packet is incomplete, so an idle one has none.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::ops::ControlFlow;
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
const KEEP_BYTES: usize = 1 << 20;

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
    pub(super) async fn exchange(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>),
        reader: &mut impl Reader,
    ) -> io::Result<()> {
        self.restart();
        self.send(write).await?;
        self.receive(reader).await?;
        if self.partial.is_empty() { Ok(()) } else { Err(malformed("the server said more than it was asked")) }
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
        buffer.resize(HEADER, 0);
        write(buffer);
        self.frame(buffer);
        let sent = self.stream.poll_send(context, buffer);
        let done = match &sent {
            Poll::Ready(Ok(done)) => *done,
            Poll::Ready(Err(_)) | Poll::Pending => 0,
        };
        self.unsent.extend_from_slice(&buffer[done..]);
        if buffer.capacity() > KEEP_BYTES {
            *buffer = Vec::new();
        }
        ready!(sent)?;
        self.go_on_sending(context)
    }

    fn go_on_sending(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let sent = ready!(self.stream.poll_send(context, &self.unsent))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unsent.drain(..sent);
        }
        self.unsent = Vec::new();
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
        let mut bytes = &[][..];
        loop {
            if self.take(bytes, reader)?.is_break() {
                return Poll::Ready(Ok(()));
            }
            let count = ready!(self.stream.poll_receive(context, buffer))?;
            bytes = &buffer[..count];
            if bytes.is_empty() {
                let closed = "the server closed the connection";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::UnexpectedEof, closed)));
            }
        }
    }

    /// Hands over every complete packet, and keeps what is left.
    fn take(&mut self, bytes: &[u8], reader: &mut impl Reader) -> io::Result<ControlFlow<()>> {
        if self.partial.is_empty() {
            let (used, flow) = self.deliver(bytes, reader)?;
            self.partial.extend_from_slice(&bytes[used..]);
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
        let mut used = 0;
        while let Some((payload, length)) = self.next_packet(&bytes[used..])? {
            used += length;
            let flow = match payload {
                Payload::Whole(payload) => reader.packet(payload)?,
                Payload::Joined(payload) => reader.packet(&payload)?,
            };
            if flow.is_break() {
                return Ok((used, flow));
            }
        }
        Ok((used, ControlFlow::Continue(())))
    }

    /// The payload that `bytes` begin with and how many bytes it took, once it is complete.
    fn next_packet<'a>(&mut self, bytes: &'a [u8]) -> io::Result<Option<(Payload<'a>, usize)>> {
        let Some((first, mut rest)) = part(bytes) else { return Ok(None) };
        if first.payload.len() < LONGEST {
            self.expect(&first)?;
            return Ok(Some((Payload::Whole(first.payload), bytes.len() - rest.len())));
        }
        let mut parts = vec![first];
        while parts.last().is_some_and(|last| last.payload.len() == LONGEST) {
            let Some((next, behind)) = part(rest) else { return Ok(None) };
            parts.push(next);
            rest = behind;
        }
        for part in &parts {
            self.expect(part)?;
        }
        let payloads: Vec<_> = parts.iter().map(|part| part.payload).collect();
        Ok(Some((Payload::Joined(payloads.concat()), bytes.len() - rest.len())))
    }

    fn expect(&mut self, part: &Part<'_>) -> io::Result<()> {
        // A server that closes an idle connection says why before anybody has asked.
        let farewell = part.sequence == 0 && self.sequence == 1 && part.payload.first() == Some(&ERROR);
        if part.sequence != self.sequence && !farewell {
            return Err(malformed("a packet is out of sequence"));
        }
        self.sequence = part.sequence.wrapping_add(1);
        Ok(())
    }
}

/// A payload: where it lies, or copied together.
enum Payload<'a> {
    Whole(&'a [u8]),
    Joined(Vec<u8>),
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
