//! `vufleet-bench-tds`: what a session of SQL Server costs the client, on a scripted server, as no real one can be started.
//!
//! `vufleet-bench` runs it: one process answers, another calls and counts what that costs it. The server does nothing but
//! answer, so that what is counted is the client's alone. Figures come on standard output, as one object of JSON.

mod bare;
mod calls;
mod compare;
mod hold;
mod ours;
mod serve;
mod tokens;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use vufleet_scenarios::study::{self, Edits, Target};

use self::calls::Call;
use self::compare::{Rounds, Way};

/// A scripted SQL Server, and what calls of it cost the client.
#[derive(Debug, Parser)]
#[command(version, after_help = "Exit codes: 0 measured, 1 something could not be measured, 2 usage.")]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Answers every call on 127.0.0.1; says its port first, and ends with its standard input
    Serve,
    /// CPU of calls by vufleet's session and by the client library alone, in turns
    Compare {
        /// Port of the scripted server
        #[arg(long)]
        port: u16,
        /// What is called
        #[arg(long, value_enum)]
        call: Call,
        #[command(flatten)]
        rounds: Rounds,
    },
    /// So many calls in one way, to count instructions
    Count {
        /// Port of the scripted server
        #[arg(long)]
        port: u16,
        /// What is called
        #[arg(long, value_enum)]
        call: Call,
        /// By whom
        #[arg(long, value_enum)]
        way: Way,
        /// How often
        #[arg(long)]
        calls: u64,
    },
    /// Opens sessions and keeps them: what they hold resident, and after calls of each
    Hold {
        /// Port of the scripted server
        #[arg(long)]
        port: u16,
        /// Sessions
        #[arg(long)]
        sessions: usize,
        /// By whom
        #[arg(long, value_enum)]
        way: Way,
    },
}

fn main() -> ExitCode {
    vufleet_agent::session::install_tls_provider();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.context("cannot start a runtime").and_then(|runtime| {
        // As the agent's threads do: tasks that stay where they are.
        tokio::task::LocalSet::new().block_on(&runtime, Box::pin(run(Args::parse().verb)))
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vufleet-bench-tds: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(verb: Verb) -> Result<()> {
    match verb {
        Verb::Serve => serve::serve().await,
        Verb::Compare { port, call, rounds } => print(&compare::compare(&target(port)?, call, rounds).await?),
        Verb::Count { port, call, way, calls } => compare::count(&target(port)?, call, way, calls).await,
        Verb::Hold { port, sessions, way } => print(&hold::hold(&target(port)?, sessions, way).await?),
    }
}

fn print(figures: &serde_json::Value) -> Result<()> {
    println!("{figures}");
    Ok(())
}

/// The scripted server as a study's target.
fn target(port: u16) -> Result<Target> {
    let study = format!(
        "name = 'tds'\nseed = 1\n[target]\nkind = 'mssql'\nport = {port}\ndatabase = 'tpcc'\nuser = 'bench'\n\
         tls = 'disabled'\n[workload]\nkind = 'oltp'\nscript = 'point_select'\n[[profiles]]\nvus = 1\n"
    );
    let study = study::read(&study, &Edits::default()).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(Target { password: Some("scripted".into()), ..study.target })
}
