//! The loop with real sockets, threads and timers.

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::sync::{Notify, mpsc, oneshot};

use super::*;
use crate::fine::{self, FineSleep};

async fn receive(socket: &mut Socket, buffer: &mut [u8]) -> io::Result<usize> {
    poll_fn(|context| socket.poll_receive(context, buffer)).await
}

async fn send(socket: &mut Socket, bytes: &[u8]) -> io::Result<usize> {
    poll_fn(|context| socket.poll_send(context, bytes)).await
}

/// Either way of waiting has to do the same.
fn both(test: impl AsyncFn()) {
    block_on(test()).unwrap();
    block_on_tokio(test()).unwrap();
}

#[test]
fn tasks_run_in_turn_and_end() {
    both(async || {
        let order = Rc::new(RefCell::new(Vec::new()));
        let (done, mut all) = mpsc::unbounded_channel::<()>();
        for task in 0..3 {
            let (order, done) = (Rc::clone(&order), done.clone());
            spawn(async move {
                for round in 0..2 {
                    order.borrow_mut().push((round, task));
                    yield_now().await;
                }
                drop(done);
            });
        }
        drop(done);
        assert_eq!(all.recv().await, None);
        assert_eq!(*order.borrow(), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    });
}

#[test]
fn a_task_that_panics_ends_alone() {
    both(async || {
        let (tell, told) = oneshot::channel::<()>();
        spawn(async move {
            let _tell = tell;
            yield_now().await;
            panic!("meant to be");
        });
        assert!(told.await.is_err());
        let reached = Rc::new(Cell::new(false));
        let (also, changed) = (Rc::clone(&reached), Rc::new(Notify::new()));
        let notify = Rc::clone(&changed);
        spawn(async move {
            also.set(true);
            notify.notify_one();
        });
        changed.notified().await;
        assert!(reached.get());
    });
}

#[test]
fn what_has_not_ended_is_dropped_with_the_loop() {
    struct Told(Rc<Cell<u32>>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Rc::new(Cell::new(0));
    let count = Rc::clone(&dropped);
    block_on(async move {
        for _ in 0..2 {
            let told = Told(Rc::clone(&count));
            spawn(async move {
                let _told = told;
                FineSleep::until(Instant::now() + Duration::from_secs(3_600)).await;
            });
        }
        yield_now().await;
    })
    .unwrap();
    assert_eq!(dropped.get(), 2);
    assert!(Core::here().is_none(), "the thread has left its loop");
}

#[test]
fn another_thread_ends_the_sleep() {
    both(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let thread = thread::spawn(move || {
            for number in 0..1_000 {
                sender.send(number).unwrap();
                if number % 100 == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        for number in 0..1_000 {
            assert_eq!(receiver.recv().await, Some(number));
        }
        thread.join().unwrap();
    });
}

#[test]
fn waits_end_in_their_order_and_never_early() {
    both(async || {
        let start = Instant::now();
        let ended = Rc::new(RefCell::new(Vec::new()));
        let (done, mut all) = mpsc::unbounded_channel::<()>();
        for after in [3_u64, 1, 2, 0] {
            let (ended, done) = (Rc::clone(&ended), done.clone());
            spawn(async move {
                let due = start + Duration::from_millis(5 * after);
                fine::sleep_until(due).await;
                assert!(Instant::now() >= due);
                ended.borrow_mut().push(after);
                drop(done);
            });
        }
        drop(done);
        assert_eq!(all.recv().await, None);
        assert_eq!(*ended.borrow(), [0, 1, 2, 3]);
    });
}

#[test]
fn a_wait_that_is_given_up_does_not_count() {
    both(async || {
        let long = Duration::from_secs(3_600);
        assert_eq!(fine::timeout(Duration::from_millis(1), fine::sleep(long)).await, None);
        assert_eq!(fine::timeout(long, async { 7 }).await, Some(7));
        let start = Instant::now();
        fine::sleep(Duration::from_millis(1)).await;
        assert!(start.elapsed() < long);
    });
}

/// Futures that hold many others tell them apart by wakers of their own.
#[test]
fn a_waker_inside_of_a_task_is_woken_as_such() {
    struct Relay(AtomicU32, Waker);
    impl Wake for Relay {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            self.1.wake_by_ref();
        }
    }
    both(async || {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut socket = Socket::from(ours);
        let mut sleep = pin!(FineSleep::until(Instant::now() + Duration::from_millis(2)));
        let relay = poll_fn(|context| Poll::Ready(Arc::new(Relay(AtomicU32::new(0), context.waker().clone())))).await;
        let waker = Waker::from(Arc::clone(&relay));
        let mut inner = std::task::Context::from_waker(&waker);
        poll_fn(|_| sleep.as_mut().poll(&mut inner)).await;
        assert_eq!(relay.0.load(Ordering::Relaxed), 1);
        let mut buffer = [0; 8];
        let mut written = false;
        poll_fn(|_| {
            let poll = socket.poll_receive(&mut inner, &mut buffer);
            if !std::mem::replace(&mut written, true) {
                theirs.write_all(b"x").unwrap();
            }
            poll
        })
        .await
        .unwrap();
        assert_eq!(relay.0.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn more_than_the_buffers_hold_goes_through_in_both_directions() {
    both(async || {
        const BYTES: usize = 3_000_000;
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let echo = thread::spawn(move || {
            let mut all = vec![0; BYTES];
            theirs.read_exact(&mut all).unwrap();
            theirs.write_all(&all).unwrap();
        });
        let mut socket = Socket::from(ours);
        let bytes: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
        let mut sent = 0;
        while sent < BYTES {
            sent += send(&mut socket, &bytes[sent..]).await.unwrap();
        }
        let (mut received, mut buffer) = (Vec::new(), [0; 4_096]);
        while received.len() < BYTES {
            let count = receive(&mut socket, &mut buffer).await.unwrap();
            assert!(count > 0, "the end after {} bytes", received.len());
            received.extend_from_slice(&buffer[..count]);
        }
        assert!(received == bytes);
        assert_eq!(receive(&mut socket, &mut buffer).await.unwrap(), 0, "the other side has closed");
        assert_eq!(receive(&mut socket, &mut buffer).await.unwrap(), 0, "and so it stays");
        echo.join().unwrap();
    });
}

/// The last bytes and the end come at one time: the end must not be lost with the readiness for them.
#[test]
fn an_end_behind_the_last_bytes_is_seen() {
    both(async || {
        for _ in 0..200 {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut socket = Socket::from(ours);
            let thread = thread::spawn(move || theirs.write_all(b"last").unwrap());
            let mut buffer = [0; 64];
            assert_eq!(receive(&mut socket, &mut buffer).await.unwrap(), 4);
            let end = fine::timeout(Duration::from_secs(30), receive(&mut socket, &mut buffer)).await;
            assert_eq!(end.expect("it is seen").unwrap(), 0);
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_place_without_a_listener_refuses_and_a_name_is_resolved() {
    both(async || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut socket = Socket::connect("localhost", port).await.unwrap();
        let (mut accepted, _) = listener.accept().unwrap();
        assert_eq!(send(&mut socket, b"hello").await.unwrap(), 5);
        let mut heard = [0; 5];
        accepted.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
        drop((listener, accepted));
        let refused = Socket::connect("127.0.0.1", port).await.err().expect("nobody listens");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let unknown = Socket::connect("no-such-host.invalid", port).await.err().expect("there is no such name");
        assert!(unknown.to_string().contains("lookup"), "{unknown}");
    });
}

#[test]
fn a_crowded_listener_lets_everybody_in_at_last() {
    const FILES: u64 = 13_000;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    if hard < FILES {
        println!("left out: this process may not open {FILES} files");
        return;
    }
    setrlimit(Resource::RLIMIT_NOFILE, FILES, hard).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    // Its queue is 4,096 long at most: nobody is let in before the thread begins.
    let (connected, counted) = std::sync::mpsc::channel();
    let guard = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        let all: Vec<_> = (0..6_000).map(|_| listener.accept().unwrap()).collect();
        counted.recv().unwrap();
        all.len()
    });
    block_on(async {
        let mut all = Vec::new();
        for _ in 0..6_000 {
            all.push(Socket::connect_unix(&path).await.unwrap());
        }
    })
    .unwrap();
    connected.send(()).unwrap();
    assert_eq!(guard.join().unwrap(), 6_000);
}

/// A client of tokio's beside sockets of the loop, each woken by its own.
#[test]
fn tokios_sockets_work_inside() {
    block_on_tokio(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (accepted, socket) = tokio::join!(listener.accept(), Socket::connect("127.0.0.1", port));
        let (accepted, mut socket) = (accepted.unwrap().0, socket.unwrap());
        spawn(async move {
            loop {
                accepted.readable().await.unwrap();
                let mut buffer = [0; 16];
                match accepted.try_read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => assert_eq!(accepted.try_write(&buffer[..count]).unwrap(), count),
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
            }
        });
        for round in 0..500_u32 {
            let bytes = round.to_le_bytes();
            assert_eq!(send(&mut socket, &bytes).await.unwrap(), 4);
            let mut buffer = [0; 16];
            assert_eq!(receive(&mut socket, &mut buffer).await.unwrap(), 4);
            assert_eq!(buffer[..4], bytes);
            if round % 100 == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
                fine::sleep(Duration::from_millis(1)).await;
            }
        }
    })
    .unwrap();
}

#[test]
fn ready_tasks_do_not_keep_the_others_waiting() {
    both(async || {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let over = Rc::new(Cell::new(false));
        let also = Rc::clone(&over);
        spawn(poll_fn(move |context| {
            context.waker().wake_by_ref();
            if also.get() { Poll::Ready(()) } else { Poll::Pending }
        }));
        let mut socket = Socket::from(ours);
        theirs.write_all(b"x").unwrap();
        assert_eq!(receive(&mut socket, &mut [0; 8]).await.unwrap(), 1);
        fine::sleep(Duration::from_millis(1)).await;
        over.set(true);
    });
}
