//! MySQL and MariaDB: `SHOW GLOBAL STATUS`, one statement a reading.
//!
//! It needs no privilege, both servers parse it, and it moves none of the counters below but Questions and the bytes of
//! the network; a SELECT on the status tables would move Com_select, which is the witness of autocommitted work.

use super::Part;

/// What is read. A server that lacks one of them leaves it out.
pub const COUNTERS: [&str; 42] = [
    "Aborted_clients",
    "Aborted_connects",
    "Bytes_received",
    "Bytes_sent",
    "Com_begin",
    "Com_call_procedure",
    "Com_commit",
    "Com_delete",
    "Com_delete_multi",
    "Com_insert",
    "Com_insert_select",
    "Com_replace",
    "Com_replace_select",
    "Com_rollback",
    "Com_select",
    "Com_update",
    "Com_update_multi",
    "Connection_errors_max_connections",
    "Connections",
    "Created_tmp_disk_tables",
    "Handler_commit",
    "Handler_rollback",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_data_fsyncs",
    "Innodb_data_read",
    "Innodb_data_written",
    "Innodb_log_waits",
    "Innodb_os_log_written",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Innodb_rows_deleted",
    "Innodb_rows_inserted",
    "Innodb_rows_read",
    "Innodb_rows_updated",
    "Prepared_stmt_count",
    "Questions",
    "Slow_queries",
    "Sort_merge_passes",
    "Threads_connected",
    "Threads_running",
    "Uptime",
];

/// The statement of a reading.
pub fn parts() -> Vec<Part> {
    let names = COUNTERS.map(|name| format!("'{name}'")).join(", ");
    let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})");
    vec![Part { what: "the status counters", sql, remedy: "grant this login what SHOW GLOBAL STATUS needs" }]
}
