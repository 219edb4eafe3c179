//! `vufleet report`: the table of a study, computed anew from the ledger.

use crate::analysis::{self, Options};
use crate::args::Report;
use crate::exit::Exit;
use crate::ledger::Ledger;
use crate::render;
use crate::stdout;

/// Columns where there is no terminal to ask.
const WIDTH: u16 = 160;

/// Prints the table.
pub fn run(args: &Report) -> anyhow::Result<Exit> {
    let ledger = Ledger::read_only(&args.ledger.data)?;
    let report = analysis::brief(&ledger, &args.id, Options { absolute: args.absolute })?;
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0);
    stdout::put(render::text(&report, width))?;
    Ok(Exit::Done)
}
