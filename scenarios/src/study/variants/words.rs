//! Lists of words, and texts that name something on the database's host.

use toml_edit::Item;

use super::super::mistakes::Objection;
use super::super::section::Section;
use super::super::value::{choice, text};

/// Every word of a list that must be there and must not be empty, none twice.
pub(super) fn words<T: Copy>(section: &Section<'_>, key: &'static str, options: &[(&'static str, T)]) -> Vec<T> {
    let found = some_words(section, key, options);
    let empty = section.item(key).is_some_and(|item| item.is_array() && item.get(0).is_none());
    let example = options.first().map_or("..", |(word, _)| word);
    if !section.has(key) || empty {
        let what = if empty { "is an empty list" } else { "is missing" };
        section.object(key, Objection::new(what, format!("write at least one, for example {key} = [\"{example}\"]")));
    }
    found
}

/// Every word of a list that may be absent, none twice.
pub(super) fn some_words<T: Copy>(section: &Section<'_>, key: &'static str, options: &[(&'static str, T)]) -> Vec<T> {
    if let Some(item) = section.item(key) {
        let mut seen = Vec::new();
        for (index, word) in (0..).map_while(|index| item.get(index)?.as_str().map(|word| (index, word))) {
            if seen.contains(&word) {
                let what = format!("\"{word}\" is there already");
                section.object(&format!("{key}.{index}"), Objection::new(what, "remove one of them"));
            }
            seen.push(word);
        }
    }
    section.list(key, choice(options, &[])).unwrap_or_default()
}

/// Text without control characters, as long as names of files may be.
pub(in crate::study) fn line(item: &Item) -> Result<String, Objection> {
    let line = text(item)?;
    if line.chars().count() > 260 || line.chars().any(char::is_control) {
        return Err(Objection::new("does not fit on a line", "write at most 260 characters, without line breaks"));
    }
    Ok(line)
}
