//! The workload's tables: made, filled by every driving agent beside the others, checked, dropped.

use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::{self, command, event};
use vufleet_scenarios::study::TargetKind;
use vufleet_scenarios::workload::Expectation;

use super::Halt;
use super::pilot::{Ask, Member, Pilot};
use crate::allocation;
use crate::fleet::registry::FleetEvent;

/// How long dropping and creating tables may take, and a count of all rows.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// Work of one stage for one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Share {
    chunks: Vec<v1::Chunk>,
    statements: Vec<String>,
}

/// `vufleet schema build`.
pub(super) async fn build(pilot: &mut Pilot) -> Result<(), Halt> {
    nothing_simulated(pilot)?;
    let begun = Instant::now();
    let agent = pilot.spokesman()?;
    let study = pilot.study.clone();
    let (schema, dialect) = (study.workload.schema(), pilot.dialect());
    let existing = existing(pilot, &agent).await?;
    if !existing.is_empty() && !pilot.job.replace {
        return Err(Halt::Refused(format!(
            "{} exists already; add --replace to drop and build the workload's tables again, or choose another target.database",
            listed(&existing)
        )));
    }
    let mut first = if existing.is_empty() { Vec::new() } else { schema.drop(dialect) };
    first.extend(schema.create(dialect));
    all_or_nothing(pilot, &agent, first).await?;
    let built = fill(pilot, begun).await;
    if built == Err(Halt::Stopped) {
        let remedy = "build them again with --replace, or take them away with `vufleet schema drop`";
        pilot.teller.warn(format!("the workload's tables are incomplete: {remedy}")).await;
    }
    built
}

/// Rows and indexes into tables that are there and empty.
async fn fill(pilot: &mut Pilot, begun: Instant) -> Result<(), Halt> {
    let study = pilot.study.clone();
    let (schema, dialect) = (study.workload.schema(), pilot.dialect());
    let members: Vec<Member> = pilot.drivers().iter().map(Member::from).collect();
    let shares = allocation::chunks(&schema.chunks(), members.len()).into_iter().map(|chunks| Share {
        chunks: chunks
            .iter()
            .map(|chunk| v1::Chunk { part: chunk.part, first: chunk.first, count: chunk.count })
            .collect(),
        ..Share::default()
    });
    let loaded = populate(pilot, &members, shares.collect(), "loading", schema.rows()).await?;
    let finish = spread(schema.finish(dialect), members.len());
    populate(pilot, &members, finish, "indexing", 0).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let tables = schema.tables().len();
    pilot
        .teller
        .line(format!(
            "built {tables} table{} with {} rows in {seconds:.1} s ({:.0} rows/s loading, {:.2} s client CPU)",
            if tables == 1 { "" } else { "s" },
            loaded.rows,
            loaded.rows as f64 / loaded.took.as_secs_f64().max(1e-9),
            loaded.client_cpu.as_secs_f64(),
        ))
        .await;
    Ok(())
}

/// `vufleet schema verify`.
pub(super) async fn verify(pilot: &mut Pilot) -> Result<(), Halt> {
    nothing_simulated(pilot)?;
    let agent = pilot.spokesman()?;
    let study = pilot.study.clone();
    let (schema, dialect) = (study.workload.schema(), pilot.dialect());
    let mut failures = failures(pilot, &agent, schema.present(dialect)).await?;
    if failures.is_empty() {
        failures = self::failures(pilot, &agent, schema.expectations(dialect)).await?;
    }
    if !failures.is_empty() {
        return Err(Halt::Refused(failures.join("\n")));
    }
    pilot.teller.line(format!("{} hold what the study says", tables(schema.tables().len()))).await;
    Ok(())
}

/// `vufleet schema drop`.
pub(super) async fn drop_tables(pilot: &mut Pilot) -> Result<(), Halt> {
    nothing_simulated(pilot)?;
    let agent = pilot.spokesman()?;
    let existing = existing(pilot, &agent).await?;
    let study = pilot.study.clone();
    all_or_nothing(pilot, &agent, study.workload.schema().drop(pilot.dialect())).await?;
    let told = if existing.is_empty() {
        "there was nothing to drop".to_owned()
    } else {
        format!("dropped {}", listed(&existing))
    };
    pilot.teller.line(told).await;
    Ok(())
}

fn tables(count: usize) -> String {
    if count == 1 { "1 table".to_owned() } else { format!("all {count} tables") }
}

fn nothing_simulated(pilot: &Pilot) -> Result<(), Halt> {
    if pilot.study.target.kind == TargetKind::Simulated {
        return Err(Halt::Refused("a simulated target has no tables; run the study as it is".to_owned()));
    }
    Ok(())
}

/// Which of the workload's tables exist.
async fn existing(pilot: &mut Pilot, agent: &str) -> Result<Vec<String>, Halt> {
    let tables = pilot.study.workload.schema().tables();
    let probes = tables.iter().map(|table| format!("SELECT 1 FROM {table} LIMIT 1")).collect();
    let result = pilot.ask(agent, Ask::target(probes).keep_going().patience(PATIENCE)).await?;
    if result.tables.is_empty() {
        return Err(Halt::Refused(result.error));
    }
    // A failed probe carries its error as a column name; a table that exists does not, even when it is empty.
    let there = tables.into_iter().zip(result.tables).filter(|(_, table)| table.columns.is_empty());
    Ok(there.map(|(table, _)| table).collect())
}

fn listed(tables: &[String]) -> String {
    match tables {
        [one] => format!("table {one}"),
        [first, .., last] => format!("{} tables ({first} to {last})", tables.len()),
        [] => "no table".to_owned(),
    }
}

async fn all_or_nothing(pilot: &mut Pilot, agent: &str, statements: Vec<String>) -> Result<(), Halt> {
    let first_lines: Vec<String> =
        statements.iter().map(|sql| sql.lines().next().unwrap_or_default().to_owned()).collect();
    let result = pilot.ask(agent, Ask::target(statements).patience(PATIENCE)).await?;
    if result.error.is_empty() {
        return Ok(());
    }
    let statement = first_lines.get(result.failed as usize).cloned().unwrap_or_default();
    Err(Halt::Refused(format!("{statement} ...: {}", result.error)))
}

/// Sentences about everything that is not as expected.
async fn failures(pilot: &mut Pilot, agent: &str, expected: Vec<Expectation>) -> Result<Vec<String>, Halt> {
    let statements = expected.iter().map(|expectation| expectation.sql.clone()).collect();
    let result = pilot.ask(agent, Ask::target(statements).keep_going().patience(PATIENCE)).await?;
    if result.tables.is_empty() && !result.error.is_empty() {
        return Err(Halt::Refused(result.error));
    }
    Ok(expected.iter().zip(&result.tables).filter_map(|(expectation, table)| failure(expectation, table)).collect())
}

fn failure(expectation: &Expectation, table: &v1::Table) -> Option<String> {
    let found = match (table.rows.first().and_then(|row| row.cells.first()), table.columns.first()) {
        (Some(cell), _) if cell.text == expectation.equals && !cell.null => return None,
        (Some(cell), _) if cell.null => "nothing".to_owned(),
        (Some(cell), _) => cell.text.clone(),
        (None, Some(error)) => error.clone(),
        (None, None) => "nothing".to_owned(),
    };
    Some(format!(
        "expected: {}; found {found} instead of {}; {}",
        expectation.what, expectation.equals, expectation.remedy
    ))
}

/// Statements in turn to each agent.
fn spread(statements: Vec<String>, agents: usize) -> Vec<Share> {
    let mut shares = vec![Share::default(); agents];
    for (index, statement) in statements.into_iter().enumerate() {
        shares[index % agents].statements.push(statement);
    }
    shares
}

/// What a stage did.
#[derive(Debug, Default)]
struct Populated {
    rows: u64,
    took: Duration,
    client_cpu: Duration,
}

/// One stage on all agents, to its end. On any failure the others are stopped.
async fn populate(
    pilot: &mut Pilot,
    members: &[Member],
    shares: Vec<Share>,
    phase: &str,
    total_rows: u64,
) -> Result<Populated, Halt> {
    let job = pilot.core.clock.now();
    let busy: Vec<(Member, Share)> =
        members.iter().cloned().zip(shares).filter(|(_, share)| *share != Share::default()).collect();
    for (member, share) in &busy {
        let order = v1::Populate {
            job,
            study: pilot.study.text.clone(),
            secrets: pilot.job.secrets.clone(),
            chunks: share.chunks.clone(),
            statements: share.statements.clone(),
        };
        pilot.command(&member.name, command::Body::Populate(order));
    }
    let members: Vec<Member> = busy.into_iter().map(|(member, _)| member).collect();
    let result = watch_stage(pilot, &members, job, phase, total_rows).await;
    if result.is_err() {
        for member in &members {
            pilot.command(&member.name, command::Body::Cancel(v1::Cancel { run: job }));
        }
    }
    result
}

async fn watch_stage(
    pilot: &mut Pilot,
    members: &[Member],
    job: u64,
    phase: &str,
    total_rows: u64,
) -> Result<Populated, Halt> {
    let begun = Instant::now();
    let mut progress: std::collections::BTreeMap<String, v1::PopulateProgress> = std::collections::BTreeMap::new();
    let mut finished = 0;
    while finished < members.len() {
        let heard = pilot.next(Instant::now() + Duration::from_millis(500)).await?;
        if let Some((member, reason)) = pilot.absent(members) {
            return Err(Halt::Refused(format!(
                "agent {} was lost during the build: {reason}; build again with --replace",
                member.name
            )));
        }
        let Some(FleetEvent::Event { name, event }) = heard else { continue };
        let Some(event::Body::Populate(told)) = event.body.filter(|_| event.run == job) else { continue };
        if told.finished {
            if !told.error.is_empty() {
                return Err(Halt::Refused(format!(
                    "agent {name}: {}; mend it and build again with --replace",
                    told.error
                )));
            }
            finished += 1;
        }
        progress.insert(name, told);
        let rows: u64 = progress.values().map(|told| told.rows).sum();
        let rate = rows as f64 / begun.elapsed().as_secs_f64().max(1e-9);
        pilot.show(v1::Live {
            phase: phase.to_owned(),
            what: if total_rows > 0 { format!("{rows} of {total_rows} rows") } else { String::new() },
            rows_per_s: (total_rows > 0).then_some(rate),
            fraction: (total_rows > 0).then(|| rows as f64 / total_rows as f64),
            left_s: (total_rows > 0 && rate > 0.0).then(|| total_rows.saturating_sub(rows) as f64 / rate),
            ..Default::default()
        });
    }
    Ok(Populated {
        rows: progress.values().map(|told| told.rows).sum(),
        took: begun.elapsed(),
        client_cpu: Duration::from_millis(progress.values().map(|told| told.client_cpu_ms).sum()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unmet_expectation_says_what_was_found() {
        let expectation = Expectation {
            what: "sbtest1 has 10 rows".to_owned(),
            sql: String::new(),
            equals: "10".to_owned(),
            remedy: "build it".to_owned(),
        };
        let table = |text: &str, null| v1::Table {
            columns: vec![],
            rows: vec![v1::TableRow { cells: vec![v1::Cell { text: text.to_owned(), null }] }],
        };
        assert_eq!(failure(&expectation, &table("10", false)), None);
        assert!(failure(&expectation, &table("9", false)).unwrap().contains("found 9 instead of 10; build it"));
        assert!(failure(&expectation, &table("", true)).unwrap().contains("found nothing"));
        let failed = v1::Table { columns: vec!["no such table".to_owned()], rows: vec![] };
        assert!(failure(&expectation, &failed).unwrap().contains("found no such table"));
    }

    #[test]
    fn statements_go_round() {
        let shares = spread(["a", "b", "c"].map(str::to_owned).to_vec(), 2);
        assert_eq!(shares[0].statements, ["a", "c"]);
        assert_eq!(shares[1].statements, ["b"]);
    }
}
