//! A run is worth the same before and after its seconds were added up, and wherever that was interrupted.

mod synthetic;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use assert_cmd::cargo::CommandCargoExt;
use proptest::prelude::*;
use synthetic::{AGENTS, Lab, MS, S, T0, Tape, boot, counters, database_host, driver_host, interval};
use vufleet::analysis::verdict::Verdict;
use vufleet::analysis::{Options, RunReport, brief};
use vufleet::ledger::{Fact, Ledger, LedgerError, MeasureFacts, RunId, StudyState};
use vufleet::rollup::{Between, Judgement, Keep, Rollup, all_old, roll_up};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

const RAMP_UP_S: u64 = 7;
const WINDOW_S: u64 = 96;
const NOW: u64 = T0 + 30 * 86_400 * S;

/// A run whose window begins and ends off the tens.
fn long(repetition: u32, tps: u64) -> Tape {
    let last = (RAMP_UP_S + WINDOW_S) as i64;
    let mut tape = Tape::new(repetition);
    tape.events.clear();
    for agent in AGENTS {
        for second in -1..=last {
            let rate = if second < 0 { 0 } else { tps + second as u64 % 7 };
            tape.events.push((agent.to_owned(), Body::Interval(interval(second, rate))));
            tape.events.push((agent.to_owned(), Body::Host(driver_host(second))));
        }
    }
    let mut done = 0;
    for second in -1..=last + 2 {
        tape.events.push(("observer".to_owned(), Body::Host(database_host(second, 100))));
        tape.events.push(("observer".to_owned(), Body::Counters(counters(second, done))));
        if (0..=last).contains(&second) {
            done += (tps + second as u64 % 7) * AGENTS.len() as u64;
        }
    }
    tape.facts().ramp_up_ns = RAMP_UP_S * S;
    tape.facts().measure = MeasureFacts::DurationNs(WINDOW_S * S);
    tape.end.as_mut().unwrap().0 = T0 + (RAMP_UP_S + WINDOW_S + 3) * S;
    tape
}

fn lab_of(tapes: Vec<Tape>) -> Lab {
    let mut lab = Lab::new();
    for tape in tapes {
        lab.record(tape);
    }
    lab.finish();
    lab
}

fn runs(ledger: &Ledger) -> Vec<RunReport> {
    brief(ledger, "last", Options::default()).unwrap().runs
}

/// What a run is worth; what is only coarser left out.
fn worth(run: RunReport) -> (RunReport, Verdict, Vec<String>) {
    let rounded = |value: f64| (value * 1e9).round() / 1e9;
    let (verdict, sentences) = (run.verdict(), run.sentences(false));
    let mut run = RunReport { timeline: Vec::new(), sums_s: None, reasons: Vec::new(), ..run };
    // Numbers of the ledger's text are exact to the last digit but one.
    run.drift_percent = run.drift_percent.map(rounded);
    run.steady.iter_mut().for_each(|it| (it.percent, it.p) = (rounded(it.percent), rounded(it.p)));
    (run, verdict, sentences)
}

#[track_caller]
fn expect_worth(found: Vec<RunReport>, known: &[RunReport]) {
    for (found, known) in found.into_iter().zip(known) {
        assert_eq!(worth(found), worth(known.clone()));
    }
}

fn all(ledger: &mut Ledger) {
    for run in Keep::DEFAULT.due(ledger, NOW).unwrap() {
        assert!(roll_up(ledger, run, NOW, &mut |_| true).unwrap());
    }
}

fn events(ledger: &Ledger, run: RunId) -> usize {
    ledger.events(run).unwrap().len()
}

fn two_seconds_of_silence() -> Tape {
    let mut tape = long(2, 100);
    for agent in AGENTS {
        for second in 41..44 {
            tape.interval(agent, second).kinds.clear();
        }
    }
    tape
}

fn a_ramp() -> Tape {
    let mut tape = long(3, 100);
    for (_, interval) in tape.intervals() {
        let second = (interval.end_ns.saturating_sub(T0)) / S;
        interval.kinds.iter_mut().for_each(|kind| kind.ok += second);
    }
    tape.events.retain(|(_, body)| !matches!(body, Body::Counters(_)));
    tape
}

fn gaps() -> Tape {
    let mut tape = long(4, 90);
    for second in [30, 31, 55] {
        tape.drop_interval("load-a", second);
    }
    // Cut late, and short after that.
    tape.interval("load-b", 60).end_ns += 300 * MS;
    tape.interval("load-b", 61).start_ns += 300 * MS;
    tape
}

#[test]
fn figures_and_verdicts_outlive_the_seconds_they_came_from() {
    let mut lab = lab_of(vec![long(1, 100), two_seconds_of_silence(), a_ramp(), gaps()]);
    let before = runs(&lab.ledger);
    let verdicts: Vec<Verdict> = before.iter().map(RunReport::verdict).collect();
    use Verdict::{Degraded, Invalid, Valid};
    assert_eq!(
        verdicts[..3],
        [Valid, Invalid, Degraded],
        "{:#?}",
        before.iter().map(|it| &it.reasons).collect::<Vec<_>>()
    );
    let recorded = events(&lab.ledger, RunId(1));
    all(&mut lab.ledger);
    expect_worth(runs(&lab.ledger), &before);
    let kept = events(&lab.ledger, RunId(1));
    assert!(kept * 2 < recorded, "{kept} of {recorded}");
    let report = brief(&lab.ledger, "last", Options::default()).unwrap();
    assert_eq!((report.interval_s, report.runs[0].sums_s), (Some(10.0), Some(10.0)));
    let text = vufleet::render::text(&report, 200);
    assert!(text.contains("4 of 4 runs are kept as 10-second sums"), "{text}");
}

#[test]
fn a_second_roll_up_finds_nothing_to_do() {
    let mut lab = lab_of(vec![long(1, 100)]);
    all(&mut lab.ledger);
    let once = lab.ledger.events(RunId(1)).unwrap();
    assert_eq!(Keep::DEFAULT.due(&lab.ledger, NOW).unwrap(), []);
    assert!(roll_up(&mut lab.ledger, RunId(1), NOW, &mut |_| true).unwrap());
    assert_eq!(lab.ledger.events(RunId(1)).unwrap(), once);
    let judged = |fact: &Fact| matches!(fact, Fact::Thinned { .. });
    assert_eq!(lab.ledger.facts(RunId(1)).unwrap().iter().filter(|fact| judged(fact)).count(), 1);
}

#[test]
fn only_what_is_old_and_at_rest_is_rolled_up() {
    let mut lab = lab_of(vec![long(1, 100)]);
    let ended = T0 + (RAMP_UP_S + WINDOW_S + 3) * S;
    let week = 7 * 86_400 * S;
    assert_eq!(Keep::DEFAULT.due(&lab.ledger, ended + week).unwrap(), []);
    assert_eq!(Keep::DEFAULT.due(&lab.ledger, ended + week + 1).unwrap(), [RunId(1)]);
    assert_eq!(Keep::Forever.due(&lab.ledger, NOW).unwrap(), []);
    lab.ledger.set_study_state(&lab.id, StudyState::Running, NOW, "").unwrap();
    assert_eq!(Keep::DEFAULT.due(&lab.ledger, NOW).unwrap(), [], "its study is under way");
}

#[test]
fn a_run_whose_end_nobody_saw_counts_from_the_last_that_was_heard_of_it() {
    let mut lab = Lab::new();
    let run = lab.record(Tape { end: None, ..long(1, 100) });
    let Lab { dir, ledger, id, .. } = lab;
    drop(ledger);
    // Its coordinator is gone, and with it the study.
    let mut ledger = Ledger::open(dir.path()).unwrap();
    let (keep, hour) = (Keep::For(Duration::from_secs(3_600)), 3_600 * S);
    let last = T0 + (RAMP_UP_S + WINDOW_S + 3) * S;
    let whole = ledger.whole_runs().unwrap().remove(0);
    assert!(whole.at_ns > last - 2 * S && whole.at_ns <= last, "{} s", whole.at_ns.saturating_sub(T0) / S);
    assert_eq!(keep.due(&ledger, whole.at_ns + hour).unwrap(), []);
    assert_eq!(keep.due(&ledger, whole.at_ns + hour + 1).unwrap(), [run]);
    ledger.set_study_state(&id, StudyState::Failed, T0 + hour, "").unwrap();
    assert_eq!(keep.due(&ledger, T0 + 2 * hour).unwrap(), [], "its study ended later");
    assert_eq!(keep.due(&ledger, T0 + 2 * hour + 1).unwrap(), [run]);
}

/// What an agent sends that comes back after its run was rolled up.
fn late(lab: &Lab, run: RunId) -> Vec<v1::Event> {
    let phase =
        v1::Phase { kind: v1::phase::Kind::Failed.into(), message: "it died".to_owned(), ..v1::Phase::default() };
    let undone = v1::Undone { at_ns: NOW, ..v1::Undone::default() };
    let next = lab.ledger.last_seq(boot("load-a")).unwrap() + 1;
    [Body::Interval(interval(50, 100)), Body::Phase(phase), Body::Undone(undone)]
        .into_iter()
        .zip(next..)
        .map(|(body, seq)| v1::Event { seq, run: run.0, body: Some(body) })
        .collect()
}

#[test]
fn what_comes_after_a_roll_up_is_acknowledged_and_changes_nothing_but_what_was_undone() {
    let mut lab = lab_of(vec![long(1, 100), long(2, 100)]);
    assert!(roll_up(&mut lab.ledger, RunId(1), NOW, &mut |_| true).unwrap());
    let before = runs(&lab.ledger);
    let events = late(&lab, RunId(1));
    let last = events.last().unwrap().seq;
    assert_eq!(lab.ledger.record("load-a", boot("load-a"), &events).unwrap(), last);
    expect_worth(runs(&lab.ledger), &before);
    let kept =
        |run| lab.ledger.events(run).unwrap().into_iter().filter(|it| it.event.seq + 3 > last && it.agent == "load-a");
    assert_eq!(kept(RunId(1)).filter(|it| matches!(it.event.body, Some(Body::Undone(_)))).count(), 1);
    assert_eq!(kept(RunId(1)).filter(|it| it.event.body.is_none()).count(), 2);
    // A run that is whole takes them as ever.
    let events = late(&lab, RunId(2));
    lab.ledger.record("load-a", boot("load-a"), &events).unwrap();
    assert_eq!(runs(&lab.ledger)[1].verdict(), Verdict::Invalid);
}

#[test]
fn a_judgement_that_does_not_know_every_event_is_not_written_down() {
    let mut lab = lab_of(vec![long(1, 100)]);
    let judged = |ledger: &Ledger| match Rollup::judge(ledger, RunId(1), NOW, &mut || true).unwrap() {
        Judgement::Now(rollup, fact) => (rollup, fact),
        other => panic!("{other:?}"),
    };
    let (rollup, fact) = judged(&lab.ledger);
    let events = late(&lab, RunId(1));
    lab.ledger.record("load-a", boot("load-a"), &events).unwrap();
    assert!(!rollup.begin(&mut lab.ledger, &fact).unwrap());
    assert_eq!(runs(&lab.ledger)[0].sums_s, None);
    let (rollup, fact) = judged(&lab.ledger);
    assert!(rollup.begin(&mut lab.ledger, &fact).unwrap());
    assert_eq!(runs(&lab.ledger)[0].verdict(), Verdict::Invalid, "the agent had failed");
}

#[test]
fn judging_is_left_off_as_soon_as_nobody_waits_for_it() {
    let mut tape = long(1, 100);
    let intervals: Vec<_> = tape.events.iter().filter(|(_, body)| matches!(body, Body::Interval(_))).cloned().collect();
    (0..10).for_each(|_| tape.events.extend(intervals.clone()));
    let mut lab = lab_of(vec![tape]);
    let mut asked = Vec::new();
    let done = roll_up(&mut lab.ledger, RunId(1), NOW, &mut |between| {
        asked.push(between);
        false
    });
    assert!(!done.unwrap());
    assert_eq!(asked, [Between::Events]);
    assert_eq!(runs(&lab.ledger)[0].sums_s, None, "nothing was written");
}

#[test]
fn a_run_that_cannot_be_read_holds_no_other_up() {
    let lab = lab_of(vec![long(1, 100), long(2, 100)]);
    let Lab { dir, ledger, .. } = lab;
    let path = ledger.path().to_owned();
    drop(ledger);
    let spoil = "UPDATE events SET payload = x'ffff' WHERE run = 1 AND kind = 'interval' AND agent = 'load-b'";
    assert!(rusqlite::Connection::open(path).unwrap().execute(spoil, []).unwrap() > 0);
    let failed = all_old(dir.path(), Keep::DEFAULT, &mut |_| true).unwrap();
    assert!(matches!(&failed[..], [(RunId(1), LedgerError::Damaged { .. })]), "{failed:?}");
    let ledger = Ledger::read_only(dir.path()).unwrap();
    let left: Vec<RunId> = ledger.whole_runs().unwrap().into_iter().map(|whole| whole.run).collect();
    assert_eq!(left, [RunId(1)]);
}

#[test]
fn an_agent_that_comes_back_is_believed_from_where_it_was() {
    let mut lab = lab_of(vec![long(1, 100)]);
    let agents = AGENTS.map(boot);
    let before = agents.map(|boot| lab.ledger.last_seq(boot).unwrap());
    all(&mut lab.ledger);
    assert_eq!(agents.map(|boot| lab.ledger.last_seq(boot).unwrap()), before);
}

#[test]
fn waits_that_only_dropped_readings_tell_of_are_told_by_the_next() {
    let mut tape = long(1, 100);
    for reading in tape.readings() {
        let second = (reading.after_ns as i64 - T0 as i64) / S as i64;
        if second % 10 == 3 {
            reading.values.insert("wait.WRITELOG.ms".to_owned(), (1_000 + second) as u64);
        }
    }
    let mut lab = lab_of(vec![tape]);
    let before = runs(&lab.ledger);
    assert_eq!(before[0].waits.len(), 1);
    all(&mut lab.ledger);
    expect_worth(runs(&lab.ledger), &before);
}

#[test]
fn what_a_roll_up_frees_goes_back_to_the_disk() {
    let mut lab = lab_of((1..=12).map(|repetition| long(repetition, 100)).collect());
    let size = |lab: &Lab| std::fs::metadata(lab.ledger.path()).unwrap().len();
    rusqlite::Connection::open(lab.ledger.path()).unwrap().query_row("PRAGMA wal_checkpoint", [], |_| Ok(())).unwrap();
    let before = size(&lab);
    all(&mut lab.ledger);
    let after = size(&lab);
    assert!(after * 2 < before, "{after} of {before} bytes are left");
}

/// Ledgers of the first vufleets.
fn to_version_1(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch("ALTER TABLE runs DROP COLUMN thinned_ns; PRAGMA user_version = 1;").unwrap();
}

#[test]
fn a_ledger_of_the_first_version_is_read_as_it_is_and_brought_up_by_a_writer() {
    let lab = lab_of(vec![long(1, 100)]);
    let before = runs(&lab.ledger);
    let Lab { dir, ledger, .. } = lab;
    let path = ledger.path().to_owned();
    drop(ledger);
    to_version_1(&path);
    let reader = Ledger::read_only(dir.path()).unwrap();
    expect_worth(runs(&reader), &before);
    assert_eq!(Keep::DEFAULT.due(&reader, NOW).unwrap(), []);
    let mut ledger = Ledger::open(dir.path()).unwrap();
    assert_eq!(Keep::DEFAULT.due(&ledger, NOW).unwrap(), [RunId(1)]);
    all(&mut ledger);
    expect_worth(runs(&ledger), &before);
}

#[test]
fn a_judgement_that_cannot_be_read_is_no_verdict() {
    let mut lab = lab_of(vec![long(1, 100)]);
    all(&mut lab.ledger);
    let connection = rusqlite::Connection::open(lab.ledger.path()).unwrap();
    let spoil = "UPDATE events SET payload = CAST(replace(payload, '\"reasons\":', '\"grounds\":') AS BLOB) WHERE kind = 'fact'";
    assert!(connection.execute(spoil, []).unwrap() > 0);
    let run = runs(&lab.ledger).remove(0);
    assert_eq!(run.verdict(), Verdict::Invalid);
    assert!(run.sentences(false).concat().contains("cannot be read back"), "{:?}", run.reasons);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Whatever the seconds were like and wherever a roll-up stopped, the run is worth what it was.
    #[test]
    fn a_roll_up_may_be_interrupted_anywhere(
        rates in prop::collection::vec((0_u64..400, 0_u64..40, 0_u32..8), (RAMP_UP_S + WINDOW_S + 1) as usize),
        stops in prop::collection::vec(1_usize..4, 1..6),
        interval_ms in prop::sample::select(vec![1_000_u64, 500, 100]),
    ) {
        let mut tape = long(1, 1);
        tape.facts().interval_ns = interval_ms * MS;
        tape.events.retain(|(_, body)| !matches!(body, Body::Interval(_)));
        for agent in AGENTS {
            for (second, (tps, jitter, faults)) in rates.iter().enumerate() {
                for part in 0..1_000 / interval_ms {
                    let mut one = interval(second as i64, *tps / (1 + part));
                    (one.start_ns, one.end_ns) = (one.start_ns + part * interval_ms * MS, one.start_ns + (part + 1) * interval_ms * MS + jitter * 1_000);
                    one.connect_faults = vec![v1::FaultCount { kind: 4, count: u64::from(*faults) }];
                    tape.events.push((agent.to_owned(), Body::Interval(one)));
                }
            }
        }
        let mut lab = lab_of(vec![tape]);
        let before = runs(&lab.ledger);
        let mut stops = stops.into_iter();
        loop {
            let mut left = stops.next().unwrap_or(usize::MAX);
            let done = roll_up(&mut lab.ledger, RunId(1), NOW, &mut |between| {
                left = left.saturating_sub(usize::from(between == Between::Steps));
                left > 0
            }).unwrap();
            expect_worth(runs(&lab.ledger), &before);
            if done {
                break;
            }
        }
        prop_assert!(Keep::DEFAULT.due(&lab.ledger, NOW).unwrap().is_empty());
    }
}

fn coordinator(data: &Path) -> Child {
    let mut command = Command::cargo_bin("vufleet").unwrap();
    command.args(["coordinator", "--listen", "127.0.0.1:0", "--lease", "300ms", "--keep", "1h", "--data"]).arg(data);
    command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_coordinator_that_is_killed_while_it_rolls_up_leaves_a_whole_ledger() {
    let lab = lab_of((1..=6).map(|repetition| long(repetition, 300)).collect());
    let before = runs(&lab.ledger);
    let Lab { dir, ledger, .. } = lab;
    drop(ledger);
    let left = || {
        let reader = Ledger::read_only(dir.path()).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        Keep::DEFAULT.due(&reader, now).unwrap().len()
    };
    let mut killed = 0;
    // Three leases are for agents to come back in.
    for delay_ms in (960..).step_by(25) {
        if left() == 0 {
            break;
        }
        assert!(delay_ms < 60_000, "it never gets anywhere");
        let mut coordinator = coordinator(dir.path());
        std::thread::sleep(Duration::from_millis(delay_ms));
        coordinator.kill().unwrap();
        coordinator.wait().unwrap();
        killed += 1;
        expect_worth(runs(&Ledger::read_only(dir.path()).unwrap()), &before);
    }
    assert!(killed > 0);
    // The lock is gone with its holder.
    let ledger = Ledger::open(dir.path()).unwrap();
    assert!((1..=6).all(|run| events(&ledger, RunId(run)) < 400));
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let lab = lab_of(vec![long(1, 100)]);
    let taken = all_old(lab.dir.path(), Keep::DEFAULT, &mut |_| true);
    assert!(matches!(taken, Err(LedgerError::Locked { .. })), "{taken:?}");
}
