//! The user's own statements: `apply`, `verify`, `revert`, `undone` and `remember`.

use toml_edit::{Item, TableLike};

use super::super::mistakes::Objection;
use super::super::read::requires;
use super::super::section::Section;
use super::super::value::{identifier, text, title, wrong_type};
use super::super::{Action, Change, Remember, When};

const KEYS: [&str; 5] = ["apply", "verify", "revert", "undone", "remember"];

/// Reads the change that the user wrote; an empty one where there is none of its keys.
pub(super) fn change(section: &Section<'_>) -> Change {
    let remember = remember(&section.section("remember"));
    let apply = section.list("apply", action).unwrap_or_default();
    let revert = section.list("revert", action).unwrap_or_default();
    let verify = requires(section, "verify");
    let undone = requires(section, "undone");
    if section.has("apply") && !section.has("revert") {
        let remedy = "write revert = [..] with what undoes it, or revert = [] if the next variant may find it applied";
        section.object("revert", Objection::new("is missing, so that apply would never be undone", remedy));
    }
    for key in ["revert", "undone", "remember"] {
        if section.has(key) && !section.has("apply") {
            let what = "there is no apply that it could undo";
            section.object(key, Objection::new(what, format!("write apply = [..], or remove {key}")));
        }
    }
    Change { when: When::default(), remember, apply, verify, revert, undone, footprint: Vec::new() }
}

/// A preset brings all of these with it.
pub(super) fn refuse_beside_a_preset(section: &Section<'_>) {
    for key in KEYS {
        section.refuse(key, "observer is there too, and its preset says that itself", "remove it, or remove observer");
    }
}

fn remember(section: &Section<'_>) -> Vec<Remember> {
    let mut all = Vec::new();
    for (name, item) in section.entries() {
        let named = identifier(&Item::Value(name.into()));
        match named.and_then(|name| Ok(Remember { name, sql: text(item)? })) {
            Ok(remember) => all.push(remember),
            Err(objection) => section.object(name, objection),
        }
    }
    all
}

/// A statement, or a command of an agent.
fn action(item: &Item) -> Result<Action, Objection> {
    match item.as_table_like() {
        Some(table) => command(table),
        None if item.is_str() => text(item).map(Action::Sql),
        None => Err(wrong_type(item, "SQL in quotes or a command", EXAMPLE)),
    }
}

const EXAMPLE: &str = "\"SQL\" or { command = \"name\", agent = { host = \"db\" } }";

/// A command of an agent, from the table that names it.
pub(in crate::study) fn command(table: &dyn TableLike) -> Result<Action, Objection> {
    if let Some((key, _)) = table.iter().find(|(key, _)| !["command", "agent"].contains(key)) {
        return Err(Objection::new(format!("a command has no key {key}"), format!("write {EXAMPLE}")));
    }
    let missing = |what: &str| Objection::new(format!("a command needs {what}"), format!("write {EXAMPLE}"));
    let name = title(table.get("command").ok_or_else(|| missing("the name that an agent has for it"))?)?;
    let labels = table.get("agent").and_then(Item::as_table_like).filter(|labels| !labels.is_empty());
    let labels = labels.ok_or_else(|| missing("agent with the labels of the agent that runs it"))?;
    let agent = labels.iter().map(|(label, value)| Ok((label.to_owned(), title(value)?)));
    Ok(Action::Command { name, agent: agent.collect::<Result<_, Objection>>()? })
}
