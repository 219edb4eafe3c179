//! What can be typed: verbs, options, their units and defaults. Checked values only; no verb parses text again.

mod certs;
mod ledger;
mod value;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use vufleet_proto::v1;
use vufleet_telemetry::logs;
use vufleet_trust::address::Security;

use crate::exit;
use crate::rollup::Keep;

pub use certs::{Certs, Holder, Init, Issue, Show as CertsShow};
pub use ledger::{Compare, Export, LedgerArgs, Report, Show, Studies};

use value::{assignment, duration, factor, keep};

/// Where `coordinator` listens and where `agents` and `stop` look for it.
const ADDRESS: &str = "127.0.0.1:7411";

/// The data directory of a verb that was given none.
const DATA: &str = "vufleet-data";

/// A distributed load-generator fleet for relational databases.
#[derive(Debug, Parser)]
#[command(
    name = "vufleet",
    version,
    max_term_width = 100,
    after_help = exit::HELP,
    after_long_help = format!("{}\n\nExamples:\n  vufleet demo\n  vufleet plan study.toml\n  \
        vufleet schema build study.toml\n  vufleet run study.toml --out results/first", exit::HELP)
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a built-in study on SQLite with a fleet of local agents; takes under two minutes
    Demo(Demo),
    /// Check a study, run it, report on it
    Run(Run),
    /// Print a study's runs, their order and length, and what they touch; connects to nothing
    Plan(Plan),
    /// Connect from every driving agent and look at privileges, limits, settings, tables and clocks
    Check(Check),
    /// Build, verify or drop the tables of a study's workload
    #[command(subcommand)]
    Schema(Schema),
    /// Serve agents and operators
    Coordinator(Coordinator),
    /// List the agents of a coordinator
    Agents(Agents),
    /// List the studies in the ledger
    Studies(Studies),
    /// Print a study of the ledger and its runs
    Show(Show),
    /// Print the table of a study of the ledger, computed anew
    Report(Report),
    /// Write the result files of a study of the ledger, computed anew
    Export(Export),
    /// Hold two studies of the ledger, or two cells, against each other, with what else differs
    Compare(Compare),
    /// Stop what a coordinator runs, keeping what was measured
    Stop(Stop),
    /// Make certificates for a fleet of several hosts, and look at them
    #[command(subcommand)]
    Certs(Certs),
    /// Write manual pages and completions of shells
    #[command(hide = true)]
    Pages(Pages),
}

/// Which study, and what to change in it.
#[derive(Debug, Clone, Args)]
pub struct StudyArgs {
    /// The study, a TOML file
    #[arg(value_name = "STUDY")]
    pub study: PathBuf,
    /// What is different this time.
    #[command(flatten)]
    pub edits: EditArgs,
}

/// What to change in a study.
#[derive(Debug, Clone, Default, Args)]
pub struct EditArgs {
    /// Override a key of the study, for example schedule.measure=10s; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment, requires = "study")]
    pub set: Vec<String>,
    /// Multiply every duration of the schedule by this factor [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = factor, requires = "study")]
    pub scale_time: Option<f64>,
}

/// Which fleet does it.
#[derive(Debug, Clone, Args)]
pub struct FleetArgs {
    /// URL of a coordinator, for example https://coordinator:7411; without it a fleet is started on this machine
    #[arg(long, value_name = "URL")]
    pub coordinator: Option<String>,
    /// Driving agents of the fleet on this machine; one observing agent comes with them
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256), conflicts_with = "coordinator")]
    pub agents: u32,
    /// Wait until this many agents are connected to the coordinator, 15 s at most
    #[arg(long, value_name = "N", default_value_t = 1, requires = "coordinator")]
    pub wait_for_agents: u32,
    /// Directory of the ledger and of the local agents' logs [default: vufleet-data]
    #[arg(long, value_name = "DIR", conflicts_with = "coordinator")]
    pub data: Option<PathBuf>,
    /// How the coordinator is talked to.
    #[command(flatten)]
    pub wire: WireArgs,
    /// How long after its end every interval of a run is kept; then 10-second sums are (units: h, d; or forever) [default: 7d]
    #[arg(long, value_name = "TIME", value_parser = keep, conflicts_with = "coordinator")]
    pub keep: Option<Keep>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// How connections between processes are protected.
#[derive(Debug, Clone, Default, Args)]
pub struct WireArgs {
    /// Directory of this process's certificates (ca.crt, tls.crt, tls.key): TLS on both sides; `vufleet certs` makes them
    #[arg(long, value_name = "DIR", env = "VUFLEET_CERTS")]
    pub certs: Option<PathBuf>,
    /// Allow plaintext beyond this machine, without authentication and with passwords in the clear
    #[arg(long, conflicts_with = "certs")]
    pub insecure: bool,
}

impl WireArgs {
    /// What the flags say.
    pub fn security(&self) -> Result<Security, exit::Usage> {
        Ok(Security::from_flags(self.certs.clone(), self.insecure)?)
    }
}

impl FleetArgs {
    /// Directory of the ledger.
    pub fn data(&self) -> &Path {
        self.data.as_deref().unwrap_or(Path::new(DATA))
    }
}

/// `run`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet run study.toml
  vufleet run study.toml --smoke
  vufleet run study.toml --set schedule.repetitions=3 --scale-time 0.1 --out results/short
  vufleet run study.toml --coordinator https://lab1:7411 --certs certs/operator-alice
  vufleet run --resume last"))]
pub struct Run {
    /// The study, a TOML file
    #[arg(value_name = "STUDY", required_unless_present = "resume")]
    pub study: Option<PathBuf>,
    /// What is different this time.
    #[command(flatten)]
    pub edits: EditArgs,
    /// Go on with a study of the ledger that was interrupted or is short of runs: its id as `vufleet studies` lists it, the
    /// beginning of it, or `last`. What the ledger has of it is run; STUDY may be named to make sure that it is the same
    #[arg(long, value_name = "ID", conflicts_with = "smoke")]
    pub resume: Option<String>,
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetArgs,
    /// Directory of the result files; result files of an earlier study in it are replaced [default: results/ID]
    #[arg(long, value_name = "DIR", conflicts_with = "smoke")]
    pub out: Option<PathBuf>,
    /// Run each transaction once per variant instead, and say what happened
    #[arg(long)]
    pub smoke: bool,
    /// What to do when an agent is lost in a run or between two
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = OnAgentLoss::Repeat)]
    pub on_agent_loss: OnAgentLoss,
}

/// What the loss of an agent leads to; a run under way is invalid in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnAgentLoss {
    /// Repeat the run's group when the agent is back, or with the others: after three leases, or one where it was told to end
    Repeat,
    /// Go on with the agents that are left
    Continue,
    /// Stop the study
    Stop,
}

impl From<OnAgentLoss> for v1::job::OnAgentLoss {
    fn from(policy: OnAgentLoss) -> Self {
        match policy {
            OnAgentLoss::Repeat => v1::job::OnAgentLoss::Repeat,
            OnAgentLoss::Continue => v1::job::OnAgentLoss::Continue,
            OnAgentLoss::Stop => v1::job::OnAgentLoss::Stop,
        }
    }
}

/// `plan`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet plan study.toml
  vufleet plan study.toml --sql
  vufleet plan study.toml --set schedule.measure=10s"))]
pub struct Plan {
    /// The study.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Print every statement that the study sends
    #[arg(long)]
    pub sql: bool,
}

/// `check`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet check study.toml
  vufleet check study.toml --coordinator https://lab1:7411 --certs certs/operator-alice"))]
pub struct Check {
    /// The study.
    #[command(flatten)]
    pub study: StudyArgs,
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetArgs,
}

/// `schema`.
#[derive(Debug, Subcommand)]
pub enum Schema {
    /// Make the tables and fill them from all driving agents at once
    #[command(after_help = examples("vufleet schema build study.toml\n  vufleet schema build study.toml --replace"))]
    Build(SchemaBuild),
    /// Compare the tables with what the study wants
    #[command(after_help = examples("vufleet schema verify study.toml"))]
    Verify(SchemaOther),
    /// Drop the tables
    #[command(after_help = examples("vufleet schema drop study.toml"))]
    Drop(SchemaOther),
}

/// `schema build`.
#[derive(Debug, Args)]
pub struct SchemaBuild {
    /// The study.
    #[command(flatten)]
    pub study: StudyArgs,
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetArgs,
    /// Drop existing tables of the same names first. Without it tables that exist are refused, with two exceptions of TPROC-C:
    /// complete ones get the indexes and procedures that they lack, and an unfinished build goes on
    #[arg(long)]
    pub replace: bool,
}

/// `schema verify` and `schema drop`.
#[derive(Debug, Args)]
pub struct SchemaOther {
    /// The study.
    #[command(flatten)]
    pub study: StudyArgs,
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetArgs,
}

/// `coordinator`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet coordinator
  vufleet coordinator --listen 0.0.0.0:7411 --certs certs/coordinator-main --data /var/lib/vufleet
  vufleet coordinator --metrics 127.0.0.1:7412 --log-format json
  vufleet-agent --coordinator http://127.0.0.1:7411 --roles drive --name load-1"))]
pub struct Coordinator {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = ADDRESS)]
    pub listen: SocketAddr,
    /// Directory of the ledger
    #[arg(long, value_name = "DIR", default_value = DATA)]
    pub data: PathBuf,
    /// Silence after which agents stop their load and are taken for lost (units: ms, s, m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub lease: Duration,
    /// How agents and operators are talked to.
    #[command(flatten)]
    pub wire: WireArgs,
    /// How long after its end every interval of a run is kept; then 10-second sums are (units: h, d; or forever)
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = keep)]
    pub keep: Keep,
    /// Show metrics (/metrics, for Prometheus), health (/health) and life (/live) at this address, for example
    /// 127.0.0.1:7412 [default: nowhere]
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,
    /// Log lines on stderr: text, or json with one object a line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: logs::Format,
}

/// Which coordinator a question goes to.
#[derive(Debug, Args)]
pub struct CoordinatorArgs {
    /// URL of the coordinator
    #[arg(long, value_name = "URL", default_value = ADDRESS)]
    pub coordinator: String,
    /// How it is talked to.
    #[command(flatten)]
    pub wire: WireArgs,
}

/// `agents`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet agents
  vufleet agents --coordinator https://lab1:7411 --certs certs/operator-alice"))]
pub struct Agents {
    /// The coordinator.
    #[command(flatten)]
    pub at: CoordinatorArgs,
}

/// `stop`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet stop
  vufleet stop 20261201-1433-slow --coordinator https://lab1:7411 --certs certs/operator-alice"))]
pub struct Stop {
    /// The study; without it, whatever runs
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// The coordinator.
    #[command(flatten)]
    pub at: CoordinatorArgs,
}

/// `demo`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet demo\n  vufleet demo --out results/demo"))]
pub struct Demo {
    /// Directory of the result files [default: results/ID]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Directory of the ledger, the agents' logs and the demo's database
    #[arg(long, value_name = "DIR", default_value = DATA)]
    pub data: PathBuf,
    /// Show no progress
    #[arg(long, short, action = ArgAction::SetTrue)]
    pub quiet: bool,
}

/// `pages`.
#[derive(Debug, Args)]
pub struct Pages {
    /// Where to, for example /usr/local/share
    #[arg(value_name = "DIR")]
    pub share: PathBuf,
}

fn examples(commands: &str) -> String {
    format!("{}\n\nExamples:\n  {commands}", exit::HELP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_that_exclude_each_other_are_refused() {
        let url = ["--coordinator", "http://127.0.0.1:1"];
        for (extra, allowed) in [
            (vec!["--agents", "3"], true),
            (vec!["--agents", "0"], false),
            ([&url[..], &["--agents", "3"]].concat(), false),
            ([&url[..], &["--data", "x"]].concat(), false),
            ([&url[..], &["--wait-for-agents", "3"]].concat(), true),
            (vec!["--wait-for-agents", "3"], false),
            (url.to_vec(), true),
            (vec!["--smoke", "--out", "x"], false),
            (vec!["--resume", "last"], true),
            (vec!["--resume", "last", "--smoke"], false),
        ] {
            let line = ["vufleet", "run", "study.toml"].into_iter().chain(extra.iter().copied());
            assert_eq!(Cli::try_parse_from(line).is_ok(), allowed, "{extra:?}");
        }
    }

    #[test]
    fn a_study_that_goes_on_needs_no_file_unless_something_is_changed_in_one() {
        for (line, allowed) in [
            ("run --resume last", true),
            ("run --resume 20261130 --out x --coordinator http://127.0.0.1:1", true),
            ("run --resume last study.toml --set schedule.measure=10s", true),
            ("run", false),
            ("run --resume", false),
            ("run --resume last --set schedule.measure=10s", false),
            ("run --resume last --scale-time 0.5", false),
            ("plan --set schedule.measure=10s", false),
        ] {
            let words = ["vufleet"].into_iter().chain(line.split(' '));
            assert_eq!(Cli::try_parse_from(words).is_ok(), allowed, "{line}");
        }
    }
}
