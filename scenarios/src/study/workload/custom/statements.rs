//! `statements` of a transaction, one list for every dialect or one for each.
//!
//! `file` has been put into `statements` before the study is read (`sql_files`).

use toml_edit::Item;

use crate::custom::Shape;
use crate::session::Dialect;
use crate::sql::{first_word, has_placeholder, is_go, split};

use super::super::super::mistakes::{Objection, join};
use super::super::super::section::Section;
use super::super::super::value::text;

/// What starts and ends transactions, where a statement starts with it.
const CONTROL: [&str; 4] = ["BEGIN", "START", "COMMIT", "ROLLBACK"];

const REMEDY: &str = "write statements = [\"SELECT ..\", \"UPDATE ..\"], or file = \"x.sql\"";

/// The statements for one dialect.
pub(super) struct Listing {
    pub dialect: Dialect,
    /// Where they stand in their transaction.
    pub key: String,
    pub statements: Vec<String>,
}

/// Every list that the transaction has. `wanted` is what a list for all dialects is read as.
pub(super) fn read(section: &Section<'_>, wanted: Option<Dialect>) -> Vec<Listing> {
    let file = section.item("file").is_some();
    let Some(item) = section.item("statements") else {
        // A file that is still here could not be read, which has been reported.
        if !file {
            section.object("statements", Objection::new("is missing", REMEDY));
        }
        return Vec::new();
    };
    if file {
        section.object("file", Objection::new("statements are there too", "remove it, or remove statements"));
    }
    if item.is_table_like() {
        return of_dialects(&section.section("statements"));
    }
    let dialect = wanted.unwrap_or(Dialect::Mysql);
    let statements = section.list("statements", |item| statement(item, dialect)).unwrap_or_default();
    check_number(section, "statements", item, statements.len());
    vec![Listing { dialect, key: "statements".to_owned(), statements }]
}

fn of_dialects(section: &Section<'_>) -> Vec<Listing> {
    let mut listings = Vec::new();
    for dialect in [Dialect::Mysql, Dialect::Sqlite, Dialect::Mssql] {
        let Some(item) = section.item(dialect.name()) else { continue };
        let statements = section.list(dialect.name(), |item| statement(item, dialect)).unwrap_or_default();
        check_number(section, dialect.name(), item, statements.len());
        listings.push(Listing { dialect, key: join("statements", dialect.name()), statements });
    }
    section.finish();
    if section.entries().next().is_none() {
        section.object("", Objection::new("has no dialect", "write mysql = [\"SELECT ..\"] in it, or a plain list"));
    }
    listings
}

fn check_number(section: &Section<'_>, key: &str, item: &Item, count: usize) {
    if item.is_array() && item.get(0).is_none() {
        section.object(key, Objection::new("has no statement", REMEDY));
    }
    if count > Shape::MAX_STATEMENTS {
        let remedy = format!("write at most {} in a transaction", Shape::MAX_STATEMENTS);
        section.object(key, Objection::new(format!("has {count} statements"), remedy));
    }
}

fn statement(item: &Item, dialect: Dialect) -> Result<String, Objection> {
    let written = text(item)?;
    let pieces = split(&written, dialect);
    let statement = match pieces.as_slice() {
        [] => return Err(Objection::new("has nothing but comments", "write a statement, or remove it")),
        _ if dialect == Dialect::Mssql && written.lines().any(is_go) => {
            let remedy = "write each batch as an element of its own, or all of them into a file";
            return Err(Objection::new("GO is for programs that read files, no server understands it", remedy));
        }
        [one] => *one,
        // A batch of T-SQL is sent as one.
        _ if dialect == Dialect::Mssql => written.trim(),
        many => {
            let what = format!("is {} statements in one", many.len());
            return Err(Objection::new(what, "write each as an element of its own, or as lines of a file"));
        }
    };
    if has_placeholder(statement, dialect) {
        let remedy = "write a name, for example :id, and id = { uniform = [1, 1000] } in parameters";
        return Err(Objection::new("has a placeholder without a name, ?", remedy));
    }
    let word = first_word(statement, dialect);
    let controls = match dialect {
        // In a batch, what begins may end.
        Dialect::Mssql => pieces.len() == 1 && controls_alone(statement),
        Dialect::Mysql | Dialect::Sqlite => CONTROL.iter().any(|control| word.eq_ignore_ascii_case(control)),
    };
    if controls {
        let what = format!("{} is not for a statement to say", word.to_ascii_uppercase());
        return Err(Objection::new(what, "remove it and write transaction = true"));
    }
    Ok(statement.to_owned())
}

/// Whether a statement of T-SQL starts or ends a transaction. BEGIN also starts a block.
fn controls_alone(statement: &str) -> bool {
    let mut words = statement.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_ascii_uppercase();
    let second = words.next().unwrap_or_default().to_ascii_uppercase();
    matches!((first.as_str(), second.as_str()), ("COMMIT" | "ROLLBACK", _) | ("BEGIN", "TRAN" | "TRANSACTION"))
}

/// The list that is sent to a target of that dialect; any where there is no server to send it to.
pub(super) fn of_target(section: &Section<'_>, listings: Vec<Listing>, wanted: Option<Dialect>) -> Option<Listing> {
    let found = listings.into_iter().find(|listing| wanted.is_none_or(|wanted| listing.dialect == wanted));
    if let (None, Some(wanted)) = (&found, wanted) {
        let name = wanted.name();
        let what = format!("has none for the dialect of the target, {name}");
        section.object("statements", Objection::new(what, format!("write {name} = [\"SELECT ..\"] in it")));
    }
    found
}
