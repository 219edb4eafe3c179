//! What verbs print. A reader that has seen enough (`vufleet studies | head -1`) is no error; a full disk behind a redirection is.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;

/// Prints text as it is.
///
/// # Errors
/// When stdout cannot be written, unless it is closed.
pub fn put(text: impl Display) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to stdout"),
    }
}

/// The same with an end of line.
///
/// # Errors
/// As [`put`].
pub fn line(text: impl Display) -> anyhow::Result<()> {
    put(format_args!("{text}\n"))
}
