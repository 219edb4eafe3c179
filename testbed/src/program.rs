//! The programs of a database's packages.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// `--name=value`, for values that need not be UTF-8.
pub(crate) fn option(name: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(value);
    option
}

/// A program of the MariaDB packages, on the path or where Debian puts servers.
pub(crate) fn find(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")])
        .map(|directory| directory.join(program))
        .find(|file| Path::is_file(file))
        .with_context(|| format!("{program} is not installed; apt-get install mariadb-server"))
}
