//! The ledger keeps each event once, whatever is sent again, and lets one process write at a time.

mod synthetic;

use std::process::Command;

use proptest::prelude::*;
use synthetic::{Lab, S, T0, Tape, boot, facts, study};
use vufleet::ledger::{Fact, Ledger, LedgerError, RunEnd, RunId, StudyFacts, StudyId, StudyState};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;
use vufleet_scenarios::plan::PlannedRun;

fn notice(seq: u64) -> v1::Event {
    let body = Body::Notice(v1::Notice { level: 1, text: format!("event {seq}"), at_ns: seq });
    v1::Event { seq, run: 9, body: Some(body) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Agents send batches, lose the connection, and start again from anywhere before.
    #[test]
    fn resent_events_are_recorded_once(batches in prop::collection::vec((0..3usize, 1..30u64, 1..12u64), 1..30)) {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let mut sent = [0u64; 3];
        for (agent, from, count) in batches {
            let from = from.min(sent[agent] + 1);
            let events: Vec<_> = (from..from + count).map(notice).collect();
            sent[agent] = sent[agent].max(from + count - 1);
            let boot = u64::MAX - agent as u64;
            prop_assert_eq!(ledger.record(&format!("agent-{agent}"), boot, &events).unwrap(), sent[agent]);
            prop_assert_eq!(ledger.last_seq(boot).unwrap(), sent[agent]);
        }
        let kept = ledger.events(RunId(9)).unwrap();
        for (agent, last) in sent.into_iter().enumerate() {
            let name = format!("agent-{agent}");
            let mine: Vec<_> = kept.iter().filter(|it| it.agent == name).map(|it| it.event.clone()).collect();
            prop_assert_eq!(mine, (1..=last).map(notice).collect::<Vec<_>>());
        }
    }
}

#[test]
fn another_boot_of_the_same_agent_starts_counting_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(dir.path()).unwrap();
    assert_eq!(ledger.record("a", 1, &[notice(1), notice(2)]).unwrap(), 2);
    assert_eq!(ledger.record("a", 2, &[notice(1)]).unwrap(), 1);
    assert_eq!(ledger.record("a", 2, &[]).unwrap(), 1);
    assert_eq!(ledger.events(RunId(9)).unwrap().len(), 3);
}

#[test]
fn events_about_now_are_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(dir.path()).unwrap();
    assert_eq!(ledger.record("a", 1, &[notice(0), notice(0)]).unwrap(), 0);
    assert!(ledger.events(RunId(9)).unwrap().is_empty());
}

#[test]
fn facts_are_kept_in_order_and_apart_from_events() {
    let mut lab = Lab::new();
    let lost = Fact::AgentLost { agent: "load-a".to_owned(), at_ns: T0, reason: "its host is gone".to_owned() };
    let note = Fact::Note { at_ns: T0 + S, text: "tables warmed".to_owned() };
    let mut tape = Tape::new(1);
    tape.noted = vec![lost.clone(), note.clone()];
    let run = lab.record(tape);
    assert_eq!(lab.ledger.facts(run).unwrap(), [lost, note]);
    assert!(lab.ledger.events(run).unwrap().iter().all(|it| it.agent != "coordinator"));
    assert_eq!(lab.ledger.facts(RunId(run.0 + 1)).unwrap(), []);
}

#[test]
fn runs_are_numbered_over_all_studies_and_read_back() {
    let mut lab = Lab::new();
    let first = lab.record(Tape::new(1));
    let other = lab.ledger.begin_study(&study(synthetic::STUDY), &begun(T0)).unwrap();
    let planned = PlannedRun { number: 1, variant: "baseline".into(), profile: "16vu".into(), repetition: 1 };
    let second = lab.ledger.begin_run(&other, &planned, 2).unwrap();
    assert!(second > first);
    let runs = lab.ledger.runs(&other).unwrap();
    assert_eq!((runs.len(), runs[0].attempt, &runs[0].facts, &runs[0].end), (1, 2, &None, &None));
    lab.ledger.set_run_facts(second, &facts()).unwrap();
    lab.ledger.end_run(second, T0 + S, &RunEnd::Failed("no agent came".to_owned())).unwrap();
    let runs = lab.ledger.runs(&other).unwrap();
    assert_eq!(runs[0].facts, Some(facts()));
    assert_eq!(runs[0].end, Some((T0 + S, RunEnd::Failed("no agent came".to_owned()))));
    assert!(matches!(lab.ledger.end_run(RunId(99), 0, &RunEnd::Finished), Err(LedgerError::NoRun { run: 99 })));
}

fn begun(begun_ns: u64) -> StudyFacts {
    StudyFacts { begun_ns, vufleet: "0.1.0".to_owned() }
}

#[test]
fn studies_are_found_by_id_prefix_and_as_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(dir.path()).unwrap();
    assert!(matches!(ledger.study("last"), Err(LedgerError::NoStudy { .. })));
    let study = study(synthetic::STUDY);
    let ids: Vec<StudyId> =
        [T0, T0 + S, T0 + 86_400 * S].map(|at| ledger.begin_study(&study, &begun(at)).unwrap()).to_vec();
    let names: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
    assert_eq!(names, ["20260528-2026-audit-lab", "20260528-2026-audit-lab-2", "20260529-2026-audit-lab"]);
    for (wanted, found) in [("last", 2), ("20260529", 2), (names[0], 0), (names[1], 1), (names[2], 2)] {
        assert_eq!(ledger.study(wanted).unwrap().id, ids[found], "{wanted}");
    }
    let error = ledger.study("2026").unwrap_err();
    assert!(matches!(&error, LedgerError::Ambiguous { matches, .. } if matches.len() == 3), "{error:?}");
    for unknown in ["1999", "", "%", "LAST"] {
        assert!(ledger.study(unknown).is_err(), "{unknown:?}");
    }
    assert_eq!(ledger.studies().unwrap().len(), 3);
}

#[test]
fn a_study_is_told_as_it_ended_and_a_dead_writers_is_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(dir.path()).unwrap();
    let study = study(synthetic::STUDY);
    let done = ledger.begin_study(&study, &begun(T0)).unwrap();
    let left = ledger.begin_study(&study, &begun(T0 + 60 * S)).unwrap();
    ledger.set_study_state(&done, StudyState::Failed, T0 + S, "no agent observes").unwrap();
    assert_eq!(ledger.study(&left.0).unwrap().state, StudyState::Running);
    drop(ledger);
    assert_eq!(Ledger::read_only(dir.path()).unwrap().study(&left.0).unwrap().state, StudyState::Running);
    let ledger = Ledger::open(dir.path()).unwrap();
    assert_eq!(ledger.study(&left.0).unwrap().state, StudyState::Interrupted);
    let done = ledger.study(&done.0).unwrap();
    assert_eq!(
        (done.state, done.message.as_str(), done.ended_ns),
        (StudyState::Failed, "no agent observes", Some(T0 + S))
    );
    assert_eq!((done.text, done.digest), (study.text, study.digest));
}

#[test]
fn a_second_writer_is_refused_with_the_first_ones_number() {
    let dir = tempfile::tempdir().unwrap();
    let first = Ledger::open(dir.path()).unwrap();
    let error = Ledger::open(dir.path()).unwrap_err();
    assert!(matches!(&error, LedgerError::Locked { .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("process {} is writing", std::process::id())), "{error}");
    drop(first);
    Ledger::open(dir.path()).unwrap();
}

#[test]
fn a_killed_writers_lock_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    // flock(1) takes the same lock, becomes sleep, and is killed without a chance to clean up.
    let lock = dir.path().join("ledger.lock");
    let mut holder = Command::new("flock").arg("--no-fork").arg(lock).args(["sleep", "600"]).spawn().unwrap();
    while !matches!(Ledger::open(dir.path()), Err(LedgerError::Locked { .. })) {
        std::thread::yield_now();
    }
    holder.kill().unwrap();
    holder.wait().unwrap();
    Ledger::open(dir.path()).unwrap();
}

#[test]
fn a_reader_sees_what_a_writer_has_written_so_far() {
    let mut lab = Lab::new();
    let reader = Ledger::read_only(lab.dir.path()).unwrap();
    assert!(reader.runs(&lab.id).unwrap().is_empty());
    let run = lab.record(Tape::new(1));
    assert_eq!(reader.events(run).unwrap(), lab.ledger.events(run).unwrap());
    assert!(!reader.events(run).unwrap().is_empty());
    assert_eq!(reader.last_seq(boot("load-a")).unwrap(), lab.ledger.last_seq(boot("load-a")).unwrap());
}

#[test]
fn what_is_no_ledger_or_of_another_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ledger.sqlite3");
    let error = Ledger::read_only(dir.path()).unwrap_err();
    assert!(matches!(&error, LedgerError::Missing { .. }), "{error:?}");
    assert!(!file.exists(), "looking does not make one");

    std::fs::write(&file, "not a database, and long enough to be looked at as one".repeat(99)).unwrap();
    assert!(matches!(Ledger::open(dir.path()).unwrap_err(), LedgerError::Foreign { .. }));
    std::fs::remove_file(&file).unwrap();

    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE mine (id)").unwrap();
    assert!(matches!(Ledger::open(dir.path()).unwrap_err(), LedgerError::Foreign { .. }));
    assert!(matches!(Ledger::read_only(dir.path()).unwrap_err(), LedgerError::Foreign { .. }));
    std::fs::remove_file(&file).unwrap();

    drop(Ledger::open(dir.path()).unwrap());
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 3).unwrap();
    for error in [Ledger::open(dir.path()).unwrap_err(), Ledger::read_only(dir.path()).unwrap_err()] {
        assert!(matches!(error, LedgerError::Version { found: 3, known: 2, .. }), "{error:?}");
        assert!(error.to_string().contains("use the vufleet that made it"), "{error}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Ledger::open(&file.join("data")).unwrap_err();
    assert!(matches!(&error, LedgerError::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("file/data"), "{error}");
}
