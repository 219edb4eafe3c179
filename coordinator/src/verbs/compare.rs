//! `vufleet compare`: two studies, or two cells, held against each other.

use std::io::{self, Write};

use anyhow::Context;

use crate::analysis::Options;
use crate::analysis::compare::{Pairing, Subject, compare};
use crate::args::Compare;
use crate::exit::Exit;
use crate::ledger::Ledger;
use crate::render;
use crate::stdout;

/// Columns where there is no terminal to ask.
const WIDTH: u16 = 160;

/// Prints the comparison.
pub fn run(args: &Compare) -> anyhow::Result<Exit> {
    let ledger_a = Ledger::read_only(&args.ledger.data)?;
    let ledger_b = args.data_b.as_deref().map(Ledger::read_only).transpose()?;
    let a = Subject::read(&ledger_a, &args.a)?;
    let b = Subject::read(ledger_b.as_ref().unwrap_or(&ledger_a), &args.b)?;
    let comparison = compare(&a, &b, &pairing(args), Options { absolute: args.absolute })?;
    if args.json {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &comparison).context("cannot write to standard output")?;
        writeln!(out).context("cannot write to standard output")?;
    } else {
        let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0);
        stdout::put(render::comparison(&comparison, width))?;
    }
    Ok(if comparison.short_cells().is_empty() { Exit::Done } else { Exit::TooFewValid })
}

fn pairing(args: &Compare) -> Pairing {
    match (&args.variant, &args.variant_a, &args.variant_b, &args.cell_a, &args.cell_b) {
        (Some(variant), ..) => Pairing::Variants { a: variant.clone(), b: variant.clone() },
        (_, Some(a), Some(b), ..) => Pairing::Variants { a: a.clone(), b: b.clone() },
        (.., Some(a), Some(b)) => Pairing::Cells { a: a.clone(), b: b.clone() },
        _ => Pairing::Alike,
    }
}
