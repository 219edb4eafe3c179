//! A file or a directory, its copy beside it, and how the one takes the other's place.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail, ensure};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::statvfs::statvfs;

use super::Patience;
use super::tree::{Tally, check_whole, copy, remove, tally};

/// Beyond the copies themselves.
const MARGIN: u64 = 16 << 20;

const COPY: &str = ".vufleet-snapshot-";
const FRESH: &str = ".vufleet-new";
const GOING: &str = ".vufleet-going";
/// The longest name of a file on the file systems that databases lie on, bytes.
const LONGEST_NAME: usize = 255;

/// Where the data lies, and its copies beside it: whose data it is is told by where it lies, and whose copy by its name.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) origin: PathBuf,
    /// Complete, where it is there at all.
    pub(super) copy: PathBuf,
    /// Under way: of no use to anybody.
    pub(super) fresh: PathBuf,
    /// Says which directory takes the place of the data for good, while that is done.
    going: PathBuf,
}

/// A copy that another study has left behind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leftover {
    pub(super) place: PathBuf,
    /// Which study.
    pub(super) maker: String,
    /// Since it was made.
    pub(super) age: Duration,
}

impl Copies {
    /// Those that a study makes of what lies there.
    pub(super) fn of(origin: &Path, maker: &str) -> Copies {
        let (copy, fresh, going) =
            (beside(origin, &format!("{COPY}{maker}")), beside(origin, FRESH), beside(origin, GOING));
        Copies { origin: origin.to_owned(), copy, fresh, going }
    }

    pub(super) fn is_there(&self) -> bool {
        self.copy.exists()
    }

    /// Nobody's copy is removed but one's own: what lies there may be the only one of the data.
    pub(super) fn refuse_others(&self) -> anyhow::Result<()> {
        match self.others()?.first() {
            None => Ok(()),
            Some(Leftover { place, maker, .. }) => bail!(
                "study {maker} has left a copy of {} in {}; go on with that study, put the copy where it belongs, or remove it",
                self.origin.display(),
                place.display()
            ),
        }
    }

    pub(super) fn origin_tally(&self) -> anyhow::Result<Tally> {
        tally(&self.origin)
    }

    /// Whether the data can be given another's place, and back.
    pub(super) fn check_place(&self) -> anyhow::Result<()> {
        let parent = self.parent();
        let device = |path: &Path| fs::metadata(path).map(|it| it.dev()).with_context(|| path.display().to_string());
        let origin = self.origin.display();
        ensure!(
            device(&self.origin)? == device(&parent)?,
            "{origin} is a mount point, and cannot be replaced as a whole; use a directory below it, or a command that restores it"
        );
        let writable = nix::unistd::access(&parent, nix::unistd::AccessFlags::W_OK);
        let parent = parent.display();
        ensure!(writable.is_ok(), "copies of {origin} lie beside it, but this agent may not write to {parent}");
        let name = self.copy.file_name().unwrap_or_default().len();
        ensure!(
            name <= LONGEST_NAME,
            "a copy of {origin} would have a name of {name} bytes; give the study a shorter name"
        );
        Ok(())
    }

    /// Whether everything that belongs to the data is in it. What comes and goes meanwhile is nothing that stays.
    pub(super) fn check_whole(&self) -> anyhow::Result<()> {
        check_whole(&self.origin)
    }

    /// A copy that is kept, and another one that takes the place of the data before that goes.
    pub(super) fn check_room(&self, data: Tally) -> anyhow::Result<()> {
        let copies = if self.is_there() { 1 } else { 2 };
        let needed = data.bytes * copies + MARGIN;
        let parent = self.parent();
        let room = statvfs(&parent).with_context(|| format!("{} cannot be looked at", parent.display()))?;
        let free = room.blocks_available() * room.fragment_size();
        ensure!(
            free >= needed,
            "copies of {} take {}, but {} has {} left; free some space, or reset by another method",
            self.origin.display(),
            spoken(needed),
            parent.display(),
            spoken(free)
        );
        Ok(())
    }

    /// Whether the file system lets two directories change places, tried on two that are nobody's.
    pub(super) fn check_exchange(&self) -> anyhow::Result<()> {
        remove(&self.fresh)?;
        let (one, other) = (self.fresh.join("one"), self.fresh.join("other"));
        let tried = fs::create_dir_all(&one).and_then(|()| fs::create_dir(&other));
        tried.with_context(|| self.fresh.display().to_string())?;
        let exchanged = renameat2(AT_FDCWD, &one, AT_FDCWD, &other, RenameFlags::RENAME_EXCHANGE);
        remove(&self.fresh)?;
        exchanged.with_context(|| {
            let parent = self.parent();
            format!(
                "the file system of {} lets no directories change places; reset by another method",
                parent.display()
            )
        })
    }

    /// Copies the data, whole or not at all. `finish` has the copy before anybody can take it for one.
    pub(super) fn take(
        &self,
        patience: &Patience<'_>,
        finish: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<Tally> {
        self.refuse_others()?;
        remove(&self.fresh)?;
        self.check_room(self.origin_tally()?)?;
        let copied = self.copy_whole(&self.origin, patience)?;
        finish(&self.fresh).inspect_err(|_| self.clean_up())?;
        rename(&self.fresh, &self.copy)?;
        self.sync_parent()?;
        Ok(copied)
    }

    /// Makes a copy of the copy, which may take the place of the data.
    pub(super) fn make_fresh(&self, patience: &Patience<'_>) -> anyhow::Result<Tally> {
        self.has_copy()?;
        remove(&self.fresh)?;
        self.copy_whole(&self.copy, patience)
    }

    /// In one step, so that there is never none and never half of one. What was there before is taken away.
    pub(super) fn put_in(&self) -> anyhow::Result<()> {
        if !self.origin.is_dir() {
            rename(&self.fresh, &self.origin)?;
            return self.sync_parent();
        }
        exchange(&self.fresh, &self.origin)?;
        self.sync_parent()?;
        remove(&self.fresh).context(PUT_BACK)
    }

    /// Lets the copy itself take the place of the data, in one step. What was there before is taken away.
    pub(super) fn use_up(&self) -> anyhow::Result<Tally> {
        self.has_copy()?;
        let data = tally(&self.copy)?;
        if !self.origin.is_dir() {
            rename(&self.copy, &self.origin)?;
            self.sync_parent()?;
            return Ok(data);
        }
        remove(&self.fresh)?;
        self.note_going()?;
        exchange(&self.copy, &self.origin)?;
        self.sync_parent()?;
        self.settle().context(PUT_BACK).map(|()| data)
    }

    /// Sees to the end of what [`use_up`](Copies::use_up) has begun and a kill cut short: a copy that has changed places with
    /// the data is no copy any more.
    pub(super) fn settle(&self) -> anyhow::Result<()> {
        let cannot = || self.going.display().to_string();
        let text = match fs::read_to_string(&self.going) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error).with_context(cannot),
        };
        // Anything else was written by halves, before anything was done.
        if let Some((inode, name)) =
            text.split_once(' ').and_then(|(inode, name)| Some((inode, name.strip_suffix('\n')?)))
            && fs::metadata(&self.origin).is_ok_and(|origin| origin.ino().to_string() == inode)
        {
            let mut used = self.origin.file_name().unwrap_or_default().to_owned();
            used.push(format!("{COPY}{name}"));
            let used = self.parent().join(used);
            if used.exists() {
                // First of all it is no copy any more, whatever becomes of the rest.
                remove(&self.fresh)?;
                rename(&used, &self.fresh)?;
            }
        }
        fs::remove_file(&self.going).with_context(cannot)?;
        self.sync_parent()?;
        remove(&self.fresh)
    }

    fn note_going(&self) -> anyhow::Result<()> {
        let cannot = || self.going.display().to_string();
        let inode = fs::metadata(&self.copy).with_context(|| self.copy.display().to_string())?.ino();
        fs::write(&self.going, format!("{inode} {}\n", self.maker_of(&self.copy))).with_context(cannot)?;
        File::open(&self.going).and_then(|going| going.sync_all()).with_context(cannot)?;
        self.sync_parent()
    }

    fn has_copy(&self) -> anyhow::Result<()> {
        ensure!(
            self.is_there(),
            "the copy {} has gone: somebody has removed it; build the data again, and run the study again",
            self.copy.display()
        );
        Ok(())
    }

    /// Takes away what is half done.
    pub(super) fn clean(&self) -> anyhow::Result<()> {
        remove(&self.fresh)
    }

    /// The same after something went wrong, which is what has to be told.
    pub(super) fn clean_up(&self) {
        if let Err(error) = self.clean() {
            tracing::warn!("what a copy has left half done is still there: {error:#}");
        }
    }

    fn copy_whole(&self, from: &Path, patience: &Patience<'_>) -> anyhow::Result<Tally> {
        let wanted = tally(from)?;
        let copied = copy(from, &self.fresh, patience).and_then(|()| tally(&self.fresh));
        match copied {
            Ok(copied) if copied == wanted => Ok(copied),
            result => {
                remove(&self.fresh)?;
                let copied = result?;
                bail!(
                    "{} has {} files of {} bytes, but its copy has {} of {}; something writes to it",
                    from.display(),
                    wanted.files,
                    wanted.bytes,
                    copied.files,
                    copied.bytes
                )
            }
        }
    }

    /// Copies that other studies have left behind, the newest first.
    pub(super) fn others(&self) -> anyhow::Result<Vec<Leftover>> {
        let parent = self.parent();
        let mut others = Vec::new();
        for entry in fs::read_dir(&parent).with_context(|| parent.display().to_string())? {
            let place = entry?.path();
            let maker = self.maker_of(&place);
            if maker.is_empty() || place.file_name() == self.copy.file_name() {
                continue;
            }
            // Renaming a copy leaves the time of its last change alone.
            let made = fs::symlink_metadata(&place).and_then(|it| it.modified());
            let made = made.with_context(|| place.display().to_string())?;
            let age = SystemTime::now().duration_since(made).unwrap_or_default();
            others.push(Leftover { place, maker, age });
        }
        others.sort_by_key(|other| other.age);
        Ok(others)
    }

    /// Whose copy of this data it is; empty where it is none.
    fn maker_of(&self, place: &Path) -> String {
        let mut prefix = self.origin.file_name().unwrap_or_default().to_owned();
        prefix.push(COPY);
        let name = place.file_name().unwrap_or_default().as_encoded_bytes();
        let maker = name.strip_prefix(prefix.as_encoded_bytes()).unwrap_or_default();
        // What SQLite leaves beside a file that is open is none of its own.
        let is_part = ["-wal", "-shm", "-journal"].iter().any(|suffix| maker.ends_with(suffix.as_bytes()));
        if is_part { String::new() } else { String::from_utf8_lossy(maker).into_owned() }
    }

    fn parent(&self) -> PathBuf {
        match self.origin.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        }
    }

    fn sync_parent(&self) -> anyhow::Result<()> {
        let parent = self.parent();
        File::open(&parent).and_then(|parent| parent.sync_all()).with_context(|| parent.display().to_string())
    }
}

/// Words for what the data is like where only the cleaning failed.
const PUT_BACK: &str = "the data was put back, but what was in its place is left beside it; remove that by hand";

fn beside(origin: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = origin.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn exchange(one: &Path, other: &Path) -> anyhow::Result<()> {
    renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE)
        .with_context(|| format!("{} cannot change places with {}", one.display(), other.display()))
}

fn rename(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::rename(from, to).with_context(|| format!("{} cannot be renamed to {}", from.display(), to.display()))
}

fn spoken(bytes: u64) -> String {
    match bytes {
        0..=9_999_999 => format!("{} kB", bytes / 1_000),
        10_000_000..=9_999_999_999 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use super::*;

    fn patience(over: &AtomicBool) -> Patience<'_> {
        Patience { over, deadline: Instant::now() + Duration::from_secs(60) }
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_directory_is_copied_whole_and_changes_places_with_its_copy() {
        let lab = tempfile::tempdir().unwrap();
        let data = lab.path().join("data");
        fs::create_dir_all(data.join("sbtest")).unwrap();
        fs::write(data.join("ibdata1"), "old").unwrap();
        fs::write(data.join("sbtest/t.ibd"), "rows").unwrap();
        let copies = Copies::of(&data, "one");
        fs::create_dir(&copies.fresh).unwrap();
        let wanted = over_is(false);
        assert_eq!(copies.take(&patience(&wanted), as_it_is).unwrap(), Tally { files: 2, bytes: 7 });
        assert_eq!(names(lab.path()), ["data", "data.vufleet-snapshot-one"]);

        for round in 0..2 {
            fs::write(data.join("sbtest/t.ibd"), format!("more rows {round}")).unwrap();
            fs::write(data.join("new"), "").unwrap();
            copies.make_fresh(&patience(&wanted)).unwrap();
            copies.put_in().unwrap();
            assert_eq!(fs::read_to_string(data.join("sbtest/t.ibd")).unwrap(), "rows");
            assert_eq!(names(&data), ["ibdata1", "sbtest"]);
            assert_eq!(names(lab.path()), ["data", "data.vufleet-snapshot-one"]);
        }
        fs::write(data.join("ibdata1"), "used").unwrap();
        assert_eq!(copies.use_up().unwrap(), Tally { files: 2, bytes: 7 });
        assert_eq!(fs::read_to_string(data.join("ibdata1")).unwrap(), "old");
        assert_eq!(names(lab.path()), ["data"]);
    }

    fn as_it_is(_: &Path) -> anyhow::Result<()> {
        Ok(())
    }

    /// A directory with one file, and its copy by study `one`; the directory was used since.
    fn used(lab: &Path) -> Copies {
        let data = lab.join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("ibdata1"), "old").unwrap();
        let copies = Copies::of(&data, "one");
        copies.take(&patience(&over_is(false)), as_it_is).unwrap();
        fs::write(data.join("ibdata1"), "used").unwrap();
        copies
    }

    #[test]
    fn a_copy_that_another_study_has_left_stays_and_refuses_the_next() {
        let lab = tempfile::tempdir().unwrap();
        let copies = used(lab.path());
        fs::write(lab.path().join("data2.vufleet-snapshot-three"), "of other data").unwrap();
        assert_eq!(copies.others().unwrap(), []);
        let other = Copies::of(&copies.origin, "two");
        let [left] = &other.others().unwrap()[..] else { panic!("{:?}", other.others()) };
        assert_eq!((&left.place, left.maker.as_str()), (&copies.copy, "one"));
        assert!(left.age < Duration::from_secs(60), "{left:?}");
        assert!(!other.is_there());
        let refused = other.take(&patience(&over_is(false)), as_it_is).unwrap_err().to_string();
        assert!(
            refused.contains("study one has left a copy") && refused.contains("data.vufleet-snapshot-one"),
            "{refused}"
        );
        assert_eq!(fs::read_to_string(copies.copy.join("ibdata1")).unwrap(), "old");
        assert_eq!(fs::read_to_string(other.origin.join("ibdata1")).unwrap(), "used");
    }

    #[test]
    fn a_kill_while_the_copy_is_used_up_leaves_either_the_copy_or_the_data_put_back() {
        // Before the two change places: the copy is what it was, and study two may settle it too.
        let lab = tempfile::tempdir().unwrap();
        let copies = used(lab.path());
        copies.note_going().unwrap();
        let half = fs::read_to_string(&copies.going).unwrap();
        copies.clean().unwrap();
        Copies::of(&copies.origin, "two").settle().unwrap();
        assert_eq!(fs::read_to_string(copies.copy.join("ibdata1")).unwrap(), "old");
        assert_eq!(names(lab.path()), ["data", "data.vufleet-snapshot-one"]);

        // After that: what lies where the copy lay was used, and is no copy.
        fs::write(&copies.going, &half).unwrap();
        exchange(&copies.copy, &copies.origin).unwrap();
        copies.clean().unwrap();
        Copies::of(&copies.origin, "").settle().unwrap();
        assert_eq!(fs::read_to_string(copies.origin.join("ibdata1")).unwrap(), "old");
        assert_eq!(names(lab.path()), ["data"]);

        // The note itself by halves.
        fs::write(&copies.going, &half[..half.len() - 2]).unwrap();
        copies.settle().unwrap();
        assert_eq!(names(lab.path()), ["data"]);
    }

    fn over_is(over: bool) -> AtomicBool {
        AtomicBool::new(over)
    }

    #[test]
    fn what_cannot_be_copied_whole_is_not_there_at_all() {
        let lab = tempfile::tempdir().unwrap();
        let data = lab.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("ibdata1"), "old").unwrap();
        let copies = Copies::of(&data, "one");
        let cancelled = copies.take(&patience(&over_is(true)), as_it_is).unwrap_err().to_string();
        assert!(cancelled.contains("cancelled; the data is as it was"), "{cancelled}");
        assert_eq!(names(lab.path()), ["data"]);
        let late = Patience { over: &over_is(false), deadline: Instant::now() };
        assert!(copies.take(&late, as_it_is).unwrap_err().to_string().contains("[reset] timeout"));
        std::os::unix::fs::symlink("/etc", data.join("elsewhere")).unwrap();
        for refused in [copies.check_whole(), copies.take(&patience(&over_is(false)), as_it_is).map(drop)] {
            let link = refused.unwrap_err().to_string();
            assert!(link.contains("elsewhere is a symbolic link"), "{link}");
        }
        fs::remove_file(data.join("elsewhere")).unwrap();
        fs::create_dir(data.join("sbtest")).unwrap();
        fs::write(data.join("sbtest/t.isl"), "/disk/sbtest/t.ibd").unwrap();
        for refused in [copies.check_whole(), copies.take(&patience(&over_is(false)), as_it_is).map(drop)] {
            let link = refused.unwrap_err().to_string();
            assert!(link.contains("t.isl says that a table lies elsewhere"), "{link}");
        }
        fs::remove_file(data.join("sbtest/t.isl")).unwrap();
        let unfinished = copies.take(&patience(&over_is(false)), |_| bail!("no")).unwrap_err().to_string();
        assert_eq!(unfinished, "no");
        assert_eq!(names(lab.path()), ["data"]);
        let gone = copies.make_fresh(&patience(&over_is(false))).unwrap_err().to_string();
        assert!(gone.contains("data.vufleet-snapshot-one has gone"), "{gone}");
    }

    #[test]
    fn room_for_two_copies_is_asked_for_and_for_one_where_one_is_there() {
        let lab = tempfile::tempdir().unwrap();
        let file = lab.path().join("a.db");
        fs::write(&file, "data").unwrap();
        let copies = Copies::of(&file, "one");
        let room = statvfs(lab.path()).unwrap();
        let free = room.blocks_available() * room.fragment_size();
        let most = Tally { files: 1, bytes: free * 2 / 3 };
        let refused = copies.check_room(most).unwrap_err().to_string();
        assert!(refused.contains("a.db take") && refused.contains("free some space"), "{refused}");
        fs::write(&copies.copy, "data").unwrap();
        copies.check_room(most).unwrap();
    }

    #[test]
    fn sizes_are_spoken_in_three_digits_or_more() {
        assert_eq!(spoken(1_234_567), "1234 kB");
        assert_eq!(spoken(12_345_678), "12 MB");
        assert_eq!(spoken(90_000_000_000), "90 GB");
    }
}
