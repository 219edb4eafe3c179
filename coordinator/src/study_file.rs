//! From a study file and the options of the command line to a checked study. Reads it and the SQL files that it names,
//! touches nothing.

use std::path::{Path, PathBuf};

use anyhow::Context;
use vufleet_scenarios::study::{self, Edits, SqlFiles, Study};

use crate::args::{EditArgs, StudyArgs};

/// A checked study, and whether its seed was drawn here.
#[derive(Debug)]
pub struct Checked {
    /// The study.
    pub study: Study,
    /// The study names no seed: this one holds for this time only.
    pub seed_drawn: bool,
}

impl Checked {
    /// What the operator has to know to repeat the study.
    pub fn seed_note(&self) -> Option<String> {
        self.seed_drawn.then(|| format!("seed {} (drawn; write it into the study to repeat)", self.study.seed))
    }
}

/// Reads the file that the arguments name.
pub fn read(args: &StudyArgs) -> anyhow::Result<Checked> {
    read_file(&args.study, &args.edits, drawn_seed())
}

/// A seed for a study that names none: short enough to be typed.
pub fn drawn_seed() -> u64 {
    rand::random_range(1..=999_999)
}

/// Reads a file; the seed is for a study that names none.
pub fn read_file(path: &Path, edits: &EditArgs, default_seed: u64) -> anyhow::Result<Checked> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read study {}; give the path of a TOML file", path.display()))?;
    let working_directory = std::env::current_dir().context("cannot tell the working directory")?;
    check(&text, path, edits, &working_directory, default_seed)
}

/// Checks a study's text. A relative SQLite path becomes absolute: agents may work in another directory.
pub fn check(
    text: &str,
    named: &Path,
    args: &EditArgs,
    working_directory: &Path,
    default_seed: u64,
) -> anyhow::Result<Checked> {
    let mut edits = Edits { set: args.set.clone(), scale_time: args.scale_time, default_seed, ..Edits::default() };
    edits.files = sql_files(text, named, &edits);
    let refused = |refusal: study::Refusal| {
        let problems: String = refusal.problems.iter().map(|problem| format!("\n  {problem}")).collect();
        anyhow::anyhow!("study {} is refused:{problems}", named.display())
    };
    let mut study = study::read(text, &edits).map_err(refused)?;
    if let Some(path) = relative(&study) {
        let absolute = working_directory.join(path);
        edits.set.push(format!("target.path={}", quoted(&absolute)?));
        study = study::read(text, &edits).map_err(refused)?;
    }
    // A study that happens to name the very number that was drawn only gets a needless note.
    let seed_drawn = study.seed == default_seed;
    Ok(Checked { study, seed_drawn })
}

/// The SQL files that the study names, from its own directory on.
fn sql_files(text: &str, study: &Path, edits: &Edits) -> SqlFiles {
    let directory = study.parent().unwrap_or(Path::new(""));
    let read = |name: &String| {
        let path = directory.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    study::named_files(text, edits).into_iter().map(|name| (name.clone(), read(&name))).collect()
}

fn relative(study: &Study) -> Option<PathBuf> {
    study.target.path.clone().filter(|path| path.is_relative() && path != Path::new(":memory:"))
}

/// A path as a TOML string.
fn quoted(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not valid UTF-8; move the database", path.display()))?;
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    Ok(out)
}
