//! `vufleet pages DIR`: its manual pages and completions, for whoever packages it. `make dist` does.

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Cli, Pages};
use crate::exit::Exit;

/// Writes them.
pub fn run(args: &Pages) -> anyhow::Result<Exit> {
    let written = vufleet_pages::write(Cli::command(), &args.share);
    written.with_context(|| format!("cannot write pages below {}", args.share.display()))?;
    Ok(Exit::Done)
}
