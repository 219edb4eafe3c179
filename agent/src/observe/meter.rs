//! What the agent itself takes of its host's CPU.
//!
//! For heartbeats and for whoever looks at a live fleet. Reports count from [samples](super::host) instead.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The agent's own share of its host's CPU, for heartbeats.
#[derive(Debug)]
pub struct ProcessMeter {
    cores: f64,
    last: (Instant, Duration),
}

impl ProcessMeter {
    /// Starts to measure now. `cores` are all of the host's.
    pub fn new(cores: u32) -> ProcessMeter {
        ProcessMeter { cores: f64::from(cores.max(1)), last: (Instant::now(), cpu_used()) }
    }

    /// CPU time of this process since the last call, in per cent of all cores of the host.
    pub fn percent_of_host(&mut self) -> f32 {
        let now = (Instant::now(), cpu_used());
        let wall = now.0.duration_since(self.last.0);
        let percent = share_percent(now.1.saturating_sub(self.last.1), wall, self.cores);
        self.last = now;
        percent
    }
}

fn share_percent(used: Duration, wall: Duration, cores: f64) -> f32 {
    if wall.is_zero() {
        return 0.0;
    }
    (100.0 * used.as_secs_f64() / wall.as_secs_f64() / cores) as f32
}

/// User and system time of this process, from getrusage: clock ticks would be too coarse for a second.
pub fn cpu_used() -> Duration {
    getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, |usage| {
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(micros.unsigned_abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_all_cores() {
        let second = Duration::from_secs(1);
        for (used_ms, wall, cores, percent) in [
            (0, second, 4.0, 0.0),
            (1000, second, 4.0, 25.0),
            (4000, second, 4.0, 100.0),
            (500, second, 1.0, 50.0),
            (30, Duration::from_millis(100), 2.0, 15.0),
            (10, Duration::ZERO, 2.0, 0.0),
        ] {
            let share = share_percent(Duration::from_millis(used_ms), wall, cores);
            assert!((share - percent).abs() < 0.001, "{used_ms} ms of {wall:?} on {cores}: {share}");
        }
    }

    #[test]
    fn a_meter_starts_again_at_each_reading() {
        let mut meter = ProcessMeter::new(0);
        let until = cpu_used() + Duration::from_millis(50);
        while cpu_used() < until {}
        assert!(meter.percent_of_host() > 0.0);
        assert!(meter.last.1 >= until);
    }
}
