//! `[reset]`: how the data gets back to where it was, and when.

use std::collections::BTreeMap;
use std::time::Duration;

use toml_edit::{Item, TableLike};

use super::mistakes::Objection;
use super::section::Section;
use super::value::{choice, text, time, wrong_type};
use super::variants::{command, line};
use super::{Action, Backup, Reset, ResetBefore, ResetMethod, Target, TargetKind, Workload};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// As many files as SQL Server writes a striped backup to.
const MOST_FILES: usize = 64;

const EXAMPLES: &str = "\"rebuild\", \"snapshot\", { sql = [\"..\"] }, { command = \"name\", agent = { host = \"db\" } } \
                        or { backup = \"/path/on/server.bak\" }";

/// Reads `[reset]`, which may be absent.
pub(super) fn reset(root: &Section<'_>, target: Option<&Target>, workload: Option<&Workload>) -> Option<Reset> {
    let section = root.section("reset");
    if !section.exists() {
        return None;
    }
    let times = [("run", Some(ResetBefore::Run)), ("variant", Some(ResetBefore::Variant)), ("never", None)];
    let remedy = "write before = \"run\", \"variant\" or \"never\"";
    let before = section.required("before", remedy, choice(&times, &[]));
    if before == Some(None) {
        for key in ["method", "timeout", "warm_up"] {
            section.refuse(key, "there is never a reset that it could be of", "remove it, or write before = \"run\"");
        }
        section.finish();
        return None;
    }
    section.demand("method", &format!("write {EXAMPLES}"));
    let method = section.value("method", method);
    let timeout = section.value("timeout", time(Duration::from_secs(1)..=DAY)).unwrap_or(Reset::TIMEOUT);
    let warm_up = section.value("warm_up", time(Duration::ZERO..=DAY)).unwrap_or_default();
    if let (Some(method), Some(target)) = (&method, target)
        && let Some(objection) = misplaced(method, target, workload)
    {
        section.object("method", objection);
    }
    section.finish();
    // A rehearsal has no data.
    let real = target.is_some_and(|target| target.kind != TargetKind::Simulated);
    before.flatten().zip(method).filter(|_| real).map(|(before, method)| Reset { before, method, timeout, warm_up })
}

fn method(item: &Item) -> Result<ResetMethod, Objection> {
    let Some(table) = item.as_table_like() else {
        let words = [("rebuild", ResetWord::Rebuild), ("snapshot", ResetWord::Snapshot)];
        if !item.is_str() {
            return Err(wrong_type(item, "a word or a table", EXAMPLES));
        }
        return match choice(&words, &[])(item) {
            Ok(ResetWord::Rebuild) => Ok(ResetMethod::Rebuild),
            Ok(ResetWord::Snapshot) => Ok(ResetMethod::Snapshot),
            Err(Objection { what, .. }) => Err(Objection::new(what, format!("write {EXAMPLES}"))),
        };
    };
    let said: Vec<&str> = ["sql", "command", "backup"].into_iter().filter(|way| table.contains_key(way)).collect();
    if let [one, other, ..] = said.as_slice() {
        let what = format!("says two ways, {one} and {other}");
        return Err(Objection::new(what, "remove one of them; a command may do whatever both do"));
    }
    match said.first().copied() {
        Some("sql") => statements(table),
        Some("command") => command(table).map(|command| ResetMethod::Actions(vec![command])),
        Some(_) => backup(table),
        None => Err(Objection::new("says no way", format!("write {EXAMPLES}"))),
    }
}

#[derive(Debug, Clone, Copy)]
enum ResetWord {
    Rebuild,
    Snapshot,
}

fn statements(table: &dyn TableLike) -> Result<ResetMethod, Objection> {
    no_others(table, &["sql"], "{ sql = [\"DELETE ..\", \"INSERT ..\"] }")?;
    let statements = texts(table.get("sql"), "sql", "sql = [\"DELETE ..\", \"INSERT ..\"]")?;
    Ok(ResetMethod::Actions(statements.into_iter().map(Action::Sql).collect()))
}

fn backup(table: &dyn TableLike) -> Result<ResetMethod, Objection> {
    let example =
        "{ backup = \"/path/on/server.bak\" }, or a list of its files, and where they go: move = { name = \"/path\" }";
    no_others(table, &["backup", "move"], example)?;
    let files = match table.get("backup") {
        Some(one) if one.is_str() => vec![line(one)?],
        list => texts(list, "backup", "backup = \"/path/on/server.bak\"")?,
    };
    if files.len() > MOST_FILES {
        let what = format!("a backup in {} files", files.len());
        return Err(Objection::new(what, format!("SQL Server writes at most {MOST_FILES}: name those of one backup")));
    }
    let mut moves = BTreeMap::new();
    if let Some(item) = table.get("move") {
        let entries = item.as_table_like().ok_or_else(|| wrong_type(item, "a table", "move = { name = \"/path\" }"))?;
        for (name, place) in entries.iter() {
            moves.insert(name.to_owned(), line(place)?);
        }
    }
    Ok(ResetMethod::Backup(Backup { files, moves }))
}

/// One text or more.
fn texts(item: Option<&Item>, key: &str, example: &str) -> Result<Vec<String>, Objection> {
    let list = item.and_then(Item::as_array);
    let Some(list) = list else {
        let what = format!("{key} is no list of texts");
        return Err(Objection::new(what, format!("write {example}")));
    };
    if list.is_empty() {
        return Err(Objection::new(format!("{key} is an empty list"), format!("write {example}")));
    }
    list.iter().map(|value| text(&Item::Value(value.clone()))).collect()
}

fn no_others(table: &dyn TableLike, known: &[&str], example: &str) -> Result<(), Objection> {
    match table.iter().find(|(key, _)| !known.contains(key)) {
        Some((key, _)) => {
            Err(Objection::new(format!("has no key {key} beside {}", known[0]), format!("write {example}")))
        }
        None => Ok(()),
    }
}

/// A way that this database, or what lies in it, does not have.
fn misplaced(method: &ResetMethod, target: &Target, workload: Option<&Workload>) -> Option<Objection> {
    let kind = target.kind.name();
    match (method, target.kind) {
        (_, TargetKind::Simulated) => None,
        (ResetMethod::Rebuild, _) if matches!(workload, Some(Workload::Custom(_))) => Some(Objection::new(
            "the workload sql has no tables of its own that could be built",
            "write { sql = [..] } with what brings yours back, or one of the other ways",
        )),
        (ResetMethod::Snapshot, TargetKind::Mssql) => Some(Objection::new(
            format!("an agent does not copy the files of {kind}"),
            "write { backup = \"/path/on/server.bak\" }, or { sql = [..] } with RESTORE .. FROM DATABASE_SNAPSHOT",
        )),
        (ResetMethod::Backup(_), TargetKind::Mysql | TargetKind::Sqlite) => Some(Objection::new(
            format!("only SQL Server restores a backup by itself, and the target is {kind}"),
            "write \"snapshot\", \"rebuild\" or { command = \"name\", agent = { .. } }",
        )),
        (ResetMethod::Backup(_), TargetKind::Mssql) if target.database.is_none() => {
            Some(Objection::new("[target] names no database to restore", "write target.database"))
        }
        _ => None,
    }
}
