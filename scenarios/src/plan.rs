//! Which runs a study consists of, in which order, and how long they take. A pure function of the study: the
//! coordinator that resumes a study finds the same plan.

use std::fmt;
use std::time::Duration;

use rand::seq::SliceRandom;

use crate::random;
use crate::study::{Measure, Nest, Order, Profile, Reset, ResetBefore, Study, Until, Variant};

/// Sets the streams that shuffle a plan apart from those that sessions draw from.
const ORDER: u64 = 0x6f72_6465_7200_0000;

/// One run of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRun {
    /// Position in the plan, counted from 1.
    pub number: u32,
    /// Variant.
    pub variant: String,
    /// Profile id.
    pub profile: String,
    /// Repetition (block), counted from 1; 0 for a run of no block, in no cell, which shows the study's switches.
    pub repetition: u32,
}

/// Runs that belong together: the variants of one profile in one block. If one of them is invalid, all are repeated,
/// because the comparison pairs them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Group {
    /// Repetition (block), counted from 1.
    pub repetition: u32,
    /// Profile id.
    pub profile: String,
}

impl PlannedRun {
    /// Whether it belongs to no block, and shows the study's switches.
    pub fn is_switched(&self) -> bool {
        self.repetition == 0
    }
}

impl fmt::Display for PlannedRun {
    /// "audit 16vu repetition 3", "baseline 16vu with switches"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.variant, self.profile)?;
        match self.is_switched() {
            true => f.write_str("with switches"),
            false => write!(f, "repetition {}", self.repetition),
        }
    }
}

/// The group of a run.
pub fn group(run: &PlannedRun) -> Group {
    Group { repetition: run.repetition, profile: run.profile.clone() }
}

/// Every run in order, with as many blocks as are made whatever they show.
pub fn expand(study: &Study) -> Vec<PlannedRun> {
    of_blocks(study, study.schedule.repetitions.at_least())
}

/// The same with so many blocks: theirs, and then those of no block, which show the study's switches.
pub fn of_blocks(study: &Study, blocks: u32) -> Vec<PlannedRun> {
    let mut cells = cells(study, blocks);
    if !study.switches.is_empty() {
        let baseline = study.variants.iter().find(|variant| variant.name == study.baseline());
        let baseline = baseline.expect("a study's baseline is one of its variants");
        cells.extend(study.profiles.iter().map(|profile| (baseline, profile, 0)));
    }
    numbered(&cells)
}

/// The blocks that decide how many there are, before it is known; those of all blocks begin with them, and have the same
/// numbers.
pub fn pilot(study: &Study, until: &Until) -> Vec<PlannedRun> {
    numbered(&cells(study, until.min))
}

/// How often the data is reset in these runs.
pub fn resets(study: &Study, runs: &[PlannedRun]) -> usize {
    match study.reset.as_ref().map(|reset| reset.before) {
        None => 0,
        Some(ResetBefore::Run) => runs.len(),
        Some(ResetBefore::Variant) => runs.chunk_by(|one, next| one.variant == next.variant).count(),
    }
}

fn numbered(cells: &[Cell<'_>]) -> Vec<PlannedRun> {
    let number = |(index, (variant, profile, repetition)): (usize, &Cell<'_>)| PlannedRun {
        number: u32::try_from(index + 1).expect("variants, profiles and repetitions are few"),
        variant: variant.name.clone(),
        profile: profile.id.clone(),
        repetition: *repetition,
    };
    cells.iter().enumerate().map(number).collect()
}

fn cells(study: &Study, blocks: u32) -> Vec<Cell<'_>> {
    match study.schedule.order {
        Order::Grouped => grouped(study, blocks),
        Order::Blocks => (1..=blocks).flat_map(|repetition| block(study, repetition)).collect(),
    }
}

type Cell<'a> = (&'a Variant, &'a Profile, u32);

fn grouped(study: &Study, blocks: u32) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    for variant in &study.variants {
        for profile in &study.profiles {
            cells.extend((1..=blocks).map(|repetition| (variant, profile, repetition)));
        }
    }
    cells
}

/// One pass over every variant and profile.
fn block(study: &Study, repetition: u32) -> Vec<Cell<'_>> {
    let mut stream = random::stream(study.seed, &[ORDER, u64::from(repetition)]);
    let mut shuffled = |length: usize| {
        let mut order: Vec<usize> = (0..length).collect();
        order.shuffle(&mut stream);
        order
    };
    let (variants, profiles) = (study.variants.len(), study.profiles.len());
    let mut cells = Vec::with_capacity(variants * profiles);
    match study.schedule.nest {
        Nest::Profile => {
            for profile in shuffled(profiles) {
                for variant in shuffled(variants) {
                    cells.push((&study.variants[variant], &study.profiles[profile], repetition));
                }
            }
        }
        Nest::Variant => {
            for variant in shuffled(variants) {
                for profile in shuffled(profiles) {
                    cells.push((&study.variants[variant], &study.profiles[profile], repetition));
                }
            }
        }
    }
    cells
}

/// How long a study takes when nothing goes wrong, resets apart: what they take nobody knows before, but their warm-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanTime {
    /// A run of each profile, in the study's order.
    pub runs: Vec<RunTime>,
    /// The whole study with the most blocks that there may be; none when a window ends with a number of transactions.
    pub total: Option<Duration>,
    /// What is known of it: the fewest blocks, without the windows whose length nobody knows.
    pub at_least: Duration,
}

/// How long a run of one profile takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTime {
    /// Profile id.
    pub profile: String,
    /// Opening every session at the schedule's rate, with one driving agent. More agents share the work.
    pub connect: Duration,
    /// Load before the window.
    pub ramp_up: Duration,
    /// The window; none when it ends with a number of transactions.
    pub measure: Option<Duration>,
    /// Rest after the load.
    pub settle: Duration,
}

impl RunTime {
    /// The whole run, where its window is known.
    pub fn total(&self) -> Option<Duration> {
        self.measure.map(|_| self.at_least())
    }

    /// What is known of it.
    pub fn at_least(&self) -> Duration {
        self.connect + self.ramp_up + self.measure.unwrap_or_default() + self.settle
    }
}

/// Expected times of a study, repeats of invalid runs apart.
pub fn duration(study: &Study) -> PlanTime {
    let schedule = &study.schedule;
    let measure = match schedule.measure {
        Measure::Duration(window) => Some(window),
        Measure::Transactions(_) => None,
    };
    // Before a change of variant there is one too, in runs that their order decides.
    let warm_up = match &study.reset {
        Some(Reset { before: ResetBefore::Run, warm_up, .. }) => *warm_up,
        _ => Duration::ZERO,
    };
    let run = |profile: &Profile| RunTime {
        profile: profile.id.clone(),
        connect: Duration::from_secs_f64(f64::from(profile.sessions()) / schedule.connect_rate),
        ramp_up: schedule.ramp_up + warm_up,
        measure,
        settle: schedule.settle,
    };
    let runs: Vec<RunTime> = study.profiles.iter().map(run).collect();
    let variants = u32::try_from(study.variants.len()).expect("variants are few");
    let pass: Duration = runs.iter().map(RunTime::at_least).sum();
    let switched = if study.switches.is_empty() { Duration::ZERO } else { pass };
    // Where not every run has a reset before it.
    let warming = |blocks: u32| match &study.reset {
        Some(Reset { before: ResetBefore::Variant, warm_up, .. }) if !warm_up.is_zero() => {
            *warm_up * u32::try_from(resets(study, &of_blocks(study, blocks))).expect("resets are few")
        }
        _ => Duration::ZERO,
    };
    let length = |blocks: u32| pass * variants * blocks + switched + warming(blocks);
    let repetitions = schedule.repetitions;
    PlanTime { runs, total: measure.map(|_| length(repetitions.at_most())), at_least: length(repetitions.at_least()) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::study::{Edits, ResetMethod, read};

    fn study(seed: u64, variants: usize, profiles: usize, schedule: &str) -> Study {
        let mut text = format!(
            "name = \"p\"\nseed = {seed}\n[target]\nkind = \"simulated\"\n\
             [workload]\nkind = \"oltp\"\nscript = \"point_select\"\n[schedule]\n{schedule}\n[[profiles]]\nvus = ["
        );
        text.extend((1..=profiles).map(|vus| format!("{},", vus * 10)));
        text.push_str("]\n");
        text.extend((0..variants).map(|variant| format!("[[variants]]\nname = \"v{variant}\"\n")));
        read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    fn order(runs: &[PlannedRun]) -> Vec<(String, String, u32)> {
        runs.iter().map(|run| (run.variant.clone(), run.profile.clone(), run.repetition)).collect()
    }

    /// Whether equal values of `key` stand next to each other.
    fn contiguous<T: PartialEq>(runs: &[PlannedRun], key: impl Fn(&PlannedRun) -> T) -> bool {
        let mut seen: Vec<T> = Vec::new();
        for run in runs {
            let value = key(run);
            if seen.last() != Some(&value) {
                if seen.contains(&value) {
                    return false;
                }
                seen.push(value);
            }
        }
        true
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_run_is_planned_once(
            seed in 0u64..1_000_000, variants in 1usize..4, profiles in 1usize..5, repetitions in 1u32..5,
            order_of in prop::sample::select(vec!["blocks", "grouped"]),
            nest in prop::sample::select(vec!["profile", "variant"]),
        ) {
            let schedule = format!("repetitions = {repetitions}\norder = \"{order_of}\"\nnest = \"{nest}\"");
            let runs = expand(&study(seed, variants, profiles, &schedule));
            prop_assert_eq!(runs.len(), variants * profiles * repetitions as usize);
            let distinct: HashSet<_> = order(&runs).into_iter().collect();
            prop_assert_eq!(distinct.len(), runs.len());
            prop_assert!(runs.iter().zip(1..).all(|(run, number)| run.number == number));
            prop_assert!(runs.iter().all(|run| (1..=repetitions).contains(&run.repetition)));
            prop_assert_eq!(&runs, &expand(&study(seed, variants, profiles, &schedule)));
            if order_of == "grouped" {
                prop_assert!(contiguous(&runs, |run| run.variant.clone()));
                prop_assert!(contiguous(&runs, |run| (run.variant.clone(), run.profile.clone())));
            } else {
                prop_assert!(runs.is_sorted_by_key(|run| run.repetition));
                let nested = |run: &PlannedRun| match nest {
                    "profile" => (run.repetition, run.profile.clone()),
                    _ => (run.repetition, run.variant.clone()),
                };
                prop_assert!(contiguous(&runs, nested));
            }
        }
    }

    #[test]
    fn seeds_and_blocks_differ_in_their_order() {
        let plan = |seed| order(&expand(&study(seed, 2, 4, "repetitions = 2")));
        assert_ne!(plan(1), plan(2));
        let first_block: Vec<_> = plan(1)[..8].iter().map(|(v, p, _)| (v.clone(), p.clone())).collect();
        let second_block: Vec<_> = plan(1)[8..].iter().map(|(v, p, _)| (v.clone(), p.clone())).collect();
        assert_ne!(first_block, second_block);
    }

    #[test]
    fn variants_change_places_from_profile_to_profile() {
        let runs = expand(&study(1, 2, 8, "repetitions = 1"));
        let firsts: HashSet<_> = runs.chunks(2).map(|pair| pair[0].variant.clone()).collect();
        assert_eq!(firsts.len(), 2);
    }

    #[test]
    fn a_group_is_a_profile_in_a_block() {
        let runs = expand(&study(5, 3, 2, "repetitions = 2"));
        let of_first: Vec<_> = runs.iter().filter(|run| group(run) == group(&runs[0])).collect();
        assert_eq!(of_first.len(), 3);
        assert!(of_first.iter().all(|run| run.profile == runs[0].profile && run.repetition == 1));
    }

    #[test]
    fn times_add_up() {
        let times = "ramp_up = \"2s\"\nmeasure = \"8s\"\nsettle = \"1s\"\nrepetitions = 3\nconnect_rate = 10";
        let plan = duration(&study(1, 2, 2, times));
        assert_eq!(plan.runs[0].total(), Some(Duration::from_secs(1 + 2 + 8 + 1)));
        assert_eq!(plan.runs[1].connect, Duration::from_secs(2));
        assert_eq!(plan.total, Some(Duration::from_secs((12 + 13) * 2 * 3)));
    }

    #[test]
    fn what_an_interval_asks_for_is_known_within_bounds() {
        let times = "ramp_up = \"2s\"\nmeasure = \"8s\"\nsettle = \"0s\"\nconnect_rate = 1000000\n";
        let until = "repetitions = { min = 5, max = 20, until = \"2%\" }";
        let study = study(1, 2, 1, &format!("{times}{until}"));
        let plan = duration(&study);
        assert_eq!(plan.at_least.as_secs(), 10 * 2 * 5);
        assert_eq!(plan.total.map(|total| total.as_secs()), Some(10 * 2 * 20));
        assert_eq!(expand(&study), of_blocks(&study, 9)[..10]);
    }

    #[test]
    fn switches_have_a_run_of_each_profile_behind_all_blocks() {
        let times = "ramp_up = \"2s\"\nmeasure = \"8s\"\nsettle = \"0s\"\nconnect_rate = 1000000\nrepetitions = 2";
        let switched = |order: &str| {
            let schedule = format!("{times}\norder = \"{order}\"\n[[switch]]\nat = \"5s\"\nvariant = \"v1\"");
            study(1, 2, 2, &schedule)
        };
        for study in [switched("blocks"), switched("grouped")] {
            let runs = expand(&study);
            let (of_blocks, shown) = runs.split_at(8);
            assert!(of_blocks.iter().all(|run| !run.is_switched()));
            let of_switches = [("v0".to_owned(), "10vu".to_owned(), 0), ("v0".to_owned(), "20vu".to_owned(), 0)];
            assert_eq!(order(shown), of_switches);
            assert_eq!((shown[0].number, shown[0].to_string().as_str()), (9, "v0 10vu with switches"));
            assert_eq!(duration(&study).total.map(|total| total.as_secs()), Some(10 * 10));
            assert_eq!(duration(&study).at_least.as_secs(), 10 * 10);
        }
    }

    #[test]
    fn resets_are_counted_as_the_runs_need_them() {
        let mut study = study(3, 2, 2, "repetitions = 2\norder = \"grouped\"");
        let runs = expand(&study);
        assert_eq!(resets(&study, &runs), 0);
        for (before, count) in [(ResetBefore::Run, 8), (ResetBefore::Variant, 2)] {
            study.reset = Some(Reset::new(before, ResetMethod::Rebuild));
            assert_eq!(resets(&study, &runs), count, "{before:?}");
            let cold = duration(&study).at_least;
            study.reset.as_mut().unwrap().warm_up = Duration::from_secs(60);
            assert_eq!(duration(&study).at_least - cold, Duration::from_secs(60 * count as u64), "{before:?}");
        }
    }

    #[test]
    fn a_counted_window_has_no_known_length() {
        let plan = duration(&study(1, 1, 1, "transactions = 5\nsettle = \"1s\"\nrepetitions = 2\nconnect_rate = 10"));
        assert_eq!(plan.runs[0].total(), None);
        assert_eq!(plan.total, None);
        assert_eq!(plan.at_least, Duration::from_secs(4));
    }
}
