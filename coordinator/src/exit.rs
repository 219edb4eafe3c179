//! Exit codes, in one place: what each means, how `--help` tells it, and which error leads to which.

use std::fmt;

/// How a verb ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Every run is valid or degraded; for other verbs: done.
    Done,
    /// The study, the database or the fleet refused.
    Refused,
    /// The command line makes no sense.
    Usage,
    /// A cell ended with fewer valid runs than the study asks for.
    TooFewValid,
    /// Stopped by Ctrl-C, SIGTERM or `vufleet stop`.
    Interrupted,
}

/// The section of `--help`.
pub const HELP: &str = "Exit codes:
  0    every run is valid or degraded; of other verbs: done
  1    the study, the database or the fleet refused; the last line of stderr says why
  2    usage: the command line makes no sense
  3    a cell ended with fewer valid runs than asked, or `compare` met one without an interval
  130  interrupted; what was measured until then is kept

VUFLEET_LOG (or RUST_LOG) is what is logged on stderr: error, warn, info, debug or trace; a coordinator's default is
info, that of every other verb warn.";

impl Exit {
    /// The number that the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Refused => 1,
            Exit::Usage => 2,
            Exit::TooFewValid => 3,
            Exit::Interrupted => 130,
        }
    }

    /// The way a coordinator said that a job ended. A code that this version does not know is a refusal.
    pub fn from_code(code: u32) -> Exit {
        match code {
            0 => Exit::Done,
            2 => Exit::Usage,
            3 => Exit::TooFewValid,
            130 => Exit::Interrupted,
            _ => Exit::Refused,
        }
    }

    /// What an error means for the exit code.
    pub fn of(error: &anyhow::Error) -> Exit {
        if error.is::<Usage>() { Exit::Usage } else { Exit::Refused }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// A mistake on the command line that clap cannot see.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

impl From<vufleet_trust::address::Mistake> for Usage {
    fn from(mistake: vufleet_trust::address::Mistake) -> Self {
        Usage(mistake.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_the_wire() {
        for exit in [Exit::Done, Exit::Refused, Exit::Usage, Exit::TooFewValid, Exit::Interrupted] {
            assert_eq!(Exit::from_code(exit.code().into()), exit);
            assert!(HELP.contains(&format!("\n  {} ", exit.code())), "{exit:?} is not documented");
        }
        assert_eq!(Exit::from_code(77), Exit::Refused);
        assert_eq!(Exit::from_code(256), Exit::Refused, "not cut to its lowest byte, which would be success");
    }

    #[test]
    fn only_usage_errors_are_usage() {
        assert_eq!(Exit::of(&anyhow::anyhow!("no such table")), Exit::Refused);
        assert_eq!(Exit::of(&Usage("no".into()).into()), Exit::Usage);
        assert_eq!(Exit::of(&anyhow::Error::from(Usage("no".into())).context("why")), Exit::Usage);
    }
}
