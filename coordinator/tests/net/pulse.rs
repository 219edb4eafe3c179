//! What the database says of the load, moment by moment: the only witness that no fault of the network can reach.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use vufleet_testbed::MariaDb;

const STEP: Duration = Duration::from_millis(100);

/// Counts commits until it is dropped.
pub struct Pulse {
    beats: Arc<Mutex<Vec<(Instant, u64)>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    pub fn of(server: &MariaDb) -> Pulse {
        let socket = server.socket().display().to_string();
        let options =
            OptsBuilder::default().socket(Some(socket)).user(Some("admin")).pass(Some(MariaDb::ADMIN.password));
        let (beats, over): (Arc<Mutex<Vec<_>>>, Arc<AtomicBool>) = Default::default();
        let (told, end) = (Arc::clone(&beats), Arc::clone(&over));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut conn = runtime.block_on(Conn::new(options)).unwrap();
        let mut read = move || {
            let sql = "SHOW GLOBAL STATUS LIKE 'Com_commit'";
            let (_, count): (String, u64) = runtime.block_on(conn.query_first(sql)).unwrap().unwrap();
            told.lock().unwrap().push((Instant::now(), count));
        };
        read();
        let thread = thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                thread::sleep(STEP);
                read();
            }
        });
        Pulse { beats, over, thread: Some(thread) }
    }

    /// Commits so far, since this began.
    pub fn commits(&self) -> u64 {
        let beats = self.beats.lock().unwrap();
        beats.last().unwrap().1 - beats[0].1
    }

    /// When the database last committed something, as far as is known; its first beat where it never did.
    pub fn last_commit(&self) -> Instant {
        self.last_commit_before(Instant::now())
    }

    /// The same of the time before an instant.
    pub fn last_commit_before(&self, instant: Instant) -> Instant {
        let beats = self.beats.lock().unwrap();
        let grown = beats.windows(2).rev().find(|pair| pair[1].0 < instant && pair[1].1 > pair[0].1);
        grown.map_or(beats[0].0, |pair| pair[1].0)
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
