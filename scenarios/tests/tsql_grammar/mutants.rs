//! Texts that are nearly right. A grammar that lets them pass would let ours pass whatever they were.

use vufleet_scenarios::observers::{
    AuditAction, AuditFailure, AuditObject, Event, EventTarget, MemoryPartition, MssqlAudit, MssqlXe, Retention,
    Sessions,
};

use super::batch::{batch, query};
use super::presets::texts;
use super::token::{Token, text, tokens};

fn audit() -> MssqlAudit {
    let object = |name: &str| AuditObject { schema: "dbo".to_owned(), name: name.to_owned() };
    MssqlAudit {
        name: "vufleet_audit".to_owned(),
        database: "tpcc".to_owned(),
        path: "/audit/".to_owned(),
        max_size_mb: Some(1024),
        rollover_files: None,
        reserve_disk_space: false,
        queue_delay_ms: 1000,
        on_failure: AuditFailure::Continue,
        actions: vec![AuditAction::Action("SELECT"), AuditAction::Action("INSERT"), AuditAction::Group("DBCC_GROUP")],
        objects: vec![object("customer"), object("stock")],
        principal: "public".to_owned(),
    }
}

fn session() -> MssqlXe {
    MssqlXe {
        name: "vufleet_xe".to_owned(),
        events: Event::ALL
            .iter()
            .filter(|event| ["rpc_completed", "sql_batch_completed"].contains(&event.name))
            .collect(),
        actions: vec!["sql_text", "session_id"],
        longer_than_us: Some(5_000_000),
        user_databases: true,
        sessions: Sessions::All,
        batch_text: Some(true),
        target: EventTarget::File { name: "x.xel".to_owned(), max_size_mb: Some(100), rollover_files: Some(5) },
        retention: Retention::AllowSingleEventLoss,
        max_memory_kb: 2048,
        max_dispatch_latency_s: Some(30),
        memory_partition: MemoryPartition::None,
        causality: false,
    }
}

const RESTORE: &str = "RESTORE DATABASE [tpcc] FROM DISK = N'/backup/tpcc.bak' WITH REPLACE, RECOVERY, STATS = 10;";
const SNAPSHOT: &str = "RESTORE DATABASE [tpcc] FROM DATABASE_SNAPSHOT = N'tpcc_built';";

/// Every batch, and one that has each of the constructs of RESTORE.
fn batches() -> Vec<String> {
    let all = [texts(&audit().change()).0, texts(&session().change()).0, vec![RESTORE.to_owned(), SNAPSHOT.to_owned()]];
    all.concat()
}

/// What is replaced by what; the first text that has it is changed, and then refused.
const MUTANTS: [(&str, &str); 47] = [
    // Separators.
    ("USE [master];", "USE [master]"),
    ("(STATE = OFF);\n    DROP", "(STATE = OFF)\n    DROP"),
    ("END;", "END"),
    ("ON SERVER STATE = START;", "ON SERVER STATE = START;;"),
    ("USE [tpcc];\nCREATE", "USE [tpcc],\nCREATE"),
    // Guards.
    ("IF EXISTS (", "IF EXIST ("),
    ("IF EXISTS (SELECT * FROM", "IF EXISTS (SELECT FROM"),
    ("BEGIN\n", "\n"),
    ("WHERE name = N'vufleet_audit')", "WHERE name = [vufleet_audit]"),
    ("sys.server_audits", "server_audits"),
    // SERVER AUDIT.
    ("CREATE SERVER AUDIT", "CREATE AUDIT SERVER"),
    ("CREATE SERVER AUDIT [vufleet_audit]", "CREATE SERVER AUDIT [vufleet audit]"),
    ("TO FILE (", "TO FILES ("),
    ("FILEPATH = N'/audit/'", "FILE_PATH = N'/audit/'"),
    ("FILEPATH = N'/audit/', MAXSIZE = 1024 MB", "MAXSIZE = 1024 MB, FILEPATH = N'/audit/'"),
    ("FILEPATH = N'/audit/'", "FILEPATH = /audit/"),
    ("MAXSIZE = 1024 MB", "MAXSIZE = 1024 KB"),
    ("MAXSIZE = 1024 MB", "MAXSIZE = 1 MB"),
    ("MAX_ROLLOVER_FILES = UNLIMITED", "MAX_ROLLOVER_FILES = UNLIMITED, MAX_FILES = 3"),
    ("RESERVE_DISK_SPACE = OFF", "RESERVE_DISK_SPACE = 0"),
    ("QUEUE_DELAY = 1000", "QUEUE_DELAY = 999"),
    ("QUEUE_DELAY = 1000", "QUEUE_DELAY = 1000, QUEUE_DELAY = 1000"),
    ("ON_FAILURE = CONTINUE", "ON_FAILURE = FAIL"),
    ("ALTER SERVER AUDIT [vufleet_audit] WITH (STATE = ON)", "ALTER SERVER AUDIT [vufleet_audit] STATE = ON"),
    // DATABASE AUDIT SPECIFICATION.
    ("FOR SERVER AUDIT", "TO SERVER AUDIT"),
    ("SELECT, INSERT ON", "SELECT INSERT ON"),
    ("SELECT, INSERT ON", "SELECT, INSRT ON"),
    ("OBJECT::[dbo].[customer]", "OBJECT:[dbo].[customer]"),
    ("OBJECT::[dbo].[customer]", "TABLE::[dbo].[customer]"),
    (" BY [public]", ""),
    ("ADD (DBCC_GROUP)", "ADD (DBCC_GROUPS)"),
    ("[customer]", "[customer]]"),
    // EVENT SESSION.
    ("CREATE EVENT SESSION [vufleet_xe] ON SERVER", "CREATE EVENT SESSION [vufleet_xe]"),
    ("ADD EVENT sqlserver.rpc_completed", "ADD EVENT rpc_completed"),
    ("SET collect_batch_text = (1)", "SET collect_text = (1)"),
    ("ACTION (sqlserver.sql_text, sqlserver.session_id)", "ACTION ()"),
    ("([duration] > (5000000)) AND", "([duration] > (5000000)) &"),
    ("([duration] > (5000000))", "([duration] IN (5000000))"),
    ("ADD TARGET package0.event_file", "ADD TARGET package0.file"),
    ("max_file_size = (100)", "max_size = (100)"),
    ("MAX_MEMORY = 2048 KB", "MAX_MEMORY = 2097152 KB"),
    ("ALLOW_SINGLE_EVENT_LOSS", "ALLOW_SINGLE_LOSS"),
    ("30 SECONDS", "30 S"),
    ("STARTUP_STATE = OFF", "STARTUP_STATE = STOP"),
    // RESTORE.
    ("FROM DISK = N", "FROM DISK N"),
    ("WITH REPLACE, RECOVERY", "WITH REPLACE, RECOVERY, NORECOVERY"),
    ("STATS = 10", "STATS = 101"),
];

#[test]
fn mutants_are_refused() {
    for (right, wrong) in MUTANTS {
        let original =
            batches().into_iter().find(|text| text.contains(right)).unwrap_or_else(|| panic!("no text has {right}"));
        assert!(batch(&original).is_ok(), "{original}");
        let mutant = original.replacen(right, wrong, 1);
        assert!(batch(&mutant).is_err(), "{right} -> {wrong} is let through in\n{mutant}");
    }
}

#[test]
fn no_token_may_go_come_twice_or_change_places() {
    let read_query = |text: &str| query(text).map(drop);
    let read_batch = |text: &str| batch(text).map(drop);
    let queries = [texts(&audit().change()).1, texts(&session().change()).1].concat();
    let all = batches().into_iter().map(|text| (text, read_batch as fn(&str) -> Result<(), String>));
    for (original, read) in
        all.chain(queries.into_iter().map(|text| (text, read_query as fn(&str) -> Result<(), String>)))
    {
        let right = tokens(&original).unwrap();
        assert!(read(&text(&right)).is_ok(), "{original}");
        for at in 0..right.len() {
            for mutant in mutants_at(&right, at) {
                let survives = read(&text(&mutant)).is_ok();
                assert!(!survives, "token {at} ({}) of\n{original}\nas\n{}", right[at], text(&mutant));
            }
        }
    }
}

/// The tokens without one of them, with it twice, and with it behind its neighbour.
fn mutants_at(right: &[Token], at: usize) -> Vec<Vec<Token>> {
    let mut without = right.to_vec();
    without.remove(at);
    let mut twice = right.to_vec();
    twice.insert(at, right[at].clone());
    let mut mutants = vec![without, twice];
    if at + 1 < right.len() && right[at] != right[at + 1] {
        let mut swapped = right.to_vec();
        swapped.swap(at, at + 1);
        mutants.push(swapped);
    }
    mutants
}
