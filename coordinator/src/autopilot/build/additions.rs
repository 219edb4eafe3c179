//! What belongs to the tables beside their rows: indexes and stored procedures.

use vufleet_scenarios::workload::{Index, Routine, Routines};

use super::standing::{existing, first_cell};
use super::verify::unmet;
use super::{PATIENCE, all_or_nothing, builders, members, stage};
use crate::autopilot::Halt;
use crate::autopilot::pilot::{Ask, Pilot};

/// Makes the stored procedures anew. A workload that does not call them goes without where the login may not make them.
pub(super) async fn make_routines(pilot: &mut Pilot, agent: &str) -> Result<(), Halt> {
    let Some(Routines { all, called, remedy }) = routines(pilot) else { return Ok(()) };
    let there = presence(pilot, agent, all.iter().map(|routine| &routine.exists)).await?;
    let statements = all.into_iter().zip(there).flat_map(|(routine, there)| {
        let drop = there.then_some(routine.drop);
        drop.into_iter().chain([routine.create])
    });
    match all_or_nothing(pilot, agent, statements.collect()).await {
        Err(Halt::Refused(why)) if called => Err(Halt::Refused(format!("{why}; {remedy}"))),
        Err(Halt::Refused(why)) => {
            let note = "the stored procedures, which this study does not call, are not all there";
            pilot.teller.line(format!("note: {note}: {why}")).await;
            Ok(())
        }
        made => made,
    }
}

/// Drops those of the stored procedures that are there.
pub(super) async fn drop_routines(pilot: &mut Pilot, agent: &str) -> Result<(), Halt> {
    let all = routines(pilot).map_or_else(Vec::new, |routines| routines.all);
    let there = presence(pilot, agent, all.iter().map(|routine| &routine.exists)).await?;
    let drops = all.into_iter().zip(there).filter(|(_, there)| *there).map(|(routine, _)| routine.drop);
    all_or_nothing(pilot, agent, drops.collect()).await
}

/// Gives tables whose rows are complete the indexes and procedures that they lack. False, and nothing is done, where
/// they lack none, or the rows are not those of a complete build.
pub(super) async fn complete(pilot: &mut Pilot, agent: &str) -> Result<bool, Halt> {
    let (study, dialect) = (pilot.study.clone(), pilot.dialect());
    let schema = study.workload.schema();
    let built = schema.built(dialect);
    let all_there = existing(pilot, agent).await?.len() == schema.tables().len();
    if built.is_empty() || !all_there || !unmet(pilot, agent, built).await?.is_empty() {
        return Ok(false);
    }
    let indexes = lacking_indexes(pilot, agent, schema.indexes(dialect)).await?;
    let routines = lacking_routines(pilot, agent).await?;
    if indexes.is_empty() && routines.is_empty() {
        return Ok(false);
    }
    let (procedures, others) = (counted(routines.len(), "procedure"), counted(indexes.len(), "index"));
    all_or_nothing(pilot, agent, routines.into_iter().map(|routine| routine.create).collect()).await?;
    index(pilot, indexes).await?;
    pilot.teller.line(format!("made what was missing, {procedures} and {others}; the rows are as they were")).await;
    Ok(true)
}

fn counted(number: usize, thing: &str) -> String {
    let ending = match (number, thing.ends_with('x')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {thing}{ending}")
}

/// Builds indexes beside each other.
pub(super) async fn index(pilot: &mut Pilot, indexes: Vec<Index>) -> Result<(), Halt> {
    let members = members(&builders(pilot)?);
    let statements = indexes.into_iter().map(|index| index.sql).collect();
    let stage = stage::Stage { phase: "indexing", resumed: false, progress: None };
    stage::run(pilot, &members, stage::spread(statements, members.len()), &stage).await.map(drop)
}

/// Those that are not there.
pub(super) async fn lacking_indexes(pilot: &mut Pilot, agent: &str, all: Vec<Index>) -> Result<Vec<Index>, Halt> {
    let there = presence(pilot, agent, all.iter().map(|index| &index.exists)).await?;
    Ok(all.into_iter().zip(there).filter(|(_, there)| !there).map(|(index, _)| index).collect())
}

/// Those that are called and not there.
async fn lacking_routines(pilot: &mut Pilot, agent: &str) -> Result<Vec<Routine>, Halt> {
    let called = routines(pilot).filter(|routines| routines.called).map_or_else(Vec::new, |routines| routines.all);
    let there = presence(pilot, agent, called.iter().map(|routine| &routine.exists)).await?;
    Ok(called.into_iter().zip(there).filter(|(_, there)| !there).map(|(routine, _)| routine).collect())
}

/// What each query says: whether it is there.
async fn presence<'q>(
    pilot: &mut Pilot,
    agent: &str,
    queries: impl Iterator<Item = &'q String>,
) -> Result<Vec<bool>, Halt> {
    let queries: Vec<String> = queries.cloned().collect();
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    let result = pilot.ask(agent, Ask::target(queries).patience(PATIENCE)).await?;
    if !result.error.is_empty() {
        return Err(Halt::Refused(format!("indexes and procedures cannot be looked up: {}", result.error)));
    }
    Ok(result.tables.iter().map(|table| first_cell(table).is_some_and(|count| count != "0")).collect())
}

/// The schema's procedures; called where any profile's transactions call them.
fn routines(pilot: &Pilot) -> Option<Routines> {
    let study = &pilot.study;
    let workloads = std::iter::once(&study.workload).chain(study.profiles.iter().map(|profile| &profile.workload));
    let routines = workloads.filter_map(|workload| workload.schema().routines(pilot.dialect()));
    routines.reduce(|first, next| if first.called { first } else { next })
}
