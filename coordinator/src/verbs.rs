//! The verbs: one file each, all with a `run` that returns the exit code or an error that somebody reads.

mod agents;
mod certs;
mod check;
mod compare;
mod coordinator;
mod demo;
mod export;
mod pages;
mod plan;
mod report;
mod run;
mod schema;
mod show;
mod stop;
mod studies;

use crate::args::Verb;
use crate::exit::Exit;

/// Does what was typed.
pub async fn run(verb: Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Demo(args) => demo::run(args).await,
        Verb::Run(args) => run::run(args).await,
        Verb::Plan(args) => plan::run(&args),
        Verb::Check(args) => check::run(args).await,
        Verb::Schema(args) => schema::run(args).await,
        Verb::Coordinator(args) => coordinator::run(args).await,
        Verb::Agents(args) => agents::run(args).await,
        Verb::Studies(args) => studies::run(&args),
        Verb::Show(args) => show::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Stop(args) => stop::run(args).await,
        Verb::Certs(args) => certs::run(&args),
        Verb::Pages(args) => pages::run(&args),
    }
}
