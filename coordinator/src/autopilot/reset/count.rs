//! Whether a reset has brought back what it should have: the rows of every table are counted.

use vufleet_proto::v1;
use vufleet_scenarios::census::{self, Census, Difference, Headcount, Origin};
use vufleet_scenarios::study::Reset;

use super::number;
use crate::autopilot::Halt;
use crate::autopilot::build::verify::unmet;
use crate::autopilot::pilot::{Ask, Pilot};

/// Tables of the user's own that are counted, at most.
const MOST_TABLES: usize = 1_000;

/// Counts and compares. None where there is no table.
pub(super) async fn verify(
    pilot: &mut Pilot,
    reset: &Reset,
    origin: Origin,
    rows: Option<u64>,
) -> Result<Option<Census>, Halt> {
    let agent = pilot.spokesman()?;
    ready(pilot, &agent, reset).await?;
    let expected = pilot.study.census();
    let tables = tables(pilot, &agent, &expected).await?;
    if tables.is_empty() && pilot.resets.first.as_ref().is_none_or(Census::is_empty) {
        return Ok(None);
    }
    let found = count(pilot, &agent, tables, reset).await?;
    let wrong = census::differences(&expected, origin, &found, pilot.resets.first.as_ref());
    if !wrong.is_empty() {
        return Err(Halt::Refused(refusal(pilot, reset, &wrong)));
    }
    let sum = found.values().sum::<u64>();
    if pilot.resets.first.is_none() {
        if let Some(was) = rows.filter(|was| *was != sum) {
            let sentence =
                format!("the tables have {sum} rows in all, after the first reset of the study they had {was}");
            return Err(Halt::Refused(refusal(pilot, reset, &[Difference { table: "all".to_owned(), sentence }])));
        }
        tell_used(pilot, &expected, &found).await;
    }
    Ok(Some(found))
}

/// What every run needs, cheap to ask: what is missing or of another size says more than counts do.
async fn ready(pilot: &mut Pilot, agent: &str, reset: &Reset) -> Result<(), Halt> {
    let (study, dialect) = (pilot.study.clone(), pilot.dialect());
    let mut expected = study.workload.schema().present(dialect);
    for expectation in study.profiles.iter().flat_map(|profile| profile.workload.schema().ready(dialect)) {
        if !expected.contains(&expectation) {
            expected.push(expectation);
        }
    }
    let unmet = unmet(pilot, agent, expected).await?;
    if unmet.is_empty() {
        return Ok(());
    }
    let told = match withholds(pilot) {
        true => "`vufleet schema verify STUDY` says in which way".to_owned(),
        false => unmet.join("; "),
    };
    Err(Halt::Refused(format!("after the reset ({reset}) the data is not what the study needs: {told}")))
}

/// Numbers of rows tell how much was done: a study that withholds figures withholds them.
fn withholds(pilot: &Pilot) -> bool {
    pilot.study.report.relative_only && !pilot.job.absolute
}

/// The tables to count as SQL names them: those of the workload, or all that there are.
async fn tables(pilot: &mut Pilot, agent: &str, expected: &[Headcount]) -> Result<Vec<String>, Halt> {
    if !expected.is_empty() {
        return Ok(expected.iter().map(|headcount| headcount.table.clone()).collect());
    }
    let dialect = pilot.dialect();
    let result = pilot.ask(agent, Ask::target(vec![census::listing(dialect).to_owned()])).await?;
    if !result.error.is_empty() {
        return Err(Halt::Refused(format!("the tables cannot be listed after the reset: {}", result.error)));
    }
    let rows = result.tables.into_iter().next().unwrap_or_default().rows;
    let name = |row: &v1::TableRow| {
        let parts: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
        census::named(dialect, &parts)
    };
    Ok(rows.iter().take(MOST_TABLES).map(name).collect())
}

async fn count(pilot: &mut Pilot, agent: &str, tables: Vec<String>, reset: &Reset) -> Result<Census, Halt> {
    if tables.is_empty() {
        return Ok(Census::new());
    }
    let dialect = pilot.dialect();
    let queries = tables.iter().map(|table| census::count(dialect, table)).collect();
    let result = pilot.ask(agent, Ask::target(queries).keep_going().patience(reset.timeout)).await?;
    if result.tables.is_empty() {
        return Err(Halt::Refused(format!("the rows cannot be counted after the reset: {}", result.error)));
    }
    counted(tables, &result.tables).map_err(|uncounted| {
        Halt::Refused(format!(
            "after the reset ({reset}) rows cannot be counted, so that nobody knows whether it is one: {uncounted}"
        ))
    })
}

/// The counts of all tables.
///
/// # Errors
/// Which of them was not counted and why: its rows would never be missed.
fn counted(tables: Vec<String>, answers: &[v1::Table]) -> Result<Census, String> {
    let answers = answers.iter().map(Some).chain(std::iter::repeat(None));
    let each = tables.into_iter().zip(answers).map(|(table, answer)| match answer.and_then(number) {
        Some(count) => Ok((table, count)),
        None => {
            let why = answer.and_then(|answer| answer.columns.first()).map_or("there was no answer", String::as_str);
            Err(format!("{table}: {why}; let target.user read it"))
        }
    });
    each.collect()
}

fn refusal(pilot: &Pilot, reset: &Reset, wrong: &[Difference]) -> String {
    let told: Vec<String> = if withholds(pilot) {
        let tables: Vec<&str> = wrong.iter().map(|difference| difference.table.as_str()).collect();
        vec![format!("other numbers of rows than there should be ({})", tables.join(", "))]
    } else {
        wrong.iter().map(|difference| difference.sentence.clone()).collect()
    };
    format!(
        "the reset ({reset}) did not bring the data back: {}; correct what [reset] does, or build the data again with \
         `vufleet schema build STUDY --replace`",
        told.join("; ")
    )
}

/// Rows that are there again and again are good enough, whatever has happened to them before.
async fn tell_used(pilot: &Pilot, expected: &[Headcount], found: &Census) {
    let used = census::used(expected, found);
    if !used.is_empty() {
        let tables = used.join(", ");
        pilot
            .teller
            .note(format!(
                "note: the data that the resets go back to is not as it was built: {tables} have been written to since"
            ))
            .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_cannot_be_counted_is_no_table_without_rows() {
        let rows = |count: &str| v1::Table {
            columns: vec![],
            rows: vec![v1::TableRow { cells: vec![v1::Cell { text: count.to_owned(), null: false }] }],
        };
        let failed = v1::Table { columns: vec!["SELECT denied".to_owned()], rows: vec![] };
        let tables = || vec!["a".to_owned(), "b".to_owned()];
        let census = Census::from([("a".to_owned(), 7), ("b".to_owned(), 0)]);
        assert_eq!(counted(tables(), &[rows("7"), rows("0")]), Ok(census));
        let denied = counted(tables(), &[rows("7"), failed]).unwrap_err();
        assert!(denied.contains("b: SELECT denied"), "{denied}");
        assert!(counted(tables(), &[rows("7")]).unwrap_err().contains("b: there was no answer"));
    }
}
