//! Every text of the two presets for SQL Server, over all their parameters.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use vufleet_scenarios::observers::{
    AuditAction, AuditFailure, AuditObject, Event, EventTarget, MemoryPartition, MssqlAudit, MssqlXe, Retention,
    Sessions,
};
use vufleet_scenarios::study::{Action, Change};

use super::batch::{batch, query};
use super::parser::Parser;

/// A name that would break out of its quotes, if anything could.
fn hostile() -> impl Strategy<Value = String> {
    "[\\]\\[' ;A-Ca-c.{}\"/*-]{1,24}"
}

fn plain() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{0,20}"
}

pub fn audits() -> impl Strategy<Value = MssqlAudit> {
    let object = (hostile(), hostile()).prop_map(|(schema, name)| AuditObject { schema, name });
    let failure = select(vec![AuditFailure::Continue, AuditFailure::Shutdown, AuditFailure::FailOperation]);
    let actions = subsequence(AuditAction::ALL.to_vec(), 1..=AuditAction::ALL.len());
    let file = (hostile(), of(2u64..4096), of(0u32..100), any::<bool>());
    let delay = prop_oneof![Just(0u32), 1000u32..=i32::MAX as u32];
    (plain(), hostile(), file, delay, failure, actions, vec(object, 0..4), hostile()).prop_map(
        |(name, database, file, queue_delay_ms, on_failure, actions, objects, principal)| MssqlAudit {
            name,
            database,
            path: file.0,
            max_size_mb: file.1,
            rollover_files: file.2,
            reserve_disk_space: file.3,
            queue_delay_ms,
            on_failure,
            actions,
            objects,
            principal,
        },
    )
}

pub fn sessions() -> impl Strategy<Value = MssqlXe> {
    let events = subsequence(Event::ALL.iter().collect::<Vec<_>>(), 1..=Event::ALL.len());
    let actions = subsequence(Event::ACTIONS.to_vec(), 0..=Event::ACTIONS.len());
    let ids = vec(1u32..32_768, 1..=Sessions::MOST);
    let whose = prop_oneof![Just(Sessions::All), Just(Sessions::OfTheStudy), ids.prop_map(Sessions::Ids)];
    let file = (hostile(), of(1u64..4096), of(0u32..100))
        .prop_map(|(name, max_size_mb, rollover_files)| EventTarget::File { name, max_size_mb, rollover_files });
    let target =
        prop_oneof![file, (64u64..100_000).prop_map(|max_memory_kb| EventTarget::RingBuffer { max_memory_kb })];
    let retention =
        select(vec![Retention::AllowSingleEventLoss, Retention::AllowMultipleEventLoss, Retention::NoEventLoss]);
    let partition = select(vec![MemoryPartition::None, MemoryPartition::PerNode, MemoryPartition::PerCpu]);
    let filter = (of(1u64..86_400_000_000), any::<bool>(), whose, of(any::<bool>()));
    let memory = (retention, 192u64..(2 << 20), of(1u32..86_400), partition, any::<bool>());
    (plain(), events, actions, filter, target, memory).prop_map(|(name, events, actions, filter, target, memory)| {
        MssqlXe {
            name,
            events,
            actions,
            longer_than_us: filter.0,
            user_databases: filter.1,
            sessions: filter.2,
            batch_text: filter.3,
            target,
            retention: memory.0,
            max_memory_kb: memory.1,
            max_dispatch_latency_s: memory.2,
            memory_partition: memory.3,
            causality: memory.4,
        }
    })
}

/// Batches that change something, then queries that read it back.
pub fn texts(change: &Change) -> (Vec<String>, Vec<String>) {
    let ids: Vec<String> = (51..=110).map(|id| id.to_string()).collect();
    let change = change.for_sessions(&ids);
    let text = |action: &Action| match action {
        Action::Sql(sql) => sql.clone(),
        command => panic!("{command:?}"),
    };
    let changes = change.apply.iter().chain(&change.revert).map(text).collect();
    let queries = change.verify.iter().chain(&change.undone).map(|require| require.sql.clone());
    (changes, queries.chain(change.footprint.iter().map(|figure| figure.sql.clone())).collect())
}

fn read_all(change: &Change) -> Result<Vec<Parser>, TestCaseError> {
    let (changes, queries) = texts(change);
    let read = |text: &String, read: fn(&str) -> Result<Parser, String>| {
        read(text).map_err(|error| TestCaseError::fail(format!("{error} in\n{text}")))
    };
    changes.iter().map(|text| read(text, batch)).chain(queries.iter().map(|text| read(text, query))).collect()
}

proptest! {
    #[test]
    fn every_audit_is_read_and_its_names_are_what_they_were(audit in audits()) {
        let parsers = read_all(&audit.change())?;
        let names = |name: &String| parsers.iter().any(|parser| parser.names.contains(name));
        prop_assert!(names(&audit.name) && names(&audit.database));
        prop_assert!(parsers.iter().any(|parser| parser.texts.contains(&audit.path)));
        if audit.actions.iter().any(|action| matches!(action, AuditAction::Action(_))) {
            prop_assert!(names(&audit.principal));
            prop_assert!(audit.objects.iter().all(|object| names(&object.schema) && names(&object.name)));
        }
    }

    #[test]
    fn every_event_session_is_read_and_its_file_is_what_it_was(session in sessions()) {
        let parsers = read_all(&session.change())?;
        if let EventTarget::File { name, .. } = &session.target {
            prop_assert!(parsers.iter().any(|parser| parser.texts.contains(name)));
        }
        let events = session.events.iter().all(|event| parsers[1].names.iter().any(|name| name == event.name));
        prop_assert!(events);
    }
}
