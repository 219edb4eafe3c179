//! `vufleet certs show`: whose certificates are, until when, and what is wrong with them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use vufleet_trust::authority::{CA_CERTIFICATE, CA_KEY, CERTIFICATE, KEY, pem_blocks};
use vufleet_trust::certificate::{Facts, day};
use vufleet_trust::credentials::{self, Credentials};
use vufleet_trust::identity::Role;

use super::days_until;
use crate::args::CertsShow;
use crate::exit::Exit;
use crate::stdout;

/// Prints all of them. What is wrong makes the exit code 1, so that a timer can ask.
pub fn run(args: &CertsShow) -> anyhow::Result<Exit> {
    let mut wrong = false;
    for path in &args.paths {
        let places = places(path)?;
        if places.is_empty() {
            bail!(
                "{} holds no certificate; make some with `vufleet certs init` and `vufleet certs issue`",
                path.display()
            );
        }
        for place in places {
            let told = place.tell()?;
            wrong |= told.contains("\n  wrong: ");
            stdout::line(told)?;
        }
    }
    Ok(if wrong { Exit::Refused } else { Exit::Done })
}

/// Where certificates are, and how they are looked at.
enum Place {
    /// The authority's own directory.
    Authority(PathBuf),
    /// One process's, with the authority's above it, where there is one.
    Process(PathBuf, Option<PathBuf>),
    /// A file by itself.
    File(PathBuf),
}

fn places(path: &Path) -> anyhow::Result<Vec<Place>> {
    if !path.is_dir() {
        return Ok(vec![Place::File(path.to_owned())]);
    }
    let mut places = Vec::new();
    let authority = path.join(CA_CERTIFICATE);
    if path.join(CERTIFICATE).exists() {
        places.push(Place::Process(path.to_owned(), None));
    } else if authority.exists() {
        places.push(Place::Authority(path.to_owned()));
    }
    let mut below: Vec<PathBuf> = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .with_context(|| format!("{} cannot be read", path.display()))?;
    below.sort();
    let authority = authority.exists().then_some(authority);
    let processes = below.into_iter().filter(|dir| dir.join(CERTIFICATE).exists());
    places.extend(processes.map(|dir| Place::Process(dir, authority.clone())));
    Ok(places)
}

impl Place {
    fn tell(&self) -> anyhow::Result<String> {
        match self {
            Place::File(path) => of_file(path),
            Place::Authority(dir) => {
                let mut told = of_file(&dir.join(CA_CERTIFICATE))?;
                told.push_str(&key(&dir.join(CA_KEY)));
                Ok(told)
            }
            Place::Process(dir, authority) => of_process(dir, authority.as_deref()),
        }
    }
}

/// Every certificate of a file, as far as it tells by itself.
fn of_file(path: &Path) -> anyhow::Result<String> {
    let all = read(path)?;
    let mut told = String::new();
    for facts in all {
        told.push_str(&format!("{}{}", if told.is_empty() { "" } else { "\n" }, describe(path, &facts)));
        told.push_str(&wrong(credentials::dates(&facts, SystemTime::now())));
    }
    Ok(told)
}

fn of_process(dir: &Path, authority: Option<&Path>) -> anyhow::Result<String> {
    let path = dir.join(CERTIFICATE);
    let facts = read(&path)?.swap_remove(0);
    let mut told = describe(&path, &facts);
    told.push_str(&key(&dir.join(KEY)));
    // Of no role: that is what the look is for, and it will say so.
    let role = facts.identity.as_ref().map_or(Role::Agent, |identity| identity.role);
    let mut problems = match Credentials::load(dir, role) {
        Ok(credentials) => credentials.warnings(SystemTime::now()),
        Err(problems) => problems.list().to_vec(),
    };
    if let Some(authority) = authority
        && !shares(authority, &dir.join(CA_CERTIFICATE))
    {
        problems.push(format!(
            "it is of another authority than {}; issue it anew with `vufleet certs issue --replace`",
            authority.display()
        ));
    }
    told.push_str(&wrong(problems));
    Ok(told)
}

/// Whether the authority that issues now is trusted by this process.
fn shares(authority: &Path, process: &Path) -> bool {
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let (issuing, trusted) = (text(authority), text(process));
    let current = pem_blocks(&issuing).next();
    current.is_some_and(|current| pem_blocks(&trusted).any(|block| block == current))
}

fn read(path: &Path) -> anyhow::Result<Vec<Facts>> {
    let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let all: Result<Vec<Facts>, String> = pem_blocks(&text).map(Facts::of_pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => bail!("{} holds no certificate; PEM is wanted: -----BEGIN CERTIFICATE-----", path.display()),
        Err(error) => bail!("{} is damaged: {error}; copy it again", path.display()),
    }
}

fn describe(path: &Path, facts: &Facts) -> String {
    let who = match (&facts.identity, facts.authority) {
        (Some(identity), _) => identity.to_string(),
        (None, true) => "an authority".to_owned(),
        (None, false) => "nobody of a fleet".to_owned(),
    };
    let mut told = format!("{}: {who}", path.display());
    if !facts.hosts.is_empty() {
        told.push_str(&format!("\n  dialled as {}", facts.hosts.join(", ")));
    }
    told.push_str(&format!("\n  issued by {}", facts.issuer));
    let (from, until) = (day(facts.from), day(facts.until));
    told.push_str(&format!("\n  from {from} until {until}, {} days left", days_until(facts.until)));
    told
}

fn key(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match fs::metadata(path) {
        Ok(metadata) => {
            let mode = metadata.permissions().mode() & 0o7777;
            let open = name == CA_KEY && mode & 0o077 != 0;
            let others = if open {
                wrong(vec![format!("{} can be read by others; chmod 600 {0}", path.display())])
            } else {
                String::new()
            };
            format!("\n  key {name}, mode {mode:04o}{others}")
        }
        Err(_) => format!("\n  no {name} here"),
    }
}

fn wrong(problems: Vec<String>) -> String {
    problems.iter().map(|problem| format!("\n  wrong: {problem}")).collect()
}
