//! Log lines on standard error, for people or for machines.

use std::io::IsTerminal;
use std::panic;
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

/// What is logged: as one of these environment variables says, the first that is set, else as `default` does. What `besides`
/// says of a crate holds unless the variable speaks of that crate itself.
///
/// # Errors
/// When a variable says something that makes no sense: a typing error is not to hide what somebody is looking for.
pub fn filter(variables: &[&str], default: &str, besides: &str) -> Result<EnvFilter, String> {
    let set = variables.iter().find_map(|name| Some((name, std::env::var(name).ok().filter(|text| !text.is_empty())?)));
    let Some((name, text)) = set else { return Ok(EnvFilter::new(format!("{default},{besides}"))) };
    let is_named = besides.split_once('=').is_none_or(|(name, _)| text.contains(name));
    let all = if is_named { text.clone() } else { format!("{text},{besides}") };
    all.parse().map_err(|error| {
        format!(
            "{name}={text:?} says nothing about logging ({error}); write a level: error, warn, info, debug or trace"
        )
    })
}

/// Begins logging what `filter` lets through. For machines a panic is a line like any other.
pub fn start(format: Format, filter: EnvFilter) {
    let colour = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colour)
        .with_target(false)
        .with_writer(std::io::stderr);
    match format {
        Format::Text => log.init(),
        Format::Json => {
            log.json().flatten_event(true).init();
            panic::set_hook(Box::new(|panic| {
                let place = panic.location().map(ToString::to_string).unwrap_or_default();
                let payload = panic.payload();
                let words = payload.downcast_ref::<&str>().copied();
                let words = words.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or_default();
                tracing::error!(place, panic = words, "a mistake in vufleet: a thread or task of it ended");
            }));
        }
    }
}

/// Says something that is not a log line by itself (that a service is up, why it ends) the way log lines look.
pub fn say(format: Format, words: &str) {
    match format {
        Format::Text => eprintln!("{words}"),
        Format::Json => tracing::info!("{words}"),
    }
}

/// The same for why a process ends.
pub fn fail(format: Format, words: &str) {
    match format {
        Format::Text => eprintln!("{words}"),
        Format::Json => tracing::error!("{words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names() {
        assert_eq!("json".parse(), Ok(Format::Json));
        assert_eq!("text".parse(), Ok(Format::Text));
        assert!("xml".parse::<Format>().unwrap_err().contains("text or json"));
    }

    #[test]
    fn a_filter_is_the_default_where_no_variable_is_set() {
        let none = "VUFLEET_NO_SUCH_VARIABLE";
        assert_eq!(filter(&[none], "warn", "").unwrap().to_string(), "warn");
        assert_eq!(filter(&[none], "info", "loud=off").unwrap().to_string(), "loud=off,info");
        // PATH is set everywhere, and no filter anywhere.
        assert!(filter(&[none, "PATH"], "warn", "").unwrap_err().contains("PATH="));
    }
}
