//! One stage of a build: work for every driving agent at once, followed to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::{self, command, event};
use vufleet_scenarios::workload::Chunk;

use super::advice;
use crate::autopilot::Halt;
use crate::autopilot::pilot::{Member, Pilot};
use crate::fleet::registry::FleetEvent;

/// What all agents do in a stage.
pub(super) struct Stage {
    /// What it is called.
    pub(super) phase: &'static str,
    /// Chunks may hold rows of a build that was interrupted.
    pub(super) resumed: bool,
    /// What is counted, where anything is.
    pub(super) progress: Option<Progress>,
}

/// How much there is to load, and how much was there before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub(super) rows: u64,
    pub(super) rows_before: u64,
    pub(super) chunks: u64,
    pub(super) chunks_before: u64,
    /// What the chunks are called where people count them rather than rows.
    pub(super) unit: Option<&'static str>,
}

/// Work of one stage for one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Share {
    chunks: Vec<v1::Chunk>,
    statements: Vec<String>,
}

impl Share {
    pub(super) fn of_chunks(chunks: Vec<Chunk>) -> Share {
        let chunk = |chunk: Chunk| v1::Chunk { part: chunk.part, first: chunk.first, count: chunk.count };
        Share { chunks: chunks.into_iter().map(chunk).collect(), statements: Vec::new() }
    }
}

/// Statements in turn to each agent.
pub(super) fn spread(statements: Vec<String>, agents: usize) -> Vec<Share> {
    let mut shares = vec![Share::default(); agents];
    for (index, statement) in statements.into_iter().enumerate() {
        shares[index % agents].statements.push(statement);
    }
    shares
}

/// What a stage did.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) rows: u64,
    pub(super) took: Duration,
    pub(super) client_cpu: Duration,
    /// How rows were sent; agents of before do not say.
    pub(super) ways: BTreeSet<String>,
}

/// A stage on all agents, to its end. On any failure the others are stopped.
pub(super) async fn run(
    pilot: &mut Pilot,
    members: &[Member],
    shares: Vec<Share>,
    stage: &Stage,
) -> Result<Done, Halt> {
    let job = pilot.core.clock.now();
    pilot.core.registry.take_up(job);
    let busy: Vec<(Member, Share)> =
        members.iter().cloned().zip(shares).filter(|(_, share)| *share != Share::default()).collect();
    for (member, share) in &busy {
        let order = v1::Populate {
            job,
            study: pilot.study.text.clone(),
            secrets: pilot.job.secrets.clone(),
            chunks: share.chunks.clone(),
            statements: share.statements.clone(),
            resumed: stage.resumed,
        };
        pilot.command(&member.name, command::Body::Populate(order));
    }
    let members: Vec<Member> = busy.into_iter().map(|(member, _)| member).collect();
    let result = watch(pilot, &members, job, stage).await;
    pilot.core.registry.put_down(job);
    if result.is_err() {
        for member in &members {
            pilot.command(&member.name, command::Body::Cancel(v1::Cancel { run: job }));
        }
    }
    result
}

async fn watch(pilot: &mut Pilot, members: &[Member], job: u64, stage: &Stage) -> Result<Done, Halt> {
    let begun = Instant::now();
    let mut told: BTreeMap<String, v1::PopulateProgress> = BTreeMap::new();
    let mut finished = 0;
    while finished < members.len() {
        let heard = pilot.next(Instant::now() + Duration::from_millis(500)).await?;
        if let Some((member, reason)) = pilot.absent(members) {
            let (name, advice) = (&member.name, advice(pilot));
            return Err(Halt::Refused(format!(
                "agent {name} was lost during the build: {reason}; the workload's tables are incomplete: {advice}"
            )));
        }
        let Some(FleetEvent::Event { name, event }) = heard else { continue };
        let Some(event::Body::Populate(news)) = event.body.filter(|_| event.run == job) else { continue };
        if news.finished {
            if !news.error.is_empty() {
                let advice = advice(pilot);
                return Err(Halt::Refused(format!(
                    "agent {name}: {}; the workload's tables are incomplete: once that is mended, {advice}",
                    news.error
                )));
            }
            finished += 1;
        }
        told.insert(name, news);
        let (rows, chunks) = sums(&told);
        pilot.show(live(stage, rows, chunks, begun.elapsed()));
    }
    Ok(Done {
        rows: sums(&told).0,
        took: begun.elapsed(),
        client_cpu: Duration::from_millis(told.values().map(|told| told.client_cpu_ms).sum()),
        ways: told.values().map(|told| told.way.clone()).filter(|way| !way.is_empty()).collect(),
    })
}

/// Rows and items of all agents.
fn sums(told: &BTreeMap<String, v1::PopulateProgress>) -> (u64, u64) {
    (told.values().map(|told| told.rows).sum(), told.values().map(|told| u64::from(told.items_done)).sum())
}

fn live(stage: &Stage, rows: u64, chunks: u64, elapsed: Duration) -> v1::Live {
    let phase = stage.phase.to_owned();
    let Some(progress) = stage.progress else { return v1::Live { phase, ..Default::default() } };
    let rate = rows as f64 / elapsed.as_secs_f64().max(1e-9);
    let total = progress.rows + progress.rows_before;
    let what = match progress.unit {
        Some(unit) => {
            format!("{} of {} {unit}", progress.chunks_before + chunks, progress.chunks + progress.chunks_before)
        }
        None => format!("{} of {total} rows", progress.rows_before + rows),
    };
    // Where the number of rows is drawn, the expected number may be a few rows off.
    let fraction = (progress.rows_before + rows) as f64 / (total as f64).max(1.0);
    v1::Live {
        phase,
        what,
        rows_per_s: Some(rate),
        fraction: Some(fraction.min(1.0)),
        left_s: (rate > 0.0).then(|| progress.rows.saturating_sub(rows) as f64 / rate),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_go_round() {
        let shares = spread(["a", "b", "c"].map(str::to_owned).to_vec(), 2);
        assert_eq!(shares[0].statements, ["a", "c"]);
        assert_eq!(shares[1].statements, ["b"]);
    }

    #[test]
    fn progress_counts_what_was_there_before_but_not_as_speed() {
        let progress = Progress { rows: 3_000, rows_before: 1_000, chunks: 3, chunks_before: 1, unit: None };
        let stage = |unit| Stage { phase: "loading", resumed: true, progress: Some(Progress { unit, ..progress }) };
        let shown = live(&stage(Some("warehouses")), 1_000, 1, Duration::from_secs(2));
        assert_eq!(shown.what, "2 of 4 warehouses");
        assert_eq!((shown.rows_per_s, shown.fraction, shown.left_s), (Some(500.0), Some(0.5), Some(4.0)));
        assert_eq!(live(&stage(None), 1_000, 1, Duration::from_secs(2)).what, "2000 of 4000 rows");
        let done = live(&stage(None), 3_010, 3, Duration::from_secs(2));
        assert_eq!((done.fraction, done.left_s), (Some(1.0), Some(0.0)));
        assert_eq!(live(&stage(None), 0, 0, Duration::ZERO).left_s, None);
    }
}
