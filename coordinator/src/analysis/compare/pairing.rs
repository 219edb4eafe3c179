//! Which cell of one study is held against which of the other.

use std::fmt;

use serde::Serialize;

use super::Subject;

/// What cells are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairing {
    /// Those of the same variant and profile.
    Alike,
    /// One variant of each, profile by profile.
    Variants {
        /// A's.
        a: String,
        /// B's.
        b: String,
    },
    /// One cell of each, as VARIANT/PROFILE.
    Cells {
        /// A's.
        a: String,
        /// B's.
        b: String,
    },
}

/// A cell by its names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CellName {
    /// Variant.
    pub variant: String,
    /// Profile id.
    pub profile: String,
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.variant, self.profile)
    }
}

/// Why two studies cannot be compared so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// A study and itself.
    #[error(
        "A and B are both study {study}; name two of its cells with --cell-a and --cell-b, or two of its variants with \
         --variant-a and --variant-b"
    )]
    SameStudy {
        /// Its id.
        study: String,
    },
    /// No cell of one is like a cell of the other.
    #[error(
        "{a} and {b} have no variant and profile in common: {a} has {cells_a}; {b} has {cells_b}; name the variants with \
         --variant-a and --variant-b, or two cells with --cell-a and --cell-b"
    )]
    NothingAlike {
        /// A's id.
        a: String,
        /// B's id.
        b: String,
        /// What A has.
        cells_a: String,
        /// What B has.
        cells_b: String,
    },
    /// A variant or a cell that a study does not have.
    #[error("study {study} has no {what} {wanted:?}; it has {there}")]
    NotThere {
        /// Which study.
        study: String,
        /// "variant" or "cell".
        what: &'static str,
        /// What was asked for.
        wanted: String,
        /// What there is.
        there: String,
    },
}

/// Cells of both studies.
#[derive(Debug, Default)]
pub(super) struct Matched {
    pub(super) pairs: Vec<(CellName, CellName)>,
    pub(super) only_a: Vec<CellName>,
    pub(super) only_b: Vec<CellName>,
}

pub(super) fn matched(a: &Subject, b: &Subject, pairing: &Pairing) -> Result<Matched, Mismatch> {
    match pairing {
        Pairing::Alike if a.is(b) => Err(Mismatch::SameStudy { study: a.report.study_id.clone() }),
        Pairing::Alike => by(a, b, cells(a), cells(b), |one, other| one == other),
        Pairing::Variants { a: of_a, b: of_b } => {
            let (in_a, in_b) = (of_variant(a, of_a)?, of_variant(b, of_b)?);
            by(a, b, in_a, in_b, |one, other| one.profile == other.profile)
        }
        Pairing::Cells { a: of_a, b: of_b } => {
            Ok(Matched { pairs: vec![(cell(a, of_a)?, cell(b, of_b)?)], ..Matched::default() })
        }
    }
}

fn by(
    a: &Subject,
    b: &Subject,
    in_a: Vec<CellName>,
    in_b: Vec<CellName>,
    alike: impl Fn(&CellName, &CellName) -> bool,
) -> Result<Matched, Mismatch> {
    let partner = |cell: &CellName| in_b.iter().find(|other| alike(cell, other)).cloned();
    let pairs: Vec<_> = in_a.iter().filter_map(|cell| Some((cell.clone(), partner(cell)?))).collect();
    if pairs.is_empty() {
        return Err(Mismatch::NothingAlike {
            a: a.report.study_id.clone(),
            b: b.report.study_id.clone(),
            cells_a: grid(&in_a),
            cells_b: grid(&in_b),
        });
    }
    let alone = |cells: Vec<CellName>, matched: &dyn Fn(&CellName) -> bool| -> Vec<CellName> {
        cells.into_iter().filter(|cell| !matched(cell)).collect()
    };
    let only_a = alone(in_a, &|cell| pairs.iter().any(|(matched, _)| matched == cell));
    let only_b = alone(in_b, &|cell| pairs.iter().any(|(_, matched)| matched == cell));
    Ok(Matched { pairs, only_a, only_b })
}

fn cells(subject: &Subject) -> Vec<CellName> {
    let cells = subject.report.cells.iter();
    cells.map(|cell| CellName { variant: cell.variant.clone(), profile: cell.profile.clone() }).collect()
}

fn of_variant(subject: &Subject, variant: &str) -> Result<Vec<CellName>, Mismatch> {
    let found: Vec<_> = cells(subject).into_iter().filter(|cell| cell.variant == variant).collect();
    if found.is_empty() {
        let there = subject.report.variants.join(", ");
        return Err(not_there(subject, "variant", variant, there));
    }
    Ok(found)
}

/// Names may have slashes in them, so that no text is taken apart.
fn cell(subject: &Subject, wanted: &str) -> Result<CellName, Mismatch> {
    let all = cells(subject);
    let found = all.iter().find(|cell| cell.to_string() == wanted).cloned();
    found.ok_or_else(|| not_there(subject, "cell", wanted, list(&all)))
}

fn not_there(subject: &Subject, what: &'static str, wanted: &str, there: String) -> Mismatch {
    Mismatch::NotThere { study: subject.report.study_id.clone(), what, wanted: wanted.to_owned(), there }
}

/// Every study has every variant at every profile.
fn grid(cells: &[CellName]) -> String {
    let of = |name: fn(&CellName) -> &String| {
        let mut names: Vec<&String> = Vec::new();
        for name in cells.iter().map(name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    format!("{} at {}", of(|cell| &cell.variant), of(|cell| &cell.profile))
}

fn list(cells: &[CellName]) -> String {
    cells.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
