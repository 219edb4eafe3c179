//! What a SQL Server allows and how it is set, against what the study takes of it.
//!
//! Engines that only speak its protocol lack views, settings and functions: what cannot be asked of them is told as that
//! and stops nothing.

use super::{AgentFacts, Answer, Answers, Finding, Login, Question, quoted, rows};
use crate::sql::bracketed;
use crate::study::{Pacing, Profile, Study, Workload};

const SERVER: &str = "server";
const SETTINGS: &str = "server settings";
const PERMISSION: &str = "permission to see the server's state";
const COUNTERS: &str = "performance counters";
const CONNECTED: &str = "connected sessions";
const DATABASE: &str = "database settings";

/// First version with permissions of their own for parts of the server's state.
const SPLIT_PERMISSIONS: u64 = 16;
/// SERVERPROPERTY('EngineEdition').
const EXPRESS: &str = "4";
const AZURE_DATABASE: &str = "5";

pub(super) fn questions() -> Vec<Question> {
    let question = |id: &str, login, sql: &str| Question { id: id.to_owned(), sql: sql.to_owned(), login };
    vec![
        question(
            SERVER,
            Login::Target,
            "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), CAST(SERVERPROPERTY('Edition') AS \
             nvarchar(128)), CAST(SERVERPROPERTY('EngineEdition') AS nvarchar(128)), CAST(@@MAX_CONNECTIONS AS \
             nvarchar(128)), CAST(@@VERSION AS nvarchar(300))",
        ),
        question(
            SETTINGS,
            Login::Target,
            "SELECT name, CAST(CAST(value_in_use AS bigint) AS nvarchar(20)) FROM sys.configurations WHERE name IN ('max \
             degree of parallelism', 'max worker threads', 'lightweight pooling')",
        ),
        question(
            DATABASE,
            Login::Target,
            "SELECT name, CAST(is_read_committed_snapshot_on AS int), recovery_model_desc, delayed_durability_desc FROM \
             sys.databases WHERE database_id = DB_ID()",
        ),
        question(
            PERMISSION,
            Login::Control,
            "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER \
             PERFORMANCE STATE'), SUSER_SNAME()",
        ),
        question(COUNTERS, Login::Control, "SELECT COUNT(*) FROM sys.dm_os_performance_counters"),
        question(CONNECTED, Login::Control, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1"),
    ]
}

/// Whether a failed answer to the question is found here.
pub(super) fn is_own(question: &Question) -> bool {
    question.id == COUNTERS
}

/// The server's answers, beside the study that they are held against.
struct Server<'a> {
    study: &'a Study,
    answers: &'a Answers,
    /// Agents that drive; each opens a spare connection to stop queries through before its sessions.
    drivers: u64,
}

pub(super) fn findings(study: &Study, answers: &Answers, agents: &[AgentFacts]) -> Vec<Finding> {
    let drivers = agents.iter().filter(|agent| agent.sessions_wanted > 0).count() as u64;
    let server = Server { study, answers, drivers };
    [
        server.identity(),
        server.connections(),
        server.workers(),
        server.permission(),
        server.counters(),
        server.requests(),
        server.durability(),
        server.settings(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Server<'_> {
    /// A cell of the only row of an answer.
    fn cell(&self, question: &str, column: usize) -> Option<&str> {
        rows(self.answers, question).first()?.get(column)?.as_deref()
    }

    fn setting(&self, name: &str) -> Option<u64> {
        let row =
            rows(self.answers, SETTINGS).iter().find(|row| row.first().and_then(|it| it.as_deref()) == Some(name))?;
        row.get(1)?.as_deref()?.parse().ok()
    }

    fn major_version(&self) -> Option<u64> {
        self.cell(SERVER, 0)?.split('.').next()?.parse().ok()
    }

    fn largest(&self) -> Option<&Profile> {
        self.study.profiles.iter().max_by_key(|profile| profile.sessions())
    }

    /// The first line of what the server says of itself; the rest is a copyright and the operating system's name.
    fn product(&self) -> Option<&str> {
        Some(self.cell(SERVER, 4)?.lines().next()?.trim())
    }

    /// Or does it only speak SQL Server's protocol?
    fn is_microsofts(&self) -> bool {
        self.product().is_none_or(|product| product.starts_with("Microsoft"))
    }

    fn identity(&self) -> Option<Finding> {
        let (version, edition) = (self.cell(SERVER, 0)?, self.cell(SERVER, 1).unwrap_or("unknown edition"));
        let what = format!("the server is {}, version {version}, {edition}", self.product()?);
        if !self.is_microsofts() {
            return Some(Finding::note(what, "expect it to lack what only SQL Server itself has"));
        }
        Some(match self.cell(SERVER, 2) {
            Some(EXPRESS) => Finding::warning(
                what,
                "expect at most 4 cores and 1.4 GB of cache to be used: Express has such limits; Developer has none and \
                 costs nothing",
            ),
            Some(AZURE_DATABASE) if self.changes_the_server() => Finding::fatal(
                what,
                "remove the variants with presets: Azure SQL Database has neither server audits nor event sessions of a \
                 server, and no USE",
            ),
            Some(AZURE_DATABASE) => Finding::warning(
                what,
                "expect no counters of the database: Azure SQL Database gives them other names; NOPM is counted all the \
                 same",
            ),
            _ => Finding::note(what, "name it beside every figure"),
        })
    }

    /// Whether a variant switches something on that belongs to the server, as presets do.
    fn changes_the_server(&self) -> bool {
        self.study.variants.iter().any(|variant| !variant.change.footprint.is_empty())
    }

    /// Connections beside the sessions and the agents' spare ones: control statements and counters, and TPROC-C's orders.
    fn control_connections(&self) -> u64 {
        if matches!(self.study.workload, Workload::Tprocc(_)) { 3 } else { 2 }
    }

    /// Connections of others stay; the one that asked has gone by then.
    fn connections(&self) -> Option<Finding> {
        let profile = self.largest()?;
        let allowed: u64 = self.cell(SERVER, 3)?.parse().ok()?;
        let connected = self.cell(CONNECTED, 0).and_then(|count| count.parse().ok()).unwrap_or(1_u64);
        let others = connected.saturating_sub(1);
        let (sessions, control) = (u64::from(profile.sessions()), self.control_connections());
        let wanted = sessions + self.drivers + control;
        (allowed > 0 && wanted + others > allowed).then(|| {
            let what = format!(
                "profile {} needs {wanted} connections ({sessions} sessions, {} spare of the driving agents, and {control} \
                 for control and counters), but @@MAX_CONNECTIONS is {allowed} and others use {others}",
                profile.id, self.drivers,
            );
            let remedy = format!(
                "EXEC sp_configure 'user connections', {} (an advanced option), RECONFIGURE and restart the server, or \
                 lower the profile's vus",
                wanted + others
            );
            Finding::fatal(what, remedy)
        })
    }

    /// A request without a worker waits for one: THREADPOOL.
    fn workers(&self) -> Option<Finding> {
        // 0 is the server's own choice, by its processors.
        let workers = self.setting("max worker threads").filter(|workers| *workers > 0)?;
        let busy = self.study.profiles.iter().filter(|profile| profile.pacing == Pacing::None);
        let profile = busy.max_by_key(|profile| profile.sessions())?;
        let sessions = u64::from(profile.sessions());
        (sessions > workers).then(|| {
            let what = format!(
                "profile {} has {sessions} sessions that never pause, but the server has {workers} workers (max worker \
                 threads): the others queue for one (THREADPOOL)",
                profile.id
            );
            let remedy =
                format!("EXEC sp_configure 'max worker threads', {sessions} and RECONFIGURE, or expect the queue");
            Finding::warning(what, remedy)
        })
    }

    fn may_see_state(&self) -> Option<bool> {
        let answered = !rows(self.answers, PERMISSION).is_empty();
        answered.then(|| (0..2).any(|column| self.cell(PERMISSION, column) == Some("1")))
    }

    fn permission(&self) -> Option<Finding> {
        if self.may_see_state()? || !self.is_microsofts() {
            return None;
        }
        let login = self.cell(PERMISSION, 2).unwrap_or("LOGIN");
        let name = match self.major_version() {
            Some(version) if version >= SPLIT_PERMISSIONS => "VIEW SERVER PERFORMANCE STATE",
            _ => "VIEW SERVER STATE",
        };
        let what = format!(
            "the control login {login} may not see the server's state: its runs will have no TPM, no batch requests, no \
             waits and no CPU of the server's process, and cannot look at requests"
        );
        Some(Finding::warning(what, format!("USE master; GRANT {name} TO {}", bracketed(login))))
    }

    /// A login that may not see them has been told so.
    fn counters(&self) -> Option<Finding> {
        if self.may_see_state() == Some(false) && self.is_microsofts() {
            return None;
        }
        match self.answers.get(COUNTERS)? {
            Answer::Failed(error) => Some(Finding::warning(
                format!("the server's counters cannot be read: {error}"),
                "expect neither TPM nor batch requests; NOPM is counted all the same",
            )),
            Answer::Rows(_) if self.cell(COUNTERS, 0) == Some("0") => Some(Finding::warning(
                "the server's performance counters are disabled: its runs will have neither TPM nor batch requests",
                "look for error 3409 in the setup log, and reinstall sqlctr.ini of the instance",
            )),
            Answer::Rows(_) => None,
        }
    }

    /// Without the permission every session sees its own requests alone, and nothing says so.
    fn requests(&self) -> Option<Finding> {
        let blind = self.may_see_state() == Some(false) || !self.is_microsofts();
        (blind && self.study.monitor.requests).then(|| {
            Finding::fatal(
                "monitor.requests is true, but the control login sees no requests but its own, if any",
                "grant it VIEW SERVER STATE on SQL Server itself, or write monitor.requests = false",
            )
        })
    }

    fn pinned(&self, name: &str) -> bool {
        self.study.require.iter().any(|require| require.sql.to_ascii_lowercase().contains(name))
    }

    fn durability(&self) -> Option<Finding> {
        let name = "delayed_durability_desc";
        let value = self.cell(DATABASE, 3).filter(|value| *value != "DISABLED")?;
        (!self.pinned(name)).then(|| {
            let what = format!(
                "delayed durability of the database is {value}: commits may be answered before they are durable"
            );
            Finding::note(what, self.keep_database_setting(name, value))
        })
    }

    fn keep_database_setting(&self, column: &str, value: &str) -> String {
        let database = self.study.target.database.as_deref().unwrap_or_default();
        format!(
            "keep it the same in all runs: [[require]] sql = \"SELECT {column} FROM sys.databases WHERE name = {}\", \
             equals = \"{value}\"",
            quoted(database)
        )
    }

    /// What changes figures and is not in them.
    fn settings(&self) -> Option<Finding> {
        let mut told = Vec::new();
        if let Some(snapshot) = self.cell(DATABASE, 1).filter(|_| !self.pinned("is_read_committed_snapshot_on")) {
            told.push(format!("READ_COMMITTED_SNAPSHOT {}", if snapshot == "1" { "ON" } else { "OFF" }));
        }
        if let Some(model) = self.cell(DATABASE, 2).filter(|_| !self.pinned("recovery_model")) {
            told.push(format!("recovery model {model}"));
        }
        for (name, short) in [("max degree of parallelism", "MAXDOP"), ("lightweight pooling", "lightweight pooling")] {
            if let Some(value) = self.setting(name).filter(|_| !self.pinned(name)) {
                told.push(format!("{short} {value}"));
            }
        }
        (!told.is_empty()).then(|| {
            let remedy = "keep them the same in all runs: [[require]] sql = \"SELECT CAST(value_in_use AS int) FROM \
                          sys.configurations WHERE name = 'max degree of parallelism'\", equals = \"1\", and the like";
            Finding::note(format!("the database runs with {}", told.join(", ")), remedy)
        })
    }
}
