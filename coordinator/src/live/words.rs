//! Progress in words. What the coordinator withholds or does not know is not mentioned.

use vufleet_proto::v1::Live;

/// All of it in one line.
pub(super) fn sentence(live: &Live) -> String {
    let rest: Vec<String> = time(live).into_iter().chain(figures(live)).collect();
    if rest.is_empty() { headline(live) } else { format!("{}: {}", headline(live), rest.join(", ")) }
}

/// Phase, run and what is at hand.
pub(super) fn headline(live: &Live) -> String {
    let mut text = live.phase.clone();
    if live.runs > 0 {
        text.push_str(&format!(" run {}/{}", live.run, live.runs));
    }
    if !live.what.is_empty() {
        text.push_str(&format!(" {}", live.what));
    }
    text
}

/// What is left of the phase, where that is known.
pub(super) fn time(live: &Live) -> Option<String> {
    live.left_s.map(|left| format!("{} left", clock(left)))
}

/// The numbers that are known; the last ones go first where the terminal is narrow.
pub(super) fn figures(live: &Live) -> Vec<String> {
    let cpu = |whose: &str, percent: Option<f64>| percent.map(|percent| format!("{whose} {percent:.0} % CPU"));
    let sessions = (live.sessions_wanted > 0).then(|| format!("sessions {}/{}", live.sessions, live.sessions_wanted));
    [
        live.fraction.filter(|_| live.rows_per_s.is_some()).map(|part| format!("{:.0} %", part * 100.0)),
        live.rows_per_s.map(|rate| format!("{} rows/s", grouped(rate))),
        live.tps.map(|tps| format!("{} TPS", grouped(tps))),
        live.p95_ms.map(|p95| format!("p95 {p95:.2} ms")),
        live.errors_per_s.map(|errors| format!("{errors:.1} errors/s")),
        cpu("agents", live.driver_cpu_percent),
        cpu("db host", live.db_host_cpu_percent),
        cpu("db", live.db_process_cpu_percent),
        sessions,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Seconds as 0:42, 12:05 or 3:00:00.
fn clock(seconds: f64) -> String {
    let total = seconds.max(0.0).round() as u64;
    let (hours, minutes, seconds) = (total / 3_600, total / 60 % 60, total % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A rate with thousands apart; small ones keep a digit after the point.
fn grouped(rate: f64) -> String {
    if rate < 100.0 {
        return format!("{rate:.1}");
    }
    let digits = format!("{rate:.0}");
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A run in the middle of its window.
    pub(in super::super) fn measuring() -> Live {
        Live {
            phase: "measure".into(),
            what: "baseline 16vu".into(),
            run: 3,
            runs: 12,
            left_s: Some(42.4),
            tps: Some(12_345.6),
            p95_ms: Some(3.214),
            errors_per_s: Some(0.0),
            driver_cpu_percent: Some(35.2),
            db_host_cpu_percent: Some(61.0),
            sessions: 16,
            sessions_wanted: 16,
            ..Live::default()
        }
    }

    #[test]
    fn a_line_says_everything_that_is_known() {
        assert_eq!(
            sentence(&measuring()),
            "measure run 3/12 baseline 16vu: 0:42 left, 12,346 TPS, p95 3.21 ms, 0.0 errors/s, agents 35 % CPU, \
             db host 61 % CPU, sessions 16/16"
        );
    }

    #[test]
    fn what_is_withheld_is_not_shown() {
        let live = Live { tps: None, p95_ms: None, errors_per_s: None, ..measuring() };
        let text = sentence(&live);
        assert!(!text.contains("TPS") && !text.contains("p95") && !text.contains("errors"), "{text}");
        assert_eq!(sentence(&Live { phase: "settle".into(), ..Live::default() }), "settle");
    }

    #[test]
    fn a_build_shows_rows() {
        let live = Live {
            phase: "build".into(),
            what: "sbtest3".into(),
            rows_per_s: Some(250_000.0),
            fraction: Some(0.5),
            ..Live::default()
        };
        assert_eq!(sentence(&live), "build sbtest3: 50 %, 250,000 rows/s");
    }

    #[test]
    fn times_and_rates_read_well() {
        for (seconds, text) in [(-3.0, "0:00"), (0.4, "0:00"), (59.6, "1:00"), (725.0, "12:05"), (10_800.0, "3:00:00")]
        {
            assert_eq!(clock(seconds), text);
        }
        for (rate, text) in
            [(0.0, "0.0"), (99.94, "99.9"), (100.0, "100"), (1_000.0, "1,000"), (1_234_567.8, "1,234,568")]
        {
            assert_eq!(grouped(rate), text);
        }
    }
}
