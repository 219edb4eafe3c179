//! The keys of a study's text one by one, to be held against those of another study.

use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item, Value};

/// Every value of a study's canonical text by its dotted path. Elements of a list of tables go by their `name` or `label` where they
/// have one, else by their place, counted from 1. Text that is no TOML has none: only a ledger that was written to by hand holds such.
pub fn keys(text: &str) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    if let Ok(document) = text.parse::<DocumentMut>() {
        collect(String::new(), document.as_item(), &mut keys);
    }
    keys
}

fn collect(path: String, item: &Item, keys: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    if let Some(tables) = item.as_table_like() {
        for (key, item) in tables.iter() {
            collect(below(key), item, keys);
        }
    } else if let Some(tables) = item.as_array_of_tables() {
        for (index, table) in tables.iter().enumerate() {
            let called = ["name", "label"].into_iter().find_map(|key| table.get(key)?.as_str().map(str::to_owned));
            let place = called.map_or_else(|| (index + 1).to_string(), |name| format!("{name:?}"));
            collect(below(&place), &Item::Table(table.clone()), keys);
        }
    } else if let Some(value) = item.as_value() {
        keys.insert(path, plain(value));
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.value().clone(),
        value => value.clone().decorated("", "").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_comes_apart_into_its_keys() {
        let text = "name = 'a' # x\n[target]\nport = 3306\npassword = { env = 'P' }\n[[profiles]]\nvus = [1, 2]\n[[profiles]]\n\
                    vus = 3\n[[variants]]\nname = 'on'\nobserver = { preset = 'userstat' }\n";
        let expected = [
            ("name", "a"),
            ("profiles.1.vus", "[1, 2]"),
            ("profiles.2.vus", "3"),
            ("target.password.env", "P"),
            ("target.port", "3306"),
            ("variants.\"on\".name", "on"),
            ("variants.\"on\".observer.preset", "userstat"),
        ];
        assert_eq!(keys(text), expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        assert!(keys("= no toml").is_empty());
    }
}
