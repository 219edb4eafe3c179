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

/// `compare`.
#[derive(Debug, Args)]
#[command(after_help = examples("vufleet compare 20261130 20261201
  vufleet compare 20261130-2107-oltp-audit last --variant baseline
  vufleet compare last last --cell-a baseline/16vu --cell-b audit/16vu
  vufleet compare last last --data results-2019 --data-b results-2022 --json"))]
pub struct Compare {
    /// The study that changes are counted from: its id as `vufleet studies` lists it, the beginning of it, or `last`
    #[arg(value_name = "A")]
    pub a: String,
    /// The study that is compared with it
    #[arg(value_name = "B")]
    pub b: String,
    /// The ledger.
    #[command(flatten)]
    pub ledger: LedgerArgs,
    /// Directory of B's ledger, where it is another one
    #[arg(long, value_name = "DIR")]
    pub data_b: Option<PathBuf>,
    /// Compare this variant alone, profile by profile [default: every variant and profile that both have]
    #[arg(long, value_name = "VARIANT", conflicts_with_all = ["variant_a", "cell_a"])]
    pub variant: Option<String>,
    /// Compare this variant of A with that of --variant-b, profile by profile
    #[arg(long, value_name = "VARIANT", requires = "variant_b", conflicts_with = "cell_a")]
    pub variant_a: Option<String>,
    /// B's variant
    #[arg(long, value_name = "VARIANT", requires = "variant_a")]
    pub variant_b: Option<String>,
    /// Compare this cell of A with that of --cell-b
    #[arg(long, value_name = "VARIANT/PROFILE", requires = "cell_b")]
    pub cell_a: Option<String>,
    /// B's cell
    #[arg(long, value_name = "VARIANT/PROFILE", requires = "cell_a")]
    pub cell_b: Option<String>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    /// Show absolute figures of studies that are relative_only
    #[arg(long)]
    pub absolute: bool,
}
