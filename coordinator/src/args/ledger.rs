//! Verbs that read the ledger: no fleet, no database.

use std::path::PathBuf;

use clap::Args;

use super::{DATA, examples};

/// Which ledger is read.
#[derive(Debug, Args)]
pub struct LedgerArgs {
    /// Directory of the ledger
    #[arg(long, value_name = "DIR", default_value = DATA)]
    pub data: PathBuf,
}

/// `studies`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet studies\n  vufleet studies --data /var/lib/vufleet"))]
pub struct Studies {
    /// The ledger.
    #[command(flatten)]
    pub ledger: LedgerArgs,
}

/// `show`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet studies\n  vufleet show last"))]
pub struct Show {
    /// The study: its id as `vufleet studies` lists it, the beginning of it, or `last`
    #[arg(value_name = "ID")]
    pub id: String,
    /// The ledger.
    #[command(flatten)]
    pub ledger: LedgerArgs,
    /// Show absolute figures of a study that is relative_only
    #[arg(long)]
    pub absolute: bool,
}

/// `report`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet report last\n  vufleet report last --data /var/lib/vufleet"))]
pub struct Report {
    /// The study: its id as `vufleet studies` lists it, the beginning of it, or `last`
    #[arg(value_name = "ID")]
    pub id: String,
    /// The ledger.
    #[command(flatten)]
    pub ledger: LedgerArgs,
    /// Show absolute figures of a study that is relative_only
    #[arg(long)]
    pub absolute: bool,
}

/// `export`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet export last --out results/again"))]
pub struct Export {
    /// The study: its id as `vufleet studies` lists it, the beginning of it, or `last`
    #[arg(value_name = "ID")]
    pub id: String,
    /// Directory of the result files; those of an earlier export are replaced [default: results/ID]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The ledger.
    #[command(flatten)]
    pub ledger: LedgerArgs,
    /// Write absolute figures of a study that is relative_only
    #[arg(long)]
    pub absolute: bool,
}
