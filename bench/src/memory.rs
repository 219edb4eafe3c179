//! What sessions cost the client: resident memory, and the time to open them.
//!
//! A session's memory is the difference between the peaks of two runs, one with many sessions and one with two, divided
//! by the difference in sessions: what both runs have in common is nobody's.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::time::sleep;

use crate::load::{Calls, Load, Pause, Protocol, TABLES, Target, Wire, Work};
use crate::processes;
use crate::program::Program;
use crate::server::Server;
use crate::statistics::Quartiles;

/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(50);
/// Sessions of the run that others are compared with: one for each thread of a small machine.
const NEXT_TO_NONE: u32 = 2;
/// A transaction of a simulated user.
const SERVICE_TIME: Duration = Duration::from_millis(2);
/// Mean time from one transaction of a simulated user to its next, rounded up: most have come to one by then.
const CYCLE: Duration = Duration::from_secs(21);
/// Pause that only a handful of thousands of sessions come to the end of.
const IDLE: Duration = Duration::from_secs(3_600);

/// How many sessions, how long.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Sessions of the smaller level.
    pub few: u32,
    /// Sessions of the larger level.
    pub many: u32,
    /// Users without a database, keying and thinking.
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
    /// The same with the 92 statements of read_write over ten tables prepared, smaller level.
    pub read_write: f64,
    /// The same as connected after the whole run without a pause.
    pub busy: Levels,
    /// sysbench's after the same, smaller level.
    pub sysbench_busy: f64,
    /// A connected session without a prepared statement, smaller level.
    pub unprepared: f64,
    /// A simulated user who keys and thinks.
    pub simulated: f64,
    /// The whole process with all of them.
    pub simulated_process: u64,
    /// Share of one core that all of those take together in the second half of their run.
    pub simulated_core: f64,
    /// Seconds to connect the larger level.
    pub connect_s: Quartiles,
}

impl Costs {
    /// Measures all of it.
    pub async fn measure(ours: &Program, server: &Server, scale: Scale) -> Result<Costs> {
        let work = |script, tables, protocol| Work::Oltp { script, tables, protocol };
        let one_table = work("point_select", 1, Protocol::Prepared);
        let busy = |sessions| Load::on(server.target(Wire::Tcp), one_table, sessions, scale.length);
        let idle = |work, sessions| Load { work, pause: Pause::Wait(IDLE), ..busy(sessions) };

        let nobody = Peak::of(ours, &idle(one_table, NEXT_TO_NONE)).await?;
        let connected = Peak::of(ours, &idle(one_table, scale.few)).await?;
        let read_write = work("read_write", TABLES, Protocol::Prepared);
        let nobody_writes = Peak::of(ours, &idle(read_write, NEXT_TO_NONE)).await?;
        let all_statements = Peak::of(ours, &idle(read_write, scale.few)).await?;
        let unprepared = Peak::of(ours, &idle(work("point_select", 1, Protocol::Text), scale.few)).await?;
        let mut most = Vec::new();
        for _ in 0..scale.repetitions {
            most.push(Peak::of(ours, &idle(one_table, scale.many)).await?);
        }
        let largest = most.iter().max_by_key(|peak| peak.bytes).context("the larger level was not measured")?;
        let connect_s = Quartiles::of(most.iter().filter_map(|peak| peak.connect_s));

        let few_busy = Peak::of(ours, &busy(scale.few)).await?;
        let sysbench = [NEXT_TO_NONE, scale.few].map(busy);
        let sysbench_base = Peak::of(&Program::Sysbench, &sysbench[0]).await?;
        let sysbench_busy = Peak::of(&Program::Sysbench, &sysbench[1]).await?;
        let busy_base = Peak::of(ours, &busy(NEXT_TO_NONE)).await?;
        let many_busy = Peak::of(ours, &busy(scale.many)).await?;

        let simulated_base = Peak::of(ours, &terminals(NEXT_TO_NONE)).await?;
        let users = Peak::of(ours, &terminals(scale.simulated)).await?;
        Ok(Costs {
            scale,
            connected: Levels { few: connected.over(&nobody), many: largest.over(&nobody) },
            read_write: all_statements.over(&nobody_writes),
            busy: Levels { few: few_busy.over(&busy_base), many: many_busy.over(&busy_base) },
            sysbench_busy: sysbench_busy.over(&sysbench_base),
            unprepared: unprepared.over(&nobody),
            simulated: users.over(&simulated_base),
            simulated_process: users.bytes,
            simulated_core: users.core,
            connect_s: connect_s.context("vufleet does not tell how long connecting took")?,
        })
    }
}

/// Users without a database who key and think as TPROC-C has it.
fn terminals(users: u32) -> Load {
    let work = Work::Tprocc { calls: Calls::Procedures, warehouses: 16 };
    Load { pause: Pause::KeyingThinking, ..Load::on(Target::Simulated(SERVICE_TIME), work, users, CYCLE) }
}

/// The process that makes the load, at its largest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peak {
    sessions: u32,
    bytes: u64,
    connect_s: Option<f64>,
    /// Share of one core, in the second half of its life.
    core: f64,
}

impl Peak {
    fn nothing(sessions: u32) -> Peak {
        Peak { sessions, bytes: 0, connect_s: None, core: f64::NAN }
    }

    /// Runs a load and watches.
    pub(crate) async fn of(program: &Program, load: &Load) -> Result<Peak> {
        let mut running = program.start(load)?;
        let mut peak = Peak::nothing(load.sessions);
        let mut driver = None;
        let mut used: Vec<(Instant, Duration)> = Vec::new();
        while running.goes_on()? {
            sleep(POLL).await;
            if driver.is_none() {
                driver = program.driver(&running)?;
            }
            let Some(pid) = driver else { continue };
            if let (Some(bytes), Ok(cpu)) = (processes::peak_resident_bytes(pid), processes::cpu(pid)) {
                peak.bytes = bytes;
                used.push((Instant::now(), cpu));
            }
        }
        if let (Some((from, before)), Some((to, after))) = (used.get(used.len() / 2), used.last()) {
            peak.core = (*after - *before).as_secs_f64() / (*to - *from).as_secs_f64();
        }
        peak.connect_s = running.finish()?.map(|told| told.connect_s()).transpose()?;
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
