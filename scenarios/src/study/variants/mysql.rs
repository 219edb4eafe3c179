//! Keys of the presets for MySQL and MariaDB.

use std::time::Duration;

use toml_edit::Item;

use super::super::mistakes::Objection;
use super::super::section::Section;
use super::super::value::{choice, count, flag, integer, text, time, title};
use super::Surroundings;
use super::words::{line, some_words};
use crate::observers::{AuditEvent, GeneralLog, LogOutput, PerformanceSchema, ServerAudit, SlowLog};

/// The plugin's own defaults.
const AUDIT_FILE: &str = "server_audit.log";
const ROTATE_BYTES: u64 = 1_000_000;
const ROTATIONS: u32 = 9;

/// Reads `mariadb-server-audit`.
pub(super) fn server_audit(section: &Section<'_>, around: &Surroundings<'_>) -> ServerAudit {
    let control: Vec<String> = around.control_user().map(str::to_owned).into_iter().collect();
    ServerAudit {
        events: audit_events(section),
        file: section.value("file", line).unwrap_or_else(|| AUDIT_FILE.to_owned()),
        rotate_bytes: section.value("rotate_size", integer(100..=i64::MAX)).map_or(ROTATE_BYTES, i64::unsigned_abs),
        rotations: section.value("rotations", count(0..=999)).unwrap_or(ROTATIONS),
        exclude_users: section.list("exclude_users", user).unwrap_or(control),
        keep_plugin: section.value("keep_plugin", flag).unwrap_or(false),
    }
}

/// "all", or a list of classes.
fn audit_events(section: &Section<'_>) -> Vec<AuditEvent> {
    let all: Vec<_> = AuditEvent::ALL.iter().map(|event| (event.0, *event)).collect();
    match section.item("events") {
        Some(item) if item.is_array() => some_words(section, "events", &all),
        Some(item) if item.as_str() != Some("all") => {
            let words: Vec<_> = all.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let remedy = format!("write \"all\", or a list of {}", words.join(", "));
            section.object("events", Objection::new("is neither \"all\" nor a list", remedy));
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// The plugin's list of users has commas between them.
fn user(item: &Item) -> Result<String, Objection> {
    let user = title(item)?;
    match user.contains(',') {
        true => Err(Objection::new("has a comma", "write each user as an element of its own")),
        false => Ok(user),
    }
}

/// Reads `general-log`.
pub(super) fn general_log(section: &Section<'_>) -> GeneralLog {
    GeneralLog { output: output(section) }
}

/// Reads `slow-log`.
pub(super) fn slow_log(section: &Section<'_>) -> SlowLog {
    let threshold = time(Duration::ZERO..=Duration::from_secs(31_536_000));
    let remedy = "write the time above which a statement is slow, for example long_query_time = \"0s\" for all";
    let slow = section.required("long_query_time", remedy, threshold).unwrap_or_default();
    SlowLog { long_query_time_us: u64::try_from(slow.as_micros()).unwrap_or(u64::MAX), output: output(section) }
}

fn output(section: &Section<'_>) -> LogOutput {
    let table = section.value("output", choice(&[("file", false), ("table", true)], &[])).unwrap_or(false);
    if table {
        section.refuse("file", "a table has no file", "remove it, or write output = \"file\"");
        return LogOutput::Table;
    }
    LogOutput::File(section.value("file", line))
}

/// Reads `performance-schema`.
pub(super) fn performance_schema(section: &Section<'_>) -> PerformanceSchema {
    let preset = PerformanceSchema {
        on: section.value("state", choice(&[("on", true), ("off", false)], &[])).unwrap_or(true),
        instruments: section.list("instruments", text).unwrap_or_default(),
        consumers: section.list("consumers", text).unwrap_or_default(),
    };
    if !section.has("instruments") && !section.has("consumers") {
        let remedy = "write instruments = [\"statement/%\"], consumers = [\"events_statements_%\"], or both";
        section.object("", Objection::new("says neither instruments nor consumers", remedy));
    }
    for key in ["instruments", "consumers"] {
        if section.item(key).is_some_and(|item| item.is_array() && item.get(0).is_none()) {
            section
                .object(key, Objection::new("is an empty list", "write a pattern like \"statement/%\", or remove it"));
        }
    }
    preset
}
