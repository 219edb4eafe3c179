//! What `deploy/` tells people and machines to start, held against the programs: command lines, variables, ports, files and names.
//!
//! Whether systemd, a container engine or a cluster takes these files is another question; README.md says what was tried.

mod containers;
mod dist;
mod kubernetes;
mod page;
mod programs;
mod units;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
