use std::collections::VecDeque;

use futures_util::task::noop_waker;

use super::*;

/// Bytes behind their own number.
struct Lengths;

impl Decoder for Lengths {
    type Item = BytesMut;
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<BytesMut>> {
        let Some(&length) = src.first() else {
            src.reserve(1);
            return Ok(None);
        };
        let whole = usize::from(length) + 1;
        if src.len() < whole {
            src.reserve(whole);
            return Ok(None);
        }
        Ok(Some(src.split_to(whole).split_off(1)))
    }
}

impl Encoder for Lengths {
    type Item<'a> = &'a [u8];
    type Error = io::Error;

    fn encode(&mut self, item: &[u8], dst: &mut BytesMut) -> io::Result<()> {
        dst.extend_from_slice(&[item.len() as u8]);
        dst.extend_from_slice(item);
        Ok(())
    }
}

/// A socket that hands over and takes as much at a time as it is told to.
#[derive(Default)]
struct Script {
    /// What comes; an empty piece is nothing yet, and behind the last is the end.
    comes: VecDeque<Vec<u8>>,
    taken: Vec<u8>,
    /// Of each write.
    most: usize,
    /// Whether the next write has to wait.
    full: bool,
}

impl AsyncRead for Script {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.comes.pop_front() {
            None => Poll::Ready(Ok(0)),
            Some(piece) if piece.is_empty() => Poll::Pending,
            Some(piece) => {
                buf[..piece.len()].copy_from_slice(&piece);
                Poll::Ready(Ok(piece.len()))
            }
        }
    }
}

impl AsyncWrite for Script {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.full = !self.full;
        if self.full {
            return Poll::Pending;
        }
        let length = buf.len().min(self.most);
        self.taken.extend(&buf[..length]);
        Poll::Ready(Ok(length))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

type Pipe = Framed<Script, Lengths>;

fn reads(pieces: &[&[u8]]) -> Pipe {
    let comes = pieces.iter().map(|piece| piece.to_vec()).collect();
    Framed::new(Script { comes, ..Script::default() }, Lengths)
}

fn next(pipe: &mut Pipe) -> Poll<Option<io::Result<BytesMut>>> {
    Pin::new(pipe).poll_next(&mut Context::from_waker(&noop_waker()))
}

fn item(pipe: &mut Pipe) -> Vec<u8> {
    match next(pipe) {
        Poll::Ready(Some(Ok(item))) => item.to_vec(),
        other => panic!("no item: {other:?}"),
    }
}

#[test]
fn items_cut_anywhere_come_whole_and_leave_nothing_behind() {
    let stream = [&[3_u8, 1, 2, 3][..], &[0], &[2, 8, 9]].concat();
    for first in 1..stream.len() {
        for second in first..stream.len() {
            let mut pieces = vec![&stream[..first]];
            pieces.extend((second > first).then(|| &stream[first..second]));
            pieces.extend([&[][..], &stream[second..], &[]]);
            let mut pipe = reads(&pieces);
            let mut items = Vec::new();
            let mut waits = 0;
            while items.len() < 3 {
                match next(&mut pipe) {
                    Poll::Ready(Some(Ok(item))) => items.push(item.to_vec()),
                    Poll::Pending => waits += 1,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!((items, waits), (vec![vec![1, 2, 3], vec![], vec![8, 9]], 1), "cut at {first} and {second}");
            assert!(next(&mut pipe).is_pending());
            assert_eq!(pipe.unread.capacity(), 0, "a buffer with nothing in it");
        }
    }
}

#[test]
fn the_end_is_one_between_items_only() {
    let mut whole = reads(&[&[1, 7]]);
    assert_eq!(item(&mut whole), [7]);
    assert!(matches!(next(&mut whole), Poll::Ready(None)));
    let mut half = reads(&[&[2, 7]]);
    let Poll::Ready(Some(Err(error))) = next(&mut half) else { panic!("half an item is none") };
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn items_are_written_in_order_however_slowly_and_let_go() {
    for most in [1, 2, 3, 100] {
        let mut pipe = Framed::new(Script { most, ..Script::default() }, Lengths);
        let waker = noop_waker();
        let mut context = Context::from_waker(&waker);
        for item in [&[1_u8, 2, 3][..], &[], &[4]] {
            assert!(Pin::new(&mut pipe).poll_ready(&mut context).is_ready());
            Pin::new(&mut pipe).start_send(item).unwrap();
        }
        while Pin::new(&mut pipe).poll_flush(&mut context).is_pending() {}
        assert_eq!(pipe.taken, [3, 1, 2, 3, 0, 1, 4], "{most} at a time");
        assert_eq!(pipe.unwritten.capacity(), 0, "a buffer with nothing in it");
    }
}

#[test]
fn much_that_is_unwritten_has_the_next_item_wait() {
    let mut pipe = Framed::new(Script { most: 1 << 20, full: false, ..Script::default() }, Lengths);
    let waker = noop_waker();
    let mut context = Context::from_waker(&waker);
    while pipe.unwritten.len() < MOST_UNWRITTEN {
        assert!(Pin::new(&mut pipe).poll_ready(&mut context).is_ready());
        Pin::new(&mut pipe).start_send(&[0; 255]).unwrap();
    }
    assert!(Pin::new(&mut pipe).poll_ready(&mut context).is_pending());
    assert!(Pin::new(&mut pipe).poll_ready(&mut context).is_ready());
    assert_eq!(pipe.unwritten.len(), 0);
}

#[test]
fn a_socket_that_takes_nothing_is_an_error_and_not_a_loop() {
    let mut pipe = Framed::new(Script { most: 0, full: true, ..Script::default() }, Lengths);
    let waker = noop_waker();
    Pin::new(&mut pipe).start_send(&[1]).unwrap();
    let flushed = Pin::new(&mut pipe).poll_flush(&mut Context::from_waker(&waker));
    let Poll::Ready(Err(error)) = flushed else { panic!("{flushed:?}") };
    assert_eq!(error.kind(), io::ErrorKind::WriteZero);
}
