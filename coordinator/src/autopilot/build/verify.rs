//! `vufleet schema verify`: whether the tables hold what the study says.

use vufleet_proto::v1;
use vufleet_scenarios::workload::Expectation;

use super::{PATIENCE, has_tables};
use crate::autopilot::Halt;
use crate::autopilot::pilot::{Ask, Pilot};

/// Asks and judges.
pub(in crate::autopilot) async fn verify(pilot: &mut Pilot) -> Result<(), Halt> {
    has_tables(pilot)?;
    let agent = pilot.spokesman()?;
    let study = pilot.study.clone();
    let (schema, dialect) = (study.workload.schema(), pilot.dialect());
    pilot.show(v1::Live { phase: "verifying".to_owned(), ..Default::default() });
    // Each is asked only where the one before holds: what is missing or of another size explains everything after it.
    for expected in [schema.present(dialect), schema.ready(dialect)] {
        refuse(unmet(pilot, &agent, expected).await?)?;
    }
    let origin = origin(pilot, &agent, schema.origin(dialect)).await?;
    let inspection = schema.inspection(dialect, origin.as_deref());
    let unmet = unmet(pilot, &agent, inspection.expectations).await?;
    for note in inspection.notes {
        pilot.teller.note(format!("note: {note}")).await;
    }
    refuse(unmet)?;
    pilot.teller.line(format!("{} hold what the study says", tables(schema.tables().len()))).await;
    Ok(())
}

fn refuse(unmet: Vec<String>) -> Result<(), Halt> {
    if unmet.is_empty() { Ok(()) } else { Err(Halt::Refused(unmet.join("\n"))) }
}

fn tables(count: usize) -> String {
    if count == 1 { "1 table".to_owned() } else { format!("all {count} tables") }
}

/// How the tables came to hold what they do, where the workload wants to know.
async fn origin(pilot: &mut Pilot, agent: &str, query: Option<String>) -> Result<Option<Vec<String>>, Halt> {
    let Some(query) = query else { return Ok(None) };
    let result = pilot.ask(agent, Ask::target(vec![query]).patience(PATIENCE)).await?;
    if !result.error.is_empty() {
        return Err(Halt::Refused(format!("the tables cannot be read: {}", result.error)));
    }
    let row = result.tables.into_iter().next().and_then(|table| table.rows.into_iter().next());
    Ok(row.map(|row| row.cells.into_iter().map(|cell| cell.text).collect()))
}

/// Sentences about everything that is not as expected.
pub(in crate::autopilot) async fn unmet(
    pilot: &mut Pilot,
    agent: &str,
    expected: Vec<Expectation>,
) -> Result<Vec<String>, Halt> {
    if expected.is_empty() {
        return Ok(Vec::new());
    }
    let statements = expected.iter().map(|expectation| expectation.sql.clone()).collect();
    let result = pilot.ask(agent, Ask::target(statements).keep_going().patience(PATIENCE)).await?;
    if result.tables.is_empty() && !result.error.is_empty() {
        return Err(Halt::Refused(result.error));
    }
    Ok(expected.iter().zip(&result.tables).filter_map(|(expectation, table)| failure(expectation, table)).collect())
}

fn failure(expectation: &Expectation, table: &v1::Table) -> Option<String> {
    unmet_by(expectation, table).map(|what| format!("{what}; {}", expectation.remedy))
}

fn unmet_by(expectation: &Expectation, table: &v1::Table) -> Option<String> {
    if let (Some(error), true) = (table.columns.first(), table.rows.is_empty()) {
        return expectation.unmet(Err(error));
    }
    let cells = |row: &v1::TableRow| row.cells.iter().map(|cell| (!cell.null).then(|| cell.text.clone())).collect();
    let rows: Vec<Vec<Option<String>>> = table.rows.iter().map(cells).collect();
    expectation.unmet(Ok(&rows))
}

#[cfg(test)]
mod tests {
    use vufleet_scenarios::workload::Wanted;

    use super::*;

    #[test]
    fn errors_values_and_nothing_are_told_apart() {
        let expectation = |wanted| Expectation {
            what: "sbtest1 has 10 rows".to_owned(),
            sql: String::new(),
            wanted,
            remedy: "build it".to_owned(),
        };
        let value = expectation(Wanted::Value("10".to_owned()));
        let table = |text: &str, null| v1::Table {
            columns: vec![],
            rows: vec![v1::TableRow { cells: vec![v1::Cell { text: text.to_owned(), null }] }],
        };
        assert_eq!(failure(&value, &table("10", false)), None);
        assert!(failure(&value, &table("9", false)).unwrap().contains("found 9 instead of 10; build it"));
        assert!(failure(&value, &table("", true)).unwrap().contains("found nothing"));
        let failed = v1::Table { columns: vec!["no such table".to_owned()], rows: vec![] };
        assert!(failure(&value, &failed).unwrap().contains("found no such table"));
        let none = expectation(Wanted::NoRow(&["id"]));
        assert_eq!(failure(&none, &v1::Table::default()), None);
        assert!(failure(&none, &failed).unwrap().contains("found no such table"));
        assert!(failure(&none, &table("7", false)).unwrap().contains("found (id 7)"));
    }
}
