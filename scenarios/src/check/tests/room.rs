//! Threads, memory and CPU of the agents.

use super::*;

fn found_on(kind: TargetKind, agents: &[AgentFacts]) -> Vec<(Severity, String)> {
    let plenty = [("max_connections", "100000"), ("max_prepared_stmt_count", "1048576"), ("back_log", "10000")];
    found(&study_on(kind, 4), &answers(&plenty), agents)
}

#[test]
fn threads_are_those_of_the_agent_and_of_sessions_that_block() {
    for (kind, sessions, tasks, enough) in [
        (TargetKind::Mysql, 10_000, Some(40), true),
        (TargetKind::Mysql, 10_000, Some(39), false),
        (TargetKind::Sqlite, 60, Some(100), true),
        (TargetKind::Sqlite, 61, Some(100), false),
        (TargetKind::Sqlite, 61, None, true),
        (TargetKind::Sqlite, 0, Some(1), true),
    ] {
        let found = found_on(kind, &[AgentFacts { tasks, ..agent("a", sessions) }]);
        if enough {
            assert_eq!(found, [], "{kind:?} {sessions} {tasks:?}");
        } else {
            assert_one(&found, Severity::Fatal, &["agent a may start", "TasksMax=", "pids limit", "threads-max"]);
        }
    }
}

#[test]
fn memory_is_that_of_a_container_and_of_all_agents_of_a_machine() {
    let held = |sessions, limit: u64| AgentFacts { memory_limit_bytes: Some(limit << 20), ..agent("a", sessions) };
    assert_eq!(found_on(TargetKind::Mysql, &[held(16_000, 1128)]), []);
    let words = ["agent a may use 1127 MB", "16000 sessions may take up to 1128 MB", "would kill it", "MemoryMax="];
    assert_one(&found_on(TargetKind::Mysql, &[held(16_000, 1127)]), Severity::Warning, &words);
    assert_eq!(found_on(TargetKind::Simulated, &[held(50_000, 400)]), []);

    let on = |machine: &str, name: &str, sessions| AgentFacts {
        machine: machine.to_owned(),
        memory_bytes: 1 << 30,
        ..agent(name, sessions)
    };
    assert_eq!(found_on(TargetKind::Mysql, &[on("m", "a", 8000), on("n", "b", 8000)]), []);
    let words = ["one machine (a, b) may take up to 1256 MB, but it has 1024 MB", "more machines"];
    assert_one(&found_on(TargetKind::Mysql, &[on("m", "a", 8000), on("m", "b", 8000)]), Severity::Warning, &words);
    let unknown = AgentFacts { memory_bytes: 0, ..agent("old", 8000) };
    assert_eq!(found_on(TargetKind::Mysql, &[unknown]), [], "an agent that does not tell is not short of it");
}

#[test]
fn less_than_all_of_a_hosts_cpu_is_told() {
    let held = |affinity_cores, quota_cores| AgentFacts { affinity_cores, quota_cores, ..agent("a", 4) };
    assert_eq!(found_on(TargetKind::Mysql, &[held(8, None)]), []);
    assert_eq!(found_on(TargetKind::Mysql, &[held(8, Some(8.0))]), [], "it can never be used up");
    assert_eq!(found_on(TargetKind::Mysql, &[held(0, None)]), [], "unknown");
    let words = ["agent a is held to 2.5 of 8 cores by a quota", "up to 100 ms", "AllowedCPUs="];
    assert_one(&found_on(TargetKind::Mysql, &[held(8, Some(2.5))]), Severity::Warning, &words);
    assert_one(&found_on(TargetKind::Mysql, &[held(4, Some(2.5))]), Severity::Warning, &["2.5 of 8 cores"]);
    let words = ["agent a may run on 4 of its host's 8 cores", "driver CPU of reports is of all"];
    assert_one(&found_on(TargetKind::Mysql, &[held(4, Some(4.0))]), Severity::Note, &words);
    let idle = AgentFacts { quota_cores: Some(1.0), ..agent("idle", 0) };
    assert_eq!(found_on(TargetKind::Mysql, &[idle]), []);
}
