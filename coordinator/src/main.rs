//! The `vufleet` executable: what an operator types, and the coordinator.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;
use vufleet::args::{Cli, Verb};
use vufleet::exit::Exit;
use vufleet::verbs;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log(&cli.verb);
    match run(cli.verb) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            Exit::of(&error).into()
        }
    }
}

fn run(verb: Verb) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(verbs::run(verb));
    // An operator who leaves at once does not wait for a write that hangs.
    runtime.shutdown_background();
    exit
}

/// A service tells what it does; a verb speaks for itself, and only its warnings are logged. `VUFLEET_LOG` decides
/// otherwise.
fn log(verb: &Verb) {
    let default = if matches!(verb, Verb::Coordinator(_)) { "info" } else { "warn" };
    let filter = EnvFilter::try_from_env("VUFLEET_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}
