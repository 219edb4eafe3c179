//! A workload's options in a line.

use std::collections::BTreeMap;

use serde_json::Value;

/// Kind and script as they are, other options with their names.
pub(super) fn words(options: &BTreeMap<String, Value>) -> String {
    const SELF_EVIDENT: [&str; 3] = ["kind", "script", "calls"];
    let own = SELF_EVIDENT.iter().filter_map(|key| options.get(*key).map(plain)).collect::<Vec<_>>().join(" ");
    let others = options.iter().filter(|(key, _)| !SELF_EVIDENT.contains(&key.as_str()));
    let named = others.map(|(key, value)| format!("{key} {}", plain(value)));
    [own].into_iter().filter(|own| !own.is_empty()).chain(named).collect::<Vec<_>>().join(", ")
}

/// Of tables by name, the names.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(tables) if tables.values().all(Value::is_object) => {
            tables.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
