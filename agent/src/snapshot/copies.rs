//! A file or a directory, its copy beside it, and how the one takes the other's place.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::statvfs::statvfs;

use super::Patience;

/// What is copied at once between two looks at whether anybody still wants it. Where the file system can, the kernel shares the
/// blocks instead.
const PIECE: u64 = 64 << 20;
/// Beyond the copies themselves.
const MARGIN: u64 = 16 << 20;

const COPY: &str = ".vufleet-snapshot-";
const FRESH: &str = ".vufleet-new";

/// Regular files, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

/// Where the data lies, and its copies beside it.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) origin: PathBuf,
    /// Complete, where it is there at all.
    pub(super) copy: PathBuf,
    /// Under way: of no use to anybody.
    pub(super) fresh: PathBuf,
}

impl Copies {
    /// Of data that is told from other data by a key.
    pub(super) fn of(origin: &Path, key: &str) -> Copies {
        let beside = |suffix: &str| {
            let mut name: OsString = origin.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        Copies { origin: origin.to_owned(), copy: beside(&format!("{COPY}{key}")), fresh: beside(FRESH) }
    }

    pub(super) fn is_there(&self) -> bool {
        self.copy.exists()
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
        Ok(())
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

    /// Copies the data, whole or not at all; copies of other data, and half ones, go.
    pub(super) fn take(&self, patience: &Patience<'_>) -> anyhow::Result<Tally> {
        remove(&self.fresh)?;
        for other in self.others()? {
            remove(&other)?;
        }
        self.check_room(self.origin_tally()?)?;
        let copied = self.copy_whole(&self.origin, patience)?;
        rename(&self.fresh, &self.copy)?;
        self.sync_parent()?;
        Ok(copied)
    }

    /// Makes a copy of the copy, which may take the place of the data.
    pub(super) fn make_fresh(&self, patience: &Patience<'_>) -> anyhow::Result<Tally> {
        ensure!(
            self.is_there(),
            "the copy {} has gone: somebody has removed it; build the data again, and run the study again",
            self.copy.display()
        );
        remove(&self.fresh)?;
        self.copy_whole(&self.copy, patience)
    }

    /// Lets the copy itself be what takes the place of the data.
    pub(super) fn use_up(&self) -> anyhow::Result<Tally> {
        let data = tally(&self.copy)?;
        remove(&self.fresh)?;
        rename(&self.copy, &self.fresh)?;
        Ok(data)
    }

    /// In one step, so that there is never none and never half of one. What was there before is taken away.
    pub(super) fn put_in(&self) -> anyhow::Result<()> {
        if self.origin.is_dir() {
            renameat2(AT_FDCWD, &self.fresh, AT_FDCWD, &self.origin, RenameFlags::RENAME_EXCHANGE).with_context(
                || format!("{} cannot change places with {}", self.fresh.display(), self.origin.display()),
            )?;
            self.sync_parent()?;
            remove(&self.fresh)
        } else {
            rename(&self.fresh, &self.origin)?;
            self.sync_parent()
        }
    }

    /// Takes away what is half done.
    pub(super) fn clean(&self) -> anyhow::Result<()> {
        remove(&self.fresh)
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

    /// Copies of the same place whose data was another.
    fn others(&self) -> anyhow::Result<Vec<PathBuf>> {
        let parent = self.parent();
        let mut prefix = self.origin.file_name().unwrap_or_default().to_owned();
        prefix.push(COPY);
        let mut others = Vec::new();
        for entry in fs::read_dir(&parent).with_context(|| parent.display().to_string())? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            if name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) && path != self.copy {
                others.push(path);
            }
        }
        Ok(others)
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

fn tally(path: &Path) -> anyhow::Result<Tally> {
    let metadata = fs::symlink_metadata(path).with_context(|| path.display().to_string())?;
    if metadata.is_file() {
        return Ok(Tally { files: 1, bytes: metadata.len() });
    }
    let mut sum = Tally::default();
    if metadata.is_dir() {
        for entry in fs::read_dir(path).with_context(|| path.display().to_string())? {
            let part = tally(&entry?.path())?;
            sum = Tally { files: sum.files + part.files, bytes: sum.bytes + part.bytes };
        }
    }
    Ok(sum)
}

fn copy(from: &Path, to: &Path, patience: &Patience<'_>) -> anyhow::Result<()> {
    patience.check()?;
    let metadata = fs::symlink_metadata(from).with_context(|| from.display().to_string())?;
    let kind = metadata.file_type();
    if kind.is_symlink() {
        bail!("{} is a symbolic link, and where it leads would not be copied; reset by another method", from.display());
    }
    if kind.is_dir() {
        fs::create_dir(to).with_context(|| format!("{} cannot be made", to.display()))?;
        for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()), patience)?;
        }
        belong(to, &metadata)?;
        return File::open(to).and_then(|made| made.sync_all()).with_context(|| to.display().to_string());
    }
    // Sockets and the like are no data.
    if kind.is_file() { copy_file(from, to, &metadata, patience) } else { Ok(()) }
}

fn copy_file(from: &Path, to: &Path, metadata: &Metadata, patience: &Patience<'_>) -> anyhow::Result<()> {
    let cannot = || format!("{} cannot be copied to {}", from.display(), to.display());
    let mut source = File::open(from).with_context(cannot)?;
    let mut copy = File::create_new(to).with_context(cannot)?;
    loop {
        let copied = io::copy(&mut Read::by_ref(&mut source).take(PIECE), &mut copy).with_context(cannot)?;
        if copied < PIECE {
            break;
        }
        patience.check()?;
    }
    belong(to, metadata)?;
    copy.sync_all().with_context(cannot)
}

/// The server runs as another user than this agent, and has to find its files as they were.
fn belong(path: &Path, metadata: &Metadata) -> anyhow::Result<()> {
    let own = fs::metadata(path).with_context(|| path.display().to_string())?;
    if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
        chown(path, Some(metadata.uid()), Some(metadata.gid())).with_context(|| {
            format!(
                "{} cannot be given to user {}; run this agent as root, or as that user",
                path.display(),
                metadata.uid()
            )
        })?;
    }
    fs::set_permissions(path, metadata.permissions()).with_context(|| path.display().to_string())
}

fn rename(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::rename(from, to).with_context(|| format!("{} cannot be renamed to {}", from.display(), to.display()))
}

/// Removes a file or a directory, if it is there.
pub(super) fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    removed.with_context(|| format!("{} cannot be removed", path.display()))
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
        let copies = Copies::of(&data, "0123");
        fs::create_dir(&copies.fresh).unwrap();
        fs::write(lab.path().join("data.vufleet-snapshot-4567"), "of other data").unwrap();
        let wanted = over_is(false);
        assert_eq!(copies.take(&patience(&wanted)).unwrap(), Tally { files: 2, bytes: 7 });
        assert_eq!(names(lab.path()), ["data", "data.vufleet-snapshot-0123"]);

        for round in 0..2 {
            fs::write(data.join("sbtest/t.ibd"), format!("more rows {round}")).unwrap();
            fs::write(data.join("new"), "").unwrap();
            copies.make_fresh(&patience(&wanted)).unwrap();
            copies.put_in().unwrap();
            assert_eq!(fs::read_to_string(data.join("sbtest/t.ibd")).unwrap(), "rows");
            assert_eq!(names(&data), ["ibdata1", "sbtest"]);
            assert_eq!(names(lab.path()), ["data", "data.vufleet-snapshot-0123"]);
        }
        fs::write(data.join("ibdata1"), "used").unwrap();
        copies.use_up().unwrap();
        copies.put_in().unwrap();
        assert_eq!(fs::read_to_string(data.join("ibdata1")).unwrap(), "old");
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
        let copies = Copies::of(&data, "0123");
        let cancelled = copies.take(&patience(&over_is(true))).unwrap_err().to_string();
        assert!(cancelled.contains("cancelled; the data is as it was"), "{cancelled}");
        assert_eq!(names(lab.path()), ["data"]);
        let late = Patience { over: &over_is(false), deadline: Instant::now() };
        assert!(copies.take(&late).unwrap_err().to_string().contains("[reset] timeout"));
        std::os::unix::fs::symlink("/etc", data.join("elsewhere")).unwrap();
        let link = copies.take(&patience(&over_is(false))).unwrap_err().to_string();
        assert!(link.contains("elsewhere is a symbolic link"), "{link}");
        assert_eq!(names(lab.path()), ["data"]);
        let gone = copies.make_fresh(&patience(&over_is(false))).unwrap_err().to_string();
        assert!(gone.contains("data.vufleet-snapshot-0123 has gone"), "{gone}");
    }

    #[test]
    fn room_for_two_copies_is_asked_for_and_for_one_where_one_is_there() {
        let lab = tempfile::tempdir().unwrap();
        let file = lab.path().join("a.db");
        fs::write(&file, "data").unwrap();
        let copies = Copies::of(&file, "0123");
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
