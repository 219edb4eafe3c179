//! When a session's next transaction is due, as far as the session itself decides.

use std::time::{Duration, Instant};

use vufleet_scenarios::random::{Stream, pace_stream, unit};
use vufleet_scenarios::study::Pacing;
use vufleet_scenarios::workload::{Seat, Terminal, Times};

/// Keying and thinking times at the speed of the study's people.
#[derive(Debug)]
pub struct Keyed {
    kinds: Vec<Times>,
    mean_cycle: Duration,
}

impl Keyed {
    /// None for a pacing without such times.
    pub fn of(pacing: &Pacing, terminal: Option<Terminal>) -> Option<Keyed> {
        let (Pacing::KeyingThinking { scale }, Some(terminal)) = (pacing, terminal) else { return None };
        let scaled = |times: &Times| Times {
            keying: times.keying.mul_f64(*scale),
            think_mean: times.think_mean.mul_f64(*scale),
        };
        let kinds = terminal.kinds.iter().map(scaled).collect();
        Some(Keyed { kinds, mean_cycle: terminal.mean_cycle.mul_f64(*scale) })
    }
}

/// One session's person at the keyboard.
#[derive(Debug)]
pub struct Person {
    stream: Stream,
    /// How long the last result is thought about.
    thought: Duration,
}

impl Person {
    /// The person of a seat.
    pub fn new(seat: &Seat) -> Person {
        Person { stream: pace_stream(seat), thought: Duration::ZERO }
    }

    /// The first waits are spread over one `cycle`, or the sessions would move in step.
    pub fn first_wait(&mut self, cycle: Duration) -> Duration {
        cycle.mul_f64(unit(&mut self.stream))
    }

    /// Looks at the result of a transaction of this kind.
    pub fn think(&mut self, keyed: &Keyed, kind: usize) {
        self.thought = thought(keyed.kinds[kind].think_mean, unit(&mut self.stream));
    }

    /// When a transaction of this kind is keyed in. `last`: the end of the one before.
    pub fn due(&mut self, keyed: &Keyed, kind: usize, last: Option<Instant>) -> Instant {
        match last {
            // As if it had been under way already when the run began.
            None => Instant::now() + self.first_wait(keyed.mean_cycle),
            Some(end) => end + self.thought + keyed.kinds[kind].keying,
        }
    }
}

/// Negative exponential, cut at ten times the mean [5.2.5.4]. `unit` lies in [0, 1).
fn thought(mean: Duration, unit: f64) -> Duration {
    mean.mul_f64((-(1.0 - unit).ln()).min(Times::LONGEST_THOUGHT.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEAT: Seat = Seat { seed: 42, vu: 3, session: 1, vus: 8, sessions_per_vu: 1, run: 7 };

    fn keyed(scale: f64) -> Keyed {
        let seconds = Duration::from_secs;
        let times = |keying, think| Times { keying: seconds(keying), think_mean: seconds(think) };
        let terminal = Terminal { kinds: vec![times(18, 12), times(2, 5)], mean_cycle: seconds(20) };
        Keyed::of(&Pacing::KeyingThinking { scale }, Some(terminal)).unwrap()
    }

    #[test]
    fn thoughts_are_exponential_and_cut() {
        let mean = Duration::from_secs(12);
        assert_eq!(thought(mean, 0.0), Duration::ZERO);
        assert_eq!(thought(mean, 1.0 - f64::EPSILON), mean * 10);
        let mut stream = pace_stream(&SEAT);
        let thoughts: Vec<f64> = (0..200_000).map(|_| thought(mean, unit(&mut stream)).as_secs_f64()).collect();
        let average = thoughts.iter().sum::<f64>() / thoughts.len() as f64;
        assert!((average - 12.0).abs() < 0.15, "{average}");
        let longer = thoughts.iter().filter(|thought| **thought > 12.0).count() as f64 / thoughts.len() as f64;
        assert!((longer - (-1.0_f64).exp()).abs() < 0.005, "{longer}");
        assert!(thoughts.iter().any(|thought| thought.fract() > 0.01), "not rounded to seconds");
    }

    #[test]
    fn a_transaction_is_due_when_it_was_thought_about_and_keyed_in() {
        let (keyed, mut person) = (keyed(0.5), Person::new(&SEAT));
        let end = Instant::now();
        person.think(&keyed, 1);
        let thought = person.thought;
        assert!(thought > Duration::ZERO && thought <= Duration::from_millis(2_500) * 10);
        assert_eq!(person.due(&keyed, 0, Some(end)), end + thought + Duration::from_secs(9));
        assert_eq!(person.due(&keyed, 1, Some(end)), end + thought + Duration::from_secs(1));
    }

    #[test]
    fn sessions_start_over_one_mean_cycle() {
        let keyed = keyed(1.0);
        let waits: Vec<f64> = (0..2_000)
            .map(|vu| {
                let before = Instant::now();
                Person::new(&Seat { vu, ..SEAT }).due(&keyed, 0, None).duration_since(before).as_secs_f64()
            })
            .collect();
        assert!(waits.iter().all(|wait| (0.0..20.1).contains(wait)));
        for quarter in 0..4 {
            let from = f64::from(quarter) * 5.0;
            let there = waits.iter().filter(|wait| (from..from + 5.0).contains(*wait)).count();
            assert!((430..570).contains(&there), "{quarter}: {there}");
        }
    }

    #[test]
    fn only_keying_and_thinking_has_people() {
        let terminal = || Terminal { kinds: vec![], mean_cycle: Duration::ZERO };
        assert!(Keyed::of(&Pacing::None, Some(terminal())).is_none());
        assert!(Keyed::of(&Pacing::KeyingThinking { scale: 1.0 }, None).is_none());
    }
}
