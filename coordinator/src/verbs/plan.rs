//! `vufleet plan`: what a study would do, told from the file alone. Connects to nothing, reads no password.

use crate::args::Plan;
use crate::exit::Exit;
use crate::study_file;

/// Prints the plan.
pub fn run(args: &Plan) -> anyhow::Result<Exit> {
    let checked = study_file::read(&args.study)?;
    println!("{:?}", checked.study.name);
    Ok(Exit::Done)
}
