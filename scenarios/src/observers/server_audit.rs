//! MariaDB's audit plugin, `server_audit`.
//!
//! What was seen of it: switching it on with a file that cannot be made succeeds and leaves it off, so `verify` reads
//! Server_audit_active. Its settings exist only while it is loaded. Unloaded while a connection has used it, it is merely
//! marked; until that connection ends, loading it again succeeds and does nothing.
//!
//! Worse, a connection that was opened while the plugin was marked must not load and set it: MariaDB 10.11 then waits for a
//! lock that it holds itself, and nobody can connect any more. So the waiting is done by what is remembered, on a connection of
//! its own, before `apply` opens the one that loads the plugin.
//!
//! No query tells the size of the audit's file: the plugin makes it unreadable to LOAD_FILE.

use super::{growing, remember, require, sql};
use crate::sql::literal;
use crate::study::{Action, Change, Remember, Require, When};

/// A class of events of the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditEvent(pub &'static str);

impl AuditEvent {
    /// Every class.
    pub const ALL: &[AuditEvent] = &[
        AuditEvent("CONNECT"),
        AuditEvent("QUERY"),
        AuditEvent("TABLE"),
        AuditEvent("QUERY_DDL"),
        AuditEvent("QUERY_DML"),
        AuditEvent("QUERY_DML_NO_SELECT"),
        AuditEvent("QUERY_DCL"),
    ];
}

/// Parameters of the preset `mariadb-server-audit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAudit {
    /// What is recorded; none: everything.
    pub events: Vec<AuditEvent>,
    /// The file on the database's host, relative to the data directory.
    pub file: String,
    /// Bytes after which the file is rotated.
    pub rotate_bytes: u64,
    /// Rotated files that are kept; 0: the file is never rotated.
    pub rotations: u32,
    /// Users whose statements are not recorded.
    pub exclude_users: Vec<String>,
    /// Whether the plugin stays loaded between runs, switched off.
    pub keep_plugin: bool,
}

/// Whether the plugin is loaded and not about to be unloaded.
const LOADED: &str = "FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'SERVER_AUDIT' AND PLUGIN_STATUS = 'ACTIVE'";

const MARKED: &str = "EXISTS (SELECT 1 FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'SERVER_AUDIT' AND PLUGIN_STATUS = 'DELETED')";

/// Settings with texts and with numbers that `apply` changes.
const TEXTS: [&str; 5] = [
    "server_audit_events",
    "server_audit_excl_users",
    "server_audit_incl_users",
    "server_audit_file_path",
    "server_audit_output_type",
];
const NUMBERS: [&str; 2] = ["server_audit_file_rotate_size", "server_audit_file_rotations"];

impl ServerAudit {
    /// What switches it on, and what puts plugin and settings back to how they were.
    pub fn change(&self) -> Change {
        Change {
            when: When::default(),
            remember: self.remember(),
            apply: self.apply(),
            verify: self.verify(),
            revert: self.revert(),
            undone: self.undone(),
            footprint: vec![growing("events_dropped", status("SERVER_AUDIT_WRITES_FAILED"))],
        }
    }

    /// Statements, because what has to be done depends on whether the plugin was there.
    fn remember(&self) -> Vec<Remember> {
        let mut all = vec![
            remember("waited", wait()),
            remember("settings", settings_statement()),
            remember("logging", logging_statement()),
            remember("active", active()),
            remember("loaded", format!("SELECT COUNT(*) {LOADED}")),
        ];
        if !self.keep_plugin {
            let unload = "UNINSTALL SONAME IF EXISTS ''server_audit''";
            all.push(remember("unload", format!("SELECT IF(COUNT(*) > 0, 'DO 0', '{unload}') {LOADED}")));
        }
        all
    }

    fn apply(&self) -> Vec<Action> {
        let mut all =
            vec![sql(format!("BEGIN NOT ATOMIC {}; END", refuse_marked())), sql("INSTALL SONAME 'server_audit'")];
        all.extend(switch_off());
        let events: Vec<_> = self.events.iter().map(|event| event.0).collect();
        for (setting, value) in [
            ("server_audit_output_type", literal("file")),
            ("server_audit_file_path", literal(&self.file)),
            ("server_audit_file_rotate_size", self.rotate_bytes.to_string()),
            ("server_audit_file_rotations", self.rotations.to_string()),
            ("server_audit_events", literal(&events.join(","))),
            ("server_audit_incl_users", literal("")),
            ("server_audit_excl_users", literal(&self.exclude_users.join(","))),
            ("server_audit_logging", "ON".to_owned()),
        ] {
            all.push(sql(format!("SET GLOBAL {setting} = {value}")));
        }
        all
    }

    fn verify(&self) -> Vec<Require> {
        let events: Vec<_> = self.events.iter().map(|event| event.0).collect();
        vec![
            require(status("SERVER_AUDIT_ACTIVE"), "ON"),
            require(status("SERVER_AUDIT_CURRENT_LOG"), self.file.as_str()),
            require("SELECT @@global.server_audit_events", events.join(",")),
            require("SELECT @@global.server_audit_excl_users", self.exclude_users.join(",")),
        ]
    }

    fn revert(&self) -> Vec<Action> {
        let mut all = Vec::from(switch_off());
        all.push(sql("{remembered:settings}"));
        all.push(sql("{remembered:logging}"));
        if !self.keep_plugin {
            all.push(sql("{remembered:unload}"));
        }
        all
    }

    fn undone(&self) -> Vec<Require> {
        let mut all = vec![require(active(), "{remembered:active}")];
        if !self.keep_plugin {
            all.push(require(format!("SELECT COUNT(*) {LOADED}"), "{remembered:loaded}"));
        }
        all
    }
}

/// Five seconds at most, in tenths of one, for connections that have used the plugin to end.
fn wait() -> String {
    format!(
        "BEGIN NOT ATOMIC DECLARE turn INT DEFAULT 0; WHILE turn < 50 AND {MARKED} DO DO SLEEP(0.1); SET turn = turn + 1; END \
         WHILE; {}; SELECT turn; END",
        refuse_marked()
    )
}

fn refuse_marked() -> String {
    format!(
        "IF {MARKED} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'server_audit cannot be loaded before a connection that \
         used it has ended: end it, or write keep_plugin = true'; END IF"
    )
}

/// Whether it records, OFF where it is not loaded.
fn active() -> String {
    format!("SELECT COALESCE(({}), 'OFF')", status("SERVER_AUDIT_ACTIVE"))
}

fn status(name: &str) -> String {
    format!("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '{name}'")
}

/// Two statements that switch logging off where the plugin is loaded, and do nothing elsewhere. Its settings are not even
/// names where it is not, so the statement is made by the server.
fn switch_off() -> [Action; 2] {
    [
        sql(format!(
            "SET @vufleet = (SELECT IF(COUNT(*) > 0, 'SET GLOBAL server_audit_logging = OFF', 'DO 0') {LOADED})"
        )),
        sql("EXECUTE IMMEDIATE @vufleet"),
    ]
}

/// A query of the statement that switches logging as it is now, or of one that does nothing where the plugin is not loaded.
fn logging_statement() -> String {
    "SELECT COALESCE((SELECT CONCAT('SET GLOBAL server_audit_logging = ', VARIABLE_VALUE) FROM \
     information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME = 'server_audit_logging'), 'DO 0')"
        .to_owned()
}

/// The same of every other setting that `apply` changes.
fn settings_statement() -> String {
    let names = |names: &[&str]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let numbers = names(&NUMBERS);
    format!(
        "SELECT COALESCE((SELECT CONCAT('SET ', GROUP_CONCAT(CONCAT('GLOBAL ', LOWER(VARIABLE_NAME), ' = ', IF(VARIABLE_NAME \
         IN ({numbers}), VARIABLE_VALUE, QUOTE(VARIABLE_VALUE))) ORDER BY VARIABLE_NAME SEPARATOR ', ')) FROM \
         information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME IN ({numbers}, {})), 'DO 0')",
        names(&TEXTS)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit() -> ServerAudit {
        ServerAudit {
            events: vec![AuditEvent("CONNECT"), AuditEvent("QUERY")],
            file: "/tmp/it's.log".to_owned(),
            rotate_bytes: 1_000_000,
            rotations: 9,
            exclude_users: vec!["root".to_owned(), "o'neil".to_owned()],
            keep_plugin: false,
        }
    }

    #[test]
    fn loading_comes_first_and_logging_last() {
        let change = audit().change();
        let position = |words: &str| {
            let has = |action: &Action| matches!(action, Action::Sql(sql) if sql.starts_with(words));
            change.apply.iter().position(has).unwrap_or_else(|| panic!("{words}"))
        };
        assert!(
            change.remember[0].sql.contains("SLEEP"),
            "the waiting is not done on the connection that loads the plugin"
        );
        assert!(change.apply.iter().all(|action| !matches!(action, Action::Sql(sql) if sql.contains("SLEEP"))));
        assert!(position("BEGIN NOT ATOMIC") < position("INSTALL SONAME"));
        assert!(position("INSTALL SONAME") < position("EXECUTE IMMEDIATE"));
        assert!(position("EXECUTE IMMEDIATE") < position("SET GLOBAL server_audit_file_path = '/tmp/it''s.log'"));
        assert!(
            position("SET GLOBAL server_audit_excl_users = 'root,o''neil'")
                < position("SET GLOBAL server_audit_logging")
        );
        assert_eq!(position("SET GLOBAL server_audit_logging = ON"), change.apply.len() - 1);
    }

    #[test]
    fn a_plugin_that_is_kept_is_only_switched_off() {
        let change = ServerAudit { keep_plugin: true, ..audit() }.change();
        assert!(change.remember.iter().all(|it| it.name != "unload"));
        assert!(!change.revert.contains(&sql("{remembered:unload}")));
        assert_eq!(audit().change().revert.last(), Some(&sql("{remembered:unload}")));
    }

    #[test]
    fn everything_is_an_empty_list_to_the_server() {
        let change = ServerAudit { events: Vec::new(), ..audit() }.change();
        assert!(change.apply.contains(&sql("SET GLOBAL server_audit_events = ''")));
        assert_eq!(change.verify[2].equals, "");
    }
}
