//! Keys of the preset `mssql-xe`.

use std::time::Duration;

use toml_edit::Item;

use super::super::mistakes::Objection;
use super::super::section::Section;
use super::super::size::{kilobytes, megabytes};
use super::super::value::{choice, count, flag, identifier, time, wrong_type};
use super::Surroundings;
use super::words::{line, some_words, words};
use crate::observers::{Event, EventTarget, MemoryPartition, MssqlXe, Retention, Sessions};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Memory of all buffers where a study says nothing: the server's own default, in KB.
const MAX_MEMORY_KB: u64 = 4096;
/// Below 2 GB, as the server wants it.
const MOST_MEMORY_KB: u64 = (2 << 20) - 1;
/// Memory of a ring buffer where a study says nothing: what Microsoft advises, in KB.
const RING_BUFFER_KB: u64 = 2048;

/// Reads them. None only after something has been objected to.
pub(super) fn read(section: &Section<'_>, around: &Surroundings<'_>) -> Option<MssqlXe> {
    let retentions = [
        ("allow_single_event_loss", Retention::AllowSingleEventLoss),
        ("allow_multiple_event_loss", Retention::AllowMultipleEventLoss),
        ("no_event_loss", Retention::NoEventLoss),
    ];
    let partitions =
        [("none", MemoryPartition::None), ("per_node", MemoryPartition::PerNode), ("per_cpu", MemoryPartition::PerCpu)];
    let all: Vec<(&str, &Event)> = Event::ALL.iter().map(|event| (event.name, event)).collect();
    let actions: Vec<_> = Event::ACTIONS.map(|action| (action, action)).into();
    let events = words(section, "events", &all);
    let batch_text = section.value("batch_text", flag);
    check_text(section, &events, batch_text);
    let max_memory_kb = section.value("max_memory", kilobytes(192, MOST_MEMORY_KB)).unwrap_or(MAX_MEMORY_KB);
    Some(MssqlXe {
        name: section.value("name", identifier).unwrap_or_else(|| "vufleet_xe".to_owned()),
        longer_than_us: longer_than(section, &events),
        actions: some_words(section, "actions", &actions),
        user_databases: section.value("user_databases", flag).unwrap_or(false),
        sessions: sessions(section, around),
        target: target(section, max_memory_kb)?,
        retention: section.value("retention", choice(&retentions, &[])).unwrap_or(Retention::AllowSingleEventLoss),
        max_dispatch_latency_s: section.value("max_dispatch_latency", latency).unwrap_or(Some(30)),
        memory_partition: section.value("memory_partition", choice(&partitions, &[])).unwrap_or(MemoryPartition::None),
        causality: section.value("causality", flag).unwrap_or(false),
        events,
        batch_text,
        max_memory_kb,
    })
}

fn check_text(section: &Section<'_>, events: &[&Event], batch_text: Option<bool>) {
    if batch_text.is_some() && !events.is_empty() && events.iter().all(|event| event.text_switch.is_none()) {
        let what = "none of these events carries a text that could be switched";
        section.object("batch_text", Objection::new(what, "remove it, or add an event like \"sql_batch_completed\""));
    }
}

fn longer_than(section: &Section<'_>, events: &[&Event]) -> Option<u64> {
    let duration = section.value("longer_than", time(Duration::from_micros(1)..=DAY))?;
    if let Some(event) = events.iter().find(|event| !event.has_duration) {
        let what = format!("the event {} has no duration that could be compared", event.name);
        section.object("longer_than", Objection::new(what, "remove it, or the event"));
    }
    u64::try_from(duration.as_micros()).ok()
}

fn sessions(section: &Section<'_>, around: &Surroundings<'_>) -> Sessions {
    let Some(item) = section.item("session_ids") else { return Sessions::All };
    if item.as_str() == Some("{session_ids}") {
        if around.sessions as usize > Sessions::MOST {
            let what = format!("a predicate holds {} sessions, and a run has {}", Sessions::MOST, around.sessions);
            section.object("session_ids", Objection::new(what, "remove it, or the larger profiles"));
        }
        return Sessions::OfTheStudy;
    }
    if !item.is_array() {
        let example = "\"{session_ids}\" with when = \"connected\", or a list of ids";
        section.object("session_ids", wrong_type(item, "the study's sessions or a list of ids", example));
        return Sessions::All;
    }
    let ids = section.list("session_ids", count(1..=32_767)).unwrap_or_default();
    if item.get(0).is_none() || ids.len() > Sessions::MOST {
        let what = format!("has {} ids", ids.len());
        section.object("session_ids", Objection::new(what, format!("write from 1 to {} of them", Sessions::MOST)));
    }
    Sessions::Ids(ids)
}

fn target(section: &Section<'_>, max_memory_kb: u64) -> Option<EventTarget> {
    let ring_buffer = section.value("target", choice(&[("file", false), ("ring_buffer", true)], &[])).unwrap_or(false);
    if ring_buffer {
        for key in ["file", "max_file_size", "max_rollover_files"] {
            section.refuse(key, "a ring buffer has no files", "remove it, or write target = \"file\"");
        }
        let memory = section.value("ring_buffer_memory", kilobytes(64, MOST_MEMORY_KB));
        return Some(EventTarget::RingBuffer { max_memory_kb: memory.unwrap_or(RING_BUFFER_KB) });
    }
    section.refuse("ring_buffer_memory", "a file is not in memory", "remove it, or write target = \"ring_buffer\"");
    let max_size_mb = section.value("max_file_size", megabytes(1, 1 << 30));
    if let Some(size) = max_size_mb.filter(|size| (size << 10) < max_memory_kb) {
        let what = format!("{size} MB is less than the buffers, so that the file could not be made");
        section.object(
            "max_file_size",
            Objection::new(what, format!("write at least {max_memory_kb}KB, or a lower max_memory")),
        );
    }
    Some(EventTarget::File {
        name: section.value("file", line).unwrap_or_else(|| "vufleet.xel".to_owned()),
        max_size_mb,
        rollover_files: section.value("max_rollover_files", count(0..=i32::MAX.unsigned_abs())),
    })
}

/// Whole seconds, or "infinite".
fn latency(item: &Item) -> Result<Option<u32>, Objection> {
    if item.as_str() == Some("infinite") {
        return Ok(None);
    }
    let latency = time(Duration::from_secs(1)..=DAY)(item)?;
    match u32::try_from(latency.as_secs()) {
        Ok(seconds) if latency.subsec_nanos() == 0 => Ok(Some(seconds)),
        _ => Err(Objection::new("is not a whole number of seconds", "write \"1s\" or more, or \"infinite\"")),
    }
}
