//! SQLite: the file of the target, while nobody has it open.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use vufleet_proto::v1::snapshot::Act;

use super::copies::{Copies, remove};
use super::{Done, Patience, look};

/// How long others may take to let go of the file: those who are still closing it.
const OTHERS: Duration = Duration::from_secs(20);
const ROUND: Duration = Duration::from_millis(50);

pub(super) fn act(act: Act, path: &Path, key: &str, patience: &Patience<'_>) -> anyhow::Result<Done> {
    let path = whole(path)?;
    let copies = Copies::of(&path, key);
    match act {
        Act::Look => look(&copies),
        Act::Take => take(&copies, patience),
        Act::PutBack => {
            let data = copies.make_fresh(patience)?;
            replace(&copies, patience)?;
            Ok(Done { place: copies.copy, data, found: true })
        }
        Act::End => {
            let alone = has_to_itself(&copies.origin, patience)?;
            let data = copies.use_up()?;
            drop(alone);
            put_in(&copies)?;
            Ok(Done { place: copies.copy, data, found: true })
        }
    }
}

fn take(copies: &Copies, patience: &Patience<'_>) -> anyhow::Result<Done> {
    if copies.is_there() {
        let data = copies.origin_tally()?;
        return Ok(Done { place: copies.copy.clone(), data, found: true });
    }
    let alone = has_to_itself(&copies.origin, patience)?;
    let data = copies.take(patience)?;
    drop(alone);
    Ok(Done { place: copies.copy.clone(), data, found: false })
}

fn replace(copies: &Copies, patience: &Patience<'_>) -> anyhow::Result<()> {
    if copies.origin.exists()
        && let Err(error) = has_to_itself(&copies.origin, patience)
    {
        copies.clean()?;
        return Err(error);
    }
    put_in(copies)
}

/// What belongs to the file that goes would be taken for the new one's.
fn put_in(copies: &Copies) -> anyhow::Result<()> {
    for suffix in ["-wal", "-shm", "-journal"] {
        let mut name = copies.origin.clone().into_os_string();
        name.push(suffix);
        remove(Path::new(&name))?;
    }
    copies.put_in()
}

/// The file itself, whatever links lead to it: those are to stay.
fn whole(path: &Path) -> anyhow::Result<PathBuf> {
    match path.canonicalize() {
        Ok(path) => Ok(path),
        // A file that somebody has taken away is put back where it was.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(std::path::absolute(path).with_context(|| path.display().to_string())?)
        }
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// All of the database in its one file, which nobody else has open, as long as what this returns is kept. Leaving WAL mode needs
/// just that; the next session switches it on again.
fn has_to_itself(path: &Path, patience: &Patience<'_>) -> anyhow::Result<Connection> {
    let at = path.display();
    ensure!(
        path.is_file(),
        "there is no file {at}; build it with `vufleet schema build STUDY`, or correct target.path"
    );
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .with_context(|| format!("{at} cannot be opened"))?;
    connection.busy_timeout(ROUND).with_context(|| at.to_string())?;
    let begun = Instant::now();
    loop {
        patience.check()?;
        match alone(&connection) {
            Ok(()) => return Ok(connection),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                if begun.elapsed() > OTHERS {
                    bail!("somebody has {at} open: {error}; close it, and run the study again");
                }
                std::thread::sleep(ROUND);
            }
            Err(error) => return Err(error).with_context(|| at.to_string()),
        }
    }
}

fn alone(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    connection.execute_batch("BEGIN EXCLUSIVE")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn within(over: &AtomicBool, limit: Duration) -> Patience<'_> {
        Patience { over, deadline: Instant::now() + limit }
    }

    fn rows(path: &Path) -> i64 {
        let connection = Connection::open(path).unwrap();
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
    }

    fn add(path: &Path, rows: &str) -> Connection {
        let connection = Connection::open(path).unwrap();
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        connection.execute_batch(&format!("CREATE TABLE IF NOT EXISTS t (a); INSERT INTO t VALUES {rows}")).unwrap();
        connection
    }

    #[test]
    fn a_file_goes_back_to_what_it_was_as_often_as_it_is_told_to() {
        let lab = tempfile::tempdir().unwrap();
        let path = lab.path().join("a.db");
        let over = AtomicBool::new(false);
        let long = || within(&over, Duration::from_secs(60));
        drop(add(&path, "(1), (2)"));
        let taken = act(Act::Take, &path, "0123", &long()).unwrap();
        assert!(!taken.found && taken.place.ends_with("a.db.vufleet-snapshot-0123"), "{taken:?}");
        for _ in 0..2 {
            drop(add(&path, "(3)"));
            assert_eq!(rows(&path), 3);
            act(Act::PutBack, &path, "0123", &long()).unwrap();
            assert_eq!(rows(&path), 2);
        }
        drop(add(&path, "(3)"));
        assert!(act(Act::Take, &path, "0123", &long()).unwrap().found, "what an earlier study left behind");
        fs::remove_file(&path).unwrap();
        act(Act::PutBack, &path, "0123", &long()).unwrap();
        assert_eq!(rows(&path), 2, "the file had gone");
        drop(add(&path, "(3)"));
        act(Act::End, &path, "0123", &long()).unwrap();
        assert_eq!(rows(&path), 2);
        let left: Vec<_> = fs::read_dir(lab.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().contains("vufleet")), "{left:?}");
    }

    #[test]
    fn a_file_that_somebody_has_open_stays_as_it_is() {
        let lab = tempfile::tempdir().unwrap();
        let path = lab.path().join("a.db");
        let over = AtomicBool::new(false);
        drop(add(&path, "(1)"));
        act(Act::Take, &path, "0123", &within(&over, Duration::from_secs(60))).unwrap();
        let open = add(&path, "(2)");
        let error = act(Act::PutBack, &path, "0123", &within(&over, Duration::from_millis(300))).unwrap_err();
        assert!(error.to_string().contains("took longer than [reset] timeout"), "{error:#}");
        assert_eq!(open.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), 2);
        drop(open);
        assert_eq!(rows(&path), 2);
        let missing = act(Act::Take, &lab.path().join("b.db"), "0123", &within(&over, Duration::from_secs(9)));
        assert!(missing.unwrap_err().to_string().contains("there is no file"), "and none is made");
    }
}
