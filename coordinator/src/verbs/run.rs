//! `vufleet run`: a study, from its file to its results; or the rest of one that is in the ledger.

mod resume;

use std::path::Path;

use anyhow::Context;

use vufleet_proto::v1::{Job, job};

use crate::args::Run;
use crate::dispatch::{Fleet, dispatch, job};
use crate::exit::Exit;
use crate::follow::Destination;
use crate::live::Console;
use crate::results::{DIRECTORY, Results};
use crate::secrets::Passwords;
use crate::study_file;

/// Runs.
pub async fn run(args: Run) -> anyhow::Result<Exit> {
    let fleet = Fleet::from_args(&args.fleet)?;
    let (checked, id) = match &args.resume {
        Some(wanted) => {
            let begun = resume::Begun::find(&fleet, wanted).await?;
            if let Some(path) = &args.study {
                begun.refuse_another(path, &args.edits)?;
            }
            begun.into_checked()
        }
        None => {
            let path = args.study.as_deref().context("name a study, or one to go on with by --resume ID")?;
            let checked = study_file::read_file(path, &args.edits, study_file::drawn_seed())?;
            (checked, String::new())
        }
    };
    let passwords = Passwords::resolve(&checked.study)?;
    let destination = if args.smoke { Destination::Nowhere } else { destination(args.out.as_deref())? };
    let mut console = Console::standard(args.fleet.quiet);
    if let Some(note) = checked.seed_note() {
        console.note(&note);
    }
    let kind = if args.smoke { job::Kind::Smoke } else { job::Kind::Run };
    let on_agent_loss = job::OnAgentLoss::from(args.on_agent_loss).into();
    let job = Job { on_agent_loss, resume: id, ..job(kind, &checked, &passwords) };
    dispatch(&fleet, &mut console, vec![(job, destination)]).await
}

/// Where the files go. A named directory is opened now; one that is named after the study's id has to wait for the id,
/// but its parent does not.
pub(super) fn destination(out: Option<&Path>) -> anyhow::Result<Destination> {
    match out {
        Some(directory) => Ok(Destination::Open(Results::open(directory)?)),
        None => {
            Results::check_parent(Path::new(DIRECTORY))?;
            Ok(Destination::Below(DIRECTORY.into()))
        }
    }
}
