//! What runs would have measured: a block's own effect, a drift with the run's position in the study, noise, and what the
//! variant does.

use rand::RngExt;
use vufleet_scenarios::plan::PlannedRun;
use vufleet_scenarios::random::{Stream, stream};
use vufleet_scenarios::study::{Edits, Repetitions, Study, Until, read};

/// Variants beside the baseline and what each does to throughput.
pub const EFFECTS: [(&str, f64); 3] = [("same", 0.0), ("small", -0.02), ("large", -0.10)];

/// Throughput of the baseline, transactions a second. Large, so that whole transactions are no noise.
const TPS: f64 = 50_000.0;
/// Standard deviation of what the runs of a block share.
const BLOCK_SD: f64 = 0.03;
/// And of what a run has of its own.
const RUN_SD: f64 = 0.015;
/// From one run of the study to the next.
const DRIFT: f64 = -0.005;

/// Purposes of the streams.
const BLOCK: u64 = 1;
const RUN: u64 = 2;

/// How often each cell is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repeats {
    /// That often.
    Fixed(u32),
    /// Until the interval is this narrow, in per cent.
    Until {
        /// Pilot blocks.
        min: u32,
        /// Most blocks.
        max: u32,
        /// Half the width.
        percent: f64,
    },
    /// Until the ordinary interval, looked at after each block, is narrow: what `until` is not.
    Peeking {
        /// Blocks before the first look.
        min: u32,
        /// Most blocks.
        max: u32,
        /// Half the width.
        percent: f64,
    },
}

impl Repeats {
    /// The usual number.
    pub const FIVE: Repeats = Repeats::Fixed(5);
    /// The usual precision.
    pub const UNTIL: Repeats = Repeats::Until { min: 5, max: 60, percent: 2.0 };
    /// The usual mistake.
    pub const PEEKING: Repeats = Repeats::Peeking { min: 5, max: 60, percent: 2.0 };
}

/// A kind of study.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Order of the runs, as a study names it.
    pub order: &'static str,
    /// How often each cell is run.
    pub repeats: Repeats,
    /// Virtual users of each load level.
    levels: &'static [u32],
}

impl Model {
    /// In blocks.
    pub fn blocks(repeats: Repeats) -> Model {
        match repeats {
            Repeats::Fixed(_) => Model { order: "blocks", repeats, levels: &[4, 16] },
            Repeats::Until { .. } | Repeats::Peeking { .. } => Model { order: "blocks", repeats, levels: &[16] },
        }
    }

    /// Variant after variant.
    pub fn grouped() -> Model {
        Model { order: "grouped", ..Model::blocks(Repeats::FIVE) }
    }

    /// What a variant does.
    pub fn effect(&self, variant: &str) -> f64 {
        EFFECTS.iter().find(|(name, _)| *name == variant).map_or(0.0, |(_, effect)| *effect)
    }

    /// From one block to the next, in per cent.
    pub fn drift_percent(&self) -> f64 {
        let runs = if self.order == "blocks" { self.levels.len() * (EFFECTS.len() + 1) } else { 1 };
        100.0 * (DRIFT * runs as f64).exp_m1()
    }

    /// The study that is run.
    pub fn study(&self) -> Study {
        let mut text = format!(
            "name = \"coverage\"\nseed = 1\n[target]\nkind = \"mysql\"\nhost = \"127.0.0.1\"\ndatabase = \"sbtest\"\n\
             user = \"bench\"\n[workload]\nkind = \"oltp\"\nscript = \"read_write\"\n[[profiles]]\nvus = {:?}\n[schedule]\n\
             ramp_up = \"0s\"\nmeasure = \"2s\"\nsettle = \"0s\"\nrepetitions = 5\norder = \"{}\"\n[[variants]]\n\
             name = \"baseline\"\n",
            self.levels, self.order
        );
        // Each changes something, or it would be taken for another baseline.
        text.extend(EFFECTS.iter().map(|(name, _)| {
            format!("[[variants]]\nname = \"{name}\"\napply = [\"SET GLOBAL {name} = 1\"]\nrevert = [\"SET GLOBAL {name} = 0\"]\n")
        }));
        let mut study = read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"));
        study.schedule.repetitions = match self.repeats {
            Repeats::Fixed(count) | Repeats::Peeking { min: count, .. } => Repetitions::Fixed(count),
            Repeats::Until { min, max, percent } => Repetitions::Until(Until { min, max, percent, metric: "tps" }),
        };
        study
    }

    /// Transactions a second of a run of a study with that seed.
    pub fn tps(&self, seed: u64, run: &PlannedRun) -> f64 {
        let block = BLOCK_SD * normal(&mut stream(seed, &[BLOCK, u64::from(run.repetition)]));
        let noise = RUN_SD * normal(&mut stream(seed, &[RUN, u64::from(run.number)]));
        let drift = DRIFT * f64::from(run.number);
        TPS * (block + drift + noise).exp() * (1.0 + self.effect(&run.variant))
    }
}

/// A standard normal value (Box and Muller).
fn normal(stream: &mut Stream) -> f64 {
    let (radius, angle) = (1.0 - stream.random::<f64>(), stream.random::<f64>());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}
