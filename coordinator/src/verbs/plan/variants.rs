//! What a study does to the database between its runs: each variant in a line, and its statements.

use std::collections::BTreeMap;

use vufleet_scenarios::study::{Action, Change, Require, Study, Variant, When};

/// A line a variant; nothing where no variant changes anything.
pub fn describe(study: &Study) -> String {
    if study.variants.iter().all(|variant| variant.change == Change::default()) {
        return String::new();
    }
    let lines: Vec<String> = study.variants.iter().map(line).collect();
    format!("variants:\n{}\n\n", lines.join("\n"))
}

fn line(variant: &Variant) -> String {
    let Variant { name, change } = variant;
    if *change == Change::default() {
        return format!("  {name}: the database as it is");
    }
    let mut parts = Vec::new();
    if !change.remember.is_empty() {
        parts.push(format!("remembers {}", count(change.remember.len(), "value")));
    }
    if !change.apply.is_empty() {
        parts.push(format!("applied by {}", steps(&change.apply)));
    }
    if !change.verify.is_empty() {
        let conditions = count(change.verify.len(), "condition");
        parts.push(format!("verified by {conditions} before and after the load"));
    }
    if !change.footprint.is_empty() {
        let names: Vec<&str> = change.footprint.iter().map(|footprint| footprint.name.as_str()).collect();
        parts.push(format!("its {} read", names.join(", ")));
    }
    if !change.revert.is_empty() {
        parts.push(format!("undone by {}", steps(&change.revert)));
    }
    if !change.undone.is_empty() {
        parts.push(format!("which {} must show", count(change.undone.len(), "condition")));
    }
    format!("  {name}: {}: {}", when(change), parts.join("; "))
}

fn when(change: &Change) -> &'static str {
    match change.when {
        When::BeforeConnecting => "before each of its runs connects",
        When::Connected => "once the sessions of each of its runs are connected",
    }
}

/// Actions by their kinds: "2 statements and command restart of an agent".
pub fn steps(actions: &[Action]) -> String {
    let statements = actions.iter().filter(|action| matches!(action, Action::Sql(_))).count();
    let commands = actions.iter().filter_map(|action| match action {
        Action::Sql(_) => None,
        Action::Command { name, agent } => Some(command(name, agent)),
    });
    let mut parts: Vec<String> = commands.collect();
    if statements > 0 {
        parts.insert(0, count(statements, "statement"));
    }
    parts.join(" and ")
}

/// A command and who runs it, for people.
pub fn command(name: &str, labels: &BTreeMap<String, String>) -> String {
    let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    match labels.as_slice() {
        [] => format!("command {name} of an agent"),
        labels => format!("command {name} of the agent with {}", labels.join(", ")),
    }
}

/// The statements of a variant, with a title for each time at which some are sent.
pub fn statements(variant: &Variant) -> Vec<(String, Vec<String>)> {
    let Variant { name, change } = variant;
    let mut sections = Vec::new();
    for remember in &change.remember {
        let title = format!("variant {name}, before it is applied: remembered as {}", remember.name);
        sections.push((title, vec![remember.sql.clone()]));
    }
    sections.push((format!("variant {name}, applied {}", when(change)), change.apply.iter().map(text).collect()));
    sections.extend(change.verify.iter().map(|it| required(&format!("variant {name}, before and after the load"), it)));
    for footprint in &change.footprint {
        let title = format!("variant {name}, before and after the load: {}", footprint.name);
        sections.push((title, vec![footprint.sql.clone()]));
    }
    sections.push((format!("variant {name}, undone after each of its runs"), change.revert.iter().map(text).collect()));
    sections.extend(change.undone.iter().map(|it| required(&format!("variant {name}, once it is undone"), it)));
    sections
}

fn required(when: &str, require: &Require) -> (String, Vec<String>) {
    (format!("{when}, must return {}", require.equals), vec![require.sql.clone()])
}

/// An action among statements.
pub fn text(action: &Action) -> String {
    match action {
        Action::Sql(sql) => sql.trim().trim_end_matches(';').to_owned(),
        Action::Command { name, agent } => format!("-- {}", command(name, agent)),
    }
}

fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(change: Change) -> Variant {
        Variant { name: "audit".to_owned(), change }
    }

    fn sql(text: &str) -> Action {
        Action::Sql(text.to_owned())
    }

    #[test]
    fn a_variant_is_told_in_a_line() {
        assert_eq!(line(&variant(Change::default())), "  audit: the database as it is");
        let restart = Action::Command { name: "restart".to_owned(), agent: [("host".into(), "db".into())].into() };
        let change = Change {
            when: When::Connected,
            apply: vec![sql("SET GLOBAL a = 1"), sql("SET GLOBAL b = 1"), restart],
            verify: vec![Require { sql: "SELECT @@a".to_owned(), equals: "1".to_owned() }],
            revert: vec![sql("SET GLOBAL a = 0")],
            ..Change::default()
        };
        assert_eq!(
            line(&variant(change)),
            "  audit: once the sessions of each of its runs are connected: applied by 2 statements and command restart of \
             the agent with host=db; verified by 1 condition before and after the load; undone by 1 statement"
        );
    }

    #[test]
    fn statements_are_told_by_when_they_are_sent() {
        let change = Change {
            apply: vec![sql("SET GLOBAL a = 1;")],
            revert: vec![sql("SET GLOBAL a = {remembered:a}")],
            undone: vec![Require { sql: "SELECT @@a".to_owned(), equals: "{remembered:a}".to_owned() }],
            ..Change::default()
        };
        let told = statements(&variant(change));
        let [(first, applied), (_, reverted), (last, _)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(
            (first.as_str(), applied[0].as_str()),
            ("variant audit, applied before each of its runs connects", "SET GLOBAL a = 1")
        );
        assert_eq!(reverted, &["SET GLOBAL a = {remembered:a}"]);
        assert_eq!(last, "variant audit, once it is undone, must return {remembered:a}");
    }
}
