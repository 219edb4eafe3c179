//! SQL Server Audit: a server audit that writes to files, and a database audit specification that feeds it.
//!
//! Switching an audit on succeeds even where its file cannot be made; only `sys.dm_server_audit_status` tells, which is why
//! `verify` reads it. The specification goes first when undoing: an audit that one still names cannot be dropped cleanly.

use super::{growing, require, sql};
use crate::sql::{bracketed, national};
use crate::study::{Action, Change, When};

/// What SQL Server does when the audit's file cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFailure {
    /// Goes on without a record.
    Continue,
    /// Shuts itself down.
    Shutdown,
    /// Fails what would have been recorded.
    FailOperation,
}

impl AuditFailure {
    /// The word in T-SQL, and the number of `sys.server_audits.on_failure`.
    fn words(self) -> (&'static str, u8) {
        match self {
            AuditFailure::Continue => ("CONTINUE", 0),
            AuditFailure::Shutdown => ("SHUTDOWN", 1),
            AuditFailure::FailOperation => ("FAIL_OPERATION", 2),
        }
    }
}

/// What is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditAction {
    /// An action on objects, for example `SELECT`.
    Action(&'static str),
    /// A group of actions of the whole database, for example `SCHEMA_OBJECT_ACCESS_GROUP`.
    Group(&'static str),
}

impl AuditAction {
    /// Every action and group of a database, in T-SQL's words.
    /// <https://learn.microsoft.com/sql/relational-databases/security/auditing/sql-server-audit-action-groups-and-actions>
    pub const ALL: &[AuditAction] = {
        use AuditAction::{Action, Group};
        &[
            Action("SELECT"),
            Action("UPDATE"),
            Action("INSERT"),
            Action("DELETE"),
            Action("EXECUTE"),
            Action("RECEIVE"),
            Action("REFERENCES"),
            Group("APPLICATION_ROLE_CHANGE_PASSWORD_GROUP"),
            Group("AUDIT_CHANGE_GROUP"),
            Group("BACKUP_RESTORE_GROUP"),
            Group("BATCH_COMPLETED_GROUP"),
            Group("BATCH_STARTED_GROUP"),
            Group("DATABASE_CHANGE_GROUP"),
            Group("DATABASE_LOGOUT_GROUP"),
            Group("DATABASE_OBJECT_ACCESS_GROUP"),
            Group("DATABASE_OBJECT_CHANGE_GROUP"),
            Group("DATABASE_OBJECT_OWNERSHIP_CHANGE_GROUP"),
            Group("DATABASE_OBJECT_PERMISSION_CHANGE_GROUP"),
            Group("DATABASE_OPERATION_GROUP"),
            Group("DATABASE_OWNERSHIP_CHANGE_GROUP"),
            Group("DATABASE_PERMISSION_CHANGE_GROUP"),
            Group("DATABASE_PRINCIPAL_CHANGE_GROUP"),
            Group("DATABASE_PRINCIPAL_IMPERSONATION_GROUP"),
            Group("DATABASE_ROLE_MEMBER_CHANGE_GROUP"),
            Group("DBCC_GROUP"),
            Group("FAILED_DATABASE_AUTHENTICATION_GROUP"),
            Group("SCHEMA_OBJECT_ACCESS_GROUP"),
            Group("SCHEMA_OBJECT_CHANGE_GROUP"),
            Group("SCHEMA_OBJECT_OWNERSHIP_CHANGE_GROUP"),
            Group("SCHEMA_OBJECT_PERMISSION_CHANGE_GROUP"),
            Group("SUCCESSFUL_DATABASE_AUTHENTICATION_GROUP"),
            Group("USER_CHANGE_PASSWORD_GROUP"),
            Group("USER_DEFINED_AUDIT_GROUP"),
        ]
    };

    /// Its word in T-SQL.
    pub fn word(self) -> &'static str {
        match self {
            AuditAction::Action(word) | AuditAction::Group(word) => word,
        }
    }
}

/// A table, view or procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditObject {
    /// Its schema.
    pub schema: String,
    /// Its name there.
    pub name: String,
}

/// Parameters of the preset `mssql-audit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MssqlAudit {
    /// Name of the audit and of its specification; whatever had that name before is gone.
    pub name: String,
    /// The database whose objects are audited.
    pub database: String,
    /// Directory on the database's host.
    pub path: String,
    /// Largest file in MB; none: until the disk is full.
    pub max_size_mb: Option<u64>,
    /// Files that are kept beside the current one; none: all.
    pub rollover_files: Option<u32>,
    /// Whether files take their largest size at once.
    pub reserve_disk_space: bool,
    /// Milliseconds that a record may wait in memory: 0 (each is written before its statement ends) or at least 1000.
    pub queue_delay_ms: u32,
    /// What happens when a record cannot be written.
    pub on_failure: AuditFailure,
    /// What is recorded, at least one.
    pub actions: Vec<AuditAction>,
    /// Where actions are recorded; none: in the whole database. Groups have no objects.
    pub objects: Vec<AuditObject>,
    /// Of whose statements.
    pub principal: String,
}

impl MssqlAudit {
    /// The shortest delay of an audit that does not wait for its file, in milliseconds.
    pub const LEAST_DELAY_MS: u32 = 1000;

    /// What switches it on and off.
    pub fn change(&self) -> Change {
        let audit = bracketed(&self.name);
        let state = format!("USE [master];\nALTER SERVER AUDIT {audit} WITH (STATE = ON);");
        Change {
            when: When::default(),
            remember: Vec::new(),
            apply: self
                .removal()
                .into_iter()
                .chain([sql(self.server_audit()), sql(state), sql(self.specification())])
                .collect(),
            verify: self.verify(),
            revert: self.removal().into(),
            undone: vec![
                require(format!("SELECT COUNT(*) FROM {}", self.named("master", "server_audits")), "0"),
                require(
                    format!("SELECT COUNT(*) FROM {}", self.named(&self.database, "database_audit_specifications")),
                    "0",
                ),
            ],
            footprint: self.footprint(),
        }
    }

    /// Takes away what bears the name, and does nothing where nothing does.
    fn removal(&self) -> [Action; 2] {
        let name = bracketed(&self.name);
        let one = |database: &str, view: &str, class: &str| {
            sql(format!(
                "USE {};\nIF EXISTS (SELECT * FROM sys.{view} WHERE name = {})\nBEGIN\n    ALTER {class} {name} WITH (STATE = \
                 OFF);\n    DROP {class} {name};\nEND;",
                bracketed(database),
                national(&self.name),
            ))
        };
        [
            one(&self.database, "database_audit_specifications", "DATABASE AUDIT SPECIFICATION"),
            one("master", "server_audits", "SERVER AUDIT"),
        ]
    }

    fn server_audit(&self) -> String {
        let size = self.max_size_mb.map_or("UNLIMITED".to_owned(), |size| format!("{size} MB"));
        let files = self.rollover_files.map_or("UNLIMITED".to_owned(), |files| files.to_string());
        format!(
            "USE [master];\nCREATE SERVER AUDIT {}\n    TO FILE (FILEPATH = {}, MAXSIZE = {size}, MAX_ROLLOVER_FILES = {files}, \
             RESERVE_DISK_SPACE = {})\n    WITH (QUEUE_DELAY = {}, ON_FAILURE = {});",
            bracketed(&self.name),
            national(&self.path),
            if self.reserve_disk_space { "ON" } else { "OFF" },
            self.queue_delay_ms,
            self.on_failure.words().0,
        )
    }

    fn specification(&self) -> String {
        format!(
            "USE {};\nCREATE DATABASE AUDIT SPECIFICATION {name}\n    FOR SERVER AUDIT {name}\n    {}\n    WITH (STATE = ON);",
            bracketed(&self.database),
            self.additions().join(",\n    "),
            name = bracketed(&self.name),
        )
    }

    /// One `ADD` for each group, and one for all actions on each object.
    fn additions(&self) -> Vec<String> {
        let groups = self.actions.iter().filter(|action| matches!(action, AuditAction::Group(_)));
        let mut additions: Vec<String> = groups.map(|group| format!("ADD ({})", group.word())).collect();
        let actions: Vec<_> = self.single_actions().map(AuditAction::word).collect();
        if !actions.is_empty() {
            let by = bracketed(&self.principal);
            additions.extend(
                self.securables().iter().map(|object| format!("ADD ({} ON {object} BY {by})", actions.join(", "))),
            );
        }
        additions
    }

    fn single_actions(&self) -> impl Iterator<Item = AuditAction> {
        self.actions.iter().copied().filter(|action| matches!(action, AuditAction::Action(_)))
    }

    fn securables(&self) -> Vec<String> {
        if self.objects.is_empty() {
            return vec![format!("DATABASE::{}", bracketed(&self.database))];
        }
        let one = |object: &AuditObject| format!("OBJECT::{}.{}", bracketed(&object.schema), bracketed(&object.name));
        self.objects.iter().map(one).collect()
    }

    /// What the specification records, one row each in `sys.database_audit_specification_details`.
    fn recorded(&self) -> usize {
        let single = self.single_actions().count();
        self.actions.len() - single + single * self.securables().len()
    }

    fn verify(&self) -> Vec<crate::study::Require> {
        let database = bracketed(&self.database);
        vec![
            require(
                format!(
                    "SELECT COUNT(*) FROM {} AND is_state_enabled = 1 AND queue_delay = {} AND on_failure = {}",
                    self.named("master", "server_audits"),
                    self.queue_delay_ms,
                    self.on_failure.words().1
                ),
                "1",
            ),
            require(
                format!("SELECT status_desc FROM sys.dm_server_audit_status WHERE name = {}", national(&self.name)),
                "STARTED",
            ),
            require(
                format!(
                    "SELECT COUNT(*) FROM {} AND is_state_enabled = 1",
                    self.named(&self.database, "database_audit_specifications")
                ),
                "1",
            ),
            require(
                format!(
                    "SELECT CASE WHEN COUNT(*) >= {} THEN 1 ELSE 0 END FROM {database}.sys.database_audit_specification_details \
                     AS d JOIN {database}.sys.database_audit_specifications AS s ON s.database_specification_id = \
                     d.database_specification_id WHERE s.name = {}",
                    self.recorded(),
                    national(&self.name)
                ),
                "1",
            ),
        ]
    }

    /// The audit is an Extended Events session inside; that session knows what was dropped.
    fn footprint(&self) -> Vec<crate::study::Footprint> {
        let dropped = |column: &str| {
            format!(
                "SELECT s.{column} FROM sys.dm_server_audit_status AS a JOIN sys.dm_xe_sessions AS s ON s.address = \
                 a.event_session_address WHERE a.name = {}",
                national(&self.name)
            )
        };
        let size =
            format!("SELECT audit_file_size FROM sys.dm_server_audit_status WHERE name = {}", national(&self.name));
        let mut footprint = vec![
            growing("events_dropped", dropped("dropped_event_count")),
            growing("buffers_dropped", dropped("dropped_buffer_count")),
        ];
        // The size is the current file's: where a file may be full and followed by another, it is not what was written.
        if self.max_size_mb.is_none() {
            footprint.push(growing("bytes_written", size));
        }
        footprint
    }

    fn named(&self, database: &str, view: &str) -> String {
        format!("{}.sys.{view} WHERE name = {}", bracketed(database), national(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit() -> MssqlAudit {
        MssqlAudit {
            name: "vufleet_audit".to_owned(),
            database: "tpcc".to_owned(),
            path: "C:\\audit\\".to_owned(),
            max_size_mb: Some(1024),
            rollover_files: Some(4),
            reserve_disk_space: false,
            queue_delay_ms: 1000,
            on_failure: AuditFailure::Continue,
            actions: vec![AuditAction::Action("SELECT")],
            objects: ["customer", "orders", "stock"].map(|name| object("dbo", name)).into(),
            principal: "public".to_owned(),
        }
    }

    fn object(schema: &str, name: &str) -> AuditObject {
        AuditObject { schema: schema.to_owned(), name: name.to_owned() }
    }

    fn texts(actions: &[Action]) -> Vec<&str> {
        let mut texts = Vec::new();
        for action in actions {
            match action {
                Action::Sql(sql) => texts.push(sql.as_str()),
                command @ Action::Command { .. } => panic!("{command:?}"),
            }
        }
        texts
    }

    #[test]
    fn the_second_experiment_reads_as_microsoft_writes_it() {
        let change = audit().change();
        assert_eq!(
            texts(&change.apply)[2..],
            [
                "USE [master];\nCREATE SERVER AUDIT [vufleet_audit]\n    TO FILE (FILEPATH = N'C:\\audit\\', MAXSIZE = 1024 MB, \
                 MAX_ROLLOVER_FILES = 4, RESERVE_DISK_SPACE = OFF)\n    WITH (QUEUE_DELAY = 1000, ON_FAILURE = CONTINUE);",
                "USE [master];\nALTER SERVER AUDIT [vufleet_audit] WITH (STATE = ON);",
                "USE [tpcc];\nCREATE DATABASE AUDIT SPECIFICATION [vufleet_audit]\n    FOR SERVER AUDIT [vufleet_audit]\n    \
                 ADD (SELECT ON OBJECT::[dbo].[customer] BY [public]),\n    ADD (SELECT ON OBJECT::[dbo].[orders] BY \
                 [public]),\n    ADD (SELECT ON OBJECT::[dbo].[stock] BY [public])\n    WITH (STATE = ON);",
            ]
        );
        assert_eq!(change.apply[..2], change.revert[..], "what is left of an earlier one goes first");
        assert_eq!(
            texts(&change.revert),
            [
                "USE [tpcc];\nIF EXISTS (SELECT * FROM sys.database_audit_specifications WHERE name = N'vufleet_audit')\n\
                 BEGIN\n    ALTER DATABASE AUDIT SPECIFICATION [vufleet_audit] WITH (STATE = OFF);\n    DROP DATABASE AUDIT \
                 SPECIFICATION [vufleet_audit];\nEND;",
                "USE [master];\nIF EXISTS (SELECT * FROM sys.server_audits WHERE name = N'vufleet_audit')\nBEGIN\n    ALTER \
                 SERVER AUDIT [vufleet_audit] WITH (STATE = OFF);\n    DROP SERVER AUDIT [vufleet_audit];\nEND;",
            ]
        );
    }

    #[test]
    fn what_was_asked_for_is_what_is_read_back() {
        let change = MssqlAudit { queue_delay_ms: 0, on_failure: AuditFailure::FailOperation, ..audit() }.change();
        assert!(change.verify[0].sql.ends_with("is_state_enabled = 1 AND queue_delay = 0 AND on_failure = 2"));
        assert_eq!(change.verify[1].equals, "STARTED");
        assert!(change.verify[3].sql.contains("COUNT(*) >= 3 "), "{}", change.verify[3].sql);
        assert!(change.undone.iter().all(|require| require.equals == "0"));
    }

    #[test]
    fn groups_have_no_objects_and_no_objects_mean_the_database() {
        let actions = vec![
            AuditAction::Group("SCHEMA_OBJECT_ACCESS_GROUP"),
            AuditAction::Action("DELETE"),
            AuditAction::Action("INSERT"),
        ];
        let audit = MssqlAudit { actions, objects: Vec::new(), ..audit() };
        assert_eq!(
            audit.additions(),
            ["ADD (SCHEMA_OBJECT_ACCESS_GROUP)", "ADD (DELETE, INSERT ON DATABASE::[tpcc] BY [public])"]
        );
        assert_eq!(audit.recorded(), 3);
    }

    #[test]
    fn hostile_names_stay_names() {
        let evil = "a];DROP TABLE x--";
        let audit = MssqlAudit {
            database: evil.to_owned(),
            path: "';DROP TABLE x--".to_owned(),
            objects: vec![object(evil, evil)],
            principal: evil.to_owned(),
            ..audit()
        };
        let change = audit.change();
        let quoted = "[a]];DROP TABLE x--]";
        assert!(texts(&change.apply)[4].contains(&format!("ON OBJECT::{quoted}.{quoted} BY {quoted})")));
        assert!(texts(&change.apply)[2].contains("FILEPATH = N''';DROP TABLE x--',"));
        for (sql, _) in change.texts() {
            let outside = sql.replace(quoted, "").replace("N''';DROP TABLE x--'", "");
            assert!(!outside.contains("TABLE"), "{sql}");
        }
    }
}
