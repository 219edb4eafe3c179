//! What sessions cost the client: resident memory, and the time to open them.
//!
//! A session's memory is the difference between the peaks of two runs, one with many sessions and one with two, divided
//! by the difference in sessions. Both are under load, so that buffers have grown to what they need.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::sleep;

use crate::load::{Load, Protocol, TABLES, Target};
use crate::processes;
use crate::program::Program;
use crate::statistics::Quartiles;

/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(50);
/// Sessions of the run that others are compared with: one for each thread of a small machine.
const NEXT_TO_NONE: u32 = 2;
/// Pause of a simulated user.
const WAIT: Duration = Duration::from_secs(10);

/// How many sessions, how long.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Sessions of the smaller level and of those that vary something else.
    pub few: u32,
    /// Sessions of the larger level.
    pub many: u32,
    /// Users without a database.
    pub simulated: u32,
    /// How often the larger level is connected.
    pub repetitions: u32,
    /// Under load with a database.
    pub length: Duration,
}

/// Bytes a session and more.
#[derive(Debug, Clone)]
pub struct Costs {
    /// At how many sessions.
    pub scale: Scale,
    /// vufleet's session at the smaller level.
    pub few_bytes: f64,
    /// At the larger level.
    pub many_bytes: f64,
    /// sysbench's at the smaller level.
    pub sysbench_bytes: f64,
    /// Each further prepared statement of a session.
    pub statement_bytes: f64,
    /// A session without any.
    pub text_bytes: f64,
    /// A user of the simulated database.
    pub simulated_bytes: f64,
    /// Share of one core that they take together.
    pub simulated_core: f64,
    /// Seconds to connect the larger level.
    pub connect_s: Quartiles,
}

impl Costs {
    /// Measures all of it.
    pub async fn measure(ours: &Program, port: u16, scale: Scale) -> Result<Costs> {
        let load = |sessions, tables| Load { tables, ..Load::on(port, "point_select", sessions, scale.length) };
        let base = Peak::of(ours, &load(NEXT_TO_NONE, 1)).await?;
        let few = Peak::of(ours, &load(scale.few, 1)).await?;
        let more_statements = Peak::of(ours, &load(scale.few, TABLES)).await?;
        let text = Peak::of(ours, &Load { protocol: Protocol::Text, ..load(scale.few, 1) }).await?;
        let sysbench = [NEXT_TO_NONE, scale.few].map(|sessions| load(sessions, 1));
        let sysbench_base = Peak::of(&Program::Sysbench, &sysbench[0]).await?;
        let sysbench = Peak::of(&Program::Sysbench, &sysbench[1]).await?;
        let mut many = Vec::new();
        for _ in 0..scale.repetitions {
            many.push(Peak::of(ours, &load(scale.many, 1)).await?);
        }
        let simulated = |sessions| Load {
            target: Target::Simulated,
            wait: Some(WAIT),
            // Everybody has come to a transaction by then.
            length: WAIT + Duration::from_secs(2),
            ..load(sessions, 1)
        };
        let simulated_base = Peak::of(ours, &simulated(NEXT_TO_NONE)).await?;
        let users = Peak::of(ours, &simulated(scale.simulated)).await?;
        let largest = many.iter().max_by_key(|peak| peak.bytes).context("the larger level was not measured")?;
        let connect_s = many.iter().filter_map(|peak| peak.connect_s);
        Ok(Costs {
            scale,
            few_bytes: few.over(&base),
            many_bytes: largest.over(&base),
            sysbench_bytes: sysbench.over(&sysbench_base),
            statement_bytes: (more_statements.bytes as f64 - few.bytes as f64)
                / f64::from(scale.few)
                / f64::from(TABLES - 1),
            text_bytes: text.over(&base),
            simulated_bytes: users.over(&simulated_base),
            simulated_core: users.cpu.as_secs_f64() / users.life.as_secs_f64(),
            connect_s: Quartiles::of(connect_s).context("vufleet does not tell how long connecting took")?,
        })
    }
}

/// The process that makes the load, at its largest.
#[derive(Debug, Clone, Copy)]
struct Peak {
    sessions: u32,
    bytes: u64,
    connect_s: Option<f64>,
    /// Of its whole life.
    cpu: Duration,
    life: Duration,
}

impl Peak {
    async fn of(program: &Program, load: &Load) -> Result<Peak> {
        let mut running = program.start(load)?;
        let mut driver = None;
        let mut peak =
            Peak { sessions: load.sessions, bytes: 0, connect_s: None, cpu: Duration::ZERO, life: Duration::ZERO };
        while running.goes_on()? {
            sleep(POLL).await;
            if driver.is_none() {
                driver = program.driver(&running)?.map(|pid| (pid, std::time::Instant::now()));
            }
            let Some((pid, since)) = driver else { continue };
            if let (Some(bytes), Ok(cpu)) = (processes::peak_resident_bytes(pid), processes::cpu(pid)) {
                peak = Peak { bytes, cpu, life: since.elapsed(), ..peak };
            }
        }
        peak.connect_s = running.finish()?;
        eprintln!("  {program:?}, {} sessions: {} KB, {:?} s", load.sessions, peak.bytes / 1024, peak.connect_s);
        Ok(peak)
    }

    /// Bytes of each session that the other run did not have.
    fn over(&self, base: &Peak) -> f64 {
        (self.bytes as f64 - base.bytes as f64) / f64::from(self.sessions - base.sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_runs_have_in_common_is_nobodys() {
        let peak =
            |sessions, bytes| Peak { sessions, bytes, connect_s: None, cpu: Duration::ZERO, life: Duration::ZERO };
        assert_eq!(peak(1_002, 30_000_000).over(&peak(2, 20_000_000)), 10_000.0);
    }
}
