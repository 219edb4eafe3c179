//! `parameters` of a transaction: names and their generators.

use toml_edit::Item;

use crate::custom::{Bounds, Constant, Generator, Parameter};
use crate::session::Dialect;
use crate::sql::{Protocol, Statement, first_word};

use super::super::super::mistakes::{Objection, join};
use super::super::super::nearest::nearest;
use super::super::super::section::Section;
use super::super::super::value::{count, number, wrong_type};
use super::statements::Listing;

/// Keys of which a generator has one.
const KINDS: [&str; 6] = ["uniform", "zipfian", "nurand", "sequence", "choice", "text"];

const FORMS: &str = "write { uniform = [1, 1000] }, { zipfian = [1, 1000], exponent = 0.8 }, { nurand = [1, 3000], a = 1023 }, \
                     { sequence = [1, 1000] }, { choice = [\"a\", \"b\"] }, { text = 40 } or \"now\"";

/// Exponent of Zipf's law where the study names none: that of the OLTP workload.
const EXPONENT: f64 = 0.8;

/// Largest text of a parameter.
const MOST_CHARACTERS: u32 = 65_535;

/// Every parameter, in the order of the file.
pub(super) fn read(transaction: &Section<'_>) -> Vec<Parameter> {
    let section = transaction.section("parameters");
    let mut parameters = Vec::new();
    for (name, item) in section.entries() {
        if !is_name(name) {
            let remedy = "write letters, digits and underscores, a letter first, as it stands behind the colon";
            section.object(name, Objection::new("is not a name that a statement can use", remedy));
        }
        parameters
            .extend(generator(&section, name, item).map(|generator| Parameter { name: name.to_owned(), generator }));
    }
    parameters
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// None only after something has been objected to.
fn generator<'a>(parameters: &Section<'a>, name: &str, item: &'a Item) -> Option<Generator> {
    if item.as_str() == Some("now") {
        return Some(Generator::Now);
    }
    let Some(section) = parameters.invented(name, item) else {
        parameters.object(name, Objection::new("is no generator", FORMS));
        return None;
    };
    let exponent = section.value("exponent", number(0.0..=10.0));
    let a = section.value("a", count(1..=i32::MAX as u32));
    let found = [
        section.value("uniform", narrow).map(Generator::Uniform),
        section.value("zipfian", narrow).map(|bounds| Generator::zipfian(bounds, exponent.unwrap_or(EXPONENT))),
        section.value("nurand", natural).zip(a).map(|(bounds, a)| Generator::Nurand { bounds, a }),
        section.value("sequence", bounds).map(Generator::Sequence),
        section.value("choice", choice).map(Generator::Choice),
        section.value("text", count(1..=MOST_CHARACTERS)).map(|length| Generator::Text { length }),
    ];
    let mut there = KINDS.into_iter().filter(|kind| section.has(kind));
    match (there.next(), there.next()) {
        (None, _) => section.object("", Objection::new("has no generator", FORMS)),
        (Some(first), Some(second)) => {
            let what = format!("{first} is there too, and a value has one source");
            section.object(second, Objection::new(what, "remove one of them"));
        }
        (Some(_), None) => {}
    }
    belongs(&section, "exponent", "zipfian");
    belongs(&section, "a", "nurand");
    if section.has("nurand") {
        section
            .demand("a", "write TPC-C's A for the range: 255 for [0, 999], 1023 for [1, 3000], 8191 for [1, 100000]");
    }
    section.finish();
    found.into_iter().flatten().next()
}

fn belongs(section: &Section<'_>, key: &str, kind: &str) {
    if section.has(key) && !section.has(kind) {
        let what = format!("has no meaning without {kind}");
        section.object(key, Objection::new(what, format!("remove it, or write {kind} = [1, 1000]")));
    }
}

/// Two whole numbers, the smaller first.
fn bounds(item: &Item) -> Result<Bounds, Objection> {
    let example = "two whole numbers, the smaller first, for example [1, 1000]";
    let pair = (item.get(0).and_then(Item::as_integer), item.get(1).and_then(Item::as_integer), item.get(2));
    let (Some(low), Some(high), None) = pair else {
        return Err(Objection::new("is not the first and the last of some numbers", format!("write {example}")));
    };
    match low <= high {
        true => Ok(Bounds { low, high }),
        false => Err(Objection::new(format!("{low} is above {high}"), format!("write {example}"))),
    }
}

/// Bounds of as many numbers as can be drawn from.
fn narrow(item: &Item) -> Result<Bounds, Objection> {
    let bounds = bounds(item)?;
    match bounds.count() <= Bounds::MAX_COUNT {
        true => Ok(bounds),
        false => {
            let remedy = format!("write at most {}", Bounds::MAX_COUNT);
            Err(Objection::new(format!("is a range of {} numbers", bounds.count()), remedy))
        }
    }
}

/// Bounds of TPC-C's numbers.
fn natural(item: &Item) -> Result<Bounds, Objection> {
    let bounds = bounds(item)?;
    match bounds.low >= 0 && bounds.high <= i64::from(i32::MAX) {
        true => Ok(bounds),
        false => Err(Objection::new("is out of range", format!("write numbers from 0 to {}", i32::MAX))),
    }
}

fn choice(item: &Item) -> Result<Vec<Constant>, Objection> {
    let remedy = "write the values in brackets, for example [\"open\", \"closed\"] or [1, 5, 10]";
    if !item.is_array() {
        return Err(wrong_type(
            item,
            "a list",
            "the values in brackets, for example [\"open\", \"closed\"] or [1, 5, 10]",
        ));
    }
    let elements = (0..).map_while(|index| item.get(index));
    let constants: Option<Vec<Constant>> = elements.map(constant).collect();
    match constants {
        Some(constants) if !constants.is_empty() => Ok(constants),
        Some(_) => Err(Objection::new("has no value", remedy)),
        None => Err(Objection::new("has a value that is neither text nor a whole number", remedy)),
    }
}

fn constant(item: &Item) -> Option<Constant> {
    let text = item.as_str().map(|text| Constant::Text(text.to_owned()));
    text.or_else(|| item.as_integer().map(Constant::Int))
}

/// Objects to names without a generator, and to generators whose name no statement has.
pub(super) fn check_use(transaction: &Section<'_>, parameters: &[Parameter], listings: &[Listing]) {
    let mut used: Vec<String> = Vec::new();
    for listing in listings {
        for (index, sql) in listing.statements.iter().enumerate() {
            let names = Statement::parse(sql, listing.dialect, Protocol::Prepared).slots;
            let unknown = names.iter().filter(|name| parameters.iter().all(|parameter| parameter.name != **name));
            let mut told: Vec<&String> = Vec::new();
            for name in unknown {
                if !told.contains(&name) {
                    transaction.object(&join(&listing.key, &index.to_string()), without_generator(name, parameters));
                }
                told.push(name);
            }
            let timed = parameters.iter().find(|it| it.generator == Generator::Now && names.contains(&it.name));
            if let (Some(Parameter { name, .. }), true) = (timed, is_exec(sql, listing.dialect)) {
                transaction.object(&join(&listing.key, &index.to_string()), no_expression(name));
            }
            used.extend(names);
        }
    }
    for Parameter { name, .. } in parameters.iter().filter(|parameter| !used.contains(&parameter.name)) {
        let remedy = format!("write :{name} where its value belongs, or remove it");
        transaction
            .object(&join("parameters", name), Objection::new("no statement of the transaction uses it", remedy));
    }
}

fn is_exec(sql: &str, dialect: Dialect) -> bool {
    let word = first_word(sql, dialect);
    dialect == Dialect::Mssql && (word.eq_ignore_ascii_case("EXEC") || word.eq_ignore_ascii_case("EXECUTE"))
}

fn no_expression(name: &str) -> Objection {
    let what = format!(":{name} is the server's time, an expression, and EXEC takes none");
    Objection::new(
        what,
        format!("write DECLARE @{name} datetime2 = :{name}; before it and @{name} among its arguments"),
    )
}

fn without_generator(name: &str, parameters: &[Parameter]) -> Objection {
    let remedy = match nearest(name, parameters.iter().map(|parameter| parameter.name.as_str())) {
        Some(meant) => format!("write :{meant}, or {name} = {{ uniform = [1, 1000] }} in parameters"),
        None => format!("write {name} = {{ uniform = [1, 1000] }}, or another generator, in parameters"),
    };
    Objection::new(format!(":{name} has no generator"), remedy)
}
