//! The keys of TPROC-C.

use crate::sql::Protocol;
use crate::study::TargetKind;
use crate::tprocc::{Calls, Mix, Shape};

use super::super::mistakes::Objection;
use super::super::section::Section;
use super::super::value::{choice, count, flag};

/// Keys that shape the tables. One schema serves the whole study.
pub(super) const BUILD_KEYS: [&str; 1] = ["warehouses"];

/// Reads the study's own workload.
pub(super) fn base(section: &Section<'_>, target: Option<TargetKind>) -> Shape {
    let warehouses = section.required(
        "warehouses",
        "write the size of the database, for example warehouses = 10",
        count(1..=Shape::MAX_WAREHOUSES),
    );
    let calls = if target.is_some_and(TargetKind::is_server) { Calls::Procedures } else { Calls::Statements };
    shape(section, &Shape::new(warehouses.unwrap_or(1), calls), target)
}

/// Reads every key but the size over `default`.
pub(super) fn shape(section: &Section<'_>, default: &Shape, target: Option<TargetKind>) -> Shape {
    let spellings = choice(&[("procedures", Calls::Procedures), ("statements", Calls::Statements)], &[]);
    let protocols = choice(&[("prepared", Protocol::Prepared), ("text", Protocol::Text)], &[]);
    let shape = Shape {
        warehouses: default.warehouses,
        calls: section.value("calls", spellings).unwrap_or(default.calls),
        all_warehouses: section.value("all_warehouses", flag).unwrap_or(default.all_warehouses),
        mix: mix(section).unwrap_or(default.mix),
        protocol: section.value("protocol", protocols).unwrap_or(default.protocol),
    };
    if shape.calls == Calls::Procedures && target == Some(TargetKind::Sqlite) {
        let what = "SQLite has no stored procedures";
        section.object("calls", Objection::new(what, "write calls = \"statements\", or remove it"));
    }
    if shape.calls == Calls::Statements && shape.protocol == Protocol::Text && target == Some(TargetKind::Mssql) {
        let key = if section.has("protocol") { "protocol" } else { "calls" };
        let what = "a batch of SQL Server does not tell this client how many rows it changed, and TPROC-C goes by that";
        section.object(key, Objection::new(what, "write protocol = \"prepared\""));
    }
    if shape.calls == Calls::Procedures && shape.protocol == Protocol::Text {
        let key = if section.has("protocol") { "protocol" } else { "calls" };
        let what = "procedures give their results back to prepared calls only";
        section.object(key, Objection::new(what, "write protocol = \"prepared\", or calls = \"statements\""));
    }
    shape
}

/// A mix names every transaction it wants; those that it does not name are left out.
fn mix(section: &Section<'_>) -> Option<Mix> {
    let table = section.section("mix");
    if !table.exists() {
        return None;
    }
    let weight = |key| table.value(key, count(0..=Mix::MAX_WEIGHT)).unwrap_or(0);
    let before = table.mistakes();
    let mix = Mix {
        new_order: weight("new_order"),
        payment: weight("payment"),
        order_status: weight("order_status"),
        delivery: weight("delivery"),
        stock_level: weight("stock_level"),
    };
    table.finish();
    if mix == Mix::NOTHING && table.mistakes() == before {
        let remedy =
            "write a weight for every transaction that is wanted, for example { order_status = 1, stock_level = 1 }";
        table.object("", Objection::new("has no transaction with a weight above 0", remedy));
    }
    Some(mix)
}
