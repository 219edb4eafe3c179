//! A checked reader over one table of the study. It collects mistakes instead of stopping at the first, and knows in
//! the end which keys nobody asked for.

use std::cell::RefCell;

use toml_edit::{Item, TableLike};

use super::mistakes::{Mistakes, Objection, join};
use super::nearest::nearest;
use super::value::wrong_type;

/// One table of the study, or its absence.
pub(super) struct Section<'a> {
    table: Option<&'a dyn TableLike>,
    base: Option<&'a dyn TableLike>,
    path: String,
    mistakes: &'a Mistakes,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    pub(super) fn root(table: &'a dyn TableLike, mistakes: &'a Mistakes) -> Self {
        Section::at(Some(table), String::new(), mistakes)
    }

    fn at(table: Option<&'a dyn TableLike>, path: String, mistakes: &'a Mistakes) -> Self {
        Section { table, base: None, path, mistakes, known: RefCell::default() }
    }

    /// Takes the keys it lacks from `base`. Mistakes in those are reported where `base` itself is read.
    pub(super) fn over(self, base: &Section<'a>) -> Self {
        Section { base: base.table, ..self }
    }

    /// Whether the table is there at all.
    pub(super) fn exists(&self) -> bool {
        self.table.is_some()
    }

    /// Whether the table itself holds the key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(key))
    }

    /// The key's own value, unchecked.
    pub(super) fn item(&self, key: &'static str) -> Option<&'a Item> {
        self.know(key);
        self.table.and_then(|table| table.get(key))
    }

    /// Mistakes found so far, here and elsewhere.
    pub(super) fn mistakes(&self) -> usize {
        self.mistakes.count()
    }

    /// The table as a whole, or one of its keys (dotted, where it lies deeper), is wrong.
    pub(super) fn object(&self, key: &str, objection: Objection) {
        let path = if key.is_empty() { self.path.clone() } else { join(&self.path, key) };
        self.mistakes.add(&path, objection);
    }

    /// A value, if it is there and passes the check.
    pub(super) fn value<T>(
        &self,
        key: &'static str,
        check: impl FnOnce(&'a Item) -> Result<T, Objection>,
    ) -> Option<T> {
        if let Some(item) = self.item(key) {
            return check(item).map_err(|objection| self.object(key, objection)).ok();
        }
        self.base.and_then(|base| base.get(key)).and_then(|item| check(item).ok())
    }

    /// A value that must be there.
    pub(super) fn required<T>(
        &self,
        key: &'static str,
        remedy: &str,
        check: impl FnOnce(&'a Item) -> Result<T, Objection>,
    ) -> Option<T> {
        self.demand(key, remedy);
        self.value(key, check)
    }

    /// Reports a key that must be there and is not.
    pub(super) fn demand(&self, key: &str, remedy: &str) {
        if !self.has(key) {
            self.object(key, Objection::new("is missing", remedy));
        }
    }

    /// The elements of a list, each checked by itself.
    pub(super) fn list<T>(
        &self,
        key: &'static str,
        check: impl Fn(&'a Item) -> Result<T, Objection>,
    ) -> Option<Vec<T>> {
        let item = self.item(key)?;
        if !item.is_array() {
            self.object(key, wrong_type(item, "a list", "a list in brackets: [..]"));
            return None;
        }
        let mut values = Vec::new();
        for (index, element) in elements(item).enumerate() {
            match check(element) {
                Ok(value) => values.push(value),
                Err(objection) => self.object(&join(key, &index.to_string()), objection),
            }
        }
        Some(values)
    }

    /// A table inside this one; an absent one where it is not there.
    pub(super) fn section(&self, key: &'static str) -> Section<'a> {
        let path = join(&self.path, key);
        let table = self.item(key).and_then(|item| {
            let table = item.as_table_like();
            if table.is_none() {
                self.object(key, wrong_type(item, "a table", &format!("[{path}] with its keys below")));
            }
            table
        });
        Section::at(table, path, self.mistakes)
    }

    /// The tables of a list; none where it is not there.
    pub(super) fn sections(&self, key: &'static str) -> Vec<Section<'a>> {
        let Some(item) = self.item(key) else { return Vec::new() };
        let path = join(&self.path, key);
        let example = format!("[[{path}]], with two brackets, once for each");
        if !item.is_array() && !item.is_array_of_tables() {
            self.object(key, wrong_type(item, "a list of tables", &example));
            return Vec::new();
        }
        let mut sections = Vec::new();
        for (index, element) in elements(item).enumerate() {
            let path = join(&path, &index.to_string());
            match element.as_table_like() {
                Some(table) => sections.push(Section::at(Some(table), path, self.mistakes)),
                None => self.mistakes.add(&path, wrong_type(element, "a table", &example)),
            }
        }
        sections
    }

    /// The keys of a table whose keys the user invents.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Item)> {
        self.table.into_iter().flat_map(|table| table.iter())
    }

    /// The table behind a key that the user invented; none where it is something else.
    pub(super) fn invented(&self, name: &str, item: &'a Item) -> Option<Section<'a>> {
        item.as_table_like().map(|table| Section::at(Some(table), join(&self.path, name), self.mistakes))
    }

    /// A key of the format that has no place here.
    pub(super) fn refuse(&self, key: &'static str, what: &str, remedy: &str) {
        if self.item(key).is_some() {
            self.object(key, Objection::new(what, remedy));
        }
    }

    /// Reports the keys that nobody asked for. Call it when everything has been read.
    pub(super) fn finish(&self) {
        let known = self.known.borrow();
        for (key, _) in self.entries().filter(|(key, _)| !known.contains(key)) {
            let remedy = match nearest(key, known.iter().copied()) {
                Some(meant) => format!("write \"{meant}\", or remove it"),
                None => format!("remove it; known here are {}", known.join(", ")),
            };
            self.object(key, Objection::new("no such key", remedy));
        }
    }

    fn know(&self, key: &'static str) {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
    }
}

fn elements(item: &Item) -> impl Iterator<Item = &Item> {
    (0..).map_while(|index| item.get(index))
}

#[cfg(test)]
mod tests {
    use super::super::mistakes::Places;
    use super::super::value::{count, text};
    use super::*;
    use toml_edit::Document;

    /// What a walk objects to, one line each.
    fn objections(toml: &str, walk: impl FnOnce(Section<'_>)) -> Vec<String> {
        let document: Document<String> = toml.parse().unwrap();
        let mistakes = Mistakes::new(Places::of(&document), Vec::new());
        walk(Section::root(document.as_table(), &mistakes));
        match mistakes.unless_any(()) {
            Ok(()) => Vec::new(),
            Err(refusal) => refusal.problems.iter().map(|problem| problem.to_string()).collect(),
        }
    }

    #[test]
    fn keys_nobody_asked_for_are_reported_with_the_nearest() {
        let found = objections("name = \"x\"\nsed = 1\nthreads = 4\n", |root| {
            assert_eq!(root.value("name", text).as_deref(), Some("x"));
            assert_eq!(root.value("seed", count(0..=9)), None);
            root.finish();
        });
        assert_eq!(
            found,
            [
                "line 2: sed: no such key; write \"seed\", or remove it",
                "line 3: threads: no such key; remove it; known here are name, seed"
            ]
        );
    }

    #[test]
    fn a_section_over_another_reports_only_its_own_mistakes() {
        let found = objections("[a]\nx = \"bad\"\ny = 2\n[b]\nz = \"worse\"\n", |root| {
            let base = root.section("a");
            let own = root.section("b").over(&base);
            assert_eq!(own.value("x", count(0..=9)), None);
            assert_eq!(own.value("y", count(0..=9)), Some(2));
            assert_eq!(own.value("z", count(0..=9)), None);
            own.finish();
        });
        assert_eq!(found, ["line 5: b.z: is text, not a whole number; write a whole number from 0 to 9"]);
    }

    #[test]
    fn lists_report_each_element() {
        let found = objections("v = [1, \"a\", 99]\nt = [{ x = 1 }, 2]\nu = 3\n", |root| {
            assert_eq!(root.list("v", count(0..=9)), Some(vec![1]));
            assert_eq!(root.sections("t").len(), 1);
            assert!(root.sections("u").is_empty());
            assert!(!root.section("u").exists());
        });
        let keys: Vec<_> = found.iter().map(|line| line.split(": ").nth(1).unwrap()).collect();
        assert_eq!(keys, ["v.1", "v.2", "t.1", "u", "u"]);
    }
}
