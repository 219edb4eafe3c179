//! `[[variants]]`: states of the database under comparison, made by a preset or by the user's own statements.

mod by_hand;
mod mssql_audit;
mod mssql_xe;
mod mysql;
mod preset;
mod words;

pub(super) use by_hand::command;
pub(super) use words::line;

use super::mistakes::Objection;
use super::placeholders::{Placeholder, placeholders};
use super::section::Section;
use super::value::{choice, title};
use super::{Change, Control, Profile, Target, TargetKind, Variant, When};

/// Name of the variant that changes are counted from, where no other is named.
pub(super) const BASELINE: &str = "baseline";

/// What a variant needs to know of the rest of the study.
struct Surroundings<'a> {
    target: Option<&'a Target>,
    control: Option<&'a Control>,
    /// Most sessions of a run.
    sessions: u32,
}

impl Surroundings<'_> {
    fn kind(&self) -> Option<TargetKind> {
        self.target.map(|target| target.kind)
    }

    /// The database that holds the tables; empty only in a study that is refused.
    fn database(&self) -> String {
        self.target.and_then(|target| target.database.clone()).unwrap_or_default()
    }

    /// The control login, where virtual users have another one.
    fn control_user(&self) -> Option<&str> {
        let user = self.control.map(|control| control.user.as_str())?;
        let same = self.target.is_some_and(|target| target.user.as_deref() == Some(user));
        (!same).then_some(user)
    }
}

/// Reads every variant; one that changes nothing where there is none.
pub(super) fn variants(
    root: &Section<'_>,
    target: Option<&Target>,
    control: Option<&Control>,
    profiles: &[Profile],
) -> Vec<Variant> {
    let sessions = profiles.iter().map(Profile::sessions).max().unwrap_or_default();
    let around = Surroundings { target, control, sessions };
    let sections = root.sections("variants");
    let mut variants: Vec<Variant> = Vec::new();
    for section in sections {
        let name = section.required("name", "write a name, for example name = \"baseline\"", title);
        let change = change(&section, &around);
        if let Some(name) = name {
            if variants.iter().any(|other| other.name == name) {
                let what = format!("a second variant named \"{name}\"");
                section.object("name", Objection::new(what, "give it another name"));
            }
            variants.push(Variant { name, change });
        }
        section.finish();
    }
    if variants.is_empty() {
        variants.push(Variant { name: BASELINE.to_owned(), change: Change::default() });
    }
    variants
}

fn change(section: &Section<'_>, around: &Surroundings<'_>) -> Change {
    let times = [("before", When::BeforeConnecting), ("connected", When::Connected)];
    let when = section.value("when", choice(&times, &[])).unwrap_or_default();
    let change = match section.has("observer") {
        true => {
            by_hand::refuse_beside_a_preset(section);
            preset::change(section, around, when)
        }
        false => by_hand::change(section),
    };
    let change = Change { when, ..change };
    if when == When::Connected && change.apply.is_empty() && !section.has("observer") {
        let what = "there is nothing to apply then";
        section.object(
            "when",
            Objection::new(what, "write apply = [..] or observer = { preset = \"..\" }, or remove when"),
        );
    }
    check_placeholders(section, &change);
    match around.kind() {
        // A rehearsal has no database to change, nor its host.
        Some(TargetKind::Simulated) => Change::default(),
        _ => change,
    }
}

/// Refuses what would stay in the SQL as it is.
fn check_placeholders(section: &Section<'_>, change: &Change) {
    let key = if section.has("observer") { "observer" } else { "" };
    let mut told = Vec::new();
    for (text, may_remember) in change.texts() {
        for placeholder in placeholders(text) {
            let objection = match placeholder {
                Placeholder::Sessions(_) if change.when == When::Connected => continue,
                Placeholder::Sessions(_) => Objection::new(
                    "{session_ids} stands for sessions that are not connected yet",
                    "write when = \"connected\" beside it, or remove it",
                ),
                Placeholder::Remembered(name) => match remembered(name, may_remember, change) {
                    Some(objection) => objection,
                    None => continue,
                },
            };
            if !told.contains(&objection) {
                section.object(key, objection.clone());
                told.push(objection);
            }
        }
    }
}

fn remembered(name: &str, may_remember: bool, change: &Change) -> Option<Objection> {
    let placeholder = format!("{{remembered:{name}}}");
    if !may_remember {
        let what = format!("{placeholder} has no meaning before something is undone");
        return Some(Objection::new(what, "use it in revert and undone only"));
    }
    let known = change.remember.iter().any(|it| it.name == name);
    (!known).then(|| {
        let what = format!("{placeholder} has no value");
        Objection::new(what, format!("write remember = {{ {name} = \"SELECT ..\" }} in the variant"))
    })
}
