//! `vufleet schema`: the tables of a study's workload, built by the fleet, verified or dropped.

use vufleet_proto::v1::{Job, job};

use crate::args::{FleetArgs, Schema, StudyArgs};
use crate::dispatch::{Fleet, dispatch, job};
use crate::exit::Exit;
use crate::follow::Destination;
use crate::live::Console;
use crate::secrets::Passwords;
use crate::study_file;

/// Builds, verifies or drops.
pub async fn run(args: Schema) -> anyhow::Result<Exit> {
    match args {
        Schema::Build(args) => one(job::Kind::Build, &args.study, &args.fleet, args.replace).await,
        Schema::Verify(args) => one(job::Kind::Verify, &args.study, &args.fleet, false).await,
        Schema::Drop(args) => one(job::Kind::Drop, &args.study, &args.fleet, false).await,
    }
}

async fn one(kind: job::Kind, study: &StudyArgs, fleet: &FleetArgs, replace: bool) -> anyhow::Result<Exit> {
    let choice = Fleet::from_args(fleet)?;
    let checked = study_file::read(study)?;
    let passwords = Passwords::resolve(&checked.study)?;
    let mut console = Console::standard(fleet.quiet);
    // The seed decides the rows, so that it is told for a build as it is for a run.
    if let (job::Kind::Build, Some(note)) = (kind, checked.seed_note()) {
        console.note(&note);
    }
    let job = Job { replace, ..job(kind, &checked, &passwords) };
    dispatch(&choice, &mut console, vec![(job, Destination::Nowhere)]).await
}
