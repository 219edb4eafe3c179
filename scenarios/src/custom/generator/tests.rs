use proptest::prelude::*;

use super::*;
use crate::random::{session_stream, stream};

const SEAT: Seat = Seat { seed: 42, vu: 3, session: 1, vus: 8, sessions_per_vu: 2, run: 1 };

fn bounds(low: i64, high: i64) -> Bounds {
    Bounds { low, high }
}

/// Draws of a session as the database gets them.
fn drawn(generator: &Generator, seat: &Seat, count: usize) -> Vec<String> {
    let (mut memory, mut stream) = (generator.memory(seat), session_stream(seat));
    let sessions = u64::from(seat.vus) * u64::from(seat.sessions_per_vu);
    let mut text = String::new();
    let mut draw = || {
        text.clear();
        let drawn = generator.draw(&mut memory, sessions, &mut stream, &mut text);
        match generator.value(drawn, &text) {
            Value::Int(number) => number.to_string(),
            Value::Text(text) => text.to_owned(),
            other => format!("{other:?}"),
        }
    };
    (0..count).map(|_| draw()).collect()
}

fn numbers(generator: &Generator, seat: &Seat, count: usize) -> Vec<i64> {
    drawn(generator, seat, count).into_iter().map(|number| number.parse().unwrap()).collect()
}

/// Pearson's statistic of what was seen against what was to be expected.
fn chi_square(seen: &[u32], expected: &[f64]) -> f64 {
    seen.iter().zip(expected).map(|(seen, expected)| (f64::from(*seen) - expected).powi(2) / expected).sum()
}

/// Fails beyond what one in a million tables of so many cells exceeds: mean and five standard deviations, which the
/// normal tail of 3e-7 stands for from a dozen cells up.
#[track_caller]
fn assert_fits(seen: &[u32], expected: &[f64]) {
    let freedom = seen.len() as f64 - 1.0;
    let statistic = chi_square(seen, expected);
    assert!(
        statistic < freedom + 5.0 * (2.0 * freedom).sqrt(),
        "{statistic} on {freedom} degrees of freedom: {seen:?}"
    );
}

fn counted(draws: &[i64], low: i64, count: usize) -> Vec<u32> {
    let mut seen = vec![0; count];
    draws.iter().for_each(|draw| seen[usize::try_from(draw - low).unwrap()] += 1);
    seen
}

#[test]
fn uniform_numbers_are_all_alike() {
    let draws = numbers(&Generator::Uniform(bounds(-10, 39)), &SEAT, 50_000);
    assert_fits(&counted(&draws, -10, 50), &[1_000.0; 50]);
}

#[test]
fn zipfian_numbers_follow_the_law_from_the_smallest_on() {
    let draws = numbers(&Generator::zipfian(bounds(101, 140), 0.8), &SEAT, 50_000);
    let weights: Vec<f64> = (1..=40).map(|rank| f64::from(rank).powf(-0.8)).collect();
    let total: f64 = weights.iter().sum();
    let expected: Vec<f64> = weights.iter().map(|weight| 50_000.0 * weight / total).collect();
    assert_fits(&counted(&draws, 101, 40), &expected);
}

/// Every pair of the two uniform numbers behind it, in TPC-C's words: (((random(0, A) | random(x, y)) + C) % (y - x + 1)) + x.
#[test]
fn nurand_has_the_frequencies_of_its_definition() {
    let (a, low, high) = (15, 10, 40);
    let generator = Generator::Nurand { bounds: bounds(low, high), a };
    let c = generator.memory(&SEAT);
    assert!(c <= u64::from(a));
    assert_eq!(c, generator.memory(&Seat { vu: 0, session: 0, run: 9, ..SEAT }), "a constant of the study's seed");
    let mut expected = vec![0.0; 31];
    for first in 0..=i64::from(a) {
        for second in low..=high {
            expected[(((first | second) + c as i64) % 31) as usize] += 100_000.0 / (16.0 * 31.0);
        }
    }
    let seen = counted(&numbers(&generator, &SEAT, 100_000), low, 31);
    let possible: Vec<usize> = (0..31).filter(|at| expected[*at] > 0.0).collect();
    assert_eq!(seen.iter().sum::<u32>(), possible.iter().map(|at| seen[*at]).sum::<u32>(), "nothing impossible");
    let (seen, expected): (Vec<u32>, Vec<f64>) = possible.iter().map(|at| (seen[*at], expected[*at])).unzip();
    assert_fits(&seen, &expected);
}

#[test]
fn a_sequence_is_walked_by_all_sessions_together() {
    let generator = Generator::Sequence(bounds(100, 123));
    let of = |vu, session| numbers(&generator, &Seat { vu, session, vus: 3, ..SEAT }, 8);
    assert_eq!(of(0, 0), [100, 106, 112, 118, 100, 106, 112, 118]);
    assert_eq!(of(2, 1)[..4], [105, 111, 117, 123]);
    let mut all: Vec<i64> =
        (0..3).flat_map(|vu| (0..2).flat_map(move |session| of(vu, session)[..4].to_vec())).collect();
    all.sort_unstable();
    assert_eq!(all, (100..=123).collect::<Vec<_>>(), "each number once before any comes again");
}

#[test]
fn choices_are_all_alike_and_sent_as_they_are() {
    let text = |text: &str| Constant::Text(text.to_owned());
    let generator = Generator::Choice(vec![text("open"), text("it's"), Constant::Int(-5), text("")]);
    let draws = drawn(&generator, &SEAT, 40_000);
    let seen = ["open", "it's", "-5", ""].map(|value| draws.iter().filter(|drawn| *drawn == value).count() as u32);
    // Of three degrees of freedom one in a million exceeds 30.7.
    assert!(chi_square(&seen, &[10_000.0; 4]) < 30.7, "{seen:?}");
}

#[test]
fn texts_have_their_length_and_every_character_everywhere() {
    for length in [1, 9, 10, 11, 40] {
        let texts = drawn(&Generator::Text { length }, &SEAT, 64);
        assert!(texts.iter().all(|text| text.len() == length as usize), "{texts:?}");
    }
    let texts = drawn(&Generator::Text { length: 12 }, &SEAT, 12_800);
    for place in [0, 5, 9, 10, 11] {
        let mut seen = [0; 64];
        for text in &texts {
            seen[CHARACTERS.iter().position(|character| *character == text.as_bytes()[place]).unwrap()] += 1;
        }
        assert_fits(&seen, &[200.0; 64]);
    }
}

#[test]
fn what_is_drawn_follows_from_seed_user_and_session_alone() {
    for generator in [
        Generator::Uniform(bounds(1, 1_000_000)),
        Generator::zipfian(bounds(1, 1_000_000), 0.5),
        Generator::Nurand { bounds: bounds(1, 100_000), a: 8_191 },
        Generator::Text { length: 20 },
    ] {
        let alone = drawn(&generator, &SEAT, 20);
        assert_eq!(alone, drawn(&generator, &Seat { run: 9, vus: 800, ..SEAT }, 20));
        for other in [Seat { seed: 43, ..SEAT }, Seat { vu: 4, ..SEAT }, Seat { session: 0, ..SEAT }] {
            assert_ne!(alone, drawn(&generator, &other, 20), "{generator:?} {other:?}");
        }
    }
}

proptest! {
    #[test]
    fn draws_stay_within_any_bounds(seed: u64, low in i64::MIN..i64::MAX - (u32::MAX as i64), count in 1..=u32::MAX) {
        let bounds = bounds(low, low + i64::from(count) - 1);
        prop_assert_eq!(bounds.count(), u64::from(count));
        let seat = Seat { seed, ..SEAT };
        let mut stream = stream(seed, &[]);
        for generator in [Generator::Uniform(bounds), Generator::zipfian(bounds, 0.8), Generator::Sequence(bounds)] {
            let mut memory = generator.memory(&seat);
            for _ in 0..20 {
                let drawn = generator.draw(&mut memory, 16, &mut stream, &mut String::new());
                let Drawn::Int(number) = drawn else { panic!("a number") };
                prop_assert!((bounds.low..=bounds.high).contains(&number), "{:?}: {}", generator, number);
            }
        }
    }
}
