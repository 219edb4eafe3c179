//! Where mistakes are collected while a study is read, each with the place by which the user knows it.

use std::cell::RefCell;
use std::collections::HashMap;

use toml_edit::{Document, Item};

use super::{Problem, Refusal};

/// What is wrong with a value, and what to write instead; whoever knows the key makes a [`Problem`] of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Objection {
    pub what: String,
    pub remedy: String,
}

impl Objection {
    pub(super) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Objection { what: what.into(), remedy: remedy.into() }
    }
}

/// How a value that does not stand in the file came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// Typed after `--set`.
    Set,
    /// Multiplied by `--scale-time`.
    Scaled,
    /// Read from the SQL file of that name.
    File(String),
}

/// Where every key of the user's own file stands, and which ones an edit has changed since.
#[derive(Debug, Default)]
pub(super) struct Places {
    lines: HashMap<String, usize>,
    origins: HashMap<String, Origin>,
}

impl Places {
    pub(super) fn of(document: &Document<String>) -> Self {
        let mut places = Places::default();
        places.visit(document.raw(), "", document.as_item());
        places
    }

    pub(super) fn changed(&mut self, path: &str, origin: Origin) {
        self.origins.insert(path.to_owned(), origin);
    }

    /// A key that has taken the place of another, from an SQL file.
    pub(super) fn stands_for(&mut self, path: &str, old: &str, file: &str) {
        if let Some(line) = self.lines.get(old).copied() {
            self.lines.insert(path.to_owned(), line);
        }
        self.changed(path, Origin::File(file.to_owned()));
    }

    fn visit(&mut self, text: &str, path: &str, item: &Item) {
        if let Some(table) = item.as_table_like() {
            for (name, child) in table.iter() {
                let span = table.key(name).and_then(|key| key.span()).or_else(|| child.span());
                self.step(text, &join(path, name), span, child);
            }
        } else {
            let elements = (0..).map_while(|index| item.get(index).map(|child| (index, child)));
            for (index, child) in elements {
                self.step(text, &join(path, &index.to_string()), child.span(), child);
            }
        }
    }

    fn step(&mut self, text: &str, path: &str, span: Option<std::ops::Range<usize>>, child: &Item) {
        if let Some(span) = span {
            self.lines.insert(path.to_owned(), line_at(text, span.start));
        }
        self.visit(text, path, child);
    }

    fn origin(&self, path: &str) -> Option<&Origin> {
        ancestors(path).find_map(|path| self.origins.get(path))
    }

    /// The line of a key, or of the nearest thing around it when it is not there.
    pub(super) fn line(&self, path: &str) -> Option<usize> {
        ancestors(path).find_map(|path| self.lines.get(path)).copied()
    }
}

/// Every mistake found so far.
#[derive(Debug)]
pub(super) struct Mistakes {
    places: Places,
    found: RefCell<Vec<Problem>>,
}

impl Mistakes {
    pub(super) fn new(places: Places, found: Vec<Problem>) -> Self {
        Mistakes { places, found: RefCell::new(found) }
    }

    pub(super) fn add(&self, path: &str, objection: Objection) {
        let Objection { what, remedy } = objection;
        let (line, what) = match self.places.origin(path) {
            Some(Origin::Set) => (None, format!("from --set: {what}")),
            Some(Origin::Scaled) => (self.places.line(path), format!("after --scale-time: {what}")),
            Some(Origin::File(file)) => (self.places.line(path), format!("from {file}: {what}")),
            None => (self.places.line(path), what),
        };
        self.found.borrow_mut().push(Problem { line, key: path.to_owned(), what, remedy });
    }

    pub(super) fn count(&self) -> usize {
        self.found.borrow().len()
    }

    /// The value, if nothing was wrong on the way to it.
    pub(super) fn unless_any<T>(self, value: T) -> Result<T, Refusal> {
        let mut problems = self.found.into_inner();
        if problems.is_empty() {
            return Ok(value);
        }
        problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        Err(Refusal { problems })
    }
}

/// Appends a step to a dotted path.
pub(super) fn join(path: &str, step: &str) -> String {
    if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") }
}

/// Line of a byte offset, counted from 1.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The path itself, then whatever encloses it, the root excepted.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rfind('.').map(|dot| &path[..dot]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"x\"\n\n[target]\nkind = \"mysql\"\n\n[[profiles]]\nvus = [\n  4,\n  8,\n]\n\
                        pacing = { wait = \"1s\" }\n[[profiles]]\nvus = 1\n";

    #[test]
    fn every_key_has_its_line() {
        let places = Places::of(&TEXT.parse().unwrap());
        for (path, line) in [
            ("name", Some(1)),
            ("target", Some(3)),
            ("target.kind", Some(4)),
            ("target.user", Some(3)),
            ("profiles.0", Some(6)),
            ("profiles.0.vus.1", Some(9)),
            ("profiles.0.pacing.wait", Some(11)),
            ("profiles.1", Some(12)),
            ("profiles.1.label", Some(12)),
            ("workload.kind", None),
        ] {
            assert_eq!(places.line(path), line, "{path}");
        }
    }

    #[test]
    fn what_was_typed_after_set_has_no_line_and_says_so() {
        let mut places = Places::of(&TEXT.parse().unwrap());
        places.changed("target", Origin::Set);
        places.changed("name", Origin::Scaled);
        let mistakes = Mistakes::new(places, Vec::new());
        mistakes.add("target.kind", Objection::new("is odd", "write mysql"));
        mistakes.add("name", Objection::new("is short", "write more"));
        let shown = mistakes.unless_any(()).unwrap_err().to_string();
        assert_eq!(
            shown,
            "line 1: name: after --scale-time: is short; write more\n\
             target.kind: from --set: is odd; write mysql"
        );
    }
}
