//! A file, or a directory with everything in it: counted, copied, removed.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown};
use std::path::Path;

use anyhow::{Context, ensure};

use super::Patience;

/// What is copied at once between two looks at whether anybody still wants it. Where the file system can, the kernel shares the
/// blocks instead.
const PIECE: u64 = 64 << 20;
/// What InnoDB of MariaDB leaves in a database's directory for a table whose file is elsewhere (DATA DIRECTORY).
const LINK: &str = "isl";

/// Regular files, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

/// Refuses what leads out of the data. What comes and goes meanwhile is nothing that stays.
pub(super) fn check_whole(path: &Path) -> anyhow::Result<()> {
    let here = || path.display().to_string();
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.with_context(here)?,
    };
    refuse_elsewhere(path, &metadata)?;
    if metadata.is_dir() {
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.with_context(here)?,
        };
        for entry in entries {
            check_whole(&entry?.path())?;
        }
    }
    Ok(())
}

/// What leads out of the data would not be copied with it.
fn refuse_elsewhere(path: &Path, metadata: &Metadata) -> anyhow::Result<()> {
    let at = path.display();
    ensure!(
        !metadata.file_type().is_symlink(),
        "{at} is a symbolic link, and where it leads would not be copied; reset by another method"
    );
    ensure!(
        !(metadata.is_file() && path.extension().is_some_and(|extension| extension == LINK)),
        "{at} says that a table lies elsewhere (DATA DIRECTORY), where it would not be copied; reset by another method"
    );
    Ok(())
}

/// Of everything in it.
pub(super) fn tally(path: &Path) -> anyhow::Result<Tally> {
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

/// Copies everything in it, as long as anybody wants it.
pub(super) fn copy(from: &Path, to: &Path, patience: &Patience<'_>) -> anyhow::Result<()> {
    patience.check()?;
    let metadata = fs::symlink_metadata(from).with_context(|| from.display().to_string())?;
    let kind = metadata.file_type();
    refuse_elsewhere(from, &metadata)?;
    if kind.is_dir() {
        make_directory(to)?;
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
    let mut copy = make_file(to).with_context(cannot)?;
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

/// For nobody's eyes but this agent's, until it belongs to whom the original belongs to.
fn make_directory(path: &Path) -> anyhow::Result<()> {
    DirBuilder::new().mode(0o700).create(path).with_context(|| format!("{} cannot be made", path.display()))
}

/// The same for a file.
fn make_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_is_under_way_is_for_nobodys_eyes_and_what_is_done_is_as_open_as_the_original() {
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let lab = tempfile::tempdir().unwrap();
        make_directory(&lab.path().join("made")).unwrap();
        drop(make_file(&lab.path().join("made/file")).unwrap());
        assert_eq!((mode(&lab.path().join("made")), mode(&lab.path().join("made/file"))), (0o700, 0o600));
        let data = lab.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("ibdata1"), "old").unwrap();
        fs::set_permissions(&data, fs::Permissions::from_mode(0o751)).unwrap();
        fs::set_permissions(data.join("ibdata1"), fs::Permissions::from_mode(0o664)).unwrap();
        let (made, over) = (lab.path().join("copy"), AtomicBool::new(false));
        copy(&data, &made, &Patience { over: &over, deadline: Instant::now() + Duration::from_secs(60) }).unwrap();
        assert_eq!((mode(&made), mode(&made.join("ibdata1"))), (0o751, 0o664));
    }
}
