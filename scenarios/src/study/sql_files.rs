//! `file = "x.sql"` of a transaction: the statements of the file take its place before the study is read, so that agents
//! and ledgers get them with the study's text.

use std::collections::BTreeMap;

use toml_edit::{Array, Document, DocumentMut, Item, TableLike};

use super::Problem;
use super::edits::{self, Edits};
use super::mistakes::{Places, join};
use crate::session::Dialect;
use crate::sql::{batches, split};

/// Texts of SQL files by the names that the study has for them, or the reason why there is none.
pub type SqlFiles = BTreeMap<String, Result<String, String>>;

/// The SQL files that a study names once the edits are made to it. None of one that is not TOML: reading it tells why.
pub fn named_files(text: &str, edits: &Edits) -> Vec<String> {
    let Ok(document) = text.parse::<Document<String>>() else { return Vec::new() };
    let mut document = document.into_mut();
    edits::set_all(&mut document, &mut Places::default(), edits);
    let mut names = Vec::new();
    each_transaction(document.as_item_mut(), &mut |_, table| {
        names.extend(file(table).map(str::to_owned));
    });
    names
}

/// Puts the statements of every file in the place of its name. A name that has no text stays, and is a problem.
pub(super) fn put(document: &mut DocumentMut, places: &mut Places, files: &SqlFiles) -> Vec<Problem> {
    let dialect = dialect(document);
    let mut problems = Vec::new();
    each_transaction(document.as_item_mut(), &mut |path, table| {
        let Some(name) = file(table).map(str::to_owned) else { return };
        let key = join(path, "file");
        match files.get(&name) {
            Some(Ok(text)) => {
                table.remove("file");
                table
                    .insert("statements", Item::Value(statements(text, dialect).into_iter().collect::<Array>().into()));
                places.stands_for(&join(path, "statements"), &key, &name);
            }
            Some(Err(reason)) => problems.push(unread(places, key, reason)),
            None => problems.push(unread(places, key, "nobody has read it")),
        }
    });
    problems
}

/// Those between semicolons; of T-SQL the batches between lines that say `GO`, where one does.
fn statements(text: &str, dialect: Dialect) -> Vec<&str> {
    let batches = (dialect == Dialect::Mssql).then(|| batches(text)).flatten();
    batches.unwrap_or_else(|| split(text, dialect))
}

fn unread(places: &Places, key: String, reason: &str) -> Problem {
    Problem {
        line: places.line(&key),
        key,
        what: format!("cannot be read: {reason}"),
        remedy: "write the path of a text file, relative to the study's own directory".to_owned(),
    }
}

/// The file of a transaction that has no statements of its own.
fn file(transaction: &dyn TableLike) -> Option<&str> {
    if transaction.contains_key("statements") {
        return None;
    }
    transaction.get("file").and_then(Item::as_str)
}

/// What the file is written in; where the target is none that is known, reading the study says so.
fn dialect(document: &DocumentMut) -> Dialect {
    let kind = document.get("target").and_then(Item::as_table_like).and_then(|target| target.get("kind"));
    match kind.and_then(Item::as_str) {
        Some("sqlite") => Dialect::Sqlite,
        Some("mssql") => Dialect::Mssql,
        _ => Dialect::Mysql,
    }
}

/// Shows every transaction, those of profiles too, with its path.
fn each_transaction(root: &mut Item, show: &mut dyn FnMut(&str, &mut dyn TableLike)) {
    let Some(root) = root.as_table_like_mut() else { return };
    if let Some(workload) = root.get_mut("workload") {
        within(workload, "workload", show);
    }
    let Some(profiles) = root.get_mut("profiles") else { return };
    each_table(profiles, "profiles", &mut |path, profile| {
        if let Some(workload) = profile.get_mut("workload") {
            within(workload, &join(path, "workload"), show);
        }
    });
}

fn within(workload: &mut Item, path: &str, show: &mut dyn FnMut(&str, &mut dyn TableLike)) {
    let transactions = workload.as_table_like_mut().and_then(|workload| workload.get_mut("transactions"));
    if let Some(transactions) = transactions {
        each_table(transactions, &join(path, "transactions"), show);
    }
}

fn each_table(list: &mut Item, path: &str, show: &mut dyn FnMut(&str, &mut dyn TableLike)) {
    for index in (0..).take_while(|index| list.get(index).is_some()).collect::<Vec<usize>>() {
        if let Some(table) = list.get_mut(index).and_then(Item::as_table_like_mut) {
            show(&join(path, &index.to_string()), table);
        }
    }
}
