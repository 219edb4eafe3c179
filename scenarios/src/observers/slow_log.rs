//! The slow query log of MySQL and MariaDB.
//!
//! A session has the `long_query_time` that was global when it connected, so this one is applied before the sessions are.

use super::log_output::{Log, LogOutput};
use super::{growing, remember, require, sql};
use crate::study::{Change, When};

/// Parameters of the preset `slow-log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowLog {
    /// Statements that take longer are written, in microseconds; 0: all.
    pub long_query_time_us: u64,
    /// Where it goes.
    pub output: LogOutput,
}

impl SlowLog {
    /// What switches it on and puts its settings back as they were.
    pub fn change(&self) -> Change {
        let log = Log { switch: "slow_query_log", output: &self.output };
        let time = self.long_query_time_us;
        let seconds = format!("{}.{:06}", time / 1_000_000, time % 1_000_000);
        let mut change = Change {
            when: When::default(),
            remember: log.remember(),
            apply: log.apply(),
            verify: log.verify(),
            revert: log.revert(),
            undone: log.undone(),
            footprint: vec![growing("events_recorded", "SHOW GLOBAL STATUS LIKE 'Slow_queries'")],
        };
        change.remember.push(remember("long_query_time", "SELECT @@global.long_query_time"));
        change.apply.insert(0, sql(format!("SET GLOBAL long_query_time = {seconds}")));
        change
            .verify
            .push(require("SELECT CAST(ROUND(@@global.long_query_time * 1000000) AS UNSIGNED)", time.to_string()));
        change.revert.push(sql("SET GLOBAL long_query_time = {remembered:long_query_time}"));
        change.undone.push(require("SELECT @@global.long_query_time", "{remembered:long_query_time}"));
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_seconds_with_microseconds() {
        for (long_query_time_us, text) in [(0, "0.000000"), (100, "0.000100"), (2_500_000, "2.500000")] {
            let change = SlowLog { long_query_time_us, output: LogOutput::File(None) }.change();
            assert_eq!(change.apply[0], sql(format!("SET GLOBAL long_query_time = {text}")));
            assert_eq!(change.verify[2].equals, long_query_time_us.to_string());
        }
    }
}
