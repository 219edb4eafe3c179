//! Seeded random streams: one a session, a function of the study's seed and the session's number alone.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::workload::Seat;

/// The generator behind every stream: small, fast, and the same on every machine.
pub type Stream = Xoshiro256PlusPlus;

/// Purposes of streams, their first coordinate.
const SESSION: u64 = 1;
const KEY: u64 = 2;
const ROW: u64 = 3;
const PACE: u64 = 4;
const CONSTANT: u64 = 5;

/// Scrambles a word (the finaliser of SplitMix64; Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
pub fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream for a purpose and its coordinates: streams of different coordinates are unrelated.
pub fn stream(seed: u64, coordinates: &[u64]) -> Stream {
    Stream::seed_from_u64(coordinates.iter().fold(mix(seed), |state, word| mix(state ^ mix(*word))))
}

/// A session's own stream.
pub fn session_stream(seat: &Seat) -> Stream {
    stream(seat.seed, &[SESSION, u64::from(seat.vu), u64::from(seat.session)])
}

/// Which run of a study this is: the same whoever makes it, and whatever else has been made before. The run's number in
/// a ledger would let another fleet insert other rows.
pub fn run_key(variant: &str, profile: &str, repetition: u32, attempt: u32) -> u64 {
    let text = |state, text: &str| text.bytes().fold(mix(state), |state, byte| mix(state ^ u64::from(byte)));
    [repetition, attempt].iter().fold(text(text(0, variant), profile), |state, count| mix(state ^ u64::from(*count)))
}

/// A session's stream of keys that must not repeat between runs. Another generation is another stream, for when the
/// keys of this one turn out to be taken.
pub fn key_stream(seat: &Seat, generation: u64) -> Stream {
    stream(seat.seed, &[KEY, u64::from(seat.vu), u64::from(seat.session), seat.run, generation])
}

/// A session's stream of thinking times: how fast the database answers must not change what is drawn next.
pub fn pace_stream(seat: &Seat) -> Stream {
    stream(seat.seed, &[PACE, u64::from(seat.vu), u64::from(seat.session)])
}

/// The stream behind constants that all runs of a study share.
pub fn constant_stream(seed: u64) -> Stream {
    stream(seed, &[CONSTANT])
}

/// The stream behind one row of a table: whoever loads the row, alone or among others, gets the same one.
pub fn row_stream(seed: u64, table: u32, row: u64) -> Stream {
    stream(seed, &[ROW, u64::from(table), row])
}

/// A whole number below `bound`, which must not be 0.
///
/// Always one word of the stream, unlike an exact method: the relative bias is below 2^-32, and what a seed means does
/// not hang on the version of a library.
#[inline]
pub fn below(stream: &mut Stream, bound: u32) -> u32 {
    ((u128::from(stream.next_u64()) * u128::from(bound)) >> 64) as u32
}

/// TPC-C's non-uniform whole number from `low` to `high`, both included: some come far more often than others, the same
/// ones all the time [2.1.6]. `a`, `high` and `high - low` must be below `u32::MAX`.
pub fn nurand(stream: &mut Stream, a: u32, c: u32, low: u32, high: u32) -> u32 {
    let both = below(stream, a + 1) | (low + below(stream, high - low + 1));
    ((u64::from(both) + u64::from(c)) % u64::from(high - low + 1)) as u32 + low
}

/// A number from 0 up to but not including 1, with 53 random bits.
#[inline]
pub fn unit(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_user_and_session_alone() {
        let seat = Seat { seed: 42, vu: 3, session: 1, vus: 8, sessions_per_vu: 1, run: 7 };
        let first = session_stream(&seat).next_u64();
        assert_eq!(first, session_stream(&Seat { run: 8, ..seat }).next_u64());
        assert_ne!(first, session_stream(&Seat { vu: 4, ..seat }).next_u64());
        assert_ne!(first, session_stream(&Seat { session: 0, ..seat }).next_u64());
        assert_ne!(first, session_stream(&Seat { seed: 43, ..seat }).next_u64());
        assert_ne!(
            session_stream(&Seat { vu: 1, session: 3, ..seat }).next_u64(),
            session_stream(&Seat { vu: 3, session: 1, ..seat }).next_u64()
        );
    }
    #[test]
    fn keys_differ_between_runs_and_generations() {
        let seat = Seat { seed: 42, vu: 3, session: 1, vus: 8, sessions_per_vu: 1, run: 7 };
        let first = key_stream(&seat, 0).next_u64();
        assert_eq!(first, key_stream(&seat, 0).next_u64());
        assert_ne!(first, key_stream(&seat, 1).next_u64());
        assert_ne!(first, key_stream(&Seat { run: 8, ..seat }, 0).next_u64());
        assert_ne!(first, session_stream(&seat).next_u64());
    }

    #[test]
    fn runs_of_a_study_have_keys_of_their_own() {
        let keys: std::collections::BTreeSet<u64> = [
            ("baseline", "4vu", 1, 1),
            ("baseline", "4vu", 2, 1),
            ("baseline", "4vu", 1, 2),
            ("baseline", "16vu", 1, 1),
            ("audit", "4vu", 1, 1),
            ("baseline4", "vu", 1, 1),
        ]
        .map(|(variant, profile, repetition, attempt)| run_key(variant, profile, repetition, attempt))
        .into();
        assert_eq!(keys.len(), 6);
        assert!(keys.contains(&run_key("audit", "4vu", 1, 1)), "a function of these alone");
    }

    #[test]
    fn below_reaches_every_value_about_equally_often() {
        let mut stream = stream(1, &[]);
        let mut seen = [0_u32; 7];
        for _ in 0..70_000 {
            seen[below(&mut stream, 7) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (9_600..10_400).contains(count)), "{seen:?}");
        assert!((0..100).all(|_| below(&mut stream, 1) == 0));
        let high = (0..10_000).map(|_| below(&mut stream, u32::MAX)).max();
        assert!(high > Some(u32::MAX - u32::MAX / 1_000), "{high:?}");
    }

    #[test]
    fn unit_stays_below_one_and_averages_a_half() {
        let mut stream = stream(2, &[]);
        let draws: Vec<f64> = (0..100_000).map(|_| unit(&mut stream)).collect();
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
