//! Progress for people: a bar on a terminal, a plain line now and then elsewhere. It goes to stderr; results go to
//! stdout. What the coordinator withholds or does not know is not shown at all.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use vufleet_proto::v1::notice::Level;
use vufleet_proto::v1::{Line, Live};

/// How often a plain line appears while nothing changes.
const PULSE: Duration = Duration::from_secs(10);

/// Steps of the bar.
const STEPS: u64 = 1_000;

/// Where progress, messages and results go.
pub struct Console {
    display: Display,
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
}

enum Display {
    Bar(ProgressBar),
    Plain(Pulse),
    Quiet,
}

impl Console {
    /// This process's stdout and stderr.
    pub fn standard(quiet: bool) -> Console {
        let display = if quiet {
            Display::Quiet
        } else if std::io::stderr().is_terminal() {
            Display::Bar(bar())
        } else {
            Display::Plain(Pulse::default())
        };
        Console { display, out: Box::new(std::io::stdout()), err: Box::new(std::io::stderr()) }
    }

    /// Anything that can be written to, with plain progress.
    pub fn plain(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Console {
        Console { display: Display::Plain(Pulse::default()), out, err }
    }

    /// Shows what is true now.
    pub fn live(&mut self, live: &Live) {
        match &mut self.display {
            Display::Bar(bar) => draw(bar, live),
            Display::Plain(pulse) => {
                if pulse.due(live, Instant::now()) {
                    self.note(&sentence(live));
                }
            }
            Display::Quiet => {}
        }
    }

    /// Prints what the coordinator says: results to stdout, warnings and errors to stderr.
    pub fn line(&mut self, line: &Line) {
        match line.level() {
            Level::Info => self.result(&line.text),
            Level::Warn => self.note(&format!("warning: {}", line.text)),
            Level::Error => self.note(&format!("error: {}", line.text)),
        }
    }

    /// A line to stdout.
    pub fn result(&mut self, text: &str) {
        let out = &mut self.out;
        self.display.beside(|| say(out, text));
    }

    /// A line to stderr.
    pub fn note(&mut self, text: &str) {
        let err = &mut self.err;
        self.display.beside(|| say(err, text));
    }

    /// Takes the bar off the terminal.
    pub fn clear(&mut self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
            self.display = Display::Bar(self::bar());
        }
    }
}

impl Display {
    fn beside(&self, print: impl FnOnce()) {
        match self {
            Display::Bar(bar) => bar.suspend(print),
            Display::Plain(_) | Display::Quiet => print(),
        }
    }
}

/// A reader that went away must not end the study, which goes on into its files.
fn say(to: &mut impl Write, text: &str) {
    if writeln!(to, "{text}").and_then(|()| to.flush()).is_err() {
        tracing::debug!("nobody reads any more");
    }
}

fn bar() -> ProgressBar {
    ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr())
}

fn draw(bar: &ProgressBar, live: &Live) {
    let template = if live.fraction.is_some() { "{prefix} [{bar:24}] {wide_msg}" } else { "{prefix} {wide_msg}" };
    let style = ProgressStyle::with_template(template).expect("both templates are valid");
    bar.set_style(style.progress_chars("=> "));
    if let Some(fraction) = live.fraction {
        bar.set_position((fraction.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }
    bar.set_prefix(headline(live));
    bar.set_message(figures(live).join("  "));
}

/// When a plain line is due: at every change of phase or run, and at least so often.
#[derive(Debug, Default)]
pub struct Pulse {
    last: Option<(String, u32, Instant)>,
}

impl Pulse {
    /// Whether this state deserves a line. Asking counts as printing it.
    pub fn due(&mut self, live: &Live, now: Instant) -> bool {
        let due = self.last.as_ref().is_none_or(|(phase, run, at)| {
            *phase != live.phase || *run != live.run || now.duration_since(*at) >= PULSE
        });
        if due {
            self.last = Some((live.phase.clone(), live.run, now));
        }
        due
    }
}

/// All of it in one line.
fn sentence(live: &Live) -> String {
    let figures = figures(live);
    if figures.is_empty() { headline(live) } else { format!("{}: {}", headline(live), figures.join(", ")) }
}

/// Phase, run and what is at hand.
fn headline(live: &Live) -> String {
    let mut text = live.phase.clone();
    if live.runs > 0 {
        text.push_str(&format!(" run {}/{}", live.run, live.runs));
    }
    if !live.what.is_empty() {
        text.push_str(&format!(" {}", live.what));
    }
    text
}

/// The numbers that are known.
fn figures(live: &Live) -> Vec<String> {
    let sessions = (live.sessions_wanted > 0).then(|| format!("sessions {}/{}", live.sessions, live.sessions_wanted));
    [
        live.fraction.filter(|_| live.rows_per_s.is_some()).map(|part| format!("{:.0} %", part * 100.0)),
        live.left_s.map(|left| format!("{} left", clock(left))),
        live.rows_per_s.map(|rate| format!("{} rows/s", grouped(rate))),
        live.tps.map(|tps| format!("{} TPS", grouped(tps))),
        live.p95_ms.map(|p95| format!("p95 {p95:.2} ms")),
        live.errors_per_s.map(|errors| format!("{errors:.1} errors/s")),
        live.driver_cpu_percent.map(|cpu| format!("agents {cpu:.0} % CPU")),
        live.db_host_cpu_percent.map(|cpu| format!("database host {cpu:.0} % CPU")),
        live.db_process_cpu_percent.map(|cpu| format!("database {cpu:.0} % CPU")),
        sessions,
        live.study_left_s.map(|left| format!("study {} left", clock(left))),
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
mod tests {
    use super::*;

    fn measuring() -> Live {
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
             database host 61 % CPU, sessions 16/16"
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
    fn plain_lines_come_at_changes_and_every_ten_seconds() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut pulse = Pulse::default();
        let settle = Live { phase: "settle".into(), ..measuring() };
        let next = Live { run: 4, ..settle.clone() };
        for (live, ms, due) in [
            (&measuring(), 0, true),
            (&measuring(), 9_999, false),
            (&measuring(), 10_000, true),
            (&measuring(), 19_999, false),
            (&settle, 20_500, true),
            (&settle, 21_000, false),
            (&next, 21_500, true),
            (&next, 31_499, false),
            (&next, 31_500, true),
        ] {
            assert_eq!(pulse.due(live, at(ms)), due, "{} ms", ms);
        }
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
