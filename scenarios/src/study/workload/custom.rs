//! The keys of the user's own SQL.

mod parameters;
mod statements;

use toml_edit::Item;

use crate::custom::{Shape, Step, Transaction};
use crate::session::Dialect;
use crate::sql::Protocol;
use crate::study::TargetKind;

use super::super::mistakes::Objection;
use super::super::section::Section;
use super::super::value::{choice, flag, identifier, integer};

const EXAMPLE: &str = "write [[workload.transactions]] with name = \"lookup\" and statements = [\"SELECT 1\"]";

/// Reads the study's own workload.
pub(super) fn base(section: &Section<'_>, target: Option<TargetKind>) -> Shape {
    section.demand("transactions", EXAMPLE);
    let wanted = dialect(target);
    let protocol = protocol(section).unwrap_or(Protocol::Prepared);
    Shape { dialect: wanted.unwrap_or(Dialect::Mysql), transactions: transactions(section, wanted, protocol) }
}

/// Reads a profile's own keys over the study's. Transactions replace those of the study altogether.
pub(super) fn over(own: &Section<'_>, base: &Shape, target: Option<TargetKind>) -> Shape {
    let protocol = protocol(own).unwrap_or(base.protocol());
    if own.item("transactions").is_none() {
        return base.clone().sent_as(protocol);
    }
    Shape { dialect: base.dialect, transactions: transactions(own, dialect(target), protocol) }
}

fn protocol(section: &Section<'_>) -> Option<Protocol> {
    section.value("protocol", choice(&[("prepared", Protocol::Prepared), ("text", Protocol::Text)], &[]))
}

/// What the target's server understands; none where there is no server, or no sound target.
fn dialect(target: Option<TargetKind>) -> Option<Dialect> {
    target?.dialect()
}

fn transactions(section: &Section<'_>, wanted: Option<Dialect>, protocol: Protocol) -> Vec<Transaction> {
    let sections = section.sections("transactions");
    if sections.len() > Shape::MAX_TRANSACTIONS {
        let what = format!("has {} transactions", sections.len());
        section.object("transactions", Objection::new(what, format!("write at most {}", Shape::MAX_TRANSACTIONS)));
    }
    if section.item("transactions").is_some_and(|item| item.as_array().is_some_and(toml_edit::Array::is_empty)) {
        section.object("transactions", Objection::new("has no transaction", EXAMPLE));
    }
    let mut transactions: Vec<Transaction> = Vec::new();
    for section in sections {
        let Some(transaction) = transaction(&section, wanted, protocol) else { continue };
        if transactions.iter().any(|other| other.name == transaction.name) {
            let what = format!("a second transaction named \"{}\"", transaction.name);
            section.object("name", Objection::new(what, "give it another name"));
        }
        transactions.push(transaction);
    }
    transactions
}

/// None only after something has been objected to.
fn transaction(section: &Section<'_>, wanted: Option<Dialect>, protocol: Protocol) -> Option<Transaction> {
    let before = section.mistakes();
    let name = section.required("name", "write what reports call it, for example name = \"transfer\"", identifier);
    let weight = section.value("weight", weight).unwrap_or(1);
    let transactional = section.value("transaction", flag).unwrap_or(false);
    let listings = statements::read(section, wanted);
    let parameters = parameters::read(section);
    // Who uses what can be told only where both are as they should be.
    if section.mistakes() == before && !listings.is_empty() {
        parameters::check_use(section, &parameters, &listings);
    }
    section.finish();
    if section.mistakes() > before || listings.is_empty() {
        return None;
    }
    let listing = statements::of_target(section, listings, wanted)?;
    let steps = listing.statements.iter().map(|sql| Step::new(sql, listing.dialect, protocol, &parameters));
    Some(Transaction { name: name?, weight, transactional, steps: steps.collect(), parameters })
}

fn weight(item: &Item) -> Result<u32, Objection> {
    match integer(0..=i64::from(Shape::MAX_WEIGHT))(item)? {
        0 => {
            let remedy = format!("write a weight from 1 to {}, or remove the transaction", Shape::MAX_WEIGHT);
            Err(Objection::new("with a weight of 0 it would never be sent", remedy))
        }
        weight => Ok(weight as u32),
    }
}
