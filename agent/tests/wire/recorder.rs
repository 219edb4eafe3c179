//! Stands between a session and a server, and keeps what both say.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread;

use vufleet_agent::session::MysqlSession;
use vufleet_scenarios::session::Session;
use vufleet_scenarios::study::Target;
use vufleet_testbed::MariaDb;

use crate::scenes::{PROCEDURES, SETUP, Scene, Told, WORDY, play, scenes};

/// What a client said, and what the server said to it. The first is the server's.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub asked: Vec<u8>,
    pub answered: Vec<u8>,
}

/// What is taken out of the server's greeting, so that both sides talk as with an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Nothing.
    Today,
    /// MariaDB's cache of metadata.
    WithoutCache,
    /// That and CLIENT_DEPRECATE_EOF.
    Old,
}

/// A scene, what was said in it, and what came of it.
pub struct Recorded {
    pub scene: Scene,
    pub age: Age,
    pub turns: Vec<Turn>,
    pub told: Vec<Told>,
}

impl Recorded {
    /// Bytes that the server said.
    pub fn length(&self) -> usize {
        self.turns.iter().map(|turn| turn.answered.len()).sum()
    }
}

/// Plays every scene on a server of its own.
pub fn record_all() -> Vec<Recorded> {
    let server = MariaDb::builder().option("max_allowed_packet", "64M").start().unwrap();
    crate::run(set_up(&server));
    let mut recorded = Vec::new();
    for scene in scenes() {
        for age in scene.ages {
            recorded.push(record(&server, &scene, *age));
        }
    }
    recorded
}

async fn set_up(server: &MariaDb) {
    server.sql(SETUP).unwrap();
    server.sql(&format!("CREATE USER wordy IDENTIFIED BY '{WORDY}'; GRANT ALL ON sbtest.* TO wordy")).unwrap();
    let bench = crate::target(Path::new(""), MariaDb::BENCH.user, MariaDb::BENCH.password);
    let bench = Target { socket: Some(server.socket()), ..bench };
    let mut session = MysqlSession::connect(&bench, Rc::from([])).await.unwrap();
    for procedure in PROCEDURES {
        session.batch(procedure).await.unwrap();
    }
}

fn record(server: &MariaDb, scene: &Scene, age: Age) -> Recorded {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join("s")).unwrap();
    let turns = Arc::new(Mutex::new(vec![Turn::default()]));
    let target = crate::target(directory.path(), scene.user, scene.password);
    let told = thread::scope(|scope| {
        scope.spawn(|| stand_between(&listener, &server.socket(), age, &turns));
        if scene.is_killed {
            scope.spawn(|| kill_who_sleeps(server));
        }
        crate::run(play(scene, &target))
    });
    let turns = std::mem::take(&mut *turns.lock().unwrap());
    Recorded { scene: scene.clone(), age, turns, told }
}

fn kill_who_sleeps(server: &MariaDb) {
    let sleeping = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT 7, SLEEP%'";
    let id = loop {
        let id = server.sql(sleeping).unwrap();
        if !id.is_empty() {
            break id;
        }
    };
    server.sql(&format!("KILL {id}")).unwrap();
}

fn stand_between(listener: &UnixListener, server: &Path, age: Age, turns: &Mutex<Vec<Turn>>) {
    let (client, _) = listener.accept().unwrap();
    let server = UnixStream::connect(server).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            hand_on(&client, &server, |bytes| {
                let mut turns = turns.lock().unwrap();
                if turns.last().is_some_and(|turn| !turn.answered.is_empty()) {
                    turns.push(Turn::default());
                }
                turns.last_mut().unwrap().asked.extend_from_slice(bytes);
            });
        });
        hand_on(&server, &client, |bytes| {
            let mut turns = turns.lock().unwrap();
            if turns.len() == 1 && turns[0].answered.is_empty() {
                make_older(bytes, age);
            }
            turns.last_mut().unwrap().answered.extend_from_slice(bytes);
        });
    });
}

fn hand_on(mut from: &UnixStream, mut to: &UnixStream, mut keep: impl FnMut(&mut [u8])) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        keep(&mut buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // Either may be gone already.
    to.shutdown(Shutdown::Write).ok();
}

/// The greeting: <https://mariadb.com/kb/en/connection/>.
fn make_older(greeting: &mut [u8], age: Age) {
    let version_ends = 5 + greeting[5..].iter().position(|byte| *byte == 0).expect("a version ends with a zero");
    // Behind the version: id, half of the nonce, a zero; capabilities, collation, status, more capabilities.
    let capabilities = version_ends + 1 + 4 + 8 + 1;
    let (upper, of_mariadb) = (capabilities + 5, capabilities + 14);
    if age == Age::Old {
        assert_eq!(greeting[upper + 1] & 1, 1, "the server knows CLIENT_DEPRECATE_EOF");
        greeting[upper + 1] &= !1;
    }
    if age != Age::Today {
        assert_eq!(greeting[of_mariadb] & 0x10, 0x10, "the server knows the cache of metadata");
        greeting[of_mariadb] &= !0x10;
    }
}
