//! Log lines on standard error, for people or for machines.

use std::io::IsTerminal;
use std::str::FromStr;

use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For machines: one JSON object a line.
    Json,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        match name {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            other => Err(format!("log format {other:?} is not known; write text or json")),
        }
    }
}

/// Begins logging what `filter` lets through.
pub fn start(format: Format, filter: EnvFilter) {
    let colour = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colour)
        .with_target(false)
        .with_writer(std::io::stderr);
    match format {
        Format::Text => log.init(),
        Format::Json => log.json().init(),
    }
}
