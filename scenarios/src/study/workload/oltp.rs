//! The OLTP workload's keys.

use crate::oltp::{Counts, Distribution, Prepare, Script, Shape};
use crate::sql::Protocol;

use super::super::mistakes::Objection;
use super::super::section::Section;
use super::super::value::{choice, count, flag, identifier, number};

/// Keys that shape the tables. One schema serves the whole study.
pub(super) const BUILD_KEYS: [&str; 6] =
    ["tables", "table_size", "auto_inc", "secondary", "create_secondary", "mysql_storage_engine"];

pub(super) fn report(section: &Section<'_>, contradictions: &[Contradiction]) {
    for Contradiction { key, what, remedy } in contradictions {
        section.object(key, Objection::new(what, *remedy));
    }
}

fn script(item: &toml_edit::Item) -> Result<Script, Objection> {
    match item.as_str().and_then(Script::parse) {
        Some(script) => Ok(script),
        None => choice(&Script::ALL.map(|script| (script.name(), script)), &[])(item),
    }
}

/// Every option of the OLTP workload, with its default where neither the section nor what lies below it has the key.
pub(super) fn shape(section: &Section<'_>) -> Shape {
    let default = Shape::new(section.value("script", script).unwrap_or(Script::ReadWrite));
    let protocols = choice(&[("prepared", Protocol::Prepared), ("text", Protocol::Text)], &[]);
    let moments = choice(&[("eager", Prepare::Eager), ("lazy", Prepare::Lazy)], &[]);
    let rows = || count(1..=Shape::MAX_TABLE_SIZE);
    let or = |key, default| section.value(key, flag).unwrap_or(default);
    Shape {
        script: default.script,
        tables: section.value("tables", count(1..=Shape::MAX_TABLES)).unwrap_or(default.tables),
        table_size: section.value("table_size", rows()).unwrap_or(default.table_size),
        range_size: section.value("range_size", rows()).unwrap_or(default.range_size),
        range_selects: or("range_selects", default.range_selects),
        skip_trx: or("skip_trx", default.skip_trx),
        auto_inc: or("auto_inc", default.auto_inc),
        secondary: or("secondary", default.secondary),
        create_secondary: or("create_secondary", default.create_secondary),
        mysql_storage_engine: section.value("mysql_storage_engine", identifier).unwrap_or(default.mysql_storage_engine),
        counts: counts(section, &default.counts),
        distribution: distribution(section),
        protocol: section.value("protocol", protocols).unwrap_or(default.protocol),
        prepare: section.value("prepare", moments).unwrap_or(default.prepare),
    }
}

fn counts(section: &Section<'_>, default: &Counts) -> Counts {
    let or = |key, default| section.value(key, count(0..=10_000)).unwrap_or(default);
    Counts {
        point_selects: or("point_selects", default.point_selects),
        simple_ranges: or("simple_ranges", default.simple_ranges),
        sum_ranges: or("sum_ranges", default.sum_ranges),
        order_ranges: or("order_ranges", default.order_ranges),
        distinct_ranges: or("distinct_ranges", default.distinct_ranges),
        index_updates: or("index_updates", default.index_updates),
        non_index_updates: or("non_index_updates", default.non_index_updates),
        delete_inserts: or("delete_inserts", default.delete_inserts),
    }
}

/// The name of a distribution, and the keys that belong to it.
const DISTRIBUTIONS: [(&str, &[&str]); 5] = [
    ("special", &["rand_spec_pct", "rand_spec_iter", "rand_spec_res"]),
    ("uniform", &[]),
    ("gaussian", &["rand_spec_iter"]),
    ("pareto", &["rand_pareto_h"]),
    ("zipfian", &["rand_zipfian_exp"]),
];

fn distribution(section: &Section<'_>) -> Distribution {
    let names = DISTRIBUTIONS.map(|(name, _)| (name, name));
    let named = section.value("distribution", choice(&names, &[]));
    let name = named.unwrap_or("special");
    let pct = section.value("rand_spec_pct", count(1..=100)).unwrap_or(1);
    let iter = section.value("rand_spec_iter", count(1..=1000)).unwrap_or(12);
    let res = section.value("rand_spec_res", count(0..=100)).unwrap_or(75);
    let h = section.value("rand_pareto_h", number(0.001..=0.999)).unwrap_or(0.2);
    let exponent = section.value("rand_zipfian_exp", number(0.001..=10.0)).unwrap_or(0.8);
    let misspelt = named.is_none() && section.has("distribution");
    for key in ["rand_spec_pct", "rand_spec_iter", "rand_spec_res", "rand_pareto_h", "rand_zipfian_exp"] {
        if section.has(key)
            && !misspelt
            && !DISTRIBUTIONS.iter().any(|(other, keys)| *other == name && keys.contains(&key))
        {
            let what = format!("has no meaning for the distribution \"{name}\"");
            section.object(key, Objection::new(what, "remove it, or write another distribution"));
        }
    }
    match name {
        "uniform" => Distribution::Uniform,
        "gaussian" => Distribution::Gaussian { iter },
        "pareto" => Distribution::Pareto { h },
        "zipfian" => Distribution::Zipfian { exponent },
        _ => Distribution::Special { pct, iter, res },
    }
}

/// Values that are proper each by itself and impossible together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Contradiction {
    key: &'static str,
    what: String,
    remedy: &'static str,
}

pub(super) fn contradictions(shape: &Shape) -> Vec<Contradiction> {
    let counts = &shape.counts;
    let reads = matches!(shape.script, Script::ReadOnly | Script::ReadWrite);
    let ranges = [counts.simple_ranges, counts.sum_ranges, counts.order_ranges, counts.distinct_ranges];
    let uses_ranges = reads && shape.range_selects && ranges.iter().any(|count| *count > 0);
    let mut found = Vec::new();
    if shape.statements_per_transaction().is_none() {
        found.push(Contradiction {
            key: "script",
            what: "a transaction of it has no statement, all its counts are 0".to_owned(),
            remedy: "write a count of at least 1, for example point_selects = 10 or index_updates = 1",
        });
    }
    if uses_ranges && shape.range_size > shape.table_size {
        found.push(Contradiction {
            key: "range_size",
            what: format!("{} is more than the {} rows of a table", shape.range_size, shape.table_size),
            remedy: "write a smaller range_size, a larger table_size, or range_selects = false",
        });
    }
    found
}
