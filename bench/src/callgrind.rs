//! User-space instructions of a program, counted by valgrind's callgrind: the figure that no neighbour on the machine moves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Instructions of one run, by thread and by function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    /// Each thread's functions, callees apart.
    threads: Vec<BTreeMap<String, u64>>,
}

/// Whether valgrind can be run.
pub fn check() -> Result<()> {
    let quiet = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    ensure!(
        quiet.is_ok_and(|status| status.success()),
        "valgrind is missing, which counts instructions; `apt-get install valgrind` brings it"
    );
    Ok(())
}

/// The same command with its instructions counted into files of `directory`.
pub fn under(command: &Command, directory: &Path) -> Command {
    let mut counted = Command::new("valgrind");
    counted.args(["--tool=callgrind", "--separate-threads=yes"]);
    counted.arg(format!("--callgrind-out-file={}", directory.join(NAME).display()));
    counted.arg(command.get_program()).args(command.get_args());
    counted.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    counted
}

const NAME: &str = "callgrind.out";

impl Profile {
    /// Reads what a program left in a directory.
    pub fn read(directory: &Path) -> Result<Profile> {
        let mut threads = Vec::new();
        for file in outputs(directory)? {
            let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            threads.push(functions(&String::from_utf8_lossy(&text)));
        }
        ensure!(!threads.is_empty(), "valgrind left no profile in {}", directory.display());
        Ok(Profile { threads })
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.threads.iter().flat_map(BTreeMap::values).sum()
    }

    /// Of the thread that did most: the one that serves virtual users, where there is one of them.
    pub fn busiest_thread(&self) -> u64 {
        self.threads.iter().map(|thread| thread.values().sum()).max().unwrap_or(0)
    }

    /// The functions in which the other, shorter run spent less, for each unit that it did less of; the costliest first.
    pub fn functions_over(&self, shorter: &Profile, units: f64) -> Vec<(String, f64)> {
        let mut growth: BTreeMap<&str, f64> = BTreeMap::new();
        for (profile, sign) in [(self, 1.0), (shorter, -1.0)] {
            for (name, count) in profile.threads.iter().flatten() {
                *growth.entry(name).or_default() += sign * *count as f64;
            }
        }
        let mut sorted: Vec<_> = growth.into_iter().map(|(name, count)| (name.to_owned(), count / units)).collect();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
        sorted
    }
}

fn outputs(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME));
    Ok(paths.filter(named).collect())
}

/// Cost of each function by its own lines, as the format's description has it: a name is given a number where it first occurs, and
/// the line after `calls=` is what the callee took.
fn functions(text: &str) -> BTreeMap<String, u64> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut costs, mut current, mut callee) = (BTreeMap::new(), "", false);
    for line in text.lines() {
        if let Some((key, rest)) = line.split_once("fn=(").filter(|(key, _)| matches!(*key, "" | "c")) {
            let Some((number, name)) = rest.split_once(')') else { continue };
            if let Some(name) = name.strip_prefix(' ') {
                names.insert(number, name);
            }
            if key.is_empty() {
                current = names.get(number).copied().unwrap_or("?");
            }
        } else if line.starts_with("calls=") {
            callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
            && !std::mem::take(&mut callee)
            && let Some(cost) = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok())
        {
            *costs.entry(current.to_owned()).or_default() += cost;
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "version: 1\npositions: line\nevents: Ir\n\nfl=(1) a.rs\nfn=(1) outer\n10 100\ncfn=(2) inner\ncalls=3 20\n\
                        +1 5000\n* 7\nfi=(2) b.rs\n-3 1\n\nfn=(2)\n20 4000\n\nfn=(1)\n12 2\n\ntotals: 4110\n";

    #[test]
    fn a_functions_cost_is_without_its_callees() {
        let costs = functions(TEXT);
        assert_eq!(costs, BTreeMap::from([("outer".to_owned(), 110), ("inner".to_owned(), 4_000)]));
        assert_eq!(functions(""), BTreeMap::new());
    }

    #[test]
    fn what_two_runs_have_in_common_is_nobodys() {
        let profile = |outer: u64| Profile {
            threads: vec![BTreeMap::from([("outer".to_owned(), outer)]), BTreeMap::from([("start".to_owned(), 900)])],
        };
        let (long, short) = (profile(5_000), profile(1_000));
        assert_eq!((long.total(), long.busiest_thread()), (5_900, 5_000));
        assert_eq!(long.functions_over(&short, 100.0), [("outer".to_owned(), 40.0), ("start".to_owned(), 0.0)]);
    }

    #[test]
    fn a_command_is_counted_with_its_arguments_and_variables() {
        let mut command = Command::new("true");
        command.arg("x").env("A", "b");
        let counted = under(&command, Path::new("/somewhere"));
        let arguments: Vec<_> = counted.get_args().map(|it| it.to_string_lossy().into_owned()).collect();
        assert_eq!(arguments[2..], ["--callgrind-out-file=/somewhere/callgrind.out", "true", "x"]);
        assert_eq!(counted.get_envs().count(), 1);
    }
}
