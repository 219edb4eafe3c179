//! Files of certificates and keys: whole or not there, readable by their owner alone, and nothing replaced unasked.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, anyhow, bail};

/// What is done about a file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is written.
    Keep,
    /// It is replaced.
    Replace,
}

/// Makes a directory that only its owner enters, and those above it. One that is there stays as it is.
pub fn directory(path: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("{} cannot be made", path.display()))
}

/// Writes a file under its name when all of it is on the disk.
pub fn write(path: &Path, content: &str, existing: Existing) -> anyhow::Result<()> {
    let name = path.file_name().with_context(|| format!("{} names no file", path.display()))?;
    let temporary = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = fill(&temporary, content).and_then(|()| settle(&temporary, path, existing));
    if written.is_err() {
        // Gone already where the renaming was what failed last.
        fs::remove_file(&temporary).ok();
    }
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => bail!("{} exists already", path.display()),
        written => written.map_err(|error| anyhow!("{} cannot be written: {error}", path.display())),
    }
}

/// The mode is the file's from its first byte: a key is at no instant readable by others.
fn fill(path: &Path, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

/// A link to a name that is taken fails, where renaming would replace.
fn settle(temporary: &Path, path: &Path, existing: Existing) -> io::Result<()> {
    match existing {
        Existing::Replace => fs::rename(temporary, path)?,
        Existing::Keep => {
            fs::hard_link(temporary, path)?;
            fs::remove_file(temporary)?;
        }
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_there_stays_unless_its_replacement_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tls.key");
        write(&path, "first", Existing::Keep).unwrap();
        let error = write(&path, "second", Existing::Keep).unwrap_err().to_string();
        assert!(error.contains("exists already"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        write(&path, "second", Existing::Replace).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing temporary is left");
    }

    #[test]
    fn files_and_directories_are_their_owners() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("a/b");
        directory(&below).unwrap();
        write(&below.join("tls.key"), "key", Existing::Keep).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir.path().join("a")), mode(&below), mode(&below.join("tls.key"))), (0o700, 0o700, 0o600));
    }
}
