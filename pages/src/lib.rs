//! Manual pages and completions out of a program's own definition of its arguments, so that they cannot be of another version.
//!
//! Both programs write theirs on request (`vufleet pages DIR`, `vufleet-agent --pages DIR`): whoever packages them has them at
//! hand by then, and nothing else has to be built.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

/// Where a shell, or `man`, looks for its files, below /usr/share or /usr/local/share.
const BASH: &str = "bash-completion/completions";
const ZSH: &str = "zsh/site-functions";
const FISH: &str = "fish/vendor_completions.d";
const MAN: &str = "man/man1";

/// Writes the pages of a program and of each of its verbs, and its completions, below a directory such as `share`.
///
/// # Errors
/// Where a directory or file cannot be written.
pub fn write(program: Command, share: &Path) -> io::Result<()> {
    let name = program.get_name().to_owned();
    completions(&name, program.clone(), share)?;
    let release = format!("{name} {}", program.get_version().unwrap_or_default());
    // Each verb has a page; `help` has what the pages say.
    let mut program = program.disable_help_subcommand(true);
    program.build();
    pages(&program, &release, &within(share, MAN)?)
}

fn completions(name: &str, mut program: Command, share: &Path) -> io::Result<()> {
    for (shell, place) in [(Shell::Bash, BASH), (Shell::Zsh, ZSH), (Shell::Fish, FISH)] {
        let written = clap_complete::generate_to(shell, &mut program, name, within(share, place)?)?;
        if shell == Shell::Bash {
            // It loads what is called as the program is, without an ending.
            std::fs::rename(&written, written.with_file_name(name))?;
        }
    }
    Ok(())
}

fn pages(command: &Command, release: &str, directory: &Path) -> io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        pages(verb, release, directory)?;
    }
    let mut page = Vec::new();
    render(command, release, &mut page)?;
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    std::fs::write(directory.join(format!("{name}.1")), page)
}

fn render(command: &Command, release: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone()).source(release).manual("vufleet");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(page)?;
    }
    if command.get_subcommands().any(|verb| !verb.is_hide_set()) {
        man.render_subcommands_section(page)?;
    }
    let end = command.get_after_long_help().or_else(|| command.get_after_help());
    sections(&end.map(ToString::to_string).unwrap_or_default(), page)
}

/// What stands at the end of a help, exit codes and examples, as sections of its own, with its lines kept.
fn sections(text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let titled = paragraph.split_once('\n').and_then(|(first, rest)| Some((first.strip_suffix(':')?, rest)));
        let (title, lines) = titled.unwrap_or(("Notes", paragraph));
        writeln!(page, ".SH {}\n.nf", title.to_uppercase())?;
        lines.lines().try_for_each(|line| writeln!(page, "{}", roff(line)))?;
        writeln!(page, ".fi")?;
    }
    Ok(())
}

/// A line that roff prints as it is.
fn roff(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

fn within(share: &Path, place: &str) -> io::Result<PathBuf> {
    let directory = share.join(place);
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn program() -> Command {
        let schema = Command::new("schema").about("Tables").subcommand(Command::new("build").about("Makes them"));
        let secret = Command::new("secret").hide(true);
        let quiet = Arg::new("quiet").long("quiet").action(clap::ArgAction::SetTrue).help("Says nothing");
        let end = "Exit codes:\n  0  done\n\nSaid twice.\n\nExamples:\n  tool --quiet \\\n.x";
        Command::new("tool").version("1.2.3").about("A tool").subcommands([schema, secret]).arg(quiet).after_help(end)
    }

    fn files(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn every_verb_that_is_shown_has_a_page_and_every_shell_its_file() {
        let share = tempfile::tempdir().unwrap();
        write(program(), share.path()).unwrap();
        assert_eq!(files(&share.path().join(MAN)), ["tool-schema-build.1", "tool-schema.1", "tool.1"]);
        assert_eq!(files(&share.path().join(BASH)), ["tool"]);
        assert_eq!(files(&share.path().join(ZSH)), ["_tool"]);
        assert_eq!(files(&share.path().join(FISH)), ["tool.fish"]);
        let page = std::fs::read_to_string(share.path().join(MAN).join("tool-schema-build.1")).unwrap();
        assert!(page.contains("Makes them") && page.contains("tool schema build"), "{page}");
        let page = std::fs::read_to_string(share.path().join(MAN).join("tool.1")).unwrap();
        let end = ".SH EXIT CODES\n.nf\n  0  done\n.fi\n.SH NOTES\n.nf\nSaid twice.\n.fi\n.SH EXAMPLES\n.nf\n  tool \\-\\-quiet \\e\n\\&.x\n.fi\n";
        assert!(page.ends_with(end) && page.contains("tool 1.2.3"), "{page}");
        for place in [format!("{BASH}/tool"), format!("{ZSH}/_tool"), format!("{FISH}/tool.fish")] {
            let text = std::fs::read_to_string(share.path().join(&place)).unwrap();
            assert!(text.contains("quiet") && text.contains("schema"), "{place}: {text}");
        }
    }

    #[test]
    fn the_same_twice_is_the_same_to_the_byte() {
        let written = || {
            let share = tempfile::tempdir().unwrap();
            write(program(), share.path()).unwrap();
            let man = share.path().join(MAN);
            files(&man).iter().map(|name| std::fs::read_to_string(man.join(name)).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(written(), written());
    }
}
