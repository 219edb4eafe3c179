//! Command lines that the programs have to take.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use clap::Parser;
use vufleet::args::Cli;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn vufleet() -> PathBuf {
    env!("CARGO_BIN_EXE_vufleet").into()
}

pub fn agent() -> PathBuf {
    let agent = vufleet().with_file_name("vufleet-agent");
    assert!(agent.is_file(), "{} is missing: cargo build --workspace", agent.display());
    agent
}

/// A command line, as a unit, a container or a page has it.
#[derive(Debug, Clone)]
pub struct Line {
    words: Vec<String>,
    /// For whoever has to mend it.
    place: String,
}

impl Line {
    pub fn new(words: Vec<String>, place: &str) -> Line {
        Line { words, place: place.to_owned() }
    }

    /// As a shell would take it apart, of one that needs no more than spaces and quotes.
    pub fn of_text(text: &str, place: &str) -> Line {
        let mut words = vec![String::new()];
        let mut quote = None;
        for letter in text.chars() {
            match (quote, letter) {
                (None, '"' | '\'') => quote = Some(letter),
                (Some(open), _) if open == letter => quote = None,
                (None, ' ' | '\t') => words.push(String::new()),
                _ => words.last_mut().unwrap().push(letter),
            }
        }
        words.retain(|word| !word.is_empty());
        Line::new(words, &format!("{place}: {text}"))
    }

    pub fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The value of a flag.
    pub fn flag(&self, name: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == name)?;
        self.words.get(at + 1).map(String::as_str)
    }

    pub fn flags(&self) -> impl Iterator<Item = &str> {
        self.words.iter().filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap())
    }

    /// The port that metrics, health and life are shown at.
    pub fn metrics_port(&self) -> Option<&str> {
        Some(self.flag("--metrics")?.rsplit_once(':').expect("an address and a port").1)
    }

    /// Fails unless the program takes it.
    #[track_caller]
    pub fn is_taken(&self) {
        match self.program() {
            "vufleet" => {
                if let Err(error) = Cli::try_parse_from(&self.words) {
                    panic!("{}: {error}", self.place);
                }
            }
            "vufleet-agent" => {
                let unknown: Vec<&str> = self.flags().filter(|flag| !agent_flags().contains(*flag)).collect();
                assert!(unknown.is_empty(), "{}: vufleet-agent has no {unknown:?}", self.place);
            }
            "vufleet-probe" => assert_eq!(self.words.len(), 3, "{}: a port and a path", self.place),
            other => panic!("{}: there is no program {other:?}", self.place),
        }
    }
}

/// What `vufleet-agent --help` knows. It lives in a crate that this one never imports.
pub fn agent_flags() -> &'static BTreeSet<String> {
    static FLAGS: OnceLock<BTreeSet<String>> = OnceLock::new();
    FLAGS.get_or_init(|| {
        let help = Command::new(agent()).arg("--help").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let words = help.lines().filter(|line| line.trim_start().starts_with('-')).flat_map(str::split_whitespace);
        words.filter(|word| word.starts_with("--")).map(|word| word.trim_end_matches(',').to_owned()).collect()
    })
}

/// A variable that the agent reads, by the flag that it stands for.
#[track_caller]
pub fn agent_knows(variable: &str) {
    let key = variable.strip_prefix("VUFLEET_AGENT_").unwrap_or_else(|| panic!("{variable} is no agent's"));
    let flag = format!("--{}", key.to_ascii_lowercase().replace('_', "-"));
    assert!(agent_flags().contains(&flag), "{variable}: vufleet-agent has no {flag}");
}

#[test]
fn lines_that_no_program_takes_are_found() {
    for wrong in
        ["vufleet corodinator", "vufleet run study.toml --agnets 3", "vufleet-agent --rolse drive", "vufleets run"]
    {
        let taken = std::panic::catch_unwind(|| Line::of_text(wrong, "a test").is_taken());
        assert!(taken.is_err(), "{wrong}");
    }
    Line::of_text("vufleet run 'my study.toml' --agents 3", "a test").is_taken();
    Line::of_text("vufleet-agent --roles drive --config /etc/vufleet/agent.toml", "a test").is_taken();
}
