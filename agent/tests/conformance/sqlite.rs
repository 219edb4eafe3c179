//! What only SQLite does.

use std::time::Duration;

use vufleet_agent::session::SqliteSession;
use vufleet_scenarios::session::{Access, FaultKind, Session, Stmt};
use vufleet_scenarios::sql::Protocol;
use vufleet_scenarios::study::Target;

use crate::engine::{Kept, file, nowhere, number, open, run, values};

async fn counter(target: &Target) -> SqliteSession {
    let mut session: SqliteSession =
        open(target, Protocol::Prepared, &["UPDATE t SET n = n + 1", "SELECT n FROM t"]).await.unwrap();
    session
        .batch("CREATE TABLE IF NOT EXISTS t (n INT); INSERT INTO t SELECT 0 WHERE NOT EXISTS (SELECT * FROM t)")
        .await
        .unwrap();
    session
}

#[test]
fn the_settings_are_those_of_the_documentation() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let mut session = counter(&file(directory.path().join("a.db"))).await;
        assert_eq!(values(&mut session, "PRAGMA journal_mode").await, [Kept::Text("wal".to_owned())]);
        assert_eq!(number(&mut session, "PRAGMA synchronous").await, 1);
        assert_eq!(number(&mut session, "PRAGMA foreign_keys").await, 0);
        assert_eq!(session.describe(), "file");
        assert_eq!(session.id(), None);
    });
}

/// Each session on a thread of its own, as the driver demands.
#[test]
fn many_writers_queue_and_none_is_turned_away() {
    const WRITERS: i64 = 8;
    const EACH: i64 = 50;
    let directory = tempfile::tempdir().unwrap();
    let target = file(directory.path().join("a.db"));
    let threads: Vec<_> = (0..WRITERS)
        .map(|_| {
            let target = target.clone();
            std::thread::spawn(move || {
                run(async {
                    let mut session = counter(&target).await;
                    for i in 0..EACH {
                        if i % 2 == 0 {
                            session.begin(Access::Write).await.unwrap();
                            session.execute(Stmt(0), &[], &mut ()).await.unwrap();
                            session.commit().await.unwrap();
                        } else {
                            session.execute(Stmt(0), &[], &mut ()).await.unwrap();
                        }
                    }
                    session.take_queued()
                })
            })
        })
        .collect();
    let queued: Duration = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(queued > Duration::ZERO);
    run(async {
        let mut session = counter(&target).await;
        assert_eq!(number(&mut session, "SELECT n FROM t").await, WRITERS * EACH);
        assert_eq!(session.take_queued(), Duration::ZERO, "a free gate costs nothing worth telling");
    });
}

/// On one thread, where a writer that asked the file instead of the gate would wait for itself and fail.
#[test]
fn a_write_outside_of_a_transaction_queues_too() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let target = Target { deadline: Duration::from_millis(200), ..file(directory.path().join("a.db")) };
        let (mut holder, mut waiter, mut text) =
            (counter(&target).await, counter(&target).await, counter(&target).await);
        holder.begin(Access::Write).await.unwrap();
        holder.execute(Stmt(0), &[], &mut ()).await.unwrap();
        let (written, batch, committed) = tokio::join!(
            async { waiter.execute(Stmt(0), &[], &mut ()).await },
            text.batch("UPDATE t SET n = n + 10"),
            async {
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                holder.commit().await
            }
        );
        assert_eq!((written, batch, committed), (Ok(1), Ok(()), Ok(())));
        assert_eq!(number(&mut holder, "SELECT n FROM t").await, 12);
        assert!(waiter.take_queued() > Duration::ZERO && text.take_queued() > Duration::ZERO);
    });
}

#[test]
fn a_writer_of_another_process_is_a_lock_timeout_and_leaves_nothing_behind() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let target = Target { deadline: Duration::from_millis(200), ..file(path.clone()) };
        let mut session = counter(&target).await;
        // Not one of our sessions, so it does not pass the gate.
        let stranger = rusqlite::Connection::open(&path).unwrap();
        stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
        for _ in 0..2 {
            assert_eq!(session.begin(Access::Write).await.unwrap_err().kind, FaultKind::LockTimeout);
            session.rollback().await.unwrap();
            let fault = session.execute(Stmt(0), &[], &mut ()).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::LockTimeout, "{fault}");
        }
        session.begin(Access::Read).await.unwrap();
        session.execute(Stmt(1), &[], &mut ()).await.unwrap();
        session.commit().await.unwrap();
        stranger.execute_batch("COMMIT").unwrap();
        session.execute(Stmt(0), &[], &mut ()).await.unwrap();
        assert_eq!(number(&mut session, "SELECT n FROM t").await, 1);
    });
}

#[test]
fn a_reader_that_turns_writer_too_late_is_a_serialization_fault() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let target = file(directory.path().join("a.db"));
        let (mut late, mut other) = (counter(&target).await, counter(&target).await);
        late.begin(Access::Read).await.unwrap();
        late.execute(Stmt(1), &[], &mut ()).await.unwrap();
        other.execute(Stmt(0), &[], &mut ()).await.unwrap();
        let fault = late.execute(Stmt(0), &[], &mut ()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Serialization, "{fault}");
        late.rollback().await.unwrap();
        late.execute(Stmt(0), &[], &mut ()).await.unwrap();
        assert_eq!(number(&mut other, "SELECT n FROM t").await, 2);
    });
}

#[test]
fn a_discarded_writer_gives_its_turn_away_and_its_work_up() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let target = file(directory.path().join("a.db"));
        let (mut gone, mut next) = (counter(&target).await, counter(&target).await);
        gone.begin(Access::Write).await.unwrap();
        gone.execute(Stmt(0), &[], &mut ()).await.unwrap();
        gone.discard();
        next.begin(Access::Write).await.unwrap();
        next.execute(Stmt(0), &[], &mut ()).await.unwrap();
        next.commit().await.unwrap();
        assert_eq!(number(&mut next, "SELECT n FROM t").await, 1);
    });
}

#[test]
fn a_file_that_is_none_is_refused_with_its_name_and_a_remedy() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let text = directory.path().join("text.db");
        std::fs::write(&text, "this is a text of more than a hundred bytes. ".repeat(20)).unwrap();
        for (path, remedy) in [
            (directory.path().to_owned(), "correct target.path"),
            (directory.path().join("no/such/directory.db"), "create its directory"),
            (text, "no SQLite file"),
        ] {
            let fault = open::<SqliteSession>(&file(path.clone()), Protocol::Prepared, &[]).await.err().unwrap();
            assert_eq!(fault.kind, FaultKind::Refused, "{fault}");
            assert!(fault.message.contains(path.to_str().unwrap()), "{fault}");
            assert!(fault.message.contains(remedy), "{fault}");
        }
        let fault = open::<SqliteSession>(&nowhere(), Protocol::Prepared, &[]).await.err().unwrap();
        assert_eq!(fault.kind, FaultKind::Refused);
        assert!(fault.message.contains("target.path"), "{fault}");
    });
}
