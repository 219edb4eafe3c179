//! SQL Server: its configuration in use, the options of the target's database, what the server is and runs on, and its trace
//! flags.
//!
//! Microsoft's pages on `sys.configurations`, `sys.databases`, `sys.database_scoped_configurations` (from 2016), SERVERPROPERTY,
//! `sys.dm_os_sys_info` (VIEW SERVER STATE) and DBCC TRACESTATUS say what is in them. Each is asked by itself: what one login or
//! version refuses leaves the others. Sizes of files are no settings: their growth would tell how much was written.

use super::{Form, Question};
use crate::sql::{bracketed, national};

/// Columns of `sys.databases` that SQL Server 2016 has, and what they are called here.
const DATABASE: [(&str, &str); 18] = [
    ("collation_name", "collation"),
    ("compatibility_level", "compatibility level"),
    ("delayed_durability_desc", "delayed durability"),
    ("is_auto_close_on", "auto close"),
    ("is_auto_create_stats_on", "auto create statistics"),
    ("is_auto_shrink_on", "auto shrink"),
    ("is_auto_update_stats_async_on", "auto update statistics asynchronously"),
    ("is_auto_update_stats_on", "auto update statistics"),
    ("is_cdc_enabled", "change data capture"),
    ("is_encrypted", "encrypted"),
    ("is_parameterization_forced", "forced parameterization"),
    ("is_query_store_on", "query store"),
    ("is_read_committed_snapshot_on", "read committed snapshot"),
    ("is_trustworthy_on", "trustworthy"),
    ("page_verify_option_desc", "page verify"),
    ("recovery_model_desc", "recovery model"),
    ("snapshot_isolation_state_desc", "snapshot isolation"),
    ("target_recovery_time_in_seconds", "target recovery time (s)"),
];

const PROPERTIES: [&str; 8] = [
    "Collation",
    "Edition",
    "IsClustered",
    "IsHadrEnabled",
    "IsIntegratedSecurityOnly",
    "ProductLevel",
    "ProductUpdateLevel",
    "ProductVersion",
];

const SYSTEM: [&str; 7] = [
    "affinity_type_desc",
    "cpu_count",
    "hyperthread_ratio",
    "max_workers_count",
    "physical_memory_kb",
    "scheduler_count",
    "virtual_machine_type_desc",
];

pub(super) fn questions(database: Option<&str>) -> Vec<Question> {
    let (own, scope) = match database {
        Some(name) => (national(name), format!("{}.", bracketed(name))),
        None => ("DB_NAME()".to_owned(), String::new()),
    };
    let question = |what, sql, prefix| Question { what, sql, rows: Form::Named(prefix) };
    let configurations = "SELECT name, CONVERT(nvarchar(64), value_in_use) FROM sys.configurations".to_owned();
    let scoped = format!("SELECT name, CONVERT(nvarchar(64), value) FROM {scope}sys.database_scoped_configurations");
    vec![
        question("sys.configurations", configurations, ""),
        question("sys.databases", of_database(&own), "database: "),
        question("sys.database_scoped_configurations", scoped, "database: "),
        question("SERVERPROPERTY", properties(), "server: "),
        question("sys.dm_os_sys_info", system(), "server: "),
        question("DBCC TRACESTATUS", "DBCC TRACESTATUS (-1) WITH NO_INFOMSGS".to_owned(), "trace flag "),
    ]
}

fn of_database(name: &str) -> String {
    let column = |(column, called): (&str, &str)| {
        format!("SELECT {}, CONVERT(nvarchar(128), {column}) FROM sys.databases WHERE name = {name}", national(called))
    };
    DATABASE.map(column).join(" UNION ALL ")
}

fn properties() -> String {
    let property =
        |name: &str| format!("SELECT {name}, CONVERT(nvarchar(128), SERVERPROPERTY({name}))", name = national(name));
    let version = "SELECT N'version', CONVERT(nvarchar(400), @@VERSION)".to_owned();
    [vec![version], PROPERTIES.map(property).to_vec()].concat().join(" UNION ALL ")
}

fn system() -> String {
    let column =
        |name: &str| format!("SELECT {}, CONVERT(nvarchar(128), {name}) FROM sys.dm_os_sys_info", national(name));
    SYSTEM.map(column).join(" UNION ALL ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_as_it_is_whatever_is_in_its_name() {
        let named = questions(Some("it's]"));
        assert!(named[1].sql.contains("WHERE name = N'it''s]'"), "{}", named[1].sql);
        assert!(named[2].sql.ends_with("FROM [it's]]].sys.database_scoped_configurations"), "{}", named[2].sql);
        assert!(questions(None)[1].sql.contains("WHERE name = DB_NAME()"));
    }
}
