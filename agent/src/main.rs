//! `vufleet-agent`: parse, introduce, serve until told to stop.

use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use vufleet_agent::agent::Ending;
use vufleet_agent::config::{Config, Flags};
use vufleet_agent::{agent, limits, session};
use vufleet_telemetry::logs;

fn main() -> ExitCode {
    let flags = Flags::parse();
    if let Some(share) = &flags.pages {
        return pages(share);
    }
    let config = match Config::load(flags).and_then(|config| start_log(&config).map(|()| config)) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("vufleet-agent: {error:#}");
            return ExitCode::from(2);
        }
    };
    let log_format = config.log_format;
    follow_parent();
    session::install_tls_provider();
    if let Err(error) = limits::raise_open_files() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    match agent::run(config) {
        Ok(Ending::InGoodOrder) => ExitCode::SUCCESS,
        Ok(Ending::AtOnce) => ExitCode::from(130),
        Err(error) => {
            logs::fail(log_format, &format!("vufleet-agent: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// For whoever packages it.
fn pages(share: &Path) -> ExitCode {
    match vufleet_pages::write(Flags::command(), share) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vufleet-agent: cannot write pages below {}: {error}", share.display());
            ExitCode::FAILURE
        }
    }
}

/// An agent that a `vufleet` started for itself ends with it, however that ends.
fn follow_parent() {
    let Some(parent) = std::env::var("VUFLEET_PARENT").ok().and_then(|pid| pid.parse::<i32>().ok()) else { return };
    if let Err(errno) = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM) {
        tracing::warn!(%errno, "this agent may outlive the process that started it");
    }
    // It may have ended before the kernel was told.
    if nix::unistd::getppid().as_raw() != parent {
        eprintln!("vufleet-agent: the process that started this agent has gone");
        std::process::exit(0);
    }
}

/// tiberius logs every error of the server, on the thread of the load; faults are counted and told anyway.
const SILENCED: &str = "tiberius=off";

fn start_log(config: &Config) -> anyhow::Result<()> {
    let filter = logs::filter(&["VUFLEET_LOG", "RUST_LOG"], "info", SILENCED).map_err(anyhow::Error::msg)?;
    logs::start(config.log_format, filter);
    Ok(())
}
