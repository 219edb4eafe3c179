//! `vufleet-agent`: parse, introduce, serve until told to stop.

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;
use vufleet_agent::config::{Config, Flags, LogFormat};
use vufleet_agent::{agent, limits, session};

fn main() -> ExitCode {
    let config = match Config::load(Flags::parse()) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("vufleet-agent: {error:#}");
            return ExitCode::from(2);
        }
    };
    start_log(config.log_format);
    session::install_tls_provider();
    if let Err(error) = limits::raise_open_files() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    match agent::run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vufleet-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start_log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}
