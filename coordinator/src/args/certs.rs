//! `certs`: what can be typed about certificates.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use vufleet_trust::host::Host;
use vufleet_trust::identity::Role;

use super::examples;

/// Where the lab's authority lies.
const DIR: &str = "certs";

/// `certs`.
#[derive(Debug, Subcommand)]
pub enum Certs {
    /// Make the lab's authority, once: its certificate, and the key that every other certificate is issued by
    #[command(after_help = examples("vufleet certs init
  vufleet certs init --dir /root/vufleet-certs --name 'database lab'"))]
    Init(Init),
    /// Issue a certificate: a directory with ca.crt, tls.crt and tls.key, for --certs of one process
    #[command(after_help = examples("vufleet certs issue coordinator --host lab1.example --host 10.0.0.7
  vufleet certs issue agent load-1 --host load-1
  vufleet certs issue agent --any-name --days 90
  vufleet certs issue operator alice
  scp certs/agent-load-1/* root@load-1:/etc/vufleet/agent/"))]
    Issue(Issue),
    /// Tell of certificates whose they are, for which hosts and until when, and what is wrong with them (then the exit code is 1)
    #[command(after_help = examples("vufleet certs show
  vufleet certs show /etc/vufleet/agent
  vufleet certs show certs/agent-load-1/tls.crt"))]
    Show(Show),
}

/// `certs init`.
#[derive(Debug, Args)]
pub struct Init {
    /// Directory of the authority: ca.crt and ca.key. Keep it where certificates are issued, and nowhere else
    #[arg(long, value_name = "DIR", default_value = DIR)]
    pub dir: PathBuf,
    /// The authority's name, for people
    #[arg(long, value_name = "NAME", default_value = "vufleet lab")]
    pub name: String,
    /// Days that it holds for
    #[arg(long, value_name = "N", default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: u32,
    /// Replace the authority in DIR; the old one's key is gone then. Its certificate stays in ca.crt behind the new one, so that
    /// what it issued is trusted until you take it out of there
    #[arg(long)]
    pub replace: bool,
}

/// What the holder of a certificate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Holder {
    /// Serves agents and operators
    Coordinator,
    /// Joins a coordinator, and does nothing else there
    Agent,
    /// Runs and stops studies
    Operator,
    /// Reads metrics and health
    Monitor,
}

impl From<Holder> for Role {
    fn from(holder: Holder) -> Role {
        match holder {
            Holder::Coordinator => Role::Coordinator,
            Holder::Agent => Role::Agent,
            Holder::Operator => Role::Operator,
            Holder::Monitor => Role::Monitor,
        }
    }
}

/// `certs issue`.
#[derive(Debug, Args)]
pub struct Issue {
    /// What its holder is
    #[arg(value_enum, value_name = "ROLE")]
    pub role: Holder,
    /// Its holder's name: letters, digits, dots, hyphens, underscores. An agent joins under this name and no other
    /// [default: main; an agent's has none]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// For agents that share one certificate: they may join under any name
    #[arg(long, conflicts_with = "name")]
    pub any_name: bool,
    /// Directory of the authority; the certificate goes into DIR/ROLE-NAME
    #[arg(long, value_name = "DIR", default_value = DIR)]
    pub dir: PathBuf,
    /// A name or address that clients dial it by; may be repeated. A coordinator's certificate needs one, and holds for
    /// localhost besides; an agent's needs one if it serves metrics beyond loopback
    #[arg(long = "host", value_name = "HOST")]
    pub hosts: Vec<Host>,
    /// Days that it holds for, at most until its authority ends
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: u32,
    /// Replace the certificate and key in DIR/ROLE-NAME. Hosts are not taken over from the old one: type every --host again
    #[arg(long)]
    pub replace: bool,
}

/// `certs show`.
#[derive(Debug, Args)]
pub struct Show {
    /// Directories and certificate files; of a directory, the certificates in it and one level below
    #[arg(value_name = "PATH", default_value = DIR)]
    pub paths: Vec<PathBuf>,
}
