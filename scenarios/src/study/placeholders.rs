//! What stands in a variant's texts for something that is known only while a run is under way.
//!
//! `{session_ids}` stands for the ids of the connected sessions, comma separated; `{session_ids| OR id = }` for the same
//! ids with that text between them, where a language has no lists. `{remembered:NAME}` stands for an answer of
//! [`Remember`](super::Remember). Other braces are left alone.

use std::collections::BTreeMap;

use super::{Action, Change, Footprint, Require};

const SESSIONS: &str = "session_ids";
const REMEMBERED: &str = "remembered:";

/// One placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placeholder<'a> {
    /// The sessions' ids and what stands between them.
    Sessions(&'a str),
    /// The answer of that name.
    Remembered(&'a str),
}

impl Change {
    /// The change with the ids of the connected sessions in every SQL text.
    pub fn for_sessions(&self, ids: &[String]) -> Change {
        let put = |text: &str| {
            replaced(text, |placeholder| match placeholder {
                Placeholder::Sessions(between) => Some(ids.join(between)),
                Placeholder::Remembered(_) => None,
            })
        };
        Change {
            when: self.when,
            remember: self.remember.clone(),
            apply: actions(&self.apply, put),
            verify: requires(&self.verify, put),
            revert: actions(&self.revert, put),
            undone: requires(&self.undone, put),
            footprint: self
                .footprint
                .iter()
                .map(|figure| Footprint { sql: put(&figure.sql), ..figure.clone() })
                .collect(),
        }
    }

    /// The change with what was remembered in `revert` and `undone`. A name without an answer stays as it is.
    pub fn remembering(&self, answers: &BTreeMap<String, String>) -> Change {
        let put = |text: &str| {
            replaced(text, |placeholder| match placeholder {
                Placeholder::Sessions(_) => None,
                Placeholder::Remembered(name) => answers.get(name).cloned(),
            })
        };
        Change { revert: actions(&self.revert, put), undone: requires(&self.undone, put), ..self.clone() }
    }

    /// Every text that may hold a placeholder, and whether `{remembered:NAME}` may be one of them.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, bool)> {
        let applied = self.apply.iter().filter_map(sql_of).map(|sql| (sql, false));
        let verified = self.verify.iter().flat_map(|require| [(require.sql.as_str(), false), (&require.equals, false)]);
        let reverted = self.revert.iter().filter_map(sql_of).map(|sql| (sql, true));
        let undone = self.undone.iter().flat_map(|require| [(require.sql.as_str(), true), (&require.equals, true)]);
        let figures = self.footprint.iter().map(|figure| (figure.sql.as_str(), false));
        applied.chain(verified).chain(reverted).chain(undone).chain(figures)
    }
}

fn sql_of(action: &Action) -> Option<&str> {
    match action {
        Action::Sql(sql) => Some(sql),
        Action::Command { .. } => None,
    }
}

fn actions(actions: &[Action], put: impl Fn(&str) -> String) -> Vec<Action> {
    let one = |action: &Action| match action {
        Action::Sql(sql) => Action::Sql(put(sql)),
        command => command.clone(),
    };
    actions.iter().map(one).collect()
}

fn requires(requires: &[Require], put: impl Fn(&str) -> String) -> Vec<Require> {
    requires.iter().map(|require| Require { sql: put(&require.sql), equals: put(&require.equals) }).collect()
}

/// The placeholders of a text.
pub(super) fn placeholders(text: &str) -> Vec<Placeholder<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        rest = &rest[open + 1..];
        if let Some((placeholder, _)) = at(rest) {
            found.push(placeholder);
        }
    }
    found
}

/// The text with something else in the place of those placeholders for which there is something.
fn replaced(text: &str, with: impl Fn(Placeholder<'_>) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let inside = &rest[open + 1..];
        match at(inside).and_then(|(placeholder, after)| Some((with(placeholder)?, after))) {
            Some((value, after)) => {
                out.push_str(&value);
                rest = after;
            }
            None => {
                out.push('{');
                rest = inside;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The placeholder that goes on behind an opening brace, and what follows it.
fn at(inside: &str) -> Option<(Placeholder<'_>, &str)> {
    let (inside, after) = inside.split_once('}')?;
    if inside == SESSIONS {
        return Some((Placeholder::Sessions(","), after));
    }
    if let Some(between) = inside.strip_prefix(SESSIONS).and_then(|rest| rest.strip_prefix('|')) {
        return Some((Placeholder::Sessions(between), after));
    }
    inside.strip_prefix(REMEMBERED).map(|name| (Placeholder::Remembered(name), after))
}

#[cfg(test)]
mod tests {
    use super::super::{Remember, When};
    use super::*;

    fn require(sql: &str, equals: &str) -> Require {
        Require { sql: sql.to_owned(), equals: equals.to_owned() }
    }

    fn change() -> Change {
        Change {
            when: When::Connected,
            remember: vec![Remember { name: "old".to_owned(), sql: "SELECT {session_ids}".to_owned() }],
            apply: vec![
                Action::Sql("A id IN ({session_ids}) {remembered:old}".to_owned()),
                Action::Command { name: "{session_ids}".to_owned(), agent: BTreeMap::new() },
            ],
            verify: vec![require("V id={session_ids| OR id=}", "{x}")],
            revert: vec![Action::Sql("R {remembered:old}{session_ids} {remembered:new}".to_owned())],
            undone: vec![require("U", "{remembered:old}")],
            footprint: vec![Footprint { name: "n".to_owned(), sql: "F {session_ids}".to_owned(), cumulative: true }],
        }
    }

    #[test]
    fn ids_take_the_place_of_sessions_in_every_sql() {
        let made = change().for_sessions(&["51".to_owned(), "7".to_owned()]);
        assert_eq!(made.apply[0], Action::Sql("A id IN (51,7) {remembered:old}".to_owned()));
        assert_eq!(made.apply[1], change().apply[1]);
        assert_eq!(made.verify, [require("V id=51 OR id=7", "{x}")]);
        assert_eq!(made.revert, [Action::Sql("R {remembered:old}51,7 {remembered:new}".to_owned())]);
        assert_eq!(made.footprint[0].sql, "F 51,7");
        assert_eq!((made.when, made.remember), (When::Connected, change().remember));
    }

    #[test]
    fn answers_take_their_place_in_what_undoes() {
        let answers = BTreeMap::from([("old".to_owned(), "'{session_ids}'".to_owned())]);
        let made = change().remembering(&answers);
        assert_eq!(made.revert, [Action::Sql("R '{session_ids}'{session_ids} {remembered:new}".to_owned())]);
        assert_eq!(made.undone, [require("U", "'{session_ids}'")]);
        assert_eq!((&made.apply, &made.verify), (&change().apply, &change().verify));
    }

    #[test]
    fn placeholders_are_found_among_other_braces() {
        for (text, expected) in [
            ("{}{session_ids", vec![]),
            ("{{session_ids}}", vec![Placeholder::Sessions(",")]),
            ("{session_idss}{ session_ids}{session_ids|}", vec![Placeholder::Sessions("")]),
            ("JSON '{\"a\": 1}' {remembered:a b}", vec![Placeholder::Remembered("a b")]),
            ("{remembered:}{session_ids|;}", vec![Placeholder::Remembered(""), Placeholder::Sessions(";")]),
        ] {
            assert_eq!(placeholders(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_without_placeholders_stay_as_they_are() {
        for text in ["", "{", "}", "{}", "a { b } c", "{session_ids", "{ session_ids }", "\u{e9}{\u{e9}}"] {
            assert_eq!(replaced(text, |_| Some("x".to_owned())), text);
        }
    }
}
