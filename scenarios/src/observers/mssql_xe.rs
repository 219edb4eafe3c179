//! Extended Events of SQL Server: an event session of its own, created, started, stopped and dropped.
//!
//! Durations are microseconds in predicates. A predicate has no lists, so sessions are joined with OR; all of it may have
//! 3000 characters.

use super::{growing, require, sql};
use crate::sql::{bracketed, national};
use crate::study::{Action, Change, Footprint, Require, When};

/// An event of the package `sqlserver`.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub name: &'static str,
    /// Whether it has a field `duration`, in microseconds.
    pub has_duration: bool,
    /// What decides whether it carries the statement's text.
    pub text_switch: Option<&'static str>,
}

impl Event {
    /// The events that a study may ask for.
    pub const ALL: &[Event] = &[
        Event { name: "sql_batch_completed", has_duration: true, text_switch: Some("collect_batch_text") },
        Event { name: "sql_batch_starting", has_duration: false, text_switch: Some("collect_batch_text") },
        Event { name: "rpc_completed", has_duration: true, text_switch: Some("collect_statement") },
        Event { name: "rpc_starting", has_duration: false, text_switch: Some("collect_statement") },
        Event { name: "sql_statement_completed", has_duration: true, text_switch: Some("collect_statement") },
        Event { name: "sql_statement_starting", has_duration: false, text_switch: Some("collect_statement") },
        Event { name: "sp_statement_completed", has_duration: true, text_switch: Some("collect_statement") },
        Event { name: "sp_statement_starting", has_duration: false, text_switch: Some("collect_statement") },
        Event { name: "module_end", has_duration: true, text_switch: Some("collect_statement") },
        Event { name: "module_start", has_duration: false, text_switch: Some("collect_statement") },
        Event { name: "query_post_execution_showplan", has_duration: true, text_switch: None },
        Event { name: "attention", has_duration: true, text_switch: None },
        Event { name: "error_reported", has_duration: false, text_switch: None },
        Event { name: "login", has_duration: false, text_switch: None },
        Event { name: "logout", has_duration: false, text_switch: None },
    ];

    /// What may be recorded with each event.
    pub const ACTIONS: [&str; 12] = [
        "sql_text",
        "session_id",
        "database_id",
        "database_name",
        "username",
        "server_principal_name",
        "client_app_name",
        "client_hostname",
        "query_hash",
        "query_plan_hash",
        "plan_handle",
        "tsql_stack",
    ];
}

/// Where events go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventTarget {
    /// Files on the database's host.
    File {
        /// Path of the first; without a directory it lies in the server's own log directory.
        name: String,
        /// Largest file in MB; none: the server's default, 1 GB.
        max_size_mb: Option<u64>,
        /// Files that are kept; none: the server's default.
        rollover_files: Option<u32>,
    },
    /// Memory of the server.
    RingBuffer {
        /// How much of it, in KB.
        max_memory_kb: u64,
    },
}

/// What happens when all buffers are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// The event is lost.
    AllowSingleEventLoss,
    /// A buffer full of events is lost.
    AllowMultipleEventLoss,
    /// The statement waits.
    NoEventLoss,
}

impl Retention {
    /// The word in T-SQL, and the letter of `sys.server_event_sessions.event_retention_mode`.
    fn words(self) -> (&'static str, char) {
        match self {
            Retention::AllowSingleEventLoss => ("ALLOW_SINGLE_EVENT_LOSS", 'S'),
            Retention::AllowMultipleEventLoss => ("ALLOW_MULTIPLE_EVENT_LOSS", 'M'),
            Retention::NoEventLoss => ("NO_EVENT_LOSS", 'N'),
        }
    }
}

/// How buffers are spread over the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPartition {
    /// One set.
    None,
    /// One a NUMA node.
    PerNode,
    /// One a CPU.
    PerCpu,
}

impl MemoryPartition {
    fn word(self) -> &'static str {
        match self {
            MemoryPartition::None => "NONE",
            MemoryPartition::PerNode => "PER_NODE",
            MemoryPartition::PerCpu => "PER_CPU",
        }
    }
}

/// Whose events are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sessions {
    /// Everybody's.
    All,
    /// The study's own sessions, once they are connected.
    OfTheStudy,
    /// Those of these session ids.
    Ids(Vec<u32>),
}

impl Sessions {
    /// The most that fit into a predicate beside everything else that stands in it.
    pub const MOST: usize = 60;
}

/// Parameters of the preset `mssql-xe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MssqlXe {
    /// Name of the event session; whatever had that name before is gone.
    pub name: String,
    /// What is recorded, at least one.
    pub events: Vec<&'static Event>,
    /// What is recorded with each.
    pub actions: Vec<&'static str>,
    /// Only what took longer, in microseconds.
    pub longer_than_us: Option<u64>,
    /// Leave out master, tempdb, model and msdb.
    pub user_databases: bool,
    /// Whose.
    pub sessions: Sessions,
    /// Whether events carry the statement's text; none: the server's default for each.
    pub batch_text: Option<bool>,
    /// Where events go.
    pub target: EventTarget,
    /// What happens when all buffers are full.
    pub retention: Retention,
    /// Memory of all buffers, in KB.
    pub max_memory_kb: u64,
    /// Seconds that an event may wait in its buffer; none: until it is full.
    pub max_dispatch_latency_s: Option<u32>,
    /// How buffers are spread.
    pub memory_partition: MemoryPartition,
    /// Whether each event says which other one it followed.
    pub causality: bool,
}

impl MssqlXe {
    /// What switches it on and off.
    pub fn change(&self) -> Change {
        let start = format!("ALTER EVENT SESSION {} ON SERVER STATE = START;", bracketed(&self.name));
        Change {
            when: When::default(),
            remember: Vec::new(),
            apply: vec![self.removal(), sql(self.session()), sql(start)],
            verify: self.verify(),
            revert: vec![self.stop(), self.removal()],
            undone: vec![require(
                format!("SELECT COUNT(*) FROM sys.server_event_sessions WHERE name = {}", national(&self.name)),
                "0",
            )],
            footprint: self.footprint(),
        }
    }

    fn stop(&self) -> Action {
        sql(format!(
            "IF EXISTS (SELECT * FROM sys.dm_xe_sessions WHERE name = {})\n    ALTER EVENT SESSION {} ON SERVER STATE = STOP;",
            national(&self.name),
            bracketed(&self.name)
        ))
    }

    /// Drops it, running or not; does nothing where there is none.
    fn removal(&self) -> Action {
        sql(format!(
            "IF EXISTS (SELECT * FROM sys.server_event_sessions WHERE name = {})\n    DROP EVENT SESSION {} ON SERVER;",
            national(&self.name),
            bracketed(&self.name)
        ))
    }

    fn session(&self) -> String {
        let events: Vec<_> = self.events.iter().map(|event| self.event(event)).collect();
        let latency = match self.max_dispatch_latency_s {
            Some(seconds) => format!("{seconds} SECONDS"),
            None => "INFINITE".to_owned(),
        };
        format!(
            "CREATE EVENT SESSION {} ON SERVER\n    {}\n    {}\n    WITH (MAX_MEMORY = {} KB, EVENT_RETENTION_MODE = {}, \
             MAX_DISPATCH_LATENCY = {latency}, MEMORY_PARTITION_MODE = {}, TRACK_CAUSALITY = {}, STARTUP_STATE = OFF);",
            bracketed(&self.name),
            events.join(",\n    "),
            self.target(),
            self.max_memory_kb,
            self.retention.words().0,
            self.memory_partition.word(),
            if self.causality { "ON" } else { "OFF" },
        )
    }

    fn event(&self, event: &Event) -> String {
        let mut clauses = Vec::new();
        if let (Some(collect), Some(switch)) = (self.batch_text, event.text_switch) {
            clauses.push(format!("SET {switch} = ({})", u8::from(collect)));
        }
        if !self.actions.is_empty() {
            let actions: Vec<_> = self.actions.iter().map(|action| format!("sqlserver.{action}")).collect();
            clauses.push(format!("ACTION ({})", actions.join(", ")));
        }
        let conditions = self.conditions(event);
        if !conditions.is_empty() {
            clauses.push(format!("WHERE {}", conditions.join(" AND ")));
        }
        match clauses.is_empty() {
            true => format!("ADD EVENT sqlserver.{}", event.name),
            false => format!("ADD EVENT sqlserver.{} ({})", event.name, clauses.join(" ")),
        }
    }

    fn conditions(&self, event: &Event) -> Vec<String> {
        let mut conditions = Vec::new();
        if let Some(duration) = self.longer_than_us.filter(|_| event.has_duration) {
            conditions.push(format!("([duration] > ({duration}))"));
        }
        if self.user_databases {
            conditions.push("([sqlserver].[database_id] > (4))".to_owned());
        }
        match &self.sessions {
            Sessions::All => {}
            Sessions::OfTheStudy => conditions
                .push("(([sqlserver].[session_id] = ({session_ids|)) OR ([sqlserver].[session_id] = (})))".to_owned()),
            Sessions::Ids(ids) => {
                let ids: Vec<_> = ids.iter().map(|id| format!("([sqlserver].[session_id] = ({id}))")).collect();
                conditions.push(format!("({})", ids.join(" OR ")));
            }
        }
        conditions
    }

    fn target(&self) -> String {
        match &self.target {
            EventTarget::File { name, max_size_mb, rollover_files } => {
                let mut settings = vec![format!("filename = {}", national(name))];
                settings.extend(max_size_mb.map(|size| format!("max_file_size = ({size})")));
                settings.extend(rollover_files.map(|files| format!("max_rollover_files = ({files})")));
                format!("ADD TARGET package0.event_file (SET {})", settings.join(", "))
            }
            EventTarget::RingBuffer { max_memory_kb } => {
                format!("ADD TARGET package0.ring_buffer (SET max_memory = ({max_memory_kb}))")
            }
        }
    }

    fn target_name(&self) -> &'static str {
        match self.target {
            EventTarget::File { .. } => "event_file",
            EventTarget::RingBuffer { .. } => "ring_buffer",
        }
    }

    fn verify(&self) -> Vec<Require> {
        let name = national(&self.name);
        vec![
            require(format!("SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name = {name}"), "1"),
            require(
                format!(
                    "SELECT COUNT(*) FROM sys.server_event_sessions WHERE name = {name} AND event_retention_mode = N'{}' AND \
                     track_causality = {}",
                    self.retention.words().1,
                    u8::from(self.causality)
                ),
                "1",
            ),
            require(
                format!(
                    "SELECT COUNT(*) FROM sys.server_event_session_events AS e JOIN sys.server_event_sessions AS s ON s.event_session_id \
                     = e.event_session_id WHERE s.name = {name}"
                ),
                self.events.len().to_string(),
            ),
            require(
                format!("SELECT COUNT(*) FROM {} AND t.target_name = N'{}'", self.running(), self.target_name()),
                "1",
            ),
        ]
    }

    /// `bytes_written` of a target exists since SQL Server 2017: on an older one the name means the outer column, which is
    /// NULL, and the figure is absent. What still waits in a buffer is not in it.
    fn footprint(&self) -> Vec<Footprint> {
        let dropped =
            |column: &str| format!("SELECT {column} FROM sys.dm_xe_sessions WHERE name = {}", national(&self.name));
        let bytes = format!(
            "SELECT SUM(f.bytes) FROM (SELECT CAST(NULL AS bigint) AS bytes_written) AS o CROSS APPLY (SELECT bytes_written AS \
             bytes FROM {}) AS f",
            self.running()
        );
        vec![
            growing("events_dropped", dropped("dropped_event_count")),
            growing("buffers_dropped", dropped("dropped_buffer_count")),
            growing("bytes_written", bytes),
        ]
    }

    fn running(&self) -> String {
        format!(
            "sys.dm_xe_sessions AS s JOIN sys.dm_xe_session_targets AS t ON t.event_session_address = s.address WHERE s.name = \
             {}",
            national(&self.name)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(names: &[&str]) -> Vec<&'static Event> {
        names.iter().map(|name| Event::ALL.iter().find(|event| event.name == *name).unwrap()).collect()
    }

    fn xe(names: &[&str]) -> MssqlXe {
        MssqlXe {
            name: "vufleet_xe".to_owned(),
            events: events(names),
            actions: Vec::new(),
            longer_than_us: None,
            user_databases: false,
            sessions: Sessions::All,
            batch_text: None,
            target: EventTarget::File { name: "vufleet.xel".to_owned(), max_size_mb: None, rollover_files: None },
            retention: Retention::AllowSingleEventLoss,
            max_memory_kb: 4096,
            max_dispatch_latency_s: Some(30),
            memory_partition: MemoryPartition::None,
            causality: false,
        }
    }

    #[test]
    fn the_first_experiment_reads_as_microsoft_writes_it() {
        let mut first = xe(&["rpc_completed", "sql_batch_completed", "sql_statement_completed"]);
        first.longer_than_us = Some(5_000_000);
        first.user_databases = true;
        first.max_memory_kb = 2048;
        let filter = "WHERE ([duration] > (5000000)) AND ([sqlserver].[database_id] > (4))";
        assert_eq!(
            first.change().apply[1],
            sql(format!(
                "CREATE EVENT SESSION [vufleet_xe] ON SERVER\n    ADD EVENT sqlserver.rpc_completed ({filter}),\n    ADD EVENT \
                 sqlserver.sql_batch_completed ({filter}),\n    ADD EVENT sqlserver.sql_statement_completed ({filter})\n    ADD \
                 TARGET package0.event_file (SET filename = N'vufleet.xel')\n    WITH (MAX_MEMORY = 2048 KB, \
                 EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS, MAX_DISPATCH_LATENCY = 30 SECONDS, MEMORY_PARTITION_MODE = \
                 NONE, TRACK_CAUSALITY = OFF, STARTUP_STATE = OFF);"
            ))
        );
        assert_eq!(first.change().verify[2].equals, "3");
    }

    #[test]
    fn the_third_experiment_follows_the_sessions_of_the_study() {
        let mut third = xe(&["sql_batch_completed"]);
        third.batch_text = Some(true);
        third.sessions = Sessions::OfTheStudy;
        let made = third.change().for_sessions(&["51".to_owned(), "62".to_owned()]);
        let Action::Sql(text) = &made.apply[1] else { panic!("{made:?}") };
        assert!(
            text.contains(
                "ADD EVENT sqlserver.sql_batch_completed (SET collect_batch_text = (1) WHERE (([sqlserver].[session_id] = \
                 (51)) OR ([sqlserver].[session_id] = (62))))"
            ),
            "{text}"
        );
        third.sessions = Sessions::Ids(vec![51, 62]);
        assert_eq!(made.apply[1], third.change().apply[1]);
        assert_eq!(xe(&["logout"]).event(&Event::ALL[14]), "ADD EVENT sqlserver.logout");
    }

    #[test]
    fn the_most_sessions_fit_into_a_predicate() {
        let mut most = xe(&["rpc_completed"]);
        most.longer_than_us = Some(u64::MAX);
        most.user_databases = true;
        most.sessions = Sessions::Ids(vec![32_767; Sessions::MOST]);
        assert!(most.conditions(&Event::ALL[2]).join(" AND ").len() < 3000);
    }

    #[test]
    fn every_setting_is_written() {
        let mut all = xe(&["error_reported", "rpc_completed"]);
        all.actions = vec!["sql_text", "session_id"];
        all.longer_than_us = Some(1);
        all.batch_text = Some(false);
        all.retention = Retention::NoEventLoss;
        all.max_dispatch_latency_s = None;
        all.memory_partition = MemoryPartition::PerCpu;
        all.causality = true;
        all.target = EventTarget::RingBuffer { max_memory_kb: 2048 };
        let text = all.session();
        for words in [
            "ADD EVENT sqlserver.error_reported (ACTION (sqlserver.sql_text, sqlserver.session_id)),",
            "rpc_completed (SET collect_statement = (0) ACTION (sqlserver.sql_text, sqlserver.session_id) WHERE ([duration] > (1)))",
            "ADD TARGET package0.ring_buffer (SET max_memory = (2048))",
            "EVENT_RETENTION_MODE = NO_EVENT_LOSS, MAX_DISPATCH_LATENCY = INFINITE, MEMORY_PARTITION_MODE = PER_CPU, \
             TRACK_CAUSALITY = ON",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        all.target = EventTarget::File { name: "it's.xel".to_owned(), max_size_mb: Some(100), rollover_files: Some(0) };
        let target = "(SET filename = N'it''s.xel', max_file_size = (100), max_rollover_files = (0))";
        assert!(all.session().contains(target));
        assert!(all.change().verify[1].sql.ends_with("event_retention_mode = N'N' AND track_causality = 1"));
    }
}
