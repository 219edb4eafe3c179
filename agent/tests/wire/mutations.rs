//! Answers in which something is wrong: whatever a server says, a session comes to an end, and needs no more memory than what
//! it was sent.

use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, setrlimit};
use proptest::prelude::*;

use crate::player::improvise;
use crate::recorded;
use crate::recorder::{Recorded, Turn};

/// Of this process in all. A length of 4 GB that is believed, or 2^64 columns, end it.
const MOST_BYTES: u64 = 2 << 30;
/// Longest that a server's nonsense may be listened to.
const SOON: Duration = Duration::from_secs(30);

/// One thing that is wrong in an answer. Numbers are places, as far as the answer reaches.
#[derive(Debug, Clone)]
enum Wrong {
    Bit(usize, u8),
    Byte(usize, u8),
    Sequence(usize, u8),
    Length(usize, [u8; 3]),
    Missing(usize),
    Twice(usize),
    Swapped(usize, usize),
    /// Bytes put into a packet whose header tells its new length.
    Put(usize, usize, Vec<u8>),
    Shorter(usize, usize),
}

fn wrong() -> impl Strategy<Value = Wrong> {
    let place = any::<usize>;
    // Lengths and counts that no memory holds, and what ends or begins other packets.
    let words = prop_oneof![
        Just(vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        Just(vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
        Just(vec![0xfd, 0xff, 0xff, 0xff]),
        Just(vec![0xfc, 0xff, 0xff]),
        prop::collection::vec(prop_oneof![Just(0xfb), Just(0xff), Just(0xfe), any::<u8>()], 1..12),
    ];
    prop_oneof![
        (place(), 0..8_u8).prop_map(|(at, bit)| Wrong::Bit(at, bit)),
        (place(), any::<u8>()).prop_map(|(at, byte)| Wrong::Byte(at, byte)),
        (place(), any::<u8>()).prop_map(|(at, number)| Wrong::Sequence(at, number)),
        (place(), any::<[u8; 3]>()).prop_map(|(at, length)| Wrong::Length(at, length)),
        place().prop_map(Wrong::Missing),
        place().prop_map(Wrong::Twice),
        (place(), place()).prop_map(|(one, other)| Wrong::Swapped(one, other)),
        (place(), place(), words).prop_map(|(packet, at, bytes)| Wrong::Put(packet, at, bytes)),
        (place(), place()).prop_map(|(packet, length)| Wrong::Shorter(packet, length)),
    ]
}

/// Packets with their headers.
fn packets(mut answer: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    while let Some(header) = answer.first_chunk::<4>() {
        let length = 4 + u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let (packet, rest) = answer.split_at(length.min(answer.len()));
        packets.push(packet.to_vec());
        answer = rest;
    }
    packets
}

fn tell_length(packet: &mut [u8]) {
    let [low, middle, high, ..] = (packet.len() - 4).to_le_bytes();
    packet[..3].copy_from_slice(&[low, middle, high]);
}

fn spoil(answer: &[u8], wrong: &Wrong) -> Vec<u8> {
    let mut packets = packets(answer);
    let count = packets.len();
    let flat = |at: usize, change: &dyn Fn(&mut u8)| {
        let mut bytes = answer.to_vec();
        change(&mut bytes[at % answer.len()]);
        bytes
    };
    match wrong {
        Wrong::Bit(at, bit) => return flat(*at, &|byte| *byte ^= 1 << bit),
        Wrong::Byte(at, new) => return flat(*at, &|byte| *byte = *new),
        Wrong::Sequence(packet, number) => packets[packet % count][3] = *number,
        Wrong::Length(packet, length) => packets[packet % count][..3].copy_from_slice(length),
        Wrong::Missing(packet) => _ = packets.remove(packet % count),
        Wrong::Twice(packet) => packets.insert(packet % count, packets[packet % count].clone()),
        Wrong::Swapped(one, other) => packets.swap(one % count, other % count),
        Wrong::Put(packet, at, bytes) => {
            let packet = &mut packets[packet % count];
            let at = 4 + at % (packet.len() - 3);
            packet.splice(at..(at + bytes.len()).min(packet.len()), bytes.iter().copied());
            tell_length(packet);
        }
        Wrong::Shorter(packet, length) => {
            let packet = &mut packets[packet % count];
            packet.truncate(4 + length % (packet.len() - 3));
            tell_length(packet);
        }
    }
    packets.concat()
}

/// Scenes that are quickly played.
fn small() -> Vec<&'static Recorded> {
    recorded().iter().filter(|recorded| !recorded.scene.is_large).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_server_makes_a_session_panic_hang_or_swell(
        scene in any::<prop::sample::Index>(),
        turn in any::<prop::sample::Index>(),
        wrongs in prop::collection::vec(wrong(), 1..4),
    ) {
        setrlimit(Resource::RLIMIT_DATA, MOST_BYTES, MOST_BYTES).unwrap();
        let small = small();
        let recorded = small[scene.index(small.len())];
        let mut turns: Vec<Turn> = recorded.turns.clone();
        let turn = turn.index(turns.len());
        for wrong in &wrongs {
            if !turns[turn].answered.is_empty() {
                turns[turn].answered = spoil(&turns[turn].answered, wrong);
            }
        }
        let begun = Instant::now();
        improvise(recorded, &turns);
        prop_assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
}
