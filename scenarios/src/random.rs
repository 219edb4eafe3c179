//! Seeded random streams: one a session, a function of the study's seed and the session's number alone.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::workload::Seat;

/// The generator behind every stream: small, fast, and the same on every machine.
pub type Stream = Xoshiro256PlusPlus;

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
    stream(seat.seed, &[1, u64::from(seat.vu), u64::from(seat.session)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn a_stream_depends_on_seed_user_and_session_alone() {
        let seat = Seat { seed: 42, vu: 3, session: 1, run: 7 };
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
}
