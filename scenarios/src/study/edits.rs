//! What the command line changes in a study before it is read: `--set`, `--scale-time`, SQL files and the seed.
//!
//! The changes are made to the document, so that the text which agents receive and ledgers keep already has them.

use std::time::Duration;

use toml_edit::{Document, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

use super::mistakes::{Objection, Origin, Places, join};
use super::{Problem, Refusal, SqlFiles, duration, schedule, sql_files, syntax};

/// Changes to a study's text.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    /// `key=value` as typed after `--set`: a dotted path, list elements by their index from 0, and a TOML value; what
    /// is not TOML is text.
    pub set: Vec<String>,
    /// Factor on every time of the schedule.
    pub scale_time: Option<f64>,
    /// Seed where the study names none. TOML holds its lower 63 bits.
    pub default_seed: u64,
    /// What the SQL files hold that the study names.
    pub files: SqlFiles,
}

/// A study's text after the edits, and where its parts come from.
pub(super) struct Edited {
    pub text: String,
    pub places: Places,
    pub problems: Vec<Problem>,
}

/// Keys that exclude each other: setting the first from outside takes the others out of the file.
const INSTEAD: [(&str, &[&str]); 6] = [
    ("schedule.transactions", &["measure"]),
    ("schedule.measure", &["transactions"]),
    ("target.socket", &["host", "port"]),
    ("target.instance", &["port"]),
    ("target.host", &["socket"]),
    ("target.port", &["socket", "instance"]),
];

/// Applies the edits. A text that nothing changes comes back as it was, to the byte.
pub(super) fn apply(text: &str, edits: &Edits) -> Result<Edited, Refusal> {
    let original: Document<String> = text.parse().map_err(|error| syntax::refusal(text, &error))?;
    let mut places = Places::of(&original);
    let mut problems: Vec<Problem> = Vec::new();
    let mut document = original.into_mut();
    problems.extend(set_all(&mut document, &mut places, edits));
    problems.extend(sql_files::put(&mut document, &mut places, &edits.files));
    if edits.set.is_empty() && edits.scale_time.is_none() && edits.files.is_empty() && document.contains_key("seed") {
        return Ok(Edited { text: text.to_owned(), places, problems });
    }
    if let Some(factor) = edits.scale_time {
        problems.extend(scale(&mut document, &mut places, factor).err());
    }
    if !document.contains_key("seed") {
        document["seed"] = toml_edit::value((edits.default_seed & i64::MAX as u64).cast_signed());
    }
    Ok(Edited { text: document.to_string(), places, problems })
}

/// Applies every `--set`. What cannot be applied is a problem.
pub(super) fn set_all(document: &mut DocumentMut, places: &mut Places, edits: &Edits) -> Vec<Problem> {
    let refused = edits.set.iter().filter_map(|typed| set(document, places, typed).err());
    let problem = |(key, Objection { what, remedy })| {
        let what = format!("from --set: {what}");
        Problem { line: None, key, what, remedy }
    };
    refused.map(problem).collect()
}

/// Applies one `key=value`.
fn set(document: &mut DocumentMut, places: &mut Places, typed: &str) -> Result<(), (String, Objection)> {
    let example = "write it as key=value, for example schedule.measure=10s";
    let (path, text) =
        typed.split_once('=').ok_or_else(|| (typed.to_owned(), Objection::new("has no value", example)))?;
    let path = path.trim();
    let keys = Key::parse(path).map_err(|_| (path.to_owned(), Objection::new("is not the path of a key", example)))?;
    let steps: Vec<&str> = keys.iter().map(Key::get).collect();
    let value = text.parse().unwrap_or_else(|_| Value::from(text));
    put(document.as_item_mut(), &steps, value).map_err(|objection| (path.to_owned(), objection))?;
    let path = steps.join(".");
    for (_, others) in INSTEAD.iter().filter(|(key, _)| *key == path) {
        if let Some(table) = document.get_mut(steps[0]).and_then(Item::as_table_like_mut) {
            for other in *others {
                table.remove(other);
            }
        }
    }
    places.changed(&path, Origin::Set);
    Ok(())
}

/// Puts a value at the end of a path, making the tables on the way.
fn put(root: &mut Item, steps: &[&str], value: Value) -> Result<(), Objection> {
    let (last, way) = steps.split_last().expect("a parsed key has at least one part");
    let mut at = root;
    let mut path = String::new();
    for step in way {
        at = enter(at, &path, step)?;
        path = join(&path, step);
    }
    if is_list(at) {
        let element = element(at, &path, last)?;
        if element.is_table() && !value.is_inline_table() {
            return Err(Objection::new(
                "is a table, not a value",
                format!("set one of its keys: {path}.{last}.KEY=.."),
            ));
        }
        replace(element, value);
        return Ok(());
    }
    match at.as_table_like_mut() {
        Some(table) => match table.get_mut(last) {
            Some(old) => replace(old, value),
            None => drop(table.insert(last, Item::Value(value))),
        },
        None => return Err(no_inside(&path)),
    }
    Ok(())
}

/// The item one step further down.
fn enter<'a>(at: &'a mut Item, path: &str, step: &str) -> Result<&'a mut Item, Objection> {
    if is_list(at) {
        return element(at, path, step);
    }
    let inline = at.is_inline_table();
    let table: &mut dyn TableLike = at.as_table_like_mut().ok_or_else(|| no_inside(path))?;
    if !table.contains_key(step) {
        let empty = if inline { Item::Value(InlineTable::new().into()) } else { Item::Table(Table::new()) };
        table.insert(step, empty);
    }
    Ok(table.get_mut(step).expect("it was there or has just been put there"))
}

fn is_list(item: &Item) -> bool {
    item.is_array() || item.is_array_of_tables()
}

/// An element of a list by its index, which must exist.
fn element<'a>(list: &'a mut Item, path: &str, step: &str) -> Result<&'a mut Item, Objection> {
    let length = (0..).take_while(|index| list.get(index).is_some()).count();
    step.parse::<usize>().ok().and_then(|index| list.get_mut(index)).ok_or_else(|| {
        Objection::new(
            format!("{path} is a list of {length}, which has no {step}"),
            format!("write an index from 0 to {}", length.saturating_sub(1)),
        )
    })
}

/// Puts a value in another's place; comments around the old one stay. Whether it belongs there is for the reader to say.
fn replace(old: &mut Item, mut value: Value) {
    if let Some(before) = old.as_value() {
        *value.decor_mut() = before.decor().clone();
    }
    *old = match value {
        Value::InlineTable(table) if old.is_table() => Item::Table(table.into_table()),
        value => Item::Value(value),
    };
}

fn no_inside(path: &str) -> Objection {
    Objection::new(format!("{path} is a value and has no keys"), format!("set {path} itself"))
}

/// Multiplies every time of the schedule, defaults included, the warm-up of `[reset]`, and those of `[[switch]]`.
fn scale(document: &mut DocumentMut, places: &mut Places, factor: f64) -> Result<(), Problem> {
    if !(factor > 0.0 && factor <= 1000.0) {
        return Err(Problem {
            line: None,
            key: "--scale-time".to_owned(),
            what: format!("{factor} is out of range"),
            remedy: "write a factor above 0 and at most 1000; 0.05 makes a study twenty times shorter".to_owned(),
        });
    }
    if !document.contains_key("schedule") {
        document.insert("schedule", Item::Table(Table::new()));
    }
    if let Some(table) = document.get_mut("schedule").and_then(Item::as_table_like_mut) {
        let counted = table.contains_key("transactions");
        for (key, default) in schedule::TIMES.iter().filter(|(key, _)| !(counted && *key == "measure")) {
            if !table.contains_key(key) {
                table.insert(key, toml_edit::value(duration::format(*default)));
            }
            scale_one(table, key, factor);
            places.changed(&join("schedule", key), Origin::Scaled);
        }
    }
    if let Some(table) = document.get_mut("reset").and_then(Item::as_table_like_mut) {
        scale_one(table, "warm_up", factor);
    }
    let switches = document.get_mut("switch");
    if let Some(switches) = switches {
        for index in (0..).take_while(|index| switches.get(index).is_some()).collect::<Vec<usize>>() {
            if let Some(table) = switches.get_mut(index).and_then(Item::as_table_like_mut) {
                scale_one(table, "at", factor);
            }
        }
    }
    Ok(())
}

/// Multiplies one time, to the microsecond. What is no time is left for the reader to refuse.
fn scale_one(table: &mut dyn TableLike, key: &str, factor: f64) {
    let Some(old) = table.get_mut(key) else { return };
    let Some(time) = old.as_str().and_then(|text| duration::parse(text).ok()) else { return };
    let microseconds = (time.as_secs_f64() * factor * 1e6).round() as u64;
    let scaled = Value::from(duration::format(Duration::from_micros(microseconds)));
    let decor = old.as_value().map(|value| value.decor().clone()).unwrap_or_default();
    *old = Item::Value(scaled);
    if let Some(value) = old.as_value_mut() {
        *value.decor_mut() = decor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"x\" # mine\n\n[target]\nsocket = \"/s\"\npassword = { env = \"A\" }\n\n[[profiles]]\n\
                        vus = [4, 8]\n\n[schedule]\nmeasure = \"40s\" # window\n";

    fn edited(set: &[&str], scale_time: Option<f64>) -> Edited {
        let set = set.iter().map(|typed| (*typed).to_owned()).collect();
        apply(TEXT, &Edits { set, scale_time, default_seed: 7, ..Edits::default() }).unwrap()
    }

    #[test]
    fn values_are_replaced_where_they_stand() {
        for (typed, expected) in [
            ("name=a b", "name = \"a b\" # mine"),
            ("schedule.measure=10s", "measure = \"10s\" # window"),
            ("schedule.repetitions=3", "repetitions = 3"),
            ("profiles.0.vus.1=9", "vus = [4, 9]"),
            ("profiles.0.vus=9", "vus = 9"),
            ("profiles.0.pacing={ wait = \"1s\" }", "pacing = { wait = \"1s\" }"),
            ("target.password.env=B", "password = { env = \"B\" }"),
            ("fleet.drive.zone=a", "zone = \"a\""),
            ("target.host=db", "host = \"db\""),
            ("name=", "name = \"\" # mine"),
        ] {
            let edited = edited(&[typed], None);
            assert_eq!(edited.problems, [], "{typed}");
            assert!(edited.text.contains(expected), "{typed}:\n{}", edited.text);
            assert!(edited.text.contains("seed = 7"), "{}", edited.text);
            assert!(edited.text.parse::<DocumentMut>().is_ok(), "{}", edited.text);
        }
    }

    #[test]
    fn a_key_set_takes_out_what_it_excludes() {
        assert!(!edited(&["schedule.transactions=3"], None).text.contains("measure"));
        assert!(!edited(&["target.host=db"], None).text.contains("socket"));
    }

    #[test]
    fn what_cannot_be_set_is_a_problem_without_a_line() {
        for (typed, key, what) in [
            ("schedule.measure", "schedule.measure", "from --set: has no value"),
            ("a b=1", "a b", "from --set: is not the path of a key"),
            ("=1", "", "from --set: is not the path of a key"),
            ("name.x=1", "name.x", "from --set: name is a value and has no keys"),
            ("name.x.y=1", "name.x.y", "from --set: name is a value and has no keys"),
            ("profiles.3.vus=1", "profiles.3.vus", "from --set: profiles is a list of 1, which has no 3"),
            ("profiles.x.vus=1", "profiles.x.vus", "from --set: profiles is a list of 1, which has no x"),
            ("profiles.0=1", "profiles.0", "from --set: is a table, not a value"),
        ] {
            let edited = edited(&[typed], None);
            let [problem] = edited.problems.as_slice() else { panic!("one problem for {typed}") };
            assert_eq!((problem.line, problem.key.as_str(), problem.what.as_str()), (None, key, what), "{typed}");
        }
    }

    #[test]
    fn times_are_scaled_defaults_included() {
        let edited = edited(&["schedule.settle=1500ms"], Some(0.05));
        for expected in ["measure = \"2s\" # window", "ramp_up = \"3s\"", "settle = \"75ms\""] {
            assert!(edited.text.contains(expected), "{}", edited.text);
        }
        assert_eq!(self::edited(&[], Some(0.0)).problems[0].key, "--scale-time");
        assert_eq!(self::edited(&[], Some(f64::NAN)).problems[0].key, "--scale-time");
    }

    #[test]
    fn switches_and_warm_ups_are_scaled_too() {
        let text = "seed = 1\nswitch = [{ at = \"60s\" }, { at = 5 }]\n";
        let edits = Edits { scale_time: Some(0.5), ..Edits::default() };
        let reset = "seed = 1\n[reset]\nwarm_up = \"1m\"\ntimeout = \"1h\"\n";
        assert!(apply(reset, &edits).unwrap().text.contains("warm_up = \"30s\"\ntimeout = \"1h\""));
        assert!(apply(text, &edits).unwrap().text.contains("[{ at = \"30s\" }, { at = 5 }]"));
    }

    #[test]
    fn a_text_that_nothing_changes_stays_as_it_is() {
        let text = "seed=1\r\n  name =   'x'";
        assert_eq!(apply(text, &Edits::default()).unwrap().text, text);
    }
}
