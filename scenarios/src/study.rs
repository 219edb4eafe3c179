//! A study: what the user wrote, parsed once into values that nothing later has to check again.
//!
//! `read` turns TOML text into a [`Study`] or into every mistake at once ([`Refusal`]). This module never reads files,
//! environment variables or clocks: passwords stay [`PasswordSource`]s until somebody resolves them, and SQL files come
//! with the [`Edits`].

mod duration;
mod edits;
mod keys;
mod mistakes;
mod monitor;
mod nearest;
mod placeholders;
mod profiles;
mod read;
mod ready;
mod repetitions;
mod reset;
mod schedule;
mod section;
mod size;
mod sql_files;
mod switch;
mod syntax;
mod target;
#[cfg(test)]
mod tests;
mod value;
mod variants;
mod workload;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

pub use edits::Edits;
pub use keys::keys;
pub use read::read;
pub use ready::{READY, Ready, ready};
pub use sql_files::{SqlFiles, named_files};

use crate::census::{Headcount, Population};
use crate::session::Dialect;
use crate::workload::{Schema, Terminal, Workload as _};
use crate::{custom, oltp, tprocc};

/// A checked study.
#[derive(Debug, Clone)]
pub struct Study {
    /// What the user calls it.
    pub name: String,
    /// Where every random stream starts.
    pub seed: u64,
    /// The database under load.
    pub target: Target,
    /// Login of control statements; none: the target's own.
    pub control: Option<Control>,
    /// Which agents take part.
    pub fleet: FleetChoice,
    /// What its tables are made for; profiles may change all of it but the tables.
    pub workload: Workload,
    /// Load levels, at least one, ids unique.
    pub profiles: Vec<Profile>,
    /// Times, repetitions and their order.
    pub schedule: Schedule,
    /// Settings of the database that must hold.
    pub require: Vec<Require>,
    /// How the data gets back to where it was between runs; none: never.
    pub reset: Option<Reset>,
    /// Variants that are turned on in mid-run, for the eye; by their time. Each profile gets one run more for them.
    pub switches: Vec<Switch>,
    /// States under comparison, at least one (named "baseline" when the study names none).
    pub variants: Vec<Variant>,
    /// What is sampled and how often.
    pub monitor: Monitor,
    /// How results are told.
    pub report: ReportChoice,
    /// The study as TOML with every override applied and the seed written down: what agents receive and ledgers keep.
    pub text: String,
    /// SHA-256 of [`text`](Study::text), hexadecimal.
    pub digest: String,
}

impl Study {
    /// The variant that changes are counted from.
    pub fn baseline(&self) -> &str {
        &self.report.baseline
    }

    /// The profile of that id.
    pub fn profile(&self, id: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.id == id)
    }

    /// How many rows each table holds, whichever of the profiles have run; nothing of tables that nobody has named.
    pub fn census(&self) -> Vec<Headcount> {
        let profiles = self.profiles.iter().map(|profile| profile.workload.schema().census());
        let mut all = self.workload.schema().census();
        for headcount in profiles.flatten().filter(|headcount| matches!(headcount.rows, Population::Built(_))) {
            all.iter_mut().filter(|known| known.table == headcount.table).for_each(|known| known.rows = headcount.rows);
        }
        all
    }

    /// The target as control statements reach it: with the `[control]` login, where there is one.
    pub fn control_target(&self) -> Target {
        let mut target = self.target.clone();
        if let Some(control) = &self.control {
            // It has a user and a password, which no access token has.
            target.mssql.login = MssqlLogin::Sql;
            target.user = Some(control.user.clone());
            target.password_source = control.password_source.clone();
            target.password = control.password.clone();
            if control.database.is_some() {
                target.database = control.database.clone();
            }
        }
        target
    }
}

/// Every mistake found in a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// In the order of their lines.
    pub problems: Vec<Problem>,
}

/// One mistake: where, what, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line of the study file, counted from 1. For something that is missing, the line of what it is missing from; none
    /// where the file has no such place, or the mistake comes from `--set`.
    pub line: Option<usize>,
    /// Dotted path of the key, for example `schedule.measure`.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}: {}; {}", self.key, self.what, self.remedy)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// Which database, and how to reach it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The kind of database.
    pub kind: TargetKind,
    /// Host name or address, where it is reached by TCP.
    pub host: Option<String>,
    /// TCP port.
    pub port: u16,
    /// Unix socket, instead of host and port.
    pub socket: Option<PathBuf>,
    /// Database file of SQLite.
    pub path: Option<PathBuf>,
    /// Database or schema name.
    pub database: Option<String>,
    /// Login.
    pub user: Option<String>,
    /// Where the password comes from.
    pub password_source: Option<PasswordSource>,
    /// The resolved password; absent until somebody resolved it.
    pub password: Option<SecretString>,
    /// Encryption on the wire.
    pub tls: Tls,
    /// Certificate authority to verify against, PEM.
    pub ca_file: Option<PathBuf>,
    /// Name expected in the server's certificate, where it is not the host.
    pub server_name: Option<String>,
    /// Client certificate, PEM.
    pub client_cert: Option<PathBuf>,
    /// Client key, PEM.
    pub client_key: Option<PathBuf>,
    /// What virtual users speak MySQL's protocol with.
    pub driver: MysqlDriver,
    /// What only SQL Server has.
    pub mssql: Mssql,
    /// How long one transaction may take, retries apart.
    pub deadline: Duration,
    /// What `simulated` does instead of a database.
    pub simulated: Arc<Simulated>,
}

/// What virtual users speak MySQL's protocol with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MysqlDriver {
    /// vufleet's own: the least CPU and memory.
    #[default]
    Native,
    /// The client library mysql_async, to compare with.
    MysqlAsync,
}

/// What only SQL Server has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mssql {
    /// Named instance, whose port the host's SQL Server Browser tells (UDP 1434).
    pub instance: Option<String>,
    /// Who checks the login.
    pub login: MssqlLogin,
    /// Take any certificate: encrypted, but nobody knows to whom.
    pub trust_server_certificate: bool,
    /// Announce reads only, so that an availability group may route to a secondary.
    pub read_only_intent: bool,
    /// Bytes of a TDS packet; none: the client's own choice.
    pub packet_size: Option<u32>,
}

/// Who checks a login at SQL Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MssqlLogin {
    /// SQL Server itself: user and password.
    #[default]
    Sql,
    /// Microsoft Entra ID; the password is an access token that somebody has fetched.
    EntraToken,
}

/// Kinds of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// MySQL, MariaDB and compatibles.
    Mysql,
    /// Microsoft SQL Server and what speaks its protocol.
    Mssql,
    /// A SQLite file.
    Sqlite,
    /// No database: a service time.
    Simulated,
}

impl TargetKind {
    /// Name in studies and results.
    pub fn name(self) -> &'static str {
        match self {
            TargetKind::Mysql => "mysql",
            TargetKind::Mssql => "mssql",
            TargetKind::Sqlite => "sqlite",
            TargetKind::Simulated => "simulated",
        }
    }

    /// The SQL that it understands; `simulated` takes anything.
    pub fn dialect(self) -> Option<Dialect> {
        match self {
            TargetKind::Mysql => Some(Dialect::Mysql),
            TargetKind::Mssql => Some(Dialect::Mssql),
            TargetKind::Sqlite => Some(Dialect::Sqlite),
            TargetKind::Simulated => None,
        }
    }

    /// Whether a server is behind it that many clients may reach.
    pub fn is_server(self) -> bool {
        matches!(self, TargetKind::Mysql | TargetKind::Mssql)
    }
}

/// Where a password is to be read from; never the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordSource {
    /// An environment variable.
    Env(String),
    /// A file; a trailing line break is not part of the password.
    File(PathBuf),
}

/// Encryption on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// Never.
    Disabled,
    /// MySQL: if the server has it, unverified; the report says which it was.
    Preferred,
    /// SQL Server: the login alone, what follows is plain.
    LoginOnly,
    /// Always. MySQL: the certificate unverified. SQL Server: verified, unless `trust_server_certificate`.
    Required,
    /// Always, certificate and host name verified.
    Verify,
    /// SQL Server: TLS before the first byte of TDS 8.0, certificate and host name verified.
    Strict,
}

/// What a simulated database does.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// Mean time of a transaction.
    pub service_time: Duration,
    /// How it varies.
    pub distribution: ServiceDistribution,
    /// Probability, per transaction, of each fault.
    pub faults: Vec<(crate::session::FaultKind, f64)>,
}

/// Distribution of a simulated service time around its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceDistribution {
    /// Always the mean.
    Constant,
    /// Negative exponential.
    Exponential,
    /// Uniform between nothing and twice the mean.
    Uniform,
    /// Lognormal with a standard deviation equal to the mean.
    Lognormal,
}

/// Login of control statements.
#[derive(Debug, Clone)]
pub struct Control {
    /// Login.
    pub user: String,
    /// Where its password comes from.
    pub password_source: Option<PasswordSource>,
    /// The resolved password; absent until somebody resolved it.
    pub password: Option<SecretString>,
    /// Its own database.
    pub database: Option<String>,
}

/// Which agents take part in which role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FleetChoice {
    /// Labels that a driving agent must have.
    pub drive: BTreeMap<String, String>,
    /// Labels that an observing agent must have.
    pub observe: BTreeMap<String, String>,
    /// How virtual users are shared out.
    pub share: Share,
}

/// How virtual users are shared out over driving agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Share {
    /// In proportion to the agents' cores.
    #[default]
    Cores,
    /// The same for each.
    Even,
}

/// What the virtual users do.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// sysbench-compatible OLTP.
    Oltp(oltp::Shape),
    /// TPROC-C.
    Tprocc(tprocc::Shape),
    /// The user's own SQL.
    Custom(custom::Shape),
}

impl Workload {
    /// Name of the workload's kind in studies and results.
    pub fn kind(&self) -> &'static str {
        match self {
            Workload::Oltp(_) => "oltp",
            Workload::Tprocc(_) => "tprocc",
            Workload::Custom(_) => "sql",
        }
    }

    /// Transactions of one session after which it has done one of every kind.
    pub fn transactions_of_every_kind(&self) -> u64 {
        match self {
            Workload::Oltp(_) => 1,
            Workload::Tprocc(shape) => shape.mix.deck_size().into(),
            Workload::Custom(shape) => shape.deck_size().into(),
        }
    }

    /// The first of each row of neighbours, among so many virtual users, that work on the same part of the tables.
    pub fn neighbourhoods(&self, vus: u32) -> Vec<u32> {
        match self {
            Workload::Oltp(_) | Workload::Custom(_) => (0..vus).collect(),
            Workload::Tprocc(shape) => shape.neighbourhoods(vus),
        }
    }

    /// Keying and thinking times, where it has them.
    pub fn terminal(&self) -> Option<Terminal> {
        match self {
            Workload::Oltp(shape) => oltp::Oltp::terminal(shape),
            Workload::Tprocc(shape) => tprocc::TprocC::terminal(shape),
            Workload::Custom(shape) => custom::Custom::terminal(shape),
        }
    }

    /// The tables behind it.
    pub fn schema(&self) -> &dyn Schema {
        match self {
            Workload::Oltp(shape) => shape,
            Workload::Tprocc(shape) => shape,
            Workload::Custom(shape) => shape,
        }
    }
}

/// A load level.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Unique in the study: "16vu", "read-only-64vu", "16vu-x5".
    pub id: String,
    /// The user's own word for it.
    pub label: Option<String>,
    /// Virtual users of the whole fleet.
    pub vus: u32,
    /// Sessions of each.
    pub sessions_per_vu: u32,
    /// When the next transaction starts.
    pub pacing: Pacing,
    /// What the virtual users do: the study's workload with this profile's own keys over it.
    pub workload: Workload,
    /// SQL to run before each of its runs.
    pub setup: Vec<String>,
}

impl Profile {
    /// Sessions of the whole fleet.
    pub fn sessions(&self) -> u32 {
        self.vus * self.sessions_per_vu
    }
}

/// When a session's next transaction starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pacing {
    /// At once.
    None,
    /// This long after the end of the last one.
    Wait(Duration),
    /// When it has been keyed in, after the result of the last one has been thought about.
    KeyingThinking {
        /// What the workload's times are multiplied by.
        scale: f64,
    },
    /// At exponentially distributed gaps over the whole fleet: transactions a second. Whichever session is idle takes
    /// the next one.
    Rate(f64),
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pacing::None => f.write_str("none"),
            Pacing::Wait(wait) => write!(f, "wait {wait:?}"),
            Pacing::KeyingThinking { scale } => write!(f, "keying and thinking times x {scale}"),
            Pacing::Rate(rate) => write!(f, "rate {rate}/s"),
        }
    }
}

/// Times, repetitions and their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Under load, not measured.
    pub ramp_up: Duration,
    /// What is measured.
    pub measure: Measure,
    /// Rest after the load.
    pub settle: Duration,
    /// Whether a checkpoint is asked for after the window.
    pub checkpoint: bool,
    /// Runs of each cell.
    pub repetitions: Repetitions,
    /// How often an invalid run is repeated, at most, per cell and repetition.
    pub max_repeats: u32,
    /// Order of the runs.
    pub order: Order,
    /// What is shuffled inside a block.
    pub nest: Nest,
    /// New sessions a second and agent.
    pub connect_rate: f64,
}

/// How many runs each cell gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repetitions {
    /// So many.
    Fixed(u32),
    /// As many as it takes, in two stages.
    Until(Until),
}

impl Repetitions {
    /// Blocks that are made whatever they show.
    pub fn at_least(self) -> u32 {
        match self {
            Repetitions::Fixed(count) => count,
            Repetitions::Until(until) => until.min,
        }
    }

    /// Blocks that are made at most.
    pub fn at_most(self) -> u32 {
        match self {
            Repetitions::Fixed(count) => count,
            Repetitions::Until(until) => until.max,
        }
    }
}

/// Repetitions in two stages (Stein 1945): pilot blocks, then as many more as their standard deviation asks for. Looking at
/// the interval again and again, and stopping when it looks narrow enough, would make it hold the truth too rarely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Until {
    /// Pilot blocks, at least 5.
    pub min: u32,
    /// No more blocks than this.
    pub max: u32,
    /// Half the width that the interval is to have, in per cent.
    pub percent: f64,
    /// Name of the metric whose interval it is, as in results: "tps", "nopm", ...
    pub metric: &'static str,
}

/// How the data gets back to where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// When.
    pub before: ResetBefore,
    /// How.
    pub method: ResetMethod,
    /// How long it may take.
    pub timeout: Duration,
    /// By how much the ramp-up after it is longer: its caches are cold.
    pub warm_up: Duration,
}

/// When a database is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetBefore {
    /// Before every run.
    Run,
    /// Before the first run, and whenever the variant is another than in the run before.
    Variant,
}

impl Reset {
    /// How long one may take where nobody says otherwise: a restore of 90 GB takes half an hour.
    pub const TIMEOUT: Duration = Duration::from_secs(3600);

    /// With every default.
    pub fn new(before: ResetBefore, method: ResetMethod) -> Reset {
        Reset { before, method, timeout: Reset::TIMEOUT, warm_up: Duration::ZERO }
    }
}

impl fmt::Display for Reset {
    /// "snapshot before each run", ...
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.method {
            ResetMethod::Rebuild => "tables built again",
            ResetMethod::Actions(actions) => match actions.first() {
                Some(Action::Command { name, .. }) => return write!(f, "command {name} {}", self.before),
                _ => "SQL of the study",
            },
            ResetMethod::Snapshot => "snapshot",
            ResetMethod::Backup(_) => "backup restored",
        })?;
        write!(f, " {}", self.before)
    }
}

impl fmt::Display for ResetBefore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ResetBefore::Run => "before each run",
            ResetBefore::Variant => "before each change of variant",
        })
    }
}

/// How a database is reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResetMethod {
    /// The workload's tables are dropped, made and filled again.
    Rebuild,
    /// Statements of the control login, or a command of an agent, in order.
    Actions(Vec<Action>),
    /// The database's files are copied back from a copy that was made before the first run.
    Snapshot,
    /// SQL Server: RESTORE DATABASE.
    Backup(Backup),
}

/// A full backup of a SQL Server database, as the server sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Its files: one, or all of a striped one.
    pub files: Vec<String>,
    /// Where files of the database go, by their logical names, if not to where they were backed up from.
    pub moves: BTreeMap<String, String>,
}

/// A variant that is turned on in mid-run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// After the start of the load.
    pub at: Duration,
    /// Which; it takes the place of the one before it.
    pub variant: String,
}

/// The measured window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// A time.
    Duration(Duration),
    /// Until every session has done this many transactions.
    Transactions(u64),
}

/// Order of the runs of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Repetition after repetition, shuffled inside each.
    Blocks,
    /// Variant after variant, level after level.
    Grouped,
}

impl Order {
    /// Name in studies and results.
    pub fn name(self) -> &'static str {
        match self {
            Order::Blocks => "blocks",
            Order::Grouped => "grouped",
        }
    }
}

/// Nesting inside a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nest {
    /// Profiles shuffled, variants shuffled back to back inside each.
    Profile,
    /// Variants shuffled, profiles shuffled inside each.
    Variant,
}

impl Nest {
    /// Name in studies and results.
    pub fn name(self) -> &'static str {
        match self {
            Nest::Profile => "profile",
            Nest::Variant => "variant",
        }
    }
}

/// A setting that must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Require {
    /// Query of one value.
    pub sql: String,
    /// What it must return, as text.
    pub equals: String,
}

/// A state of the database under comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Unique in the study.
    pub name: String,
    /// How the database is brought into it and back; nothing for the database as it is.
    pub change: Change,
}

/// How the database is brought into a state, how that is known, and how it is undone.
///
/// Its texts may hold [placeholders](Change::for_sessions).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// When `apply` is done.
    pub when: When,
    /// Asked before `apply`; nothing is applied when one of them has no answer.
    pub remember: Vec<Remember>,
    /// In order, before the load of each run, on one connection.
    pub apply: Vec<Action>,
    /// Must hold after `apply` and again after the load.
    pub verify: Vec<Require>,
    /// In order, after each run, whatever happened in it, on one connection. Each must be harmless when `apply` did not
    /// get that far.
    pub revert: Vec<Action>,
    /// Must hold after `revert`.
    pub undone: Vec<Require>,
    /// What an observer did in a run: read before the load and after it, while the variant is on.
    pub footprint: Vec<Footprint>,
}

/// A value of the database as it was before a variant was applied, for what undoes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remember {
    /// What stands in `{remembered:NAME}`.
    pub name: String,
    /// Query of one value, which takes the placeholder's place as it is: a literal that the query itself has quoted, or a
    /// whole statement.
    pub sql: String,
}

/// When a variant is applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// Before the first session connects.
    #[default]
    BeforeConnecting,
    /// Once every session is connected, before the load starts: `{session_ids}` stands for their ids.
    Connected,
}

/// One thing to do to a database or its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A statement on the control connection.
    Sql(String),
    /// A command that the configuration of an agent names and allows.
    Command {
        /// Its name there.
        name: String,
        /// Labels of the agent.
        agent: BTreeMap<String, String>,
    },
}

/// One figure that tells what an observer did. A query that has no answer, or NULL, leaves it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// Name in results: `events_dropped`, `bytes_written`, ...
    pub name: String,
    /// Query of one number on the control connection.
    pub sql: String,
    /// Whether the number only grows, so that the run's is a difference; else it is what is read after the load.
    pub cumulative: bool,
}

/// What is sampled and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitor {
    /// Length of an interval.
    pub interval: Duration,
    /// Name of the database process, where the listening port does not lead to it.
    pub process: Option<String>,
    /// Look at what each of the sessions is doing, once an interval.
    pub requests: bool,
}

/// How results are told.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportChoice {
    /// Variant that changes are counted from.
    pub baseline: String,
    /// Of the intervals, 0.5 to 0.999.
    pub confidence: f64,
    /// Withhold every absolute figure.
    pub relative_only: bool,
}
