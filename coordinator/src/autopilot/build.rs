//! The workload's tables: made, filled by every driving agent beside the others, dropped.

mod additions;
mod stage;
mod standing;
pub(super) mod verify;

use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1;
use vufleet_scenarios::study::{TargetKind, Workload};
use vufleet_scenarios::workload::{Chunk, Schema};

use super::Halt;
use super::pilot::{Ask, Member, Pilot};
use crate::allocation::{self, Candidate};
use crate::fleet::registry::Agent;
use stage::{Progress, Share, Stage};
use standing::{Parts, Standing};

/// How long dropping and creating tables may take, and a count of all rows.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// `vufleet schema build`.
pub(super) async fn build(pilot: &mut Pilot) -> Result<(), Halt> {
    has_tables(pilot)?;
    let begun = Instant::now();
    let agent = pilot.builder()?;
    let complete = match standing::look(pilot, &agent).await? {
        Standing::Nothing => None,
        _ if pilot.job.replace => None,
        Standing::Unfinished { complete } => Some(complete),
        occupied => {
            if additions::complete(pilot, &agent).await? {
                return Ok(());
            }
            return Err(Halt::Refused(occupied.refusal(pilot, &agent).await?));
        }
    };
    let study = pilot.study.clone();
    let schema = study.workload.schema();
    let ground = match complete {
        Some(_) => Ground::Unfinished,
        None if pilot.job.replace => Ground::Taken,
        None => Ground::Free,
    };
    prepare(pilot, &agent, schema, ground).await?;
    let filled = fill(pilot, &agent, schema, complete.as_ref()).await;
    if let Err(Halt::Stopped) = filled {
        pilot.teller.warn(format!("the workload's tables are incomplete: {}", advice(pilot))).await;
    }
    let loaded = filled?;
    let tables = schema.tables().len();
    let ways: Vec<&str> = loaded.ways.iter().map(String::as_str).collect();
    let by = if ways.is_empty() { String::new() } else { format!(" by {}", ways.join(" and ")) };
    let line = format!(
        "built {tables} table{} with {} rows{by} in {:.1} s ({:.0} rows/s loading, {:.2} s client CPU)",
        if tables == 1 { "" } else { "s" },
        loaded.rows,
        begun.elapsed().as_secs_f64(),
        loaded.rows as f64 / loaded.took.as_secs_f64().max(1e-9),
        loaded.client_cpu.as_secs_f64(),
    );
    pilot.teller.line(line).await;
    Ok(())
}

/// The same tables with the same rows once more, for a study that resets its data so.
pub(super) async fn rebuild(pilot: &mut Pilot) -> Result<(), Halt> {
    let agent = pilot.builder()?;
    let study = pilot.study.clone();
    let schema = study.workload.schema();
    prepare(pilot, &agent, schema, Ground::Taken).await?;
    let filled = fill(pilot, &agent, schema, None).await;
    if let Err(Halt::Stopped) = filled {
        pilot.teller.warn(format!("the workload's tables are incomplete: {}", advice(pilot))).await;
    }
    filled.map(drop)
}

/// Where tables are to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// There is nothing.
    Free,
    /// A build of the very same tables has begun.
    Unfinished,
    /// Whatever is there has to go.
    Taken,
}

/// Procedures, empty tables and, unless it stands there, the mark of the build.
async fn prepare(pilot: &mut Pilot, agent: &str, schema: &dyn Schema, ground: Ground) -> Result<(), Halt> {
    let dialect = pilot.dialect();
    additions::make_routines(pilot, agent).await?;
    let mut statements = if ground == Ground::Taken { schema.drop(dialect) } else { Vec::new() };
    if ground != Ground::Unfinished {
        statements.extend(schema.resume(pilot.study.seed, dialect).into_iter().flat_map(|resume| resume.begin));
    }
    statements.extend(schema.create(dialect));
    all_or_nothing(pilot, agent, statements).await
}

/// What to do about a build that ended early.
fn advice(pilot: &Pilot) -> &'static str {
    if matches!(pilot.job.kind(), v1::job::Kind::Run | v1::job::Kind::Smoke) {
        return "the next `vufleet run` of this study builds them again; `vufleet schema drop` takes them away";
    }
    match pilot.study.workload.schema().resume(pilot.study.seed, pilot.dialect()) {
        Some(_) => "the same command goes on where it ended; `vufleet schema drop` takes them away",
        None => "build again with --replace, or take them away with `vufleet schema drop`",
    }
}

/// Rows and indexes of tables that are there; then the build is complete.
async fn fill(
    pilot: &mut Pilot,
    agent: &str,
    schema: &dyn Schema,
    complete: Option<&Parts>,
) -> Result<stage::Done, Halt> {
    if let Some(complete) = complete {
        let (there, all) = (complete.len(), schema.chunks().len());
        let unit = schema.unit().unwrap_or("parts");
        pilot.teller.note(format!("going on with an unfinished build: {there} of {all} {unit} are there")).await;
    }
    let loaded = load(pilot, schema, complete).await?;
    let indexes = schema.indexes(pilot.dialect());
    let lacking = if complete.is_some() { additions::lacking_indexes(pilot, agent, indexes).await? } else { indexes };
    additions::index(pilot, lacking).await?;
    let mark = schema.resume(pilot.study.seed, pilot.dialect()).map(|resume| resume.end);
    all_or_nothing(pilot, agent, mark.into_iter().collect()).await?;
    Ok(loaded)
}

/// Loads every chunk that is not complete.
async fn load(pilot: &mut Pilot, schema: &dyn Schema, complete: Option<&Parts>) -> Result<stage::Done, Halt> {
    let is_missing = |chunk: &Chunk| complete.is_none_or(|parts| !parts.contains(&chunk.part));
    let (chunks, there): (Vec<Chunk>, Vec<Chunk>) = schema.chunks().into_iter().partition(is_missing);
    let progress = Progress {
        rows: chunks.iter().map(|chunk| chunk.count).sum(),
        rows_before: there.iter().map(|chunk| chunk.count).sum(),
        chunks: chunks.len() as u64,
        chunks_before: there.len() as u64,
        unit: schema.unit(),
    };
    let builders = builders(pilot)?;
    let candidates: Vec<Candidate> = builders.iter().map(Candidate::from).collect();
    let shares = allocation::chunks(&chunks, &candidates, pilot.study.fleet.share);
    let (members, shares) = (members(&builders), shares.into_iter().map(Share::of_chunks).collect());
    let stage = Stage { phase: "loading", resumed: complete.is_some(), progress: Some(progress) };
    stage::run(pilot, &members, shares, &stage).await
}

/// Who builds: every driving agent that is here now, at least one.
fn builders(pilot: &Pilot) -> Result<Vec<Agent>, Halt> {
    let builders = pilot.drivers();
    if builders.is_empty() {
        return Err(Halt::Refused(format!(
            "no driving agent is left to build with; the workload's tables are incomplete: {}",
            advice(pilot)
        )));
    }
    Ok(builders)
}

fn members(agents: &[Agent]) -> Vec<Member> {
    agents.iter().map(Member::from).collect()
}

/// `vufleet schema drop`.
pub(super) async fn drop_tables(pilot: &mut Pilot) -> Result<(), Halt> {
    has_tables(pilot)?;
    let agent = pilot.builder()?;
    let existing = standing::existing(pilot, &agent).await?;
    let study = pilot.study.clone();
    all_or_nothing(pilot, &agent, study.workload.schema().drop(pilot.dialect())).await?;
    additions::drop_routines(pilot, &agent).await?;
    let told = if existing.is_empty() {
        "there was nothing to drop".to_owned()
    } else {
        format!("dropped {}", standing::listed(&existing))
    };
    pilot.teller.line(told).await;
    Ok(())
}

/// Refuses a study without tables that are ours to make and drop.
fn has_tables(pilot: &Pilot) -> Result<(), Halt> {
    if pilot.study.target.kind == TargetKind::Simulated {
        return Err(Halt::Refused("a simulated target has no tables; run the study as it is".to_owned()));
    }
    if let Workload::Custom(_) = pilot.study.workload {
        return Err(Halt::Refused(
            "the workload sql has no tables of its own; make, fill and drop what its statements need yourself, or in the \
             setup of its profiles"
                .to_owned(),
        ));
    }
    Ok(())
}

async fn all_or_nothing(pilot: &mut Pilot, agent: &str, statements: Vec<String>) -> Result<(), Halt> {
    if statements.is_empty() {
        return Ok(());
    }
    let first_lines: Vec<String> =
        statements.iter().map(|sql| sql.lines().next().unwrap_or_default().to_owned()).collect();
    let result = pilot.ask(agent, Ask::target(statements).patience(PATIENCE)).await?;
    if result.error.is_empty() {
        return Ok(());
    }
    let statement = first_lines.get(result.failed as usize).cloned().unwrap_or_default();
    Err(Halt::Refused(format!("{statement} ...: {}", result.error)))
}
