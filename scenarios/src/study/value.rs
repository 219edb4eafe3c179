//! Checks of a single value: its type, its range, its vocabulary. Which key it belongs to is the section's business.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use toml_edit::Item;

use super::duration;
use super::mistakes::Objection;
use super::nearest::nearest;

/// Says that something of the file format cannot be had from this version.
fn not_yet(what: impl Display, remedy: impl Into<String>) -> Objection {
    Objection::new(format!("this version of vufleet does not do {what} yet"), remedy)
}

/// Says that a value has the wrong type.
pub(super) fn wrong_type(item: &Item, wanted: &str, example: &str) -> Objection {
    let found = match item.type_name() {
        "integer" => "a whole number",
        "float" => "a number",
        "boolean" => "true or false",
        "datetime" => "a date",
        "array" | "array of tables" => "a list",
        "string" => "text",
        _ => "a table",
    };
    Objection::new(format!("is {found}, not {wanted}"), format!("write {example}"))
}

/// Text that says something.
pub(super) fn text(item: &Item) -> Result<String, Objection> {
    let text = item.as_str().ok_or_else(|| wrong_type(item, "text", "it in quotes"))?;
    if text.trim().is_empty() {
        return Err(Objection::new("is empty", "write something between the quotes, or remove the key"));
    }
    Ok(text.to_owned())
}

/// Text that fits on one line of a report.
pub(super) fn title(item: &Item) -> Result<String, Objection> {
    let title = text(item)?;
    if title.chars().count() > 100 || title.chars().any(char::is_control) {
        return Err(Objection::new("does not fit on a line", "write at most 100 characters, without line breaks"));
    }
    Ok(title)
}

/// Letters, digits and underscores: safe to stand unquoted in SQL.
pub(super) fn identifier(item: &Item) -> Result<String, Objection> {
    let name = text(item)?;
    let proper = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name.len() <= 64;
    match proper && !name.starts_with(|c: char| c.is_ascii_digit()) {
        true => Ok(name),
        false => Err(Objection::new("is not a plain name", "write letters, digits and underscores, a letter first")),
    }
}

/// true or false.
pub(super) fn flag(item: &Item) -> Result<bool, Objection> {
    item.as_bool().ok_or_else(|| wrong_type(item, "true or false", "true or false, without quotes"))
}

/// A whole number of a range.
pub(super) fn integer(range: RangeInclusive<i64>) -> impl Fn(&Item) -> Result<i64, Objection> {
    move |item| {
        let example = format!("a whole number from {} to {}", range.start(), range.end());
        let number = item.as_integer().ok_or_else(|| wrong_type(item, "a whole number", &example))?;
        match range.contains(&number) {
            true => Ok(number),
            false => Err(Objection::new(format!("{number} is out of range"), format!("write {example}"))),
        }
    }
}

/// A count: a whole number of a range that a `u32` holds.
pub(super) fn count(range: RangeInclusive<u32>) -> impl Fn(&Item) -> Result<u32, Objection> {
    let checked = integer(i64::from(*range.start())..=i64::from(*range.end()));
    move |item| Ok(u32::try_from(checked(item)?).expect("the range lies inside u32"))
}

/// A number of a range, whole or not.
pub(super) fn number(range: RangeInclusive<f64>) -> impl Fn(&Item) -> Result<f64, Objection> {
    move |item| {
        let example = format!("a number from {} to {}", range.start(), range.end());
        let number = item
            .as_float()
            .or_else(|| item.as_integer().map(|whole| whole as f64))
            .ok_or_else(|| wrong_type(item, "a number", &example))?;
        match range.contains(&number) {
            true => Ok(number),
            false => Err(Objection::new(format!("{number} is out of range"), format!("write {example}"))),
        }
    }
}

/// A time of a range.
pub(super) fn time(range: RangeInclusive<Duration>) -> impl Fn(&Item) -> Result<Duration, Objection> {
    move |item| {
        if item.is_integer() || item.is_float() {
            return Err(duration::no_unit(item.to_string().trim()));
        }
        let text = item.as_str().ok_or_else(|| wrong_type(item, "a time", "a time in quotes, for example \"10s\""))?;
        let time = duration::parse(text)?;
        match range.contains(&time) {
            true => Ok(time),
            false => Err(Objection::new(
                format!("\"{text}\" is out of range"),
                format!("write a time from {} to {}", duration::format(*range.start()), duration::format(*range.end())),
            )),
        }
    }
}

/// A word of a vocabulary. `later` holds the words that belong to the format but not to this version, each with what
/// to do instead.
pub(super) fn choice<T: Copy>(
    options: &[(&'static str, T)],
    later: &[(&'static str, &'static str)],
) -> impl Fn(&Item) -> Result<T, Objection> {
    move |item| {
        let all = options.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let word = item.as_str().ok_or_else(|| wrong_type(item, "a word", &format!("one of {all}")))?;
        if let Some((_, value)) = options.iter().find(|(known, _)| *known == word) {
            return Ok(*value);
        }
        if let Some((_, remedy)) = later.iter().find(|(known, _)| *known == word) {
            return Err(not_yet(format_args!("\"{word}\""), *remedy));
        }
        let remedy = match nearest(word, options.iter().map(|(known, _)| *known)) {
            Some(meant) => format!("write \"{meant}\"? known are {all}"),
            None => format!("write one of {all}"),
        };
        Err(Objection::new(format!("\"{word}\" is not known here"), remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml_edit::Value;

    fn item(toml: &str) -> Item {
        Item::Value(toml.parse::<Value>().unwrap())
    }

    #[test]
    fn types_and_ranges_are_checked() {
        assert_eq!(integer(1..=9)(&item("9")), Ok(9));
        assert_eq!(count(0..=u32::MAX)(&item("4294967295")), Ok(u32::MAX));
        assert_eq!(number(0.5..=1.0)(&item("1")), Ok(1.0));
        assert_eq!(flag(&item("true")), Ok(true));
        for (objection, what) in [
            (integer(1..=9)(&item("10")).unwrap_err(), "10 is out of range"),
            (integer(1..=9)(&item("1.0")).unwrap_err(), "is a number, not a whole number"),
            (number(0.0..=1.0)(&item("nan")).unwrap_err(), "NaN is out of range"),
            (number(0.0..=1.0)(&item("\"1\"")).unwrap_err(), "is text, not a number"),
            (flag(&item("\"true\"")).unwrap_err(), "is text, not true or false"),
            (text(&item("\" \"")).unwrap_err(), "is empty"),
            (identifier(&item("\"inno db\"")).unwrap_err(), "is not a plain name"),
            (identifier(&item("\"1a\"")).unwrap_err(), "is not a plain name"),
            (title(&item("\"a\\nb\"")).unwrap_err(), "does not fit on a line"),
        ] {
            assert_eq!(objection.what, what);
        }
    }

    #[test]
    fn times_need_a_unit_and_a_range() {
        let check = time(Duration::from_millis(1)..=Duration::from_secs(3600));
        assert_eq!(check(&item("\"10s\"")), Ok(Duration::from_secs(10)));
        assert_eq!(check(&item("10")).unwrap_err().remedy, "write \"10s\" or \"10ms\", in quotes");
        assert_eq!(check(&item("\"2h\"")).unwrap_err().remedy, "write a time from 1ms to 1h");
        assert_eq!(check(&item("true")).unwrap_err().what, "is true or false, not a time");
    }

    #[test]
    fn vocabularies_suggest_and_know_what_is_to_come() {
        let check = choice(&[("cores", 1), ("even", 2)], &[("weights", "write \"even\"")]);
        assert_eq!(check(&item("\"even\"")), Ok(2));
        assert_eq!(check(&item("\"evn\"")).unwrap_err().remedy, "write \"even\"? known are \"cores\", \"even\"");
        assert_eq!(check(&item("\"x\"")).unwrap_err().remedy, "write one of \"cores\", \"even\"");
        let later = check(&item("\"weights\"")).unwrap_err();
        assert_eq!(later.what, "this version of vufleet does not do \"weights\" yet");
        assert_eq!(later.remedy, "write \"even\"");
    }
}
