//! Where it was measured, in words that let somebody else judge the figures.

use anyhow::Result;

use crate::processes;
use crate::program::Program;
use crate::server::Server;

/// Date, machine and versions.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The day, UTC.
    pub date: String,
    /// Cores that may be used.
    pub cores: usize,
    /// The distribution.
    pub system: String,
    /// The server.
    pub server: String,
    /// Both programs.
    pub programs: Vec<String>,
}

impl Machine {
    /// Looks around.
    pub async fn look(server: &mut Server, programs: [&Program; 2]) -> Result<Machine> {
        Ok(Machine {
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            cores: processes::cores(),
            system: system(&std::fs::read_to_string("/etc/os-release").unwrap_or_default()),
            server: server.version().await?,
            programs: programs.into_iter().map(Program::version).collect::<Result<_>>()?,
        })
    }
}

/// The name for people in the text of /etc/os-release.
fn system(os_release: &str) -> String {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(|| "Linux".to_owned(), |name| name.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_has_a_name_for_people() {
        let text = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(system(text), "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(system(""), "Linux");
    }
}
