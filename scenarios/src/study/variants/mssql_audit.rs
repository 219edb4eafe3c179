//! Keys of the preset `mssql-audit`.

use std::time::Duration;

use toml_edit::Item;

use super::super::mistakes::Objection;
use super::super::section::Section;
use super::super::size::megabytes;
use super::super::value::{choice, count, flag, identifier, time, title, wrong_type};
use super::Surroundings;
use super::words::{line, words};
use crate::observers::{AuditAction, AuditFailure, AuditObject, MssqlAudit};

/// Reads them. None only after something has been objected to.
pub(super) fn read(section: &Section<'_>, around: &Surroundings<'_>) -> Option<MssqlAudit> {
    let failures = [
        ("continue", AuditFailure::Continue),
        ("shutdown", AuditFailure::Shutdown),
        ("fail_operation", AuditFailure::FailOperation),
    ];
    let all: Vec<_> = AuditAction::ALL.iter().map(|action| (action.word(), *action)).collect();
    let actions = words(section, "actions", &all);
    let objects = section.list("objects", object).unwrap_or_default();
    check_objects(section, &actions, &objects);
    let remedy = "write the directory on the database's host, for example path = \"/var/opt/mssql/audit/\"";
    let path = section.required("path", remedy, line);
    let delay_remedy = "write 0 (each record is on disk before its statement ends) or 1000 milliseconds and more";
    let queue_delay_ms = section.required("queue_delay", delay_remedy, queue_delay);
    Some(MssqlAudit {
        name: section.value("name", identifier).unwrap_or_else(|| "vufleet_audit".to_owned()),
        database: around.database(),
        max_size_mb: section.value("max_size", megabytes(2, 1 << 30)),
        rollover_files: section.value("max_rollover_files", count(0..=i32::MAX.unsigned_abs())),
        reserve_disk_space: section.value("reserve_disk_space", flag).unwrap_or(false),
        on_failure: section.value("on_failure", choice(&failures, &[])).unwrap_or(AuditFailure::Continue),
        principal: section.value("principal", title).unwrap_or_else(|| "public".to_owned()),
        path: path?,
        queue_delay_ms: queue_delay_ms?,
        actions,
        objects,
    })
}

fn check_objects(section: &Section<'_>, actions: &[AuditAction], objects: &[AuditObject]) {
    if section.item("objects").is_some_and(|item| item.is_array() && item.get(0).is_none()) {
        let remedy =
            "write at least one, for example objects = [\"dbo.customer\"], or remove it to audit the whole database";
        section.object("objects", Objection::new("is an empty list", remedy));
    }
    let only_groups = !actions.is_empty() && actions.iter().all(|action| matches!(action, AuditAction::Group(_)));
    if only_groups && !objects.is_empty() {
        let what = "groups record the whole database, whatever its objects";
        section.object("objects", Objection::new(what, "remove it, or write actions like \"SELECT\""));
    }
}

/// Milliseconds as in T-SQL, or a time.
fn queue_delay(item: &Item) -> Result<u32, Objection> {
    let most = Duration::from_millis(i32::MAX.unsigned_abs().into());
    let delay_ms = match item.as_integer() {
        Some(number) => u32::try_from(number).ok(),
        None if item.is_str() => u32::try_from(time(Duration::ZERO..=most)(item)?.as_millis()).ok(),
        None => return Err(wrong_type(item, "milliseconds or a time", "0, 1000 or \"1s\"")),
    };
    let fine = |delay: &u32| *delay == 0 || (MssqlAudit::LEAST_DELAY_MS..=i32::MAX.unsigned_abs()).contains(delay);
    delay_ms.filter(fine).ok_or_else(|| {
        let what = format!("{} is no delay that SQL Server takes", item.to_string().trim());
        Objection::new(what, "write 0 (each record is on disk before its statement ends), or milliseconds from 1000")
    })
}

/// `customer`, `dbo.customer` or `[dbo].[a.b]`.
fn object(item: &Item) -> Result<AuditObject, Objection> {
    let written = line(item)?;
    let parts = parts(&written).ok_or_else(|| {
        let what = format!("\"{written}\" is not the name of an object");
        Objection::new(
            what,
            "write \"dbo.customer\", or \"[dbo].[a.b]\" where a name has a dot or starts with a bracket",
        )
    })?;
    let (schema, name) = match <[String; 2]>::try_from(parts) {
        Ok([schema, name]) => (schema, name),
        Err(mut parts) => ("dbo".to_owned(), parts.remove(0)),
    };
    Ok(AuditObject { schema, name })
}

/// One or two names, each as it is or in brackets.
fn parts(written: &str) -> Option<Vec<String>> {
    let (first, rest) = part(written)?;
    if rest.is_empty() {
        return Some(vec![first]);
    }
    match part(rest.strip_prefix('.')?)? {
        (second, "") => Some(vec![first, second]),
        _ => None,
    }
}

/// The first name, and what is behind it.
fn part(text: &str) -> Option<(String, &str)> {
    let (name, rest) = match text.strip_prefix('[') {
        Some(inside) => {
            let end = crate::sql::verbatim_length(crate::session::Dialect::Mssql, text);
            let quoted = inside.get(..end.checked_sub(2)?).filter(|_| text[..end].ends_with(']'))?;
            (quoted.replace("]]", "]"), &text[end..])
        }
        None => {
            let (name, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
            (name.to_owned(), rest)
        }
    };
    (!name.is_empty()).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects_are_read_plain_and_in_brackets() {
        for (written, schema, name) in [
            ("customer", "dbo", "customer"),
            ("sales.customer", "sales", "customer"),
            ("[dbo].[a.b]", "dbo", "a.b"),
            ("[a]]b].c", "a]b", "c"),
            ("dbo.a];DROP TABLE x--", "dbo", "a];DROP TABLE x--"),
            ("[a b]", "dbo", "a b"),
        ] {
            let expected = AuditObject { schema: schema.to_owned(), name: name.to_owned() };
            assert_eq!(object(&toml_edit::value(written)), Ok(expected), "{written}");
        }
        for written in ["a.b.c", ".b", "a.", "[a", "[a]b", "[].b", "[a]].b", "[a].[b].[c]", " "] {
            assert!(object(&toml_edit::value(written)).is_err(), "{written}");
        }
    }

    #[test]
    fn delays_are_nothing_or_a_second_at_least() {
        for (toml, expected) in [
            ("0", Some(0)),
            ("1000", Some(1000)),
            ("\"0s\"", Some(0)),
            ("\"2s\"", Some(2000)),
            ("2147483647", Some(2_147_483_647)),
            ("999", None),
            ("-1", None),
            ("\"999ms\"", None),
            ("4294967297000", None),
            ("true", None),
        ] {
            assert_eq!(queue_delay(&Item::Value(toml.parse().unwrap())).ok(), expected, "{toml}");
        }
    }
}
