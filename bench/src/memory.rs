//! What sessions cost the client: resident memory, and the time to open them.
//!
//! A session's memory is the difference between the peaks of two runs, one with many sessions and one with two, divided
//! by the difference in sessions: what both runs have in common is nobody's.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::time::sleep;

use crate::load::{Load, Pause, Protocol, TABLES, Target, Work};
use crate::processes;
use crate::program::Program;
use crate::statistics::Quartiles;

/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(50);
/// Sessions of the run that others are compared with: one for each thread of a small machine.
const NEXT_TO_NONE: u32 = 2;
/// A transaction of a simulated user.
const SERVICE_TIME: Duration = Duration::from_millis(2);
/// Its pause.
const WAIT: Duration = Duration::from_secs(10);
/// Pause that only a handful of thousands of sessions come to the end of.
const IDLE: Duration = Duration::from_secs(3_600);

/// How many sessions, how long.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Sessions of the smaller level.
    pub few: u32,
    /// Sessions of the larger level.
    pub many: u32,
    /// Users without a database.
    pub simulated: u32,
    /// How often the larger level is connected.
    pub repetitions: u32,
    /// Length of each run on the database.
    pub length: Duration,
}

/// Bytes of a session at two levels.
#[derive(Debug, Clone, Copy)]
pub struct Levels {
    /// At the smaller level.
    pub few: f64,
    /// At the larger level.
    pub many: f64,
}

/// Bytes a session and more.
#[derive(Debug, Clone)]
pub struct Costs {
    /// At how many sessions.
    pub scale: Scale,
    /// A session that is connected and has its statement prepared.
    pub connected: Levels,
    /// The same after the whole run without a pause.
    pub busy: Levels,
    /// sysbench's after the same, smaller level.
    pub sysbench_busy: f64,
    /// Each further prepared statement of a session.
    pub statement: f64,
    /// A connected session without a prepared statement, smaller level.
    pub unprepared: f64,
    /// A user of the simulated database, each of whom has come to a transaction.
    pub simulated: f64,
    /// Share of one core that all of those take together.
    pub simulated_core: f64,
    /// Seconds to connect the larger level.
    pub connect_s: Quartiles,
}

impl Costs {
    /// Measures all of it.
    pub async fn measure(ours: &Program, port: u16, scale: Scale) -> Result<Costs> {
        let script = "point_select";
        let work = |tables, protocol| Work::Oltp { script, tables, protocol };
        let one_table = work(1, Protocol::Prepared);
        let busy = |sessions| Load::on(Target::MariaDb(port), one_table, sessions, scale.length);
        let idle = |sessions| Load { pause: Pause::Wait(IDLE), ..busy(sessions) };
        let simulated = |sessions| Load {
            target: Target::Simulated(SERVICE_TIME),
            pause: Pause::Wait(WAIT),
            // Everybody has come to a transaction by then.
            length: WAIT + Duration::from_secs(2),
            ..busy(sessions)
        };

        let nobody = Peak::of(ours, &idle(NEXT_TO_NONE)).await?;
        let connected = Peak::of(ours, &idle(scale.few)).await?;
        let all_tables = Peak::of(ours, &Load { work: work(TABLES, Protocol::Prepared), ..idle(scale.few) }).await?;
        let unprepared = Peak::of(ours, &Load { work: work(1, Protocol::Text), ..idle(scale.few) }).await?;
        let mut most = Vec::new();
        for _ in 0..scale.repetitions {
            most.push(Peak::of(ours, &idle(scale.many)).await?);
        }
        let largest = most.iter().max_by_key(|peak| peak.bytes).context("the larger level was not measured")?;
        let connect_s = Quartiles::of(most.iter().filter_map(|peak| peak.connect_s));

        let few_busy = Peak::of(ours, &busy(scale.few)).await?;
        let sysbench = [NEXT_TO_NONE, scale.few].map(busy);
        let sysbench_base = Peak::of(&Program::Sysbench, &sysbench[0]).await?;
        let sysbench_busy = Peak::of(&Program::Sysbench, &sysbench[1]).await?;
        let busy_base = Peak::of(ours, &busy(NEXT_TO_NONE)).await?;
        let many_busy = Peak::of(ours, &busy(scale.many)).await?;

        let simulated_base = Peak::of(ours, &simulated(NEXT_TO_NONE)).await?;
        let users = Peak::of(ours, &simulated(scale.simulated)).await?;
        Ok(Costs {
            scale,
            connected: Levels { few: connected.over(&nobody), many: largest.over(&nobody) },
            busy: Levels { few: few_busy.over(&busy_base), many: many_busy.over(&busy_base) },
            sysbench_busy: sysbench_busy.over(&sysbench_base),
            statement: (all_tables.over(&nobody) - connected.over(&nobody)) / f64::from(TABLES - 1),
            unprepared: unprepared.over(&nobody),
            simulated: users.over(&simulated_base),
            simulated_core: users.cpu.as_secs_f64() / users.life.as_secs_f64(),
            connect_s: connect_s.context("vufleet does not tell how long connecting took")?,
        })
    }
}

/// The process that makes the load, at its largest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peak {
    sessions: u32,
    bytes: u64,
    connect_s: Option<f64>,
    /// Of its whole life.
    cpu: Duration,
    life: Duration,
}

impl Peak {
    fn nothing(sessions: u32) -> Peak {
        Peak { sessions, bytes: 0, connect_s: None, cpu: Duration::ZERO, life: Duration::ZERO }
    }

    /// Runs a load and watches.
    pub(crate) async fn of(program: &Program, load: &Load) -> Result<Peak> {
        let mut running = program.start(load)?;
        let mut peak = Peak::nothing(load.sessions);
        let mut driver = None;
        while running.goes_on()? {
            sleep(POLL).await;
            if driver.is_none() {
                driver = program.driver(&running)?.map(|pid| (pid, Instant::now()));
            }
            let Some((pid, since)) = driver else { continue };
            if let (Some(bytes), Ok(cpu)) = (processes::peak_resident_bytes(pid), processes::cpu(pid)) {
                peak = Peak { bytes, cpu, life: since.elapsed(), ..peak };
            }
        }
        peak.connect_s = running.finish()?.map(|told| told.connect_s);
        let connected = peak.connect_s.map_or(String::new(), |seconds| format!(", connected after {seconds:.2} s"));
        eprintln!("{}: {} sessions, {} KB{connected}", program.name(), load.sessions, peak.bytes / 1024);
        Ok(peak)
    }

    /// Bytes of each session that the other run did not have.
    pub(crate) fn over(&self, base: &Peak) -> f64 {
        (self.bytes as f64 - base.bytes as f64) / f64::from(self.sessions - base.sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_runs_have_in_common_is_nobodys() {
        let peak = |sessions, bytes| Peak { bytes, ..Peak::nothing(sessions) };
        assert_eq!(peak(1_002, 30_000_000).over(&peak(2, 20_000_000)), 10_000.0);
    }
}
