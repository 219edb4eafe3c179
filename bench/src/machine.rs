//! Where it was measured, in words that let somebody else judge the figures.

use std::fmt;

use anyhow::Result;

use crate::processes;
use crate::program::Program;
use crate::server::Server;

/// Date, machine and versions.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The day, UTC.
    date: String,
    /// Cores that may be used.
    cores: usize,
    /// The distribution.
    system: String,
    /// The server, and all programs.
    versions: Vec<String>,
}

impl Machine {
    /// Looks around.
    pub async fn look(server: Option<&mut Server>, programs: [&Program; 2]) -> Result<Machine> {
        let mut versions = Vec::new();
        if let Some(server) = server {
            let version = server.version().await?;
            versions.push(format!("MariaDB {}", version.split("-MariaDB").next().unwrap_or_default()));
        }
        for program in programs {
            let version = program.version()?;
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
        Ok(Machine {
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            cores: processes::cores(),
            system: system(&std::fs::read_to_string("/etc/os-release").unwrap_or_default()),
            versions,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} cores, {}, {}", self.date, self.cores, self.system, self.versions.join(", "))
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
