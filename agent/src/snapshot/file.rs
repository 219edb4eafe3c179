//! SQLite: the file of the target, while nobody has it open.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use vufleet_proto::v1::snapshot::Act;

use super::copies::Copies;
use super::tree::remove;
use super::{Done, Patience, look};

/// How long others may take to let go of the file: those who are still closing it.
const OTHERS: Duration = Duration::from_secs(20);
const ROUND: Duration = Duration::from_millis(50);

/// Where a file's header says how it is written and read, and what both say of a write-ahead log:
/// <https://www.sqlite.org/fileformat2.html#file_format_version_numbers>.
const VERSIONS_AT: u64 = 18;
const LOGGED: [u8; 2] = [2, 2];

pub(super) fn act(act: Act, path: &Path, maker: &str, patience: &Patience<'_>) -> anyhow::Result<Done> {
    let path = whole(path)?;
    let copies = Copies::of(&path, maker);
    match act {
        Act::Look => look(&copies),
        Act::Take => take(&copies, patience),
        Act::PutBack => {
            let data = copies.make_fresh(patience)?;
            replace(&copies, patience, || copies.put_in()).inspect_err(|_| copies.clean_up())?;
            Ok(Done { place: copies.copy, data, found: true, ..Done::default() })
        }
        Act::End => {
            let data = replace(&copies, patience, || copies.use_up())?;
            Ok(Done { place: copies.copy, data, found: true, ..Done::default() })
        }
    }
}

fn take(copies: &Copies, patience: &Patience<'_>) -> anyhow::Result<Done> {
    if copies.is_there() {
        let data = copies.origin_tally()?;
        return Ok(Done { place: copies.copy.clone(), data, found: true, ..Done::default() });
    }
    let alone = has_to_itself(&copies.origin, patience)?;
    // In the copy it is as it was: the end of the study leaves it so.
    let data = copies.take(patience, |copy| if alone.was_logged { set_logged(copy) } else { Ok(()) })?;
    drop(alone);
    Ok(Done { place: copies.copy.clone(), data, found: false, ..Done::default() })
}

/// Puts something else in the place of the file. Whoever opens it meanwhile waits, and then has what was there before or what
/// is there now, but nothing of both.
fn replace<T>(
    copies: &Copies,
    patience: &Patience<'_>,
    put_in: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let alone = copies.origin.exists().then(|| has_to_itself(&copies.origin, patience)).transpose()?;
    // What belongs to the file that goes would be taken for the new one's.
    for suffix in ["-wal", "-shm", "-journal"] {
        let mut name = copies.origin.clone().into_os_string();
        name.push(suffix);
        remove(Path::new(&name))?;
    }
    let done = put_in();
    drop(alone);
    done
}

/// Has the next session that opens the file keep a write-ahead log, as `PRAGMA journal_mode = WAL` does.
fn set_logged(path: &Path) -> anyhow::Result<()> {
    let cannot = || path.display().to_string();
    let file = File::options().write(true).open(path).with_context(cannot)?;
    file.write_all_at(&LOGGED, VERSIONS_AT).and_then(|()| file.sync_all()).with_context(cannot)
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

/// A file that nobody else has open as long as this is kept.
struct Alone {
    _connection: Connection,
    /// It kept a write-ahead log before.
    was_logged: bool,
}

/// All of the database in its one file, which nobody else has open. Leaving WAL mode needs just that; the next session switches
/// it on again.
fn has_to_itself(path: &Path, patience: &Patience<'_>) -> anyhow::Result<Alone> {
    let at = path.display();
    ensure!(
        path.is_file(),
        "there is no file {at}; build it with `vufleet schema build STUDY`, or correct target.path"
    );
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .with_context(|| format!("{at} cannot be opened"))?;
    connection.busy_timeout(ROUND).with_context(|| at.to_string())?;
    let begun = Instant::now();
    let mut was_logged = false;
    loop {
        patience.check()?;
        match alone(&connection, &mut was_logged) {
            Ok(()) => return Ok(Alone { _connection: connection, was_logged }),
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

fn alone(connection: &Connection, was_logged: &mut bool) -> rusqlite::Result<()> {
    // Another attempt may have got half-way.
    *was_logged |= connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))? == "wal";
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
        let taken = act(Act::Take, &path, "one", &long()).unwrap();
        assert!(!taken.found && taken.place.ends_with("a.db.vufleet-snapshot-one"), "{taken:?}");
        for _ in 0..2 {
            drop(add(&path, "(3)"));
            assert_eq!(rows(&path), 3);
            act(Act::PutBack, &path, "one", &long()).unwrap();
            assert_eq!(rows(&path), 2);
        }
        drop(add(&path, "(3)"));
        assert!(act(Act::Take, &path, "one", &long()).unwrap().found, "what an earlier study left behind");
        fs::remove_file(&path).unwrap();
        act(Act::PutBack, &path, "one", &long()).unwrap();
        assert_eq!(rows(&path), 2, "the file had gone");
        drop(add(&path, "(3)"));
        act(Act::End, &path, "one", &long()).unwrap();
        assert_eq!(rows(&path), 2);
        let left: Vec<_> = fs::read_dir(lab.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().contains("vufleet")), "{left:?}");
    }

    /// How the file itself says that it is written, whoever asks first.
    fn mode(path: &Path) -> String {
        Connection::open(path).unwrap().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_file_is_written_after_the_study_as_it_was_before() {
        let over = AtomicBool::new(false);
        let order = |what, path: &Path| act(what, path, "one", &within(&over, Duration::from_secs(60))).unwrap();
        for was in ["wal", "delete"] {
            let lab = tempfile::tempdir().unwrap();
            let path = lab.path().join("a.db");
            let connection = Connection::open(&path).unwrap();
            let set = format!("PRAGMA journal_mode = {was}");
            connection.query_row(&set, [], |_| Ok(())).unwrap();
            connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)").unwrap();
            drop(connection);
            order(Act::Take, &path);
            assert_eq!(mode(&path), "delete", "nobody had it open to copy it");
            drop(add(&path, "(3)"));
            order(Act::PutBack, &path);
            assert_eq!(mode(&path), was);
            order(Act::End, &path);
            assert_eq!(mode(&path), was);
            assert_eq!(rows(&path), 2);
        }
    }

    #[test]
    fn nobody_gets_at_the_file_while_another_takes_its_place() {
        let lab = tempfile::tempdir().unwrap();
        let path = lab.path().join("a.db");
        let over = AtomicBool::new(false);
        let long = within(&over, Duration::from_secs(60));
        drop(add(&path, "(1)"));
        act(Act::Take, &path, "one", &long).unwrap();
        let copies = Copies::of(&path.canonicalize().unwrap(), "one");
        copies.make_fresh(&long).unwrap();
        let tried = replace(&copies, &long, || {
            let somebody = Connection::open(&path).unwrap();
            somebody.busy_timeout(Duration::ZERO).unwrap();
            let error = somebody.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap_err();
            copies.put_in().map(|()| error)
        });
        assert_eq!(tried.unwrap().sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
        assert_eq!(rows(&path), 1);
    }

    #[test]
    fn a_file_that_somebody_has_open_stays_as_it_is() {
        let lab = tempfile::tempdir().unwrap();
        let path = lab.path().join("a.db");
        let over = AtomicBool::new(false);
        drop(add(&path, "(1)"));
        act(Act::Take, &path, "one", &within(&over, Duration::from_secs(60))).unwrap();
        let open = add(&path, "(2)");
        let error = act(Act::PutBack, &path, "one", &within(&over, Duration::from_millis(300))).unwrap_err();
        assert!(error.to_string().contains("took longer than [reset] timeout"), "{error:#}");
        assert_eq!(open.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), 2);
        drop(open);
        assert_eq!(rows(&path), 2);
        let missing = act(Act::Take, &lab.path().join("b.db"), "one", &within(&over, Duration::from_secs(9)));
        assert!(missing.unwrap_err().to_string().contains("there is no file"), "and none is made");
    }
}
