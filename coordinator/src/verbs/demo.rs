//! `vufleet demo`: the built-in study on a SQLite file, with a fleet of local processes, from empty to table.

use std::path::Path;

use anyhow::Context;
use vufleet_proto::v1::{Job, job};
use vufleet_scenarios::study;

use crate::args::{Demo, EditArgs};
use crate::dispatch::{Fleet, dispatch, job};
use crate::exit::Exit;
use crate::follow::Destination;
use crate::live::Console;
use crate::secrets::Passwords;
use crate::study_file::{self, Checked};

use super::run::destination;

/// Where the study can be read.
const PATH: &str = "scenarios/studies/demo.toml";

/// Driving agents.
const DRIVING: u32 = 2;

/// Builds the tables and runs the study.
pub async fn run(args: Demo) -> anyhow::Result<Exit> {
    let checked = checked(&args.data)?;
    let destination = destination(args.out.as_deref())?;
    let mut console = Console::standard(args.quiet);
    console.note(&format!("demo: {PATH} with {DRIVING} driving agents and an observing one"));
    let passwords = Passwords::resolve(&checked.study)?;
    let build = Job { replace: true, ..job(job::Kind::Build, &checked, &passwords) };
    let run = job(job::Kind::Run, &checked, &passwords);
    let jobs = vec![(build, Destination::Nowhere), (run, destination)];
    dispatch(&Fleet::embedded(&args.data, DRIVING), &mut console, jobs).await
}

/// The study with its database in the data directory.
fn checked(data: &Path) -> anyhow::Result<Checked> {
    let data = std::path::absolute(data).with_context(|| format!("cannot use data directory {}", data.display()))?;
    std::fs::create_dir_all(&data).with_context(|| format!("cannot make data directory {}", data.display()))?;
    let text = study::ready("demo").expect("the demo is among the studies that come with vufleet");
    study_file::check(text, Path::new(PATH), &EditArgs::default(), &data, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::TargetKind;

    #[test]
    fn the_demo_is_a_valid_study_on_sqlite_inside_the_data_directory() {
        let data = tempfile::tempdir().unwrap();
        let checked = checked(data.path()).unwrap();
        assert_eq!(checked.study.target.kind, TargetKind::Sqlite);
        let path = checked.study.target.path.unwrap();
        assert!(path.starts_with(data.path()), "{}", path.display());
        assert!(!checked.seed_drawn, "everybody's demo draws the same ids");
    }
}
