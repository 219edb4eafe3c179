//! The tarball, made of the programs at hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use clap::CommandFactory;
use vufleet::args::Cli;

use super::programs::{VERSION, agent, vufleet};
use super::root;

fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Makes it, and returns its checksum and its path's last part.
fn make(programs: &Path, out: &Path) -> (String, String) {
    let mut dist = Command::new(root().join("deploy/dist"));
    dist.args([programs, out]).env("SOURCE_DATE_EPOCH", "1700000000").current_dir(out);
    let said = String::from_utf8(output(&mut dist).stdout).unwrap();
    let (sum, name) = said.trim().split_once("  ").unwrap_or_else(|| panic!("{said:?} is no checksum"));
    (sum.to_owned(), name.to_owned())
}

/// Every page that the verbs make, hidden ones left out.
fn pages(command: &clap::Command, name: &str, pages: &mut Vec<String>) {
    pages.push(format!("share/man/man1/{name}.1"));
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        self::pages(verb, &format!("{name}-{}", verb.get_name()), pages);
    }
}

#[test]
fn a_tarball_holds_everything_and_is_the_same_twice() {
    let (programs, out, prefix) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for program in [vufleet(), agent()] {
        // Small ones are packed faster.
        let to = programs.path().join(program.file_name().unwrap());
        output(Command::new("strip").arg("-o").arg(&to).arg(&program));
    }
    let (sum, name) = make(programs.path(), out.path());
    assert!(name.starts_with(&format!("vufleet-{VERSION}-")) && name.ends_with("-linux.tar.gz"), "{name}");
    assert_eq!(make(programs.path(), out.path()).0, sum, "another time, another tarball");

    let tarball = out.path().join(&name);
    output(Command::new("tar").arg("-C").arg(prefix.path()).args(["--strip-components=1", "-xzf"]).arg(&tarball));
    output(Command::new("sha256sum").args(["--quiet", "--check", "share/doc/vufleet/SHA256SUMS"]).current_dir(&prefix));
    let mut wanted: Vec<String> =
        ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt", "README.md", "deploy/agent.toml", "docs/method.md"]
            .map(|name| format!("share/doc/vufleet/{name}"))
            .into();
    pages(&Cli::command(), "vufleet", &mut wanted);
    let others = [
        "bin/vufleet",
        "bin/vufleet-agent",
        "lib/systemd/system/vufleet-agent.service",
        "lib/systemd/system/vufleet-coordinator.service",
        "lib/sysusers.d/vufleet.conf",
        "lib/tmpfiles.d/vufleet.conf",
        "share/bash-completion/completions/vufleet",
        "share/bash-completion/completions/vufleet-agent",
        "share/fish/vendor_completions.d/vufleet.fish",
        "share/man/man1/vufleet-agent.1",
        "share/vufleet/studies/demo.toml",
        "share/zsh/site-functions/_vufleet",
    ];
    wanted.extend(others.map(str::to_owned));
    for path in wanted {
        assert!(prefix.path().join(&path).is_file(), "{path} is missing");
    }
    for program in ["vufleet", "vufleet-agent"] {
        let said = output(Command::new(prefix.path().join("bin").join(program)).arg("--version").env_clear());
        assert_eq!(String::from_utf8_lossy(&said.stdout), format!("{program} {VERSION}\n"));
    }
    belongs_to_nobody(&tarball);
    third_parties(&prefix.path().join("share/doc/vufleet/THIRD-PARTY.txt"));
}

/// Neither who made it nor when is in it.
fn belongs_to_nobody(tarball: &Path) {
    let list = output(Command::new("tar").args(["--utc", "--numeric-owner", "-tvzf"]).arg(tarball));
    for line in String::from_utf8_lossy(&list.stdout).lines() {
        assert!(line.contains(" 0/0 ") && line.contains(" 2023-11-14 22:13 "), "{line}");
    }
}

/// What is compiled in is named, what tests and benches take is not, and no licence asks for more than its text.
fn third_parties(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let crates = text.lines().skip(2).take_while(|line| !line.is_empty());
    let crates: BTreeMap<&str, &str> = crates.filter_map(|line| line.split_once(": ")).collect();
    let named = |name: &str| crates.keys().any(|there| there.split(' ').next() == Some(name));
    assert!(named("tokio") && named("tiberius") && named("rustls") && !named("proptest"), "{crates:?}");
    for (name, licence) in &crates {
        let free =
            ["MIT", "Apache-2.0", "BSD", "ISC", "Zlib", "Unicode", "CDLA-Permissive", "0BSD", "MPL-2.0", "Unlicense"];
        assert!(free.iter().any(|known| licence.contains(known)), "{name} is under {licence}: look and decide");
    }
    assert!(text.contains("Permission is hereby granted"), "the texts are there");
}
