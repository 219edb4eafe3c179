//! Variants that may still be on, as the ledger tells of them, and what observers did.

mod synthetic;

use std::collections::BTreeSet;

use synthetic::judged::{expect, judge, told};
use synthetic::{Lab, S, STUDY, T0, Tape};
use vufleet::analysis::verdict::Verdict::{Degraded, Valid};
use vufleet::ledger::{Fact, RunId, Undo, UndoCheck, UndoStep};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

fn undo() -> Undo {
    Undo {
        steps: vec![
            UndoStep::Sql("SET GLOBAL general_log = 0".to_owned()),
            UndoStep::Command { name: "rotate".to_owned(), agent: [("host".to_owned(), "db".to_owned())].into() },
        ],
        must_hold: vec![UndoCheck { sql: "SELECT @@general_log".to_owned(), equals: "0".to_owned() }],
    }
}

fn applied(holders: &[&str]) -> Fact {
    let holders: BTreeSet<String> = holders.iter().map(|name| (*name).to_owned()).collect();
    Fact::Applied { variant: "logged".to_owned(), at_ns: T0, undo: undo(), holders }
}

fn undone(agent: &str, error: &str) -> (String, Body) {
    (agent.to_owned(), Body::Undone(v1::Undone { error: error.to_owned(), at_ns: T0 }))
}

/// Runs whose variants may still be on when a run left this behind, and those whose agents say that they are off.
fn standing(noted: &[Fact], events: &[(String, Body)]) -> [Vec<RunId>; 2] {
    let mut lab = Lab::new();
    lab.record(Tape::new(1));
    let mut tape = Tape::new(2);
    tape.noted.extend(noted.iter().cloned());
    tape.events.extend(events.iter().cloned());
    lab.record(tape);
    [lab.ledger.standing(), lab.ledger.unconfirmed()]
        .map(|found| found.unwrap().into_iter().map(|standing| standing.run).collect())
}

#[test]
fn a_variant_stands_until_everybody_who_keeps_it_has_undone_it() {
    let reverted = Fact::Reverted { at_ns: T0 + S };
    let both = applied(&["a", "b"]);
    // Nobody can be asked whether this one is off.
    let mut unasked = both.clone();
    if let Fact::Applied { undo, .. } = &mut unasked {
        undo.must_hold.clear();
    }
    let by_both = || vec![undone("a", ""), undone("b", "")];
    for (noted, events, stands, is_told) in [
        (vec![], vec![], false, false),
        (vec![both.clone()], vec![], true, false),
        (vec![both.clone(), reverted.clone()], vec![], false, false),
        (vec![both.clone()], vec![undone("a", "")], true, false),
        (vec![both.clone()], vec![undone("a", ""), undone("b", "access denied")], true, false),
        (vec![both.clone()], by_both(), false, true),
        (vec![both, reverted], by_both(), false, false),
        (vec![unasked], by_both(), false, false),
        (vec![applied(&[])], vec![undone("a", "")], true, false),
    ] {
        let wanted = [stands, is_told].map(|it| if it { vec![RunId(2)] } else { vec![] });
        assert_eq!(standing(&noted, &events), wanted, "{noted:?} {events:?}");
    }
}

#[test]
fn it_is_told_with_everything_that_undoes_it() {
    let mut lab = Lab::new();
    let mut tape = Tape::new(1);
    tape.noted.push(applied(&["a"]));
    lab.record(tape);
    let standing = lab.ledger.standing().unwrap();
    let sentence = standing[0].sentence();
    for words in ["variant logged", "run 1", "\n  SET GLOBAL general_log = 0;", "command rotate", "host=db"] {
        assert!(sentence.contains(words), "{words:?} in {sentence}");
    }
    assert_eq!(Undo::of(&change(&standing[0].undo)), undo(), "nothing is lost on the way back to a study's own words");
}

fn change(undo: &Undo) -> vufleet_scenarios::study::Change {
    vufleet_scenarios::study::Change {
        revert: undo.actions(),
        undone: undo.requirements(),
        ..vufleet_scenarios::study::Change::default()
    }
}

#[test]
fn an_observer_that_dropped_events_looks_cheaper_than_it_is() {
    let footprint = |name: &str, before: u64, after: u64| Fact::Footprint {
        name: name.to_owned(),
        cumulative: true,
        before: Some(before),
        after: Some(after),
    };
    let with = |facts: Vec<Fact>| judge(move |tape| tape.noted.extend(facts));
    expect(with(vec![footprint("bytes_written", 5, 99), footprint("events_dropped", 4, 4)]), Valid, "");
    expect(
        with(vec![footprint("events_dropped", 4, 7)]),
        Degraded,
        "the variant's observer did not do all of its work (events dropped: 3): what it lost cost nothing, and it may look \
         cheaper than it is",
    );
}

#[test]
fn what_an_observer_did_is_in_the_results() {
    let mut lab = Lab::new();
    lab.record(Tape::new(1));
    let mut tape = Tape::new(2);
    tape.noted.push(Fact::Footprint {
        name: "bytes_written".to_owned(),
        cumulative: true,
        before: Some(100),
        after: Some(4_196),
    });
    lab.record(tape);
    lab.finish();
    let mut files = std::collections::BTreeMap::new();
    vufleet::render::files(&lab.report(), &mut |run| Ok(run.clone()), &mut |name: &str, bytes: &[u8]| {
        files.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    })
    .unwrap();
    let results: serde_json::Value = serde_json::from_slice(&files["results.json"]).unwrap();
    assert!(results["runs"][0].get("observer").is_none(), "absent, not empty");
    assert_eq!(results["runs"][1]["observer"], serde_json::json!({ "bytes_written": 4096 }));
    let mut rows = csv::Reader::from_reader(files["runs.csv"].as_slice());
    let column = rows.headers().unwrap().iter().position(|name| name == "observer_bytes_written").unwrap();
    let values: Vec<String> = rows.records().map(|row| row.unwrap()[column].to_owned()).collect();
    assert_eq!(values, ["", "4096"]);
}

#[test]
fn counts_of_an_observer_are_withheld_with_all_others() {
    let mut lab = Lab::of(&format!("{STUDY}[report]\nrelative_only = true\n"));
    let mut tape = Tape::new(1);
    tape.noted.push(Fact::Footprint {
        name: "events_dropped".to_owned(),
        cumulative: false,
        before: None,
        after: Some(31_337),
    });
    lab.record(tape);
    lab.finish();
    let report = lab.report();
    assert!(report.withheld && report.runs[0].observer.is_empty());
    let (verdict, reasons) = told(report);
    assert!(verdict == Degraded && reasons.contains("(events dropped)") && !reasons.contains("31337"), "{reasons}");
}
