//! The directory that result files arrive in: made before the first run, so that a full disk or a wrong path is known
//! before hours of load; written under temporary names and renamed when complete.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::render::FILE_NAMES;

/// Parent of the output directories that nobody named.
pub const DIRECTORY: &str = "results";

/// An output directory that is being written.
#[derive(Debug)]
pub struct Results {
    directory: PathBuf,
    /// Directories that were not there before, the deepest first: gone again when nothing is kept in them.
    made: Vec<PathBuf>,
    arriving: BTreeMap<String, Arriving>,
}

#[derive(Debug)]
struct Arriving {
    file: File,
    temporary: PathBuf,
}

impl Results {
    /// Makes the directory where it is missing, and refuses one that holds other things or cannot be written.
    pub fn open(directory: &Path) -> anyhow::Result<Results> {
        let shown = directory.display();
        let made = missing(directory);
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make output directory {shown}; give another one with --out"))?;
        let results = Results { directory: directory.to_owned(), made, arriving: BTreeMap::new() };
        refuse_foreign(directory)?;
        probe(directory)
            .with_context(|| format!("cannot write into output directory {shown}; give another one with --out"))?;
        Ok(results)
    }

    /// Makes sure that directories can be made below `parent`, without making any.
    pub fn check_parent(parent: &Path) -> anyhow::Result<()> {
        let existing = parent.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
        probe(existing).with_context(|| {
            format!("cannot write results below {}; name another directory with --out", parent.display())
        })
    }

    /// Where the files will be.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Takes a piece of a file; pieces of one name come in order.
    pub fn piece(&mut self, name: &str, data: &[u8]) -> anyhow::Result<()> {
        if !is_plain(name) {
            bail!("result file name {name:?} is not a plain name; the coordinator is not the one it claims to be");
        }
        if !self.arriving.contains_key(name) {
            let temporary = self.directory.join(format!(".{name}.part"));
            let file = File::create(&temporary).with_context(|| format!("cannot write {}", temporary.display()))?;
            self.arriving.insert(name.to_owned(), Arriving { file, temporary });
        }
        let arriving = self.arriving.get_mut(name).expect("inserted above");
        arriving.file.write_all(data).with_context(|| {
            format!("cannot write {}; the ledger has it all: `vufleet export`", arriving.temporary.display())
        })
    }

    /// Gives the files their names; everything that was announced has arrived.
    pub fn keep(mut self) -> anyhow::Result<Vec<PathBuf>> {
        let mut kept = Vec::new();
        for (name, arriving) in std::mem::take(&mut self.arriving) {
            let path = self.directory.join(name);
            arriving
                .file
                .sync_all()
                .and_then(|()| fs::rename(&arriving.temporary, &path))
                .with_context(|| format!("cannot write {}", path.display()))?;
            self.made.clear();
            kept.push(path);
        }
        Ok(kept)
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        for arriving in self.arriving.values() {
            if let Err(error) = fs::remove_file(&arriving.temporary) {
                tracing::warn!("cannot remove {}: {error}", arriving.temporary.display());
            }
        }
        for directory in &self.made {
            if let Err(error) = fs::remove_dir(directory) {
                tracing::debug!("{} stays: {error}", directory.display());
            }
        }
    }
}

fn missing(directory: &Path) -> Vec<PathBuf> {
    let named = directory.ancestors().filter(|path| !path.as_os_str().is_empty());
    named.take_while(|path| !path.exists()).map(Path::to_owned).collect()
}

/// Writes a byte, as permissions and free space are best asked of the file system itself.
fn probe(directory: &Path) -> std::io::Result<()> {
    let probe = directory.join(".writable.part");
    File::create(&probe)?.write_all(b"?")?;
    fs::remove_file(&probe)
}

fn refuse_foreign(directory: &Path) -> anyhow::Result<()> {
    let shown = directory.display();
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read output directory {shown}"))?;
    for entry in entries {
        let name = entry.with_context(|| format!("cannot read output directory {shown}"))?.file_name();
        let name = name.to_string_lossy();
        // Anything but these files belongs to somebody else.
        let is_ours = FILE_NAMES.contains(&name.as_ref()) || (name.starts_with('.') && name.ends_with(".part"));
        if !is_ours {
            bail!(
                "output directory {shown} holds {name}, which vufleet did not write; give a new or an empty directory \
                 with --out"
            );
        }
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    let mut components = Path::new(name).components();
    matches!(components.next(), Some(std::path::Component::Normal(only)) if only == name) && components.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn pieces_become_files_when_complete() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("deep/er");
        let mut results = Results::open(&out).unwrap();
        results.piece("runs.csv", b"a,").unwrap();
        results.piece("results.json", b"{}").unwrap();
        results.piece("runs.csv", b"b").unwrap();
        assert_eq!(names(&out), [".results.json.part", ".runs.csv.part"]);
        results.keep().unwrap();
        assert_eq!(names(&out), ["results.json", "runs.csv"]);
        assert_eq!(fs::read(out.join("runs.csv")).unwrap(), b"a,b");
    }

    #[test]
    fn what_was_not_kept_leaves_nothing_and_spares_the_old() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("runs.csv"), "old").unwrap();
        let mut results = Results::open(dir.path()).unwrap();
        results.piece("runs.csv", b"new").unwrap();
        drop(results);
        assert_eq!(names(dir.path()), ["runs.csv"]);
        assert_eq!(fs::read(dir.path().join("runs.csv")).unwrap(), b"old");
    }

    #[test]
    fn directories_made_for_nothing_go_again() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("old/new/newer"));
        fs::create_dir(&old).unwrap();
        let mut results = Results::open(&new).unwrap();
        results.piece("runs.csv", b"x").unwrap();
        drop(results);
        assert_eq!(names(&old), Vec::<String>::new());
        Results::open(&new).unwrap().keep().unwrap();
        assert_eq!(names(&old), Vec::<String>::new());
        Results::check_parent(&new).unwrap();
        assert_eq!(names(&old), Vec::<String>::new());
    }

    #[test]
    fn a_directory_of_somebody_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.tex"), "").unwrap();
        let error = Results::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("thesis.tex") && error.contains("--out"), "{error}");
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("below"), PathBuf::from("/proc/vufleet")] {
            let error = format!("{:#}", Results::open(&path).unwrap_err());
            assert!(error.contains("--out"), "{error}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut results = Results::open(dir.path()).unwrap();
        for name in ["", ".", "..", "../x", "/etc/x", "a/b", "a/"] {
            results.piece(name, b"x").expect_err(name);
        }
        assert!(names(dir.path()).is_empty());
    }
}
