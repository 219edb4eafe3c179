//! `[workload]`, and what a profile changes of it.

use crate::oltp::{Counts, Distribution, Prepare, Script, Shape};
use crate::sql::Protocol;

use super::Workload;
use super::mistakes::Objection;
use super::section::Section;
use super::value::{choice, count, flag, identifier, number};

/// The study's own workload, which profiles build on.
pub(super) struct Base<'a> {
    section: Section<'a>,
    pub workload: Workload,
    contradictions: Vec<Contradiction>,
    sound: bool,
}

/// Keys that shape the tables. One schema serves the whole study.
const BUILD_KEYS: [&str; 6] =
    ["tables", "table_size", "auto_inc", "secondary", "create_secondary", "mysql_storage_engine"];

const SCRIPTS: [(&str, Script); 8] = [
    ("read_only", Script::ReadOnly),
    ("read_write", Script::ReadWrite),
    ("write_only", Script::WriteOnly),
    ("point_select", Script::PointSelect),
    ("update_index", Script::UpdateIndex),
    ("update_non_index", Script::UpdateNonIndex),
    ("insert", Script::Insert),
    ("delete", Script::Delete),
];

const LATER_KINDS: [(&str, &str); 2] = [
    ("tprocc", "write kind = \"oltp\" with one of its scripts"),
    ("sql", "write kind = \"oltp\" with one of its scripts"),
];

/// Statements are numbered with 16 bits, nine for each table.
const MOST_TABLES: u32 = 7_000;

/// Reads `[workload]`. None when it is not one that this version runs; that has been reported then.
pub(super) fn base<'a>(root: &Section<'a>) -> Option<Base<'a>> {
    let before = root.mistakes();
    let section = root.section("workload");
    if !section.exists() {
        if !root.has("workload") {
            let remedy = "write [workload] with kind = \"oltp\" and script = \"read_write\"";
            root.object("workload", Objection::new("is missing", remedy));
        }
        return None;
    }
    section.required("kind", "write kind = \"oltp\"", choice(&[("oltp", ())], &LATER_KINDS))?;
    section.demand("script", "write script = \"read_write\", or another of sysbench's");
    let shape = shape(&section);
    let sound = root.mistakes() == before;
    let contradictions = if sound { contradictions(&shape) } else { Vec::new() };
    report(&section, &contradictions);
    section.finish();
    Some(Base { section, workload: Workload::Oltp(shape), contradictions, sound })
}

/// Reads a profile's own `workload` over the study's.
pub(super) fn over<'a>(own: Section<'a>, base: &Base<'a>) -> Option<Workload> {
    if !own.exists() {
        return Some(base.workload.clone());
    }
    let before = own.mistakes();
    own.refuse("kind", "a study has one kind of workload", "write kind in [workload] only");
    for key in BUILD_KEYS {
        let what = "the whole study runs on one schema, so a profile cannot change how it is built";
        own.refuse(key, what, "write it in [workload] only");
    }
    let own = own.over(&base.section);
    let shape = shape(&own);
    if base.sound && own.mistakes() == before {
        let news: Vec<_> = contradictions(&shape).into_iter().filter(|it| !base.contradictions.contains(it)).collect();
        report(&own, &news);
    }
    own.finish();
    Some(Workload::Oltp(shape))
}

fn report(section: &Section<'_>, contradictions: &[Contradiction]) {
    for Contradiction { key, what, remedy } in contradictions {
        section.object(key, Objection::new(what, *remedy));
    }
}

fn script(item: &toml_edit::Item) -> Result<Script, Objection> {
    let short = item.as_str().and_then(|word| word.strip_prefix("oltp_")).map(toml_edit::value);
    choice(&SCRIPTS, &[])(short.as_ref().unwrap_or(item))
}

/// Every option of the OLTP workload, with its default where neither the section nor what lies below it has the key.
fn shape(section: &Section<'_>) -> Shape {
    let script = section.value("script", script).unwrap_or(Script::ReadWrite);
    let natural = if script == Script::Insert { Protocol::Text } else { Protocol::Prepared };
    let protocols = choice(&[("prepared", Protocol::Prepared), ("text", Protocol::Text)], &[]);
    let moments = choice(&[("eager", Prepare::Eager), ("lazy", Prepare::Lazy)], &[]);
    Shape {
        script,
        tables: section.value("tables", count(1..=MOST_TABLES)).unwrap_or(1),
        table_size: section.value("table_size", count(1..=2_147_483_647)).unwrap_or(10_000),
        range_size: section.value("range_size", count(1..=2_147_483_647)).unwrap_or(100),
        range_selects: section.value("range_selects", flag).unwrap_or(true),
        skip_trx: section.value("skip_trx", flag).unwrap_or(false),
        auto_inc: section.value("auto_inc", flag).unwrap_or(true),
        secondary: section.value("secondary", flag).unwrap_or(false),
        create_secondary: section.value("create_secondary", flag).unwrap_or(true),
        mysql_storage_engine: section.value("mysql_storage_engine", identifier).unwrap_or_else(|| "innodb".to_owned()),
        counts: counts(section),
        distribution: distribution(section),
        protocol: section.value("protocol", protocols).unwrap_or(natural),
        prepare: section.value("prepare", moments).unwrap_or(Prepare::Eager),
    }
}

fn counts(section: &Section<'_>) -> Counts {
    let of = |key, default| section.value(key, count(0..=10_000)).unwrap_or(default);
    Counts {
        point_selects: of("point_selects", 10),
        simple_ranges: of("simple_ranges", 1),
        sum_ranges: of("sum_ranges", 1),
        order_ranges: of("order_ranges", 1),
        distinct_ranges: of("distinct_ranges", 1),
        index_updates: of("index_updates", 1),
        non_index_updates: of("non_index_updates", 1),
        delete_inserts: of("delete_inserts", 1),
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
    let name = section.value("distribution", choice(&names, &[])).unwrap_or("special");
    let pct = section.value("rand_spec_pct", count(1..=100)).unwrap_or(1);
    let iter = section.value("rand_spec_iter", count(1..=1000)).unwrap_or(12);
    let res = section.value("rand_spec_res", count(0..=100)).unwrap_or(75);
    let h = section.value("rand_pareto_h", number(0.001..=0.999)).unwrap_or(0.2);
    let exponent = section.value("rand_zipfian_exp", number(0.001..=10.0)).unwrap_or(0.8);
    for key in ["rand_spec_pct", "rand_spec_iter", "rand_spec_res", "rand_pareto_h", "rand_zipfian_exp"] {
        if section.has(key) && !DISTRIBUTIONS.iter().any(|(other, keys)| *other == name && keys.contains(&key)) {
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
struct Contradiction {
    key: &'static str,
    what: String,
    remedy: &'static str,
}

fn contradictions(shape: &Shape) -> Vec<Contradiction> {
    let counts = &shape.counts;
    let ranges = match (shape.script, shape.range_selects) {
        (Script::ReadOnly | Script::ReadWrite, true) => {
            u64::from(counts.simple_ranges)
                + u64::from(counts.sum_ranges)
                + u64::from(counts.order_ranges)
                + u64::from(counts.distinct_ranges)
        }
        _ => 0,
    };
    let reads = u64::from(counts.point_selects) + ranges;
    let writes =
        u64::from(counts.index_updates) + u64::from(counts.non_index_updates) + u64::from(counts.delete_inserts);
    let statements = match shape.script {
        Script::ReadOnly => reads,
        Script::ReadWrite => reads + writes,
        Script::WriteOnly => writes,
        Script::UpdateIndex => u64::from(counts.index_updates),
        Script::UpdateNonIndex => u64::from(counts.non_index_updates),
        Script::PointSelect | Script::Insert | Script::Delete => 1,
    };
    let mut found = Vec::new();
    if statements == 0 {
        found.push(Contradiction {
            key: "script",
            what: "a transaction of it has no statement, all its counts are 0".to_owned(),
            remedy: "write a count of at least 1, for example point_selects = 10 or index_updates = 1",
        });
    }
    if ranges > 0 && shape.range_size > shape.table_size {
        found.push(Contradiction {
            key: "range_size",
            what: format!("{} is more than the {} rows of a table", shape.range_size, shape.table_size),
            remedy: "write a smaller range_size, a larger table_size, or range_selects = false",
        });
    }
    found
}
