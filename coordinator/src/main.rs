//! The `vufleet` executable: what an operator types, and the coordinator.

use std::process::ExitCode;

use clap::Parser;
use vufleet::args::{Cli, Verb};
use vufleet::exit::{Exit, Usage};
use vufleet::verbs;
use vufleet_telemetry::logs;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let format = match log(&cli.verb) {
        Ok(format) => format,
        Err(usage) => {
            eprintln!("error: {usage}");
            return Exit::Usage.into();
        }
    };
    match run(cli.verb) {
        Ok(exit) => exit.into(),
        Err(error) => {
            logs::fail(format, &format!("error: {error:#}"));
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

/// A service tells what it does; a verb speaks for itself, and only its warnings are logged.
fn log(verb: &Verb) -> Result<logs::Format, Usage> {
    let (default, format) = match verb {
        Verb::Coordinator(args) => ("info", args.log_format),
        _ => ("warn", logs::Format::Text),
    };
    logs::start(format, logs::filter(&["VUFLEET_LOG", "RUST_LOG"], default, "").map_err(Usage)?);
    Ok(format)
}
