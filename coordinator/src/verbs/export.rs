//! `vufleet export`: the result files of a study, computed anew from the ledger.

use std::io;
use std::path::Path;

use crate::analysis::{self, Options};
use crate::args::Export;
use crate::exit::Exit;
use crate::ledger::Ledger;
use crate::render;
use crate::results::{DIRECTORY, Results};

/// Writes the files.
pub fn run(args: &Export) -> anyhow::Result<Exit> {
    let ledger = Ledger::read_only(&args.ledger.data)?;
    let report = analysis::report(&ledger, &args.id, Options { absolute: args.absolute })?;
    let directory = args.out.clone().unwrap_or_else(|| Path::new(DIRECTORY).join(&report.study_id));
    let mut results = Results::open(&directory)?;
    render::files(&report, &mut |name, data| results.piece(name, data).map_err(io::Error::other))?;
    for path in results.keep()? {
        println!("{}", path.display());
    }
    Ok(Exit::Done)
}
