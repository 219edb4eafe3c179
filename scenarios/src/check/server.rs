//! What a MySQL or MariaDB server allows, against what the study takes of it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::demand::Demand;
use super::{AgentFacts, Answers, Finding, Login, Question, quoted_list, rows};
use crate::study::{Pacing, Profile, Study, Workload};
use crate::workload::Times;

const VARIABLES: [&str; 7] = [
    "back_log",
    "innodb_flush_log_at_trx_commit",
    "max_connections",
    "max_prepared_stmt_count",
    "open_files_limit",
    "version",
    "wait_timeout",
];

/// Com_commit stands for the counters of which witnesses are made.
const STATUS: [&str; 3] = ["Com_commit", "Prepared_stmt_count", "Threads_connected"];

/// How long a busy server may leave its queue of new connections alone.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Files that a server holds open beside one a connection and one a table.
const SERVER_FILES: u64 = 100;

pub(super) fn questions() -> Vec<Question> {
    let show = |what: &str, names: &[&str]| {
        format!("SHOW GLOBAL {what} WHERE Variable_name IN ({})", quoted_list(names.iter().copied()))
    };
    let question = |id: &str, sql: String, login| Question { id: id.to_owned(), sql, login };
    vec![
        question("server limits", show("VARIABLES", &VARIABLES), Login::Target),
        question("server status", show("STATUS", &STATUS), Login::Control),
        // The session's value is what binds this account, its own limit included.
        question("account limits", "SELECT CURRENT_USER(), @@max_user_connections".to_owned(), Login::Target),
    ]
}

/// The server's answers by name, beside the study that they are held against.
struct Server<'a> {
    study: &'a Study,
    numbers: BTreeMap<String, u64>,
    /// Agents that drive; each opens a spare connection to stop queries through before its sessions.
    drivers: u64,
}

pub(super) fn findings(study: &Study, answers: &Answers, agents: &[AgentFacts]) -> Vec<Finding> {
    let named = rows(answers, "server limits").iter().chain(rows(answers, "server status"));
    let numbers = named.filter_map(|row| match row.as_slice() {
        [Some(name), Some(value)] => Some((name.to_ascii_lowercase(), value.parse().ok()?)),
        _ => None,
    });
    let drivers = agents.iter().filter(|agent| agent.sessions_wanted > 0).count() as u64;
    let server = Server { study, numbers: numbers.collect(), drivers };
    let mut findings: Vec<Finding> = [
        server.connections(),
        server.account(rows(answers, "account limits")),
        server.prepared(),
        server.open_files(),
        server.backlog(agents),
        server.counters(answers),
        server.durability(),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(study.profiles.iter().filter_map(|profile| server.idle(profile)));
    findings
}

impl Server<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        self.numbers.get(name).copied()
    }

    fn largest(&self) -> Option<&Profile> {
        self.study.profiles.iter().max_by_key(|profile| profile.sessions())
    }

    /// Connections beside the sessions and the agents' spare ones: control statements and counters, and TPROC-C's orders.
    fn control_connections(&self) -> u64 {
        if matches!(self.study.workload, Workload::Tprocc(_)) { 3 } else { 2 }
    }

    /// All connections of a profile's run.
    fn wanted(&self, profile: &Profile) -> u64 {
        u64::from(profile.sessions()) + self.drivers + self.control_connections()
    }

    /// Connections of others stay; the one that asked has gone by then.
    fn connections(&self) -> Option<Finding> {
        let profile = self.largest()?;
        let (allowed, connected) = (self.number("max_connections")?, self.number("threads_connected")?);
        let (wanted, others) = (self.wanted(profile), connected.saturating_sub(1));
        if wanted + others <= allowed {
            return None;
        }
        let what = format!(
            "profile {} needs {wanted} connections ({} sessions, {} spare of the driving agents, and {} for control and \
             counters), but max_connections is {allowed} and others use {others}",
            profile.id,
            profile.sessions(),
            self.drivers,
            self.control_connections(),
        );
        let set = set_global("max_connections", wanted + others);
        Some(Finding::fatal(what, format!("{set}, or lower the profile's vus")))
    }

    fn account(&self, answer: &[Vec<Option<String>>]) -> Option<Finding> {
        let [Some(account), Some(allowed)] = answer.first()?.as_slice() else { return None };
        let (profile, allowed) = (self.largest()?, allowed.parse::<u64>().ok()?);
        let of_others = if self.study.control.is_some() { self.control_connections() } else { 0 };
        let wanted = self.wanted(profile) - of_others;
        if allowed == 0 || wanted <= allowed {
            return None;
        }
        let account = account.split('@').map(|part| format!("'{part}'")).collect::<Vec<_>>().join("@");
        let what = format!(
            "profile {} needs {wanted} connections of {account}, but max_user_connections allows it {allowed}",
            profile.id
        );
        let remedy = format!(
            "ALTER USER {account} WITH MAX_USER_CONNECTIONS {wanted}, or, where the limit is everybody's, SET GLOBAL \
             max_user_connections = 0"
        );
        Some(Finding::fatal(what, remedy))
    }

    fn prepared(&self) -> Option<Finding> {
        let allowed = self.number("max_prepared_stmt_count")?;
        let others = self.number("prepared_stmt_count").unwrap_or(0);
        let short = self.study.profiles.iter().map(Demand::of).filter(|demand| demand.statements() + others > allowed);
        // One that is certain to fail is worth more than a larger one that may.
        let demand = short.max_by_key(|demand| (demand.eager, demand.statements()))?;
        let total = demand.statements() + others;
        let (up_to, lazily) = if demand.eager { ("", "") } else { ("up to ", ", prepared on first use") };
        let what = format!(
            "profile {} needs {up_to}{} prepared statements ({} sessions with {} each{lazily}), but \
             max_prepared_stmt_count is {allowed} and others hold {others}",
            demand.profile,
            demand.statements(),
            demand.sessions,
            demand.statements_per_session,
        );
        let remedy = format!("{}, or {}", set_global("max_prepared_stmt_count", total), demand.otherwise);
        Some(if demand.eager { Finding::fatal(what, remedy) } else { Finding::warning(what, remedy) })
    }

    fn open_files(&self) -> Option<Finding> {
        let (profile, allowed) = (self.largest()?, self.number("open_files_limit")?);
        let tables = profile.workload.schema().tables().len() as u64;
        let wanted = self.wanted(profile) + tables + SERVER_FILES;
        (wanted > allowed).then(|| {
            let what = format!(
                "the server may open {allowed} files (open_files_limit), but profile {} takes about {wanted}: one a \
                 connection, one a table and {SERVER_FILES} of its own",
                profile.id
            );
            let remedy = format!(
                "set open_files_limit = {wanted} or more in the server's configuration and LimitNOFILE in its systemd \
                 unit, then restart it"
            );
            Finding::warning(what, remedy)
        })
    }

    /// The kernel cuts a listener's queue to somaxconn, so an observing agent's host has a say too.
    fn backlog(&self, agents: &[AgentFacts]) -> Option<Finding> {
        let back_log = self.number("back_log")?;
        let observing = || agents.iter().filter(|agent| agent.observes);
        let of_host = [
            (observing().map(|agent| agent.somaxconn).min(), "net.core.somaxconn of the database's host"),
            (
                observing().filter_map(|agent| agent.syn_backlog).min(),
                "net.ipv4.tcp_max_syn_backlog of the database's host, which has net.ipv4.tcp_syncookies off",
            ),
        ];
        let of_host = of_host.into_iter().filter_map(|(queue, name)| Some((queue?, name)));
        let (queue, name) =
            of_host.fold((back_log, "the server's back_log"), |least, one| if one.0 < least.0 { one } else { least });
        let driving = agents.iter().filter(|agent| agent.sessions_wanted > 0).count() as f64;
        let sessions: u64 = agents.iter().map(|agent| agent.sessions_wanted).sum();
        let rate = self.study.schedule.connect_rate * driving;
        let burst = ((rate * ACCEPT_PAUSE.as_secs_f64()) as u64).min(sessions);
        (burst > queue).then(|| {
            let slower = (queue as f64 / ACCEPT_PAUSE.as_secs_f64() / driving).floor();
            let what = format!(
                "{driving} agents open {rate} sessions a second together, but only {queue} may wait to be accepted \
                 ({name}): a server that pauses for {ACCEPT_PAUSE:?} drops some, and they come a second late"
            );
            let remedy = format!(
                "raise it to {burst} (back_log in the server's configuration, net.core.somaxconn and, without SYN cookies, \
                 net.ipv4.tcp_max_syn_backlog of its host bound each other), or set schedule.connect_rate = {slower}"
            );
            Finding::warning(what, remedy)
        })
    }

    /// A session that waits longer than the server is patient loses its connection at every transaction.
    fn idle(&self, profile: &Profile) -> Option<Finding> {
        let patience = Duration::from_secs(self.number("wait_timeout")?);
        let (idle, what) = match profile.pacing {
            Pacing::None => return None,
            Pacing::Wait(wait) => (wait, "waits"),
            Pacing::KeyingThinking { scale } => {
                let kinds = profile.workload.terminal()?.kinds;
                let longest = kinds.iter().map(Times::longest).max()?;
                (longest.mul_f64(scale), "keys and thinks up to")
            }
            Pacing::Rate(rate) if rate > 0.0 => {
                let mean_s = f64::from(profile.sessions()) / rate;
                (Duration::try_from_secs_f64(mean_s).unwrap_or(Duration::MAX), "waits, on average,")
            }
            Pacing::Rate(_) => return None,
        };
        (idle >= patience).then(|| {
            let what = format!(
                "a session of profile {} {what} {idle:?} between transactions, but the server closes connections that \
                 are idle for {patience:?} (wait_timeout)",
                profile.id
            );
            let enough = idle.as_secs().saturating_mul(2).saturating_add(60);
            Finding::fatal(what, format!("SET GLOBAL wait_timeout = {enough}, or shorten the profile's pacing"))
        })
    }

    fn counters(&self, answers: &Answers) -> Option<Finding> {
        let answered = matches!(answers.get("server status"), Some(super::Answer::Rows(_)));
        (answered && self.number("com_commit").is_none()).then(|| {
            Finding::warning(
                "the server shows no Com_commit to the control login: its runs will have no witness",
                "give [control] a login that sees SHOW GLOBAL STATUS",
            )
        })
    }

    fn durability(&self) -> Option<Finding> {
        let name = "innodb_flush_log_at_trx_commit";
        let value = self.number(name).filter(|&value| value != 1)?;
        let pinned = self.study.require.iter().any(|require| require.sql.to_ascii_lowercase().contains(name));
        (!pinned).then(|| {
            let what = format!("{name} is {value}: the server does not make each commit durable before it answers");
            let remedy =
                format!("keep it the same in all runs: [[require]] sql = \"SELECT @@{name}\", equals = \"{value}\"");
            Finding::note(what, remedy)
        })
    }
}

fn set_global(name: &str, value: u64) -> String {
    format!("SET GLOBAL {name} = {value} (and in the server's configuration, so that a restart keeps it)")
}
