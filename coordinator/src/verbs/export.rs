//! `vufleet export`: the result files of a study, computed anew from the ledger.

use std::io;
use std::path::Path;

use crate::analysis::{self, Options, RunReport};
use crate::args::Export;
use crate::exit::Exit;
use crate::ledger::Ledger;
use crate::render;
use crate::results::{DIRECTORY, Results};
use crate::stdout;

/// Writes the files.
pub fn run(args: &Export) -> anyhow::Result<Exit> {
    let ledger = Ledger::read_only(&args.ledger.data)?;
    let report = analysis::brief(&ledger, &args.id, Options { absolute: args.absolute })?;
    let directory = args.out.clone().unwrap_or_else(|| Path::new(DIRECTORY).join(&report.study_id));
    let mut results = Results::open(&directory)?;
    let mut series = |told: &RunReport| analysis::run_of(&ledger, &report, told).map_err(io::Error::other);
    render::files(&report, &mut series, &mut |name, data| results.piece(name, data).map_err(io::Error::other))?;
    for path in results.keep()? {
        stdout::line(path.display())?;
    }
    Ok(Exit::Done)
}
