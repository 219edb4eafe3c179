//! The data directory that every test server starts from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::program::{find, option};

/// What the template and the servers must agree on, and what makes both fast: small files, no waiting for disks.
pub(super) const SETTINGS: [&str; 7] = [
    "--innodb-log-file-size=16M",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
    "--aria-log-file-size=8M",
    "--key-buffer-size=1M",
    "--character-set-server=utf8mb4",
];

/// As root the server wants to be told that this is meant.
pub(super) fn run_as() -> Option<&'static str> {
    nix::unistd::geteuid().is_root().then_some("--user=root")
}

/// Copies the template to `destination`, making it first if this machine and user have none yet.
pub(super) fn copy(server: &Path, destination: &Path) -> Result<()> {
    let template = location(server)?;
    if !template.is_dir() {
        create(&template)?;
    }
    copy_directory(&template, destination).with_context(|| format!("cannot copy {}", template.display()))
}

/// Keyed by user and version: neither can use the other's files.
fn location(server: &Path) -> Result<PathBuf> {
    let output = Command::new(server).args(["--no-defaults", "--version"]).args(run_as()).output()?;
    let version = String::from_utf8_lossy(&output.stdout);
    let number = version.split_whitespace().skip_while(|word| *word != "Ver").nth(1).unwrap_or("unknown");
    Ok(std::env::temp_dir().join(format!("vufleet-mariadb-template-{}-{number}", nix::unistd::geteuid())))
}

/// Made in a private directory and renamed, so that test processes that start at the same time find all of it or
/// nothing.
fn create(template: &Path) -> Result<()> {
    let parent = template.parent().context("a template lies in the directory of temporary files")?;
    let private = tempfile::Builder::new().prefix("vufleet-mariadb-making-").tempdir_in(parent)?;
    let data = private.path().join("data");
    let output = Command::new(find("mariadb-install-db")?)
        .arg("--no-defaults")
        .arg(option("datadir", &data))
        .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
        .args(SETTINGS)
        .args(run_as())
        .output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "mariadb-install-db failed: {said}");
    match fs::rename(&data, template) {
        // Somebody else was faster; theirs is as good.
        Err(_) if template.is_dir() => Ok(()),
        result => result.with_context(|| format!("cannot create {}", template.display())),
    }
}

fn copy_directory(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let destination = to.join(entry.file_name());
        if kind.is_dir() {
            copy_directory(&entry.path(), &destination)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), destination)?;
        }
    }
    Ok(())
}
