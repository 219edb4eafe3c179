//! Progress for people: a bar on a terminal, a plain line now and then elsewhere. It goes to stderr; results go to
//! stdout. What the coordinator withholds or does not know is not shown at all.

mod words;

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use vufleet_proto::v1::notice::Level;
use vufleet_proto::v1::{Line, Live};

use words::{figures, headline, sentence, time};

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
    /// None while there is nothing to show.
    Bar(Option<ProgressBar>),
    Plain(Pulse),
    Quiet,
}

impl Console {
    /// This process's stdout and stderr.
    pub fn standard(quiet: bool) -> Console {
        let display = if quiet {
            Display::Quiet
        } else if std::io::stderr().is_terminal() {
            Display::Bar(None)
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
            Display::Bar(bar) => draw(bar.get_or_insert_with(self::bar), live),
            Display::Plain(pulse) => {
                if pulse.due(live, Instant::now()) {
                    self.note(&sentence(live));
                }
            }
            Display::Quiet => {}
        }
    }

    /// Prints what the coordinator says: results to stdout, everything else to stderr.
    pub fn line(&mut self, line: &Line) {
        match line.level() {
            Level::Info => self.result(&line.text),
            Level::Note => self.note(&line.text),
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
        if let Display::Bar(shown) = &mut self.display
            && let Some(bar) = shown.take()
        {
            bar.finish_and_clear();
        }
    }
}

impl Display {
    fn beside(&self, print: impl FnOnce()) {
        match self {
            Display::Bar(Some(bar)) => bar.suspend(print),
            Display::Bar(None) | Display::Plain(_) | Display::Quiet => print(),
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
    let template = match live.fraction {
        Some(_) => "{prefix} [{bar:24}]\n{wide_msg}",
        None => "{prefix}\n{wide_msg}",
    };
    let style = ProgressStyle::with_template(template).expect("both templates are valid");
    bar.set_style(style.progress_chars("=> "));
    if let Some(fraction) = live.fraction {
        bar.set_position((fraction.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }
    bar.set_prefix([headline(live)].into_iter().chain(time(live)).collect::<Vec<_>>().join(", "));
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

#[cfg(test)]
mod tests {
    use super::words::tests::measuring;
    use super::*;

    #[test]
    fn a_bar_takes_every_state() {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden());
        for (fraction, position) in [(None, 0), (Some(0.25), 250), (Some(7.0), STEPS), (Some(-1.0), 0), (None, 0)] {
            draw(&bar, &Live { fraction, ..measuring() });
            assert_eq!(bar.position(), position, "{fraction:?}");
            assert_eq!(bar.prefix(), "measure run 3/12 baseline 16vu, 0:42 left");
            assert!(bar.message().contains("12,346 TPS  p95"), "{}", bar.message());
        }
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
}
