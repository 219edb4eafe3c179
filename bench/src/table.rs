//! The one table of docs/benchmarks.md. Its source is a file beside the page, docs/benchmarks.json: a section a part, so that a part that
//! was not measured this time keeps its rows, and their date.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Everything measured so far, by the part's name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Table {
    sections: BTreeMap<String, Section>,
}

/// One part, as it was last measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// What people call the part.
    pub title: String,
    /// When and where, and what else has to be known to judge it.
    pub conditions: String,
    /// Its lines.
    pub rows: Vec<Row>,
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Of what.
    pub what: String,
    /// The figure.
    pub vufleet: String,
    /// The same of a peer, or of another way to do it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub beside: String,
    /// One over the other.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ratio: String,
    /// The mark, and by how much it was missed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reach: String,
}

impl Row {
    /// A figure that nothing stands beside.
    pub fn new(what: impl Into<String>, vufleet: impl Into<String>) -> Row {
        Row { what: what.into(), vufleet: vufleet.into(), ..Row::default() }
    }

    /// With its mark.
    pub fn reach(self, reach: impl Into<String>) -> Row {
        Row { reach: reach.into(), ..self }
    }

    /// With what stands beside it.
    pub fn beside(self, beside: impl Into<String>, ratio: impl Into<String>) -> Row {
        Row { beside: beside.into(), ratio: ratio.into(), ..self }
    }
}

impl Section {
    /// The lines of this part alone.
    pub fn render(&self) -> String {
        format!("{HEAD}{}", self.lines())
    }

    fn lines(&self) -> String {
        let mut out = format!("| **{}**: {} | | | | |\n", self.title, self.conditions.trim());
        for row in &self.rows {
            let Row { what, vufleet, beside, ratio, reach } = row;
            writeln!(out, "| {what} | {vufleet} | {beside} | {ratio} | {reach} |").expect("a string takes every line");
        }
        out
    }
}

const HEAD: &str = "| | vufleet | beside it | ratio | to reach |\n|---|---|---|---|---|\n";

impl Table {
    /// The table beside a page; empty where there is none yet.
    pub fn read(page: &Path) -> Result<Table> {
        let file = source(page);
        if !file.is_file() {
            return Ok(Table::default());
        }
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let lost = || format!("{} is not what `make bench` writes; get it back from git", file.display());
        serde_json::from_str(&text).with_context(lost)
    }

    /// Puts a part where that of the last time was.
    pub fn put(&mut self, part: &str, section: Section) {
        self.sections.insert(part.to_owned(), section);
    }

    /// Writes it beside the page.
    pub fn write(&self, page: &Path) -> Result<()> {
        let file = source(page);
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    /// All parts, in an order given; those that it does not name are left out.
    pub fn render<'a>(&self, order: impl IntoIterator<Item = &'a str>) -> String {
        let sections = order.into_iter().filter_map(|part| self.sections.get(part));
        sections.fold(HEAD.to_owned(), |out, section| out + &section.lines())
    }
}

fn source(page: &Path) -> PathBuf {
    page.with_extension("json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(title: &str, figure: &str) -> Section {
        let rows = vec![Row::new("a row", figure).beside("sysbench 2", "0.5").reach("at most 1x")];
        Section { title: title.to_owned(), conditions: "2026-12-01".to_owned(), rows }
    }

    #[test]
    fn a_part_that_was_not_measured_keeps_its_rows() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("benchmarks.md");
        let mut table = Table::read(&page).unwrap();
        table.put("one", section("One", "1"));
        table.put("two", section("Two", "2"));
        table.write(&page).unwrap();
        let mut again = Table::read(&page).unwrap();
        assert_eq!(again, table);
        again.put("two", section("Two", "3"));
        assert_eq!(
            again.render(["two", "one", "three"]),
            "| | vufleet | beside it | ratio | to reach |\n|---|---|---|---|---|\n\
             | **Two**: 2026-12-01 | | | | |\n| a row | 3 | sysbench 2 | 0.5 | at most 1x |\n\
             | **One**: 2026-12-01 | | | | |\n| a row | 1 | sysbench 2 | 0.5 | at most 1x |\n"
        );
    }

    #[test]
    fn a_table_that_cannot_be_read_says_where_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("benchmarks.md");
        std::fs::write(directory.path().join("benchmarks.json"), "[]").unwrap();
        let error = format!("{:#}", Table::read(&page).unwrap_err());
        assert!(error.contains("benchmarks.json is not what `make bench` writes"), "{error}");
    }
}
