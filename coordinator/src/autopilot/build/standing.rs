//! What a build finds in the database: nothing, tables, or the beginning of a build.

use std::collections::BTreeSet;

use vufleet_proto::v1;
use vufleet_scenarios::workload::Resume;

use super::PATIENCE;
use super::verify::unmet;
use crate::autopilot::Halt;
use crate::autopilot::pilot::{Ask, Pilot};

/// Parts that are complete.
pub(super) type Parts = BTreeSet<u32>;

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// None of the tables.
    Nothing,
    /// A build of the very rows that the study wants, which was interrupted.
    Unfinished {
        /// What of it is complete.
        complete: Parts,
    },
    /// A build of other rows, which was interrupted.
    Foreign {
        /// What it says of itself.
        build: String,
        /// What the study would build.
        wanted: String,
    },
    /// Tables, and no build under way.
    Occupied(Vec<String>),
}

/// Looks. Where the study names no seed, that of an unfinished build is the study's from here on.
pub(super) async fn look(pilot: &mut Pilot, agent: &str) -> Result<Standing, Halt> {
    let existing = existing(pilot, agent).await?;
    if existing.is_empty() {
        return Ok(Standing::Nothing);
    }
    let Some(resume) = resume_of(pilot) else { return Ok(Standing::Occupied(existing)) };
    let result = probe(pilot, agent, vec![resume.mark, resume.complete]).await?;
    let [mark, complete] = result.tables.as_slice() else { return Ok(Standing::Occupied(existing)) };
    take_over_seed(pilot, mark).await?;
    Ok(match resume_of(pilot) {
        Some(resume) => judge(existing, &resume, mark, complete),
        None => Standing::Occupied(existing),
    })
}

/// How a build of the study is taken up.
fn resume_of(pilot: &Pilot) -> Option<Resume> {
    pilot.study.workload.schema().resume(pilot.study.seed, pilot.dialect())
}

/// A seed that was drawn for this command gives way to the one that the rows which are there were drawn from.
async fn take_over_seed(pilot: &mut Pilot, mark: &v1::Table) -> Result<(), Halt> {
    if !pilot.job.seed_drawn || pilot.job.replace {
        return Ok(());
    }
    let Some(seed) = first_cell(mark).and_then(|mark| pilot.study.workload.schema().seed_of(&mark)) else {
        return Ok(());
    };
    pilot.set_seed(seed)?;
    pilot.teller.line(format!("seed {seed}: the unfinished build's, instead of the one that was drawn")).await;
    Ok(())
}

fn judge(existing: Vec<String>, resume: &Resume, mark: &v1::Table, complete: &v1::Table) -> Standing {
    match first_cell(mark) {
        None => Standing::Occupied(existing),
        Some(build) if build != resume.build => Standing::Foreign { build, wanted: resume.build.clone() },
        Some(_) => {
            let parts = complete.rows.iter().filter_map(|row| row.cells.first()?.text.parse().ok());
            Standing::Unfinished { complete: parts.collect() }
        }
    }
}

impl Standing {
    /// Why nothing is built here.
    pub(super) async fn refusal(&self, pilot: &mut Pilot, agent: &str) -> Result<String, Halt> {
        Ok(match self {
            Standing::Foreign { build, wanted } => format!(
                "an unfinished build of {build} is there, and the study says {wanted}; correct seed or workload in the \
                 study to finish that one, or add --replace to build anew"
            ),
            Standing::Occupied(existing) => {
                let study = pilot.study.clone();
                let expected = study.workload.schema().ready(pilot.dialect());
                // Tables of somebody else have no such columns: that the names are taken says enough then.
                let unmet = unmet(pilot, agent, expected).await?;
                let besides: String = unmet.iter().map(|sentence| format!("\nbesides, {sentence}")).collect();
                let exist = if existing.len() == 1 { "exists" } else { "exist" };
                format!(
                    "{} {exist} already; add --replace to drop and build the workload's tables again, or choose another \
                     target.database{besides}",
                    listed(existing)
                )
            }
            Standing::Nothing | Standing::Unfinished { .. } => String::new(),
        })
    }
}

/// Which of the workload's tables exist.
pub(super) async fn existing(pilot: &mut Pilot, agent: &str) -> Result<Vec<String>, Halt> {
    let tables = pilot.study.workload.schema().tables();
    let probes = tables.iter().map(|table| format!("SELECT 1 FROM {table} WHERE 1 = 0")).collect();
    let result = probe(pilot, agent, probes).await?;
    // A failed probe carries its error as a column name; a table that exists does not, even when it is empty.
    let there = tables.into_iter().zip(result.tables).filter(|(_, table)| table.columns.is_empty());
    Ok(there.map(|(table, _)| table).collect())
}

/// Queries that may fail.
async fn probe(pilot: &mut Pilot, agent: &str, queries: Vec<String>) -> Result<v1::ControlResult, Halt> {
    let result = pilot.ask(agent, Ask::target(queries).keep_going().patience(PATIENCE)).await?;
    if result.tables.is_empty() { Err(Halt::Refused(result.error)) } else { Ok(result) }
}

/// The first value of an answer, where there is one.
pub(super) fn first_cell(table: &v1::Table) -> Option<String> {
    let cell = table.rows.first()?.cells.first()?;
    (!cell.null).then(|| cell.text.clone())
}

pub(super) fn listed(tables: &[String]) -> String {
    match tables {
        [one] => format!("table {one}"),
        [first, .., last] => format!("{} tables ({first} to {last})", tables.len()),
        [] => "no table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(cells: &[&str]) -> v1::Table {
        let row = |text: &&str| v1::TableRow { cells: vec![v1::Cell { text: (*text).to_owned(), null: false }] };
        v1::Table { columns: vec![], rows: cells.iter().map(row).collect() }
    }

    fn failed() -> v1::Table {
        v1::Table { columns: vec!["no such table".to_owned()], rows: vec![] }
    }

    fn judged(mark: &v1::Table, complete: &v1::Table) -> Standing {
        let resume = Resume {
            build: "4 warehouses from seed 42".to_owned(),
            begin: vec![],
            mark: String::new(),
            complete: String::new(),
            end: String::new(),
        };
        judge(vec!["item".to_owned()], &resume, mark, complete)
    }

    #[test]
    fn only_the_mark_of_the_same_build_is_taken_up() {
        let build = answer(&["4 warehouses from seed 42"]);
        let there = Standing::Unfinished { complete: Parts::from([0, 3]) };
        assert_eq!(judged(&build, &answer(&["0", "3"])), there);
        assert_eq!(judged(&build, &failed()), Standing::Unfinished { complete: Parts::new() });
        let other = judged(&answer(&["8 warehouses from seed 42"]), &answer(&["0"]));
        assert!(matches!(other, Standing::Foreign { build, .. } if build.starts_with('8')));
        for none in [failed(), answer(&[])] {
            assert_eq!(judged(&none, &answer(&["0"])), Standing::Occupied(vec!["item".to_owned()]));
        }
    }
}
