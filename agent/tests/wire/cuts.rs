//! However the server's words arrive, they mean the same; and an end that is missing is missed.

use std::collections::BTreeSet;

use vufleet_scenarios::session::FaultKind;

use crate::player::{Delivery, replay};
use crate::recorded;
use crate::recorder::{Age, Recorded};
use crate::scenes::Told;

/// Payload of a packet that another goes on from.
const LONGEST: usize = 0xff_ffff;

/// Turns and places in their answers.
fn places(recorded: &Recorded) -> Vec<(usize, usize)> {
    let turns = recorded.turns.iter().enumerate();
    turns.flat_map(|(turn, said)| places_in(&said.answered).into_iter().map(move |at| (turn, at))).collect()
}

/// Every byte; of a large answer those around its last borders between packets, and one in the middle.
fn places_in(answer: &[u8]) -> Vec<usize> {
    if answer.len() < 1 << 16 {
        return (0..answer.len()).collect();
    }
    let (mut borders, mut start) = (vec![], 0);
    while start < answer.len() {
        borders.push(start);
        let header = [answer[start], answer[start + 1], answer[start + 2], 0];
        start += 4 + u32::from_le_bytes(header) as usize;
    }
    let parts = borders.iter().filter(|border| **border > LONGEST).count();
    assert_eq!(parts, 2, "a second part of the row, and its end: {borders:?}");
    let around = borders[borders.len() - 2..].iter().flat_map(|border| border - 1..border + 6);
    let places: BTreeSet<usize> = around.chain([answer.len() / 2]).filter(|at| *at < answer.len()).collect();
    places.into_iter().collect()
}

fn each(check: impl Fn(&Recorded)) {
    for recorded in recorded() {
        println!("{} ({:?}): {} bytes", recorded.scene.name, recorded.age, recorded.length());
        check(recorded);
    }
}

#[test]
fn what_was_recorded_is_what_was_meant() {
    for recorded in recorded() {
        let told = &recorded.told;
        let is_refused = recorded.scene.name == "is refused";
        assert_eq!(told[0].result.is_err(), is_refused, "{}: {told:?}", recorded.scene.name);
        assert_eq!(told.len(), if is_refused { 1 } else { 1 + recorded.scene.steps.len() }, "{told:?}");
    }
    let of = |name: &str| {
        let found = recorded().iter().find(|recorded| recorded.scene.name == name && recorded.age == Age::Today);
        &found.unwrap_or_else(|| panic!("no scene {name}")).told
    };
    for kinds in [of("reads every kind of column in binary"), of("reads every kind of column as text")] {
        assert_eq!((kinds[1].result.clone(), kinds[1].rows.len()), (Ok(0), 3), "{kinds:?}");
    }
    assert_eq!(of("reads every kind of column in binary")[1].rows, of("reads every kind of column as text")[1].rows);
    let calls = of("calls in binary");
    assert_eq!((calls[1].sets, calls[1].rows.len()), (3, 4), "two results and the OUT parameters: {calls:?}");
    assert_eq!(calls[1].rows[3], "Int(8), Text(\"c!\")");
    assert_eq!(calls[2].rows, ["Int(1)", "Int(2)"]);
    for (scene, step, code) in [
        ("calls in binary", 2, 1644),
        ("calls as text", 3, 1644),
        ("fails among rows in binary", 1, 1242),
        ("fails among rows as text", 1, 1242),
        ("changes rows in binary", 9, 1062),
        ("changes rows in binary", 10, 1146),
        ("changes rows as text", 17, 1146),
    ] {
        let told = &of(scene)[step];
        assert_eq!(told.result.as_ref().unwrap_err().code, Some(code), "{scene}: {told:?}");
    }
    let killed = of("is killed")[1].result.as_ref().unwrap_err();
    assert_eq!((killed.kind, killed.code), (FaultKind::ConnectionLost, None), "{killed}");
    assert_eq!(of("fails among rows in binary")[1].rows.len(), 2, "rows came before the error");
    let grown: Vec<_> = of("sees its table altered").iter().skip(1).map(|told| told.rows.concat()).collect();
    let (narrow, wide) = ("Int(1), Text(\"one\")", "Float(2.5), Int(1), Text(\"one\")");
    assert_eq!(grown, [narrow, narrow, "", wide, wide, "", narrow]);
}

#[test]
fn the_same_words_mean_the_same() {
    each(|recorded| assert_eq!(replay(recorded, Delivery::Whole), recorded.told));
}

#[test]
fn an_answer_in_any_two_pieces_means_the_same() {
    each(|recorded| {
        for (turn, at) in places(recorded) {
            let told = replay(recorded, Delivery::Split { turn, at });
            assert_eq!(told, recorded.told, "{}: turn {turn} cut at {at}", recorded.scene.name);
        }
    });
}

#[test]
fn an_answer_byte_by_byte_means_the_same() {
    each(|recorded| {
        let size = if recorded.scene.is_large { 99_991 } else { 1 };
        assert_eq!(replay(recorded, Delivery::Pieces(size)), recorded.told, "{}", recorded.scene.name);
    });
}

#[test]
fn an_answer_cut_off_anywhere_is_an_error_and_never_a_result() {
    each(|recorded| {
        for (turn, at) in places(recorded) {
            let told = replay(recorded, Delivery::CutOff { turn, at });
            assert_is_cut_off(recorded, &told, &format!("{}: turn {turn} ends at {at}", recorded.scene.name));
        }
    });
}

/// All as recorded up to a call that lost its connection, whose rows are the first of those that there were.
fn assert_is_cut_off(recorded: &Recorded, told: &[Told], place: &str) {
    let (last, before) = told.split_last().expect("something came of it");
    assert_eq!(before, &recorded.told[..before.len()], "{place}");
    let fault = last.result.as_ref().expect_err(place);
    assert_eq!((fault.kind, fault.code), (FaultKind::ConnectionLost, None), "{place}: {fault}");
    assert!(recorded.told[before.len()].rows.starts_with(&last.rows), "{place}: {last:?}");
}
