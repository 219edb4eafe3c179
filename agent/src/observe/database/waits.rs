//! Which of SQL Server's waits say nothing about a load.
//!
//! A queue wait is a background worker with nothing to do: its time grows by a second a second on an idle server and
//! would be at the top of every list. Each entry below is such a wait by what Microsoft's page on
//! `sys.dm_os_wait_stats` says of it or, where the page says "internal use only", by its name: a sleep, a poll, an empty
//! queue, a start of the server. What a session may be held up by stays, above all what observers cause
//! (`XE_SERVICES_RWLOCK`, `XE_BUFFERMGR_*`, `PREEMPTIVE_XE_*`, `PREEMPTIVE_OS_*`, `SQLTRACE_FILE_BUFFER`), processor queues
//! (`SOS_SCHEDULER_YIELD`), clients that read slowly (`ASYNC_NETWORK_IO`) and statistics
//! (`WAIT_ON_SYNC_STATISTICS_REFRESH`).

/// Waits that are left out, in groups of one reason each.
const BENIGN: &[(&str, &[&str])] = &[
    (
        "background tasks of the storage engine between two rounds of work",
        &[
            "CHECKPOINT_QUEUE",
            "DIRTY_PAGE_POLL",
            "LAZYWRITER_SLEEP",
            "LOGMGR_QUEUE",
            "PVS_PREALLOCATE",
            "PWAIT_DIRECTLOGCONSUMER_GETNEXT",
            "PWAIT_LOG_CONSOLIDATION_POLL",
            "REQUEST_FOR_DEADLOCK_SEARCH",
        ],
    ),
    (
        "idle workers, timers and sleeps of the server itself",
        &[
            "DISPATCHER_PRIORITY_QUEUE_SEMAPHORE",
            "DISPATCHER_QUEUE_SEMAPHORE",
            "KSOURCE_WAKEUP",
            "ONDEMAND_TASK_QUEUE",
            "PWAIT_ALL_COMPONENTS_INITIALIZED",
            "PWAIT_EXTENSIBILITY_CLEANUP_TASK",
            "PWAIT_PREEMPTIVE_APP_USAGE_TIMER",
            "RESOURCE_GOVERNOR_IDLE",
            "SERVER_IDLE_CHECK",
            "SLEEP_DBSTARTUP",
            "SLEEP_DCOMSTARTUP",
            "SLEEP_MASTERDBREADY",
            "SLEEP_MASTERMDREADY",
            "SLEEP_MASTERUPGRADED",
            "SLEEP_MSDBSTARTUP",
            "SLEEP_SYSTEMTASK",
            "SLEEP_TASK",
            "SLEEP_TEMPDBSTARTUP",
            "SOS_WORK_DISPATCHER",
            "STARTUP_DEPENDENCY_MANAGER",
        ],
    ),
    ("waits that a statement asks for", &["WAITFOR", "WAITFOR_TASKSHUTDOWN", "WAIT_FOR_RESULTS"]),
    (
        "collectors of diagnostics that wait for something to collect",
        &[
            "PREEMPTIVE_SP_SERVER_DIAGNOSTICS",
            "SP_PREEMPTIVE_SERVER_DIAGNOSTICS_SLEEP",
            "SP_SERVER_DIAGNOSTICS_SLEEP",
            "SQLTRACE_BUFFER_FLUSH",
            "SQLTRACE_INCREMENTAL_FLUSH_SLEEP",
            "SQLTRACE_WAIT_ENTRIES",
            "TRACE_EVTNOTIF",
            "XE_DISPATCHER_JOIN",
            "XE_DISPATCHER_WAIT",
            "XE_LIVE_TARGET_TVF",
            "XE_TIMER_EVENT",
        ],
    ),
    (
        "Service Broker without messages",
        &["BROKER_EVENTHANDLER", "BROKER_RECEIVE_WAITFOR", "BROKER_TASK_STOP", "BROKER_TO_FLUSH", "BROKER_TRANSMITTER"],
    ),
    (
        "mirroring, availability groups and their redo without work",
        &[
            "DBMIRRORING_CMD",
            "DBMIRROR_DBM_EVENT",
            "DBMIRROR_EVENTS_QUEUE",
            "DBMIRROR_WORKER_QUEUE",
            "HADR_BACKUP_QUEUE",
            "HADR_FABRIC_CALLBACK",
            "HADR_FILESTREAM_IOMGR_IOCOMPLETION",
            "HADR_LOGCAPTURE_WAIT",
            "HADR_NOTIFICATION_DEQUEUE",
            "HADR_TIMER_TASK",
            "HADR_WORK_QUEUE",
            "PARALLEL_REDO_WORKER_WAIT_WORK",
            "PREEMPTIVE_HADR_LEASE_MECHANISM",
            "REDO_THREAD_PENDING_WORK",
            "VDI_CLIENT_OTHER",
        ],
    ),
    ("the common language runtime's own threads", &["CLR_AUTO_EVENT", "CLR_MANUAL_EVENT", "CLR_SEMAPHORE"]),
    ("an idle full-text engine", &["FT_IFTSHC_MUTEX", "FT_IFTS_SCHEDULER_IDLE_WAIT"]),
    (
        "Query Store's background tasks",
        &[
            "QDS_ASYNC_QUEUE",
            "QDS_BCKG_TASK",
            "QDS_CLEANUP_STALE_QUERIES_TASK_MAIN_LOOP_SLEEP",
            "QDS_PERSIST_TASK_MAIN_LOOP_SLEEP",
            "QDS_SHUTDOWN_QUEUE",
        ],
    ),
    (
        "In-Memory OLTP's checkpoints without anything to write",
        &["WAIT_XTP_CKPT_CLOSE", "WAIT_XTP_HOST_WAIT", "WAIT_XTP_OFFLINE_CKPT_NEW_LOG", "XTP_PREEMPTIVE_TASK"],
    ),
];

/// Whether a wait of this name is somebody's idleness.
pub fn is_benign(name: &str) -> bool {
    BENIGN.iter().any(|(_, names)| names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idleness_is_left_out_and_what_holds_sessions_up_stays() {
        for (name, benign) in [
            ("LAZYWRITER_SLEEP", true),
            ("SLEEP_TASK", true),
            ("XE_DISPATCHER_WAIT", true),
            ("WAITFOR", true),
            ("WRITELOG", false),
            ("LCK_M_X", false),
            ("XE_SERVICES_RWLOCK", false),
            ("XE_BUFFERMGR_FREEBUF_EVENT", false),
            ("WAIT_ON_SYNC_STATISTICS_REFRESH", false),
            ("SOS_SCHEDULER_YIELD", false),
            ("THREADPOOL", false),
            ("SLEEP_BPOOL_FLUSH", false), // a checkpoint that holds itself back
            ("LOGMGR_RESERVE_APPEND", false),
            ("HADR_SYNC_COMMIT", false),
            ("waitfor", false),
            ("", false),
        ] {
            assert_eq!(is_benign(name), benign, "{name}");
        }
    }

    #[test]
    fn every_wait_is_listed_once_and_in_order() {
        for (reason, names) in BENIGN {
            assert!(names.is_sorted(), "{reason}");
        }
        let mut all: Vec<&str> = BENIGN.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let listed = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), listed);
    }
}
