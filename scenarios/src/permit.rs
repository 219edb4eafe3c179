//! What an agent has to allow for a statement of a study to be sent through it: decided by the agent itself, from the study's text,
//! and by the coordinator in advance, so that it asks nobody who will refuse.

use std::collections::HashSet;

use crate::check;
use crate::question::{self, NoQuestion};
use crate::session::Dialect;
use crate::settings;
use crate::study::{Action, ResetMethod, Study, TargetKind, Workload};
use crate::workload::Schema;

/// What ends the writing of a server's caches before the next run, on each.
pub fn checkpoint(kind: TargetKind) -> Option<&'static str> {
    match kind {
        TargetKind::Sqlite => Some("PRAGMA wal_checkpoint(TRUNCATE)"),
        TargetKind::Mysql => Some("FLUSH ENGINE LOGS"),
        TargetKind::Mssql => Some("CHECKPOINT"),
        TargetKind::Simulated => None,
    }
}

/// What a statement takes of the agent that sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it is a question.
    Nothing,
    /// The role drive: it is vufleet's own, of the study's workload and its tables.
    Drive,
    /// That its configuration allows control, for this reason.
    Control(NoQuestion),
}

/// What the statements of one study need.
pub struct Permit {
    dialect: Option<Dialect>,
    own: HashSet<String>,
    /// What vufleet itself asks about settings, some of it by statements that are questions by what they do and not by how they begin.
    asked: HashSet<String>,
    /// Why the load itself needs control: a statement of the study's own that is no question.
    load: Option<(String, NoQuestion)>,
}

impl Permit {
    /// Of a study.
    pub fn of(study: &Study) -> Permit {
        let Some(dialect) = study.target.kind.dialect() else {
            return Permit { dialect: None, own: HashSet::new(), asked: HashSet::new(), load: None };
        };
        let load = workloads(study).find_map(|workload| written(workload, dialect));
        let mut own: HashSet<String> =
            workloads(study).flat_map(|workload| of_schema(workload.schema(), study.seed, dialect)).collect();
        if study.schedule.checkpoint {
            own.extend(checkpoint(study.target.kind).map(str::to_owned));
        }
        if load.is_none() {
            // They hold the statements of the load, which may all be asked.
            own.extend(check::of_statements(study).into_iter().map(|question| question.sql));
        }
        let asked = settings::questions(&study.target).into_iter().map(|question| question.sql).collect();
        Permit { dialect: Some(dialect), own, asked, load }
    }

    /// What a statement needs.
    pub fn need(&self, sql: &str) -> Need {
        let Some(dialect) = self.dialect else { return Need::Nothing };
        match question::check(sql, dialect) {
            Ok(()) => Need::Nothing,
            Err(_) if self.asked.contains(sql) => Need::Nothing,
            Err(_) if self.own.contains(sql) => Need::Drive,
            Err(why) => Need::Control(why),
        }
    }

    /// The statement of the load that an agent does not send unless it allows control, and why.
    pub fn load(&self) -> Option<&(String, NoQuestion)> {
        self.load.as_ref()
    }

    /// Whatever of a study an agent that allows control has to do, beside the load: whose it is and why, one a part.
    pub fn controls(&self, study: &Study) -> Vec<String> {
        let mut parts = Vec::new();
        for variant in study.variants.iter().filter(|variant| {
            variant.change.apply.iter().chain(&variant.change.revert).any(|action| matches!(action, Action::Sql(_)))
        }) {
            parts.push(format!("variant {} changes the database", variant.name));
        }
        match study.reset.as_ref().map(|reset| &reset.method) {
            Some(ResetMethod::Actions(actions)) if actions.iter().any(|action| matches!(action, Action::Sql(_))) => {
                parts.push("the reset changes the database".to_owned());
            }
            Some(ResetMethod::Backup(_)) => parts.push("the reset restores the database".to_owned()),
            Some(ResetMethod::Snapshot) if study.target.kind == TargetKind::Sqlite => {
                parts.push("the reset replaces the database's file".to_owned());
            }
            _ => {}
        }
        parts.extend(written_by_users(study).filter_map(|(whose, sql)| match self.need(sql) {
            Need::Control(why) => Some(format!("{whose} is no question ({why}): {}", brief(sql))),
            Need::Nothing | Need::Drive => None,
        }));
        parts
    }
}

fn workloads(study: &Study) -> impl Iterator<Item = &Workload> {
    std::iter::once(&study.workload).chain(study.profiles.iter().map(|profile| &profile.workload))
}

/// The first statement of the user's own load that is no question.
fn written(workload: &Workload, dialect: Dialect) -> Option<(String, NoQuestion)> {
    let Workload::Custom(shape) = workload else { return None };
    let steps = shape.transactions.iter().flat_map(|transaction| &transaction.steps);
    steps.map(|step| &step.statement.sql).find_map(|sql| Some((sql.clone(), question::check(sql, dialect).err()?)))
}

/// Everything but rows that a schema has a server do.
fn of_schema(schema: &dyn Schema, seed: u64, dialect: Dialect) -> Vec<String> {
    let mut all = schema.create(dialect);
    all.extend(schema.drop(dialect));
    all.extend(schema.indexes(dialect).into_iter().map(|index| index.sql));
    let routines = schema.routines(dialect).into_iter().flat_map(|routines| routines.all);
    all.extend(routines.flat_map(|routine| [routine.drop, routine.create]));
    if let Some(resume) = schema.resume(seed, dialect) {
        all.extend(resume.begin);
        all.push(resume.end);
    }
    all
}

/// Statements that are asked of the database, by whom they are asked.
fn written_by_users(study: &Study) -> impl Iterator<Item = (String, &str)> {
    let required = study.require.iter().map(|require| ("[[require]]".to_owned(), require.sql.as_str()));
    let setups = study.profiles.iter().flat_map(|profile| {
        profile.setup.iter().map(|sql| (format!("the setup of profile {}", profile.id), sql.as_str()))
    });
    let variants = study.variants.iter().flat_map(|variant| {
        let change = &variant.change;
        let remembered = change.remember.iter().map(|remember| remember.sql.as_str());
        let verified = change.verify.iter().chain(&change.undone).map(|require| require.sql.as_str());
        let footprints = change.footprint.iter().map(|footprint| footprint.sql.as_str());
        let all = remembered.chain(verified).chain(footprints);
        all.map(|sql| (format!("a query of variant {}", variant.name), sql))
    });
    required.chain(setups).chain(variants)
}

/// A statement on one line, and not all of a long one.
pub fn brief(sql: &str) -> String {
    const LONGEST: usize = 160;
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
