//! `vufleet check`: would this study run here? Every agent connects and looks.

use vufleet_proto::v1::job;

use crate::args::Check;
use crate::dispatch::{Fleet, dispatch, job};
use crate::exit::Exit;
use crate::follow::Destination;
use crate::live::Console;
use crate::secrets::Passwords;
use crate::study_file;

/// Checks.
pub async fn run(args: Check) -> anyhow::Result<Exit> {
    let fleet = Fleet::from_args(&args.fleet)?;
    let checked = study_file::read(&args.study)?;
    let passwords = Passwords::resolve(&checked.study)?;
    let mut console = Console::standard(args.fleet.quiet);
    let job = job(job::Kind::Check, &checked, &passwords);
    dispatch(&fleet, &mut console, vec![(job, Destination::Nowhere)]).await
}
