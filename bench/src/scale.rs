//! Many agents on one coordinator: what they cost it, how soon they are there, and how exactly they begin.
//!
//! All of them are processes of this host, as anybody would start them. Their load is simulated and mostly waits, so that what
//! is measured is the fleet and not its work.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::time::sleep;
use vufleet::ledger::{FILE_NAME, Ledger};
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::phase;

use crate::lab::{LEASE, Lab};
use crate::processes;

/// How often agents are counted and processes looked at.
const POLL: Duration = Duration::from_millis(100);

/// How many, how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crowd {
    /// Agents of the large fleet.
    pub agents: u32,
    /// Virtual users of each.
    pub vus: u32,
    /// Length of its run.
    pub length: Duration,
    /// Agents whose starts are measured.
    pub starters: u32,
    /// How often they start.
    pub starts: u32,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Fleets {
    /// Of what.
    pub crowd: Crowd,
    /// From the start of the first agent until all had joined.
    pub joined: Duration,
    /// From the start of a killed coordinator's successor until all were back.
    pub back: Duration,
    /// Share of one core that the coordinator took under load.
    pub cores: f64,
    /// Resident memory of the coordinator at the end of its run.
    pub resident_bytes: u64,
    /// By how much that grew in an hour, by the second half of the run.
    pub growth_bytes_per_h: f64,
    /// Events recorded in a second.
    pub events_per_s: f64,
    /// The ledger's growth for each agent in an hour.
    pub bytes_per_agent_hour: f64,
    /// The end of the run until its report was there.
    pub report: Duration,
    /// How late each agent of the smaller fleet began, milliseconds, sorted; below 0 it was early.
    pub late_ms: Vec<f64>,
}

impl Fleets {
    /// Measures all of it.
    pub async fn measure(programs: &Path, crowd: Crowd) -> Result<Fleets> {
        let late_ms = starts(programs, crowd).await?;
        let mut lab = Lab::start(programs, LEASE)?;
        let begun = Instant::now();
        lab.hire(crowd.agents)?;
        let joined = lab.await_agents(crowd.agents, begun).await?;
        eprintln!("{} agents joined after {joined:.2?}", crowd.agents);
        let study = format!(
            "{}[[profiles]]\nvus = {}\npacing = {{ wait = \"1s\" }}\n[schedule]\nramp_up = \"5s\"\nmeasure = \"{}s\"\n\
             settle = \"0ms\"\nrepetitions = 1\nmax_repeats = 0\n",
            STUDY,
            crowd.agents * crowd.vus,
            crowd.length.as_secs(),
        );
        let mut run = lab.run(&study, crowd.agents)?;
        let watch = lab.watch(&mut run, crowd.length).await?;
        let (events, bytes) = lab.recorded()?;
        let begun = Instant::now();
        lab.restart_coordinator()?;
        let back = lab.await_agents(crowd.agents, begun).await?;
        eprintln!("all back after {back:.2?}");
        let hours = crowd.length.as_secs_f64() / 3_600.0;
        Ok(Fleets {
            crowd,
            joined,
            back,
            cores: watch.cores,
            resident_bytes: watch.resident_bytes,
            growth_bytes_per_h: watch.growth_bytes_per_h,
            events_per_s: events as f64 / crowd.length.as_secs_f64(),
            bytes_per_agent_hour: bytes as f64 / f64::from(crowd.agents) / hours,
            report: watch.report,
            late_ms,
        })
    }
}

/// What a table of starts tells: at that share of them, the distance from the appointed time.
pub fn at_share(late_ms: &[f64], share: f64) -> f64 {
    let mut apart: Vec<f64> = late_ms.iter().map(|late| late.abs()).collect();
    apart.sort_by(f64::total_cmp);
    apart.get(((apart.len().max(1) - 1) as f64 * share).ceil() as usize).copied().unwrap_or(f64::NAN)
}

const STUDY: &str = "name = \"crowd\"\nseed = 1\n[target]\nkind = \"simulated\"\nservice_time = \"2ms\"\n[workload]\nkind = \"oltp\"\n\
                     script = \"point_select\"\n";

/// How late agents begin, start after start.
async fn starts(programs: &Path, crowd: Crowd) -> Result<Vec<f64>> {
    let mut lab = Lab::start(programs, LEASE)?;
    lab.hire(crowd.starters)?;
    lab.await_agents(crowd.starters, Instant::now()).await?;
    let study = format!(
        "{STUDY}[[profiles]]\nvus = {}\npacing = {{ wait = \"100ms\" }}\n[schedule]\nramp_up = \"0ms\"\nmeasure = \"1s\"\n\
         settle = \"0ms\"\nrepetitions = {}\nmax_repeats = 0\n",
        crowd.starters * 4,
        crowd.starts,
    );
    let mut run = lab.run(&study, crowd.starters)?;
    while run.try_wait()?.is_none() {
        sleep(POLL).await;
    }
    let ledger = Ledger::read_only(&lab.data())?;
    let mut late_ms = Vec::new();
    for run in ledger.runs(&ledger.study("last")?.id)? {
        let Some(appointed_ns) = run.facts.and_then(|facts| facts.start_at_ns) else { continue };
        ledger.each_event(run.id, &mut |recorded| {
            if let Some(Body::Phase(told)) = &recorded.event.body
                && told.kind() == phase::Kind::Started
            {
                late_ms.push((told.at_ns as i64 - appointed_ns as i64) as f64 / 1e6);
            }
        })?;
    }
    late_ms.sort_by(f64::total_cmp);
    ensure!(late_ms.len() >= (crowd.starters * crowd.starts) as usize, "{} starts were told", late_ms.len());
    Ok(late_ms)
}

struct Watch {
    cores: f64,
    resident_bytes: u64,
    growth_bytes_per_h: f64,
    report: Duration,
}

impl Lab {
    /// Follows a run to its end. The coordinator's CPU counts from when the load is there for sure to a little before its end.
    async fn watch(&mut self, run: &mut Child, length: Duration) -> Result<Watch> {
        let pid = self.coordinator_pid();
        let (mut points, mut first, mut last) = (Vec::new(), None, None);
        let mut load = None;
        loop {
            if let Some(status) = run.try_wait()? {
                ensure!(status.success(), "the run ended with {status}: {}", self.last_words());
                break;
            }
            sleep(Duration::from_secs(1)).await;
            let now = Instant::now();
            let sessions = self.sessions().await?;
            let Some(begun) = load.or((sessions > 0).then_some(now)) else { continue };
            load = Some(begun);
            let since = begun.elapsed();
            if since < length + Duration::from_secs(10) && sessions > 0 {
                let cpu = processes::cpu(pid)?;
                first = first.or((since > Duration::from_secs(10)).then_some((now, cpu)));
                last = Some((now, cpu));
                points.push((since.as_secs_f64(), processes::resident_bytes(pid).unwrap_or(0) as f64));
            }
        }
        let ((from, cpu_from), (to, cpu_to)) = first.zip(last).context("the run was too short to be watched")?;
        let late = &points[points.len() / 2..];
        Ok(Watch {
            cores: (cpu_to - cpu_from).as_secs_f64() / (to - from).as_secs_f64(),
            resident_bytes: points.last().map_or(0, |(_, bytes)| *bytes as u64),
            growth_bytes_per_h: slope(late) * 3_600.0,
            report: to.elapsed(),
        })
    }

    /// Sessions that all agents say they have open.
    async fn sessions(&self) -> Result<u32> {
        let reply = self.operator().await?.agents().await?;
        Ok(reply.agents.iter().filter_map(|agent| agent.heartbeat.as_ref()).map(|beat| beat.sessions).sum())
    }

    /// Events of the last run, and the size of the ledger.
    fn recorded(&self) -> Result<(u64, u64)> {
        let ledger = Ledger::read_only(&self.data())?;
        let mut events = 0;
        for run in ledger.runs(&ledger.study("last")?.id)? {
            ledger.each_event(run.id, &mut |_| events += 1)?;
        }
        let bytes = ["", "-wal"]
            .map(|rest| std::fs::metadata(self.data().join(format!("{FILE_NAME}{rest}"))).map_or(0, |it| it.len()));
        Ok((events, bytes.iter().sum()))
    }
}

/// Of a straight line through points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let squares: f64 = points.iter().map(|it| (it.0 - x).powi(2)).sum();
    points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum::<f64>() / squares.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope() {
        let line: Vec<(f64, f64)> = (0..50).map(|x| (f64::from(x), 7.0 + 3.0 * f64::from(x))).collect();
        assert!((slope(&line) - 3.0).abs() < 1e-9);
        assert_eq!(slope(&[(1.0, 5.0)]), 0.0);
    }

    #[test]
    fn early_is_as_far_as_late() {
        let late_ms: Vec<f64> = (-50..50).map(f64::from).collect();
        assert_eq!(at_share(&late_ms, 1.0), 50.0);
        assert_eq!(at_share(&late_ms, 0.5), 25.0);
        assert!(at_share(&[], 0.5).is_nan());
    }
}
