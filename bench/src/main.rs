//! `vufleet-bench`: vufleet beside sysbench on one MariaDB, what it costs by itself, and its own TPROC-C, for docs/benchmarks.md;
//! and its intervals against a known truth, for docs/method.md.
//!
//! Load is measured from outside: it starts the programs as anybody would and reads the kernel's, the emulator's and the server's
//! counts of what they did. Only the proof of the intervals, which needs no load, calls the coordinator's own analysis; and the
//! sessions that nothing is recorded of are the agent's own, in a process started for them.

mod args;
mod arrivals;
mod bare;
mod callgrind;
mod coverage;
mod instructions;
mod lab;
mod ledger;
mod load;
mod machine;
mod measuring;
mod memory;
mod page;
mod processes;
mod program;
mod rows;
mod scale;
mod server;
mod soak;
mod statistics;
mod table;
mod tds;
mod throughput;
mod tprocc;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use crate::args::{Args, Hidden, Part};
use crate::arrivals::Openness;
use crate::ledger::Ages;
use crate::load::{Load, Wire, Work};
use crate::machine::Machine;
use crate::memory::Costs;
use crate::program::Program;
use crate::scale::Fleets;
use crate::server::Server;
use crate::soak::Soak;
use crate::table::{Section, Table};
use crate::tprocc::Findings;

/// Where the table is on its page.
const TABLE: &str = "table";

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.hidden {
        Some(Hidden::Bare(bare)) => bare.run(),
        None => bench(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vufleet-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn bench(args: &Args) -> Result<()> {
    let parts = args.parts();
    if parts.contains(&Part::Coverage) {
        prove(args)?;
    }
    if parts == [Part::Coverage] {
        return Ok(());
    }
    let ours = args.programs.as_deref().map_or_else(Program::beside, Program::of_directory)?;
    let theirs = args.against.as_deref().map_or(Ok(Program::Sysbench), Program::of_directory)?;
    let (with_server, without): (Vec<Part>, Vec<Part>) =
        parts.into_iter().filter(|part| *part != Part::Coverage).partition(|part| part.needs_server());
    if !with_server.is_empty() {
        let mut server = Server::start().await?;
        let load = Load::on(server.target(Wire::Tcp), Work::script("read_write"), 1, Duration::from_secs(1));
        program::build_tables(&ours, &load)?.finish()?;
        let machine = Machine::look(Some(&mut server), [&ours, &theirs]).await?;
        for part in with_server {
            put(args, part, &machine, on_server(args, part, &mut server, [&ours, &theirs]).await?)?;
        }
    }
    let machine = Machine::look(None, [&ours, &ours]).await?;
    for part in without {
        let section = match part {
            Part::Tds => {
                let scale = args.tds();
                rows::tds(&tds::measure(ours.directory()?, &scale)?, &scale)
            }
            Part::Ledger => rows::ages(&Ages::measure(ours.directory()?, args.day())?),
            _ => rows::fleets(&Fleets::measure(ours.directory()?, args.crowd()).await?),
        };
        put(args, part, &machine, section)?;
    }
    Ok(())
}

async fn on_server(args: &Args, part: Part, server: &mut Server, programs: [&Program; 2]) -> Result<Section> {
    let [ours, theirs] = programs;
    let pace = args.pace();
    Ok(match part {
        Part::Throughput => {
            let pairs = throughput::all_pairs(server, programs, &args.cells(), pace, args.pairs()).await?;
            let other = if args.against.is_some() { "the other" } else { theirs.name() };
            rows::throughput(&pairs, pace, other)
        }
        Part::Instructions => {
            let scripts = instructions::measure(ours, server, args.lengths()).await?;
            for script in scripts.iter().filter(|_| args.verbose) {
                println!("{}", instructions::listing(script));
            }
            rows::instructions(&scripts, args.lengths())
        }
        Part::Measuring => {
            let pairs = measuring::measure(ours, server, pace, args.measuring_rounds()).await?;
            rows::measuring(&pairs, pace)
        }
        Part::Memory => rows::memory(&Costs::measure(ours, server, args.scale()).await?),
        Part::Arrivals => rows::arrivals(&Openness::measure(ours, server, args.rates())?, args.rates()),
        Part::Soak => rows::soak(&Soak::measure(ours, server, args.soak()).await?),
        Part::Tprocc => rows::tprocc(&Findings::measure(ours, server, args.tprocc()).await?),
        Part::Coverage | Part::Tds | Part::Scale | Part::Ledger => unreachable!("they need no server"),
    })
}

/// Shows a part, and puts a complete one into the table at once: a later part may fail.
fn put(args: &Args, part: Part, machine: &Machine, mut section: Section) -> Result<()> {
    section.conditions = format!("{machine}; {}", section.conditions);
    println!("{}", section.render());
    if args.is_complete() {
        let mut table = Table::read(&args.page)?;
        table.put(part.name(), section);
        let order = Part::value_variants().iter().map(|part| part.name());
        page::update(&args.page, TABLE, &table.render(order))?;
        table.write(&args.page)?;
        println!("written to {}", args.page.display());
    }
    Ok(())
}

/// Intervals against a known truth. A quick look is too short to be held against them.
fn prove(args: &Args) -> Result<()> {
    let rows = coverage::prove(args.coverage())?;
    let table = page::coverage(&rows);
    println!("{table}");
    if args.is_complete() {
        page::update(&args.method_page, Part::Coverage.name(), &table)?;
        println!("written to {}", args.method_page.display());
        rows.iter().try_for_each(coverage::Row::check)?;
    }
    Ok(())
}
