//! `[[profiles]]`: load levels, their pacing and their ids.

use std::time::Duration;

use toml_edit::Item;

use super::mistakes::{Objection, join};
use super::section::Section;
use super::value::{count, number, text, time, title};
use super::workload::Base;
use super::{Pacing, Profile, workload};

/// Sessions of one profile over the whole fleet: beyond this no lab has addresses or memory.
const MOST_SESSIONS: u64 = 2_000_000;

/// Reads every profile. `vus = [..]` makes one of each number.
pub(super) fn profiles(root: &Section<'_>, base: Option<&Base<'_>>) -> Vec<Profile> {
    root.demand("profiles", "write at least one load level: [[profiles]] with vus = [4, 8, 16]");
    if root.item("profiles").is_some_and(|item| item.as_array().is_some_and(toml_edit::Array::is_empty)) {
        root.object("profiles", Objection::new("has no load level", "write [[profiles]] with vus = 4"));
    }
    let sections = root.sections("profiles");
    let mut profiles: Vec<Profile> = Vec::new();
    for section in sections {
        for profile in one(&section, base) {
            if profiles.iter().any(|other| other.id == profile.id) {
                section.object("", twice(&profile));
            }
            profiles.push(profile);
        }
        section.finish();
    }
    profiles
}

/// The profiles of one `[[profiles]]`.
fn one(section: &Section<'_>, base: Option<&Base<'_>>) -> Vec<Profile> {
    let label = section.value("label", label);
    let vus = vus(section);
    let sessions_per_vu = section.value("sessions_per_vu", count(1..=10_000)).unwrap_or(1);
    let pacing = pacing(section);
    let setup = section.list("setup", text).unwrap_or_default();
    let own = section.section("workload");
    let workload = base.and_then(|base| workload::over(own, base));
    let most = vus.iter().max().map_or(0, |vus| u64::from(*vus) * u64::from(sessions_per_vu));
    if most > MOST_SESSIONS {
        let remedy = format!("write fewer virtual users or sessions: {MOST_SESSIONS} sessions are the most");
        section.object("vus", Objection::new(format!("makes {most} sessions"), remedy));
        return Vec::new();
    }
    let Some(workload) = workload else { return Vec::new() };
    if matches!(pacing, Pacing::KeyingThinking { .. }) && workload.terminal().is_none() {
        let what = format!("the workload {} has no keying and thinking times", workload.kind());
        let remedy = "write { wait = \"10ms\" } or { rate = 500 }, or kind = \"tprocc\" in [workload]";
        section.object("pacing.keying_thinking", Objection::new(what, remedy));
    }
    vus.into_iter()
        .map(|vus| Profile {
            id: id(label.as_deref(), vus, sessions_per_vu),
            label: label.clone(),
            vus,
            sessions_per_vu,
            pacing,
            workload: workload.clone(),
            setup: setup.clone(),
        })
        .collect()
}

fn vus(section: &Section<'_>) -> Vec<u32> {
    let check = count(1..=2_000_000);
    if section.item("vus").is_some_and(Item::is_array) {
        let vus = section.list("vus", check).unwrap_or_default();
        if section.item("vus").is_some_and(|item| item.get(0).is_none()) {
            section
                .object("vus", Objection::new("is an empty list", "write the virtual users, for example vus = [4, 8]"));
        }
        return vus;
    }
    section.required("vus", "write the virtual users, for example vus = 16", check).into_iter().collect()
}

fn pacing(section: &Section<'_>) -> Pacing {
    let Some(item) = section.item("pacing") else { return Pacing::None };
    if item.is_table_like() {
        return paced(section.section("pacing"));
    }
    let forms = "\"none\", { wait = \"10ms\" }, { rate = 500 } or { keying_thinking = { scale = 1.0 } }";
    match item.as_str() {
        Some("none") => {}
        Some(word) if word.starts_with(|c: char| c.is_ascii_digit()) => section.object(
            "pacing",
            Objection::new(format!("\"{word}\" says nothing of what it is"), format!("write {{ wait = \"{word}\" }}")),
        ),
        Some(word) => {
            section.object("pacing", Objection::new(format!("\"{word}\" is not known here"), format!("write {forms}")))
        }
        None => section.object("pacing", Objection::new("is not a pacing", format!("write {forms}"))),
    }
    Pacing::None
}

fn paced(pacing: Section<'_>) -> Pacing {
    let remedy = "write { wait = \"10ms\" }, { rate = 500 } or { keying_thinking = { scale = 1.0 } }";
    let hour = Duration::from_secs(3600);
    let wait = pacing.value("wait", time(Duration::from_micros(1)..=hour)).map(Pacing::Wait);
    let rate = pacing.value("rate", number(0.001..=10_000_000.0)).map(Pacing::Rate);
    let keyed = keyed(pacing.section("keying_thinking"));
    let mut there = ["wait", "rate", "keying_thinking"].into_iter().filter(|key| pacing.has(key));
    if let (Some(first), Some(second)) = (there.next(), there.next()) {
        let what = format!("{first} is there too, and a session cannot follow both");
        pacing.object(second, Objection::new(what, remedy));
    }
    if pacing.entries().next().is_none() {
        pacing.object("", Objection::new("is empty", remedy));
    }
    pacing.finish();
    wait.or(rate).or(keyed).unwrap_or(Pacing::None)
}

/// The times are the workload's own; only how fast people are can be said here.
fn keyed(section: Section<'_>) -> Option<Pacing> {
    if !section.exists() {
        return None;
    }
    let scale = section.value("scale", number(0.0001..=100.0)).unwrap_or(1.0);
    section.finish();
    Some(Pacing::KeyingThinking { scale })
}

/// A label must leave something of itself in the id.
fn label(item: &Item) -> Result<String, Objection> {
    let label = title(item)?;
    match slug(&label).is_empty() {
        false => Ok(label),
        true => Err(Objection::new("has no letter or digit", "write a word, for example label = \"read only\"")),
    }
}

fn id(label: Option<&str>, vus: u32, sessions_per_vu: u32) -> String {
    let sessions = if sessions_per_vu == 1 { String::new() } else { format!("-x{sessions_per_vu}") };
    match label {
        Some(label) => format!("{}-{vus}vu{sessions}", slug(label)),
        None => format!("{vus}vu{sessions}"),
    }
}

/// Lower case, everything but letters and digits a single hyphen: fit for file names and arguments.
fn slug(label: &str) -> String {
    let words = label.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

fn twice(profile: &Profile) -> Objection {
    let remedy = match profile.label {
        Some(_) => "give one of them another label",
        None => "add a label to one of them, for example label = \"second\"",
    };
    Objection::new(format!("a second profile with the id {}", profile.id), remedy)
}

/// Refuses what only makes sense without a fixed number of transactions.
pub(super) fn check_counted_window(root: &Section<'_>, profiles: &[Profile]) {
    if profiles.iter().any(|profile| matches!(profile.pacing, Pacing::Rate(_))) {
        let what = "sessions take arrivals as they come, so none of them has a number of its own to reach";
        let remedy = "write measure = \"..\" instead, or another pacing than rate";
        root.object(&join("schedule", "transactions"), Objection::new(what, remedy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_say_label_users_and_sessions() {
        for (label, vus, sessions, expected) in [
            (None, 16, 1, "16vu"),
            (None, 16, 5, "16vu-x5"),
            (Some("read-only"), 64, 1, "read-only-64vu"),
            (Some(" Read  only! (b)"), 64, 5, "read-only-b-64vu-x5"),
            (Some("\u{c9}t\u{e9}"), 1, 1, "\u{e9}t\u{e9}-1vu"),
        ] {
            assert_eq!(id(label, vus, sessions), expected);
        }
    }
}
