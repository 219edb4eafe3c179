//! SQL Server: its dynamic management views, all of them in one batch a reading.
//!
//! Microsoft's pages on `sys.dm_os_performance_counters`, `sys.dm_os_wait_stats`, `sys.dm_os_sys_info` and
//! `sys.dm_exec_requests` say what the columns mean. A counter named "../sec", the attention rate and times in
//! milliseconds count since the server's start (cntr_type 272696576), others are of the instant (65792). Names are as the server spells them. Every view needs VIEW SERVER
//! STATE, from 2022 VIEW SERVER PERFORMANCE STATE; an engine that only speaks SQL Server's protocol may lack some or all.

use super::Part;
use crate::sql::national;

/// Program name of every connection that vufleet opens.
const PROGRAM: &str = "vufleet";

/// What is read of each performance object, and of which instance of it.
const COUNTERS: [(&str, Instance, &[&str]); 6] = [
    (
        "SQL Statistics",
        Instance::None,
        &["Batch Requests/sec", "SQL Attention rate", "SQL Compilations/sec", "SQL Re-Compilations/sec"],
    ),
    (
        "Databases",
        Instance::Database,
        &[
            "Active Transactions",
            "Log Bytes Flushed/sec",
            "Log Flush Wait Time",
            "Log Flush Waits/sec",
            "Log Flushes/sec",
            "Transactions/sec",
            "Write Transactions/sec",
        ],
    ),
    (
        "Buffer Manager",
        Instance::None,
        &["Checkpoint pages/sec", "Lazy writes/sec", "Page life expectancy", "Page reads/sec", "Page writes/sec"],
    ),
    ("General Statistics", Instance::None, &["Processes blocked", "User Connections"]),
    ("Locks", Instance::Total, &["Lock Wait Time (ms)", "Lock Waits/sec", "Number of Deadlocks/sec"]),
    ("Memory Manager", Instance::None, &["Memory Grants Pending", "Total Server Memory (KB)"]),
];

/// Of what a performance object has a row of each counter.
#[derive(Clone, Copy)]
enum Instance {
    /// The server as a whole.
    None,
    /// Each database: the target's is read.
    Database,
    /// Each kind of resource: their sum is read.
    Total,
}

/// The statements of a reading for the target's `database`; `requests`: what vufleet's sessions are doing, too.
pub fn parts(database: Option<&str>, requests: bool) -> Vec<Part> {
    let mut parts = vec![
        Part { what: "sys.dm_os_performance_counters", sql: performance(database), remedy: PERMISSION },
        Part { what: "sys.dm_os_sys_info", sql: PROCESS.to_owned(), remedy: PERMISSION },
        Part { what: "sys.dm_os_wait_stats", sql: WAITS.to_owned(), remedy: PERMISSION },
    ];
    if requests {
        let sql = format!(
            "SELECT r.session_id, CAST(DATEDIFF(second, '20200101', r.start_time) AS bigint) * 1000 + DATEPART(millisecond, \
             r.start_time), r.cpu_time, r.total_elapsed_time, r.wait_type FROM sys.dm_exec_requests AS r JOIN \
             sys.dm_exec_sessions AS s ON s.session_id = r.session_id WHERE s.program_name = N'{PROGRAM}' AND \
             r.session_id <> @@SPID"
        );
        parts.push(Part { what: "sys.dm_exec_requests", sql, remedy: PERMISSION });
    }
    parts
}

const PERMISSION: &str =
    "GRANT VIEW SERVER STATE to the control login (from 2022 VIEW SERVER PERFORMANCE STATE is enough)";

/// Time of the process on all processors; the time since its start by the host's own steady clock.
const PROCESS: &str = "SELECT 'process_user_time_ms', process_user_time_ms FROM sys.dm_os_sys_info UNION ALL \
                       SELECT 'process_kernel_time_ms', process_kernel_time_ms FROM sys.dm_os_sys_info UNION ALL \
                       SELECT 'cpu_count', CAST(cpu_count AS bigint) FROM sys.dm_os_sys_info UNION ALL \
                       SELECT 'uptime_s', (ms_ticks - sqlserver_start_time_ms_ticks) / 1000 FROM sys.dm_os_sys_info";

/// What never happened is left out here, what does not matter where the rows are read.
const WAITS: &str = "SELECT wait_type, wait_time_ms, signal_wait_time_ms, waiting_tasks_count FROM \
                     sys.dm_os_wait_stats WHERE waiting_tasks_count > 0";

fn performance(database: Option<&str>) -> String {
    let of = |(object, instance, names): &(&str, Instance, &[&str])| {
        let instance = match (instance, database) {
            (Instance::None, _) => "N''".to_owned(),
            (Instance::Total, _) => "N'_Total'".to_owned(),
            (Instance::Database, Some(name)) => national(name),
            (Instance::Database, None) => "DB_NAME()".to_owned(),
        };
        let names: Vec<String> = names.iter().map(|name| national(name)).collect();
        // The object's name begins with the instance of the server: SQLServer: or MSSQL$NAME:.
        format!(
            "(object_name LIKE N'%:{object}%' AND instance_name = {instance} AND counter_name IN ({}))",
            names.join(", ")
        )
    };
    let wanted: Vec<String> = COUNTERS.iter().map(of).collect();
    format!("SELECT RTRIM(counter_name), cntr_value FROM sys.dm_os_performance_counters WHERE {}", wanted.join(" OR "))
}
