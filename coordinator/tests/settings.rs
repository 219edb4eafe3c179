//! What a report says of settings, from the differences that its ledger keeps.

mod synthetic;

use std::collections::BTreeMap;

use serde_json::Value;
use synthetic::audit::all_files;
use synthetic::{Lab, STUDY, T0, Tape};
use vufleet::analysis::{SettingCause, Unread};
use vufleet::ledger::{DATABASE, Fact, Moment, difference};
use vufleet::render::text;

fn read(source: &str, moment: Moment, values: &[(&str, Option<&str>)]) -> Fact {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect();
    Fact::Settings { source: source.to_owned(), at_ns: T0, moment, values }
}

fn unread(source: &str) -> Fact {
    Fact::SettingsUnread { source: source.to_owned(), at_ns: T0, moment: Moment::Load, reason: "no answer".to_owned() }
}

/// Runs that alternate between both variants, with these facts.
fn lab(runs: &[&[Fact]]) -> Lab {
    let mut lab = Lab::of(&format!("{STUDY}[[variants]]\nname = \"off\"\n[[variants]]\nname = \"on\"\n"));
    for (index, facts) in runs.iter().enumerate() {
        let mut tape = Tape::new(index as u32 / 2 + 1);
        tape.variant = ["off", "on"][index % 2].to_owned();
        tape.noted = facts.to_vec();
        lab.record(tape);
    }
    lab.finish();
    lab
}

#[test]
fn runs_that_found_nothing_new_count_as_readings() {
    let lab = lab(&[
        &[
            read(DATABASE, Moment::First, &[("audit", Some("OFF")), ("cache", Some("1G"))]),
            read("observer", Moment::First, &[("governor", Some("performance"))]),
        ],
        &[read(DATABASE, Moment::Load, &[("audit", Some("ON"))])],
        &[read(DATABASE, Moment::Load, &[("audit", Some("OFF"))])],
        &[read(DATABASE, Moment::Load, &[("audit", Some("ON")), ("cache", Some("2G"))])],
        &[read(DATABASE, Moment::Load, &[("audit", Some("OFF"))]), unread("observer")],
        &[
            read(DATABASE, Moment::Load, &[("audit", Some("ON"))]),
            read(DATABASE, Moment::Last, &[("audit", Some("OFF"))]),
            read("observer", Moment::Last, &[]),
        ],
    ]);
    let report = lab.report();
    let [database, host] = &report.settings[..] else { panic!("{:#?}", report.settings) };
    assert_eq!((database.source.as_str(), host.source.as_str()), (DATABASE, "observer"));
    let told: Vec<String> = database.changes.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["audit is ON in on instead of OFF", "cache was 1G until run 3 and 2G from run 4 on"]);
    assert_eq!(database.changes[1].cause, SettingCause::Meanwhile { since: Some(3) });
    assert_eq!(database.before["cache"], "1G");
    assert!(database.read_after && host.read_after && host.changes.is_empty());
    assert_eq!(host.unread, [Unread { run: 5, reason: "no answer".to_owned() }]);
    let said = text(&report, 160);
    assert!(said.contains("database: cache was 1G until run 3 and 2G from run 4 on"), "{said}");
    assert!(!said.contains("audit is ON"), "what a variant changes is no doubt: {said}");
    let results: Value = serde_json::from_str(&all_files(&report)["results.json"]).unwrap();
    let changes = &results["settings"][0]["changes"];
    assert_eq!(
        (&changes[0]["cause"], &changes[1]["cause"], &changes[1]["since"]),
        (&"variant".into(), &"meanwhile".into(), &3.into())
    );
    assert_eq!(results["settings"][1]["before"]["governor"], "performance");
}

#[test]
fn a_study_without_readings_says_nothing_of_settings() {
    let report = lab(&[&[], &[]]).report();
    assert!(report.settings.is_empty());
    assert!(!all_files(&report)["results.json"].contains("\"settings\""));
}

#[test]
fn what_a_study_last_wrote_down_is_known_to_whoever_goes_on_with_it() {
    let lab = lab(&[
        &[read(DATABASE, Moment::First, &[("a", Some("1")), ("b", Some("2"))])],
        &[read(DATABASE, Moment::Load, &[("a", None), ("c", Some("3"))])],
    ]);
    let known = lab.ledger.settings(&lab.id).unwrap();
    let expected: BTreeMap<String, String> = [("b", "2"), ("c", "3")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    assert_eq!(known[DATABASE], expected);
    assert!(difference(&known[DATABASE], &expected).is_empty(), "nothing new is written down");
}
