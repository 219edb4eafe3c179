//! `vufleet studies`: what is in the ledger.

use comfy_table::{Table, presets};
use jiff::Timestamp;

use crate::args::Studies;
use crate::exit::Exit;
use crate::ledger::{Ledger, StudyRecord};

/// Lists.
pub fn run(args: &Studies) -> anyhow::Result<Exit> {
    let studies = Ledger::read_only(&args.ledger.data)?.studies()?;
    if studies.is_empty() {
        println!("no studies in {}", args.ledger.data.display());
    } else {
        println!("{}", table(&studies).trim_fmt());
    }
    Ok(Exit::Done)
}

/// One study a line, the oldest first.
fn table(studies: &[StudyRecord]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["id", "name", "state", "begun"]);
    for study in studies {
        let begun = instant(study.facts.begun_ns);
        table.add_row([study.id.to_string(), study.name.clone(), study.state.name().to_owned(), begun]);
    }
    table
}

/// An instant of the ledger, to the second, UTC.
pub(super) fn instant(ns: u64) -> String {
    let second = i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
    Timestamp::from_second(second).map_or_else(|_| "unknown".to_owned(), |instant| instant.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_told_to_the_second() {
        assert_eq!(instant(1_700_000_000_999_999_999), "2023-11-14T22:13:20Z");
        assert_eq!(instant(u64::MAX), "2554-07-21T23:34:33Z");
    }
}
