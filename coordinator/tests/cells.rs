//! What several runs with a known truth are reported as.

mod synthetic;

use synthetic::{Lab, S, STUDY, T0, Tape, near};
use vufleet::analysis::verdict::Verdict;
use vufleet::analysis::{self, Conclusion, Metric, Options, report};
use vufleet::ledger::{RunEnd, RunId, StudyState};

#[test]
fn cells_have_the_interval_of_their_runs_means() {
    let mut lab = Lab::new();
    for (repetition, tps) in [(1, 98), (2, 99), (3, 100), (4, 101), (5, 102)] {
        lab.record(Tape::with_rate(repetition, tps));
    }
    let report = lab.report();
    assert!(report.short_cells().is_empty());
    let cell = &report.cells[0];
    assert_eq!((cell.n, cell.profile.as_str(), cell.variant.as_str()), (5, "16vu", "baseline"));
    let tps = cell.metrics.get(Metric::Tps).unwrap();
    near(tps.mean, 200.0, 1e-9);
    near(tps.sd.unwrap(), 10f64.sqrt(), 1e-9);
    // t of 4 degrees of freedom is 2.7764.
    near(tps.plus_minus().unwrap(), 2.7764 * 10f64.sqrt() / 5f64.sqrt(), 1e-4);
    assert!(cell.change.is_empty());
}

#[test]
fn invalid_runs_are_left_out_and_the_last_valid_attempt_counts() {
    let mut lab = Lab::new();
    let mut broken = Tape::with_rate(1, 10);
    broken.end = Some((T0 + S, RunEnd::Failed("the database is gone".to_owned())));
    lab.record(broken);
    for (attempt, tps) in [(2, 90), (3, 100)] {
        lab.record(Tape { attempt, ..Tape::with_rate(1, tps) });
    }
    let report = lab.report();
    assert_eq!(report.cells[0].n, 1);
    assert_eq!(report.short_cells(), ["baseline 16vu has 1 of 3"]);
    near(report.cells[0].metrics.get(Metric::Tps).unwrap().mean, 200.0, 1e-9);
    assert_eq!(report.runs.iter().map(|run| run.superseded).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn a_run_under_way_is_not_reported_and_one_that_its_coordinator_left_is_invalid() {
    let mut lab = Lab::new();
    let run = Tape { end: None, ..Tape::new(1) };
    lab.record(run);
    assert!(lab.report().runs.is_empty());
    lab.ledger.set_study_state(&lab.id, StudyState::Interrupted, T0, "").unwrap();
    let report = lab.report();
    assert_eq!(report.runs[0].verdict(), Verdict::Invalid);
    assert_eq!(report.runs[0].reasons[0].to_string(), "the coordinator ended before the run did");
}

/// Two variants, the second of which costs a tenth, over blocks that differ much more than that.
fn compared(costs: &[u64]) -> vufleet::analysis::Report {
    let text = format!("{STUDY}\n[[variants]]\nname = \"baseline\"\n[[variants]]\nname = \"audit\"\n");
    let mut lab = Lab::of(&text);
    for (block, (rate, cost)) in [100, 200, 150, 120].into_iter().zip(costs).enumerate() {
        let block = block as u32 + 1;
        lab.record(Tape::with_rate(block, rate));
        lab.record(Tape { variant: "audit".to_owned(), ..Tape::with_rate(block, rate - cost) });
    }
    lab.report()
}

#[test]
fn a_variant_is_compared_within_blocks() {
    let report = compared(&[10, 18, 16, 12]);
    assert!(report.cells[0].change.is_empty(), "the baseline has no change");
    let change = report.cells[1].change.get(Metric::Tps).unwrap();
    near(change.change.percent, -9.92, 0.01);
    assert!(change.change.ci[0] > -12.0 && change.change.ci[1] < -8.0, "{change:?}");
    assert_eq!((change.conclusion, change.n, change.method), (Conclusion::Lower, 4, "paired"));
    assert!(change.welch.as_ref().unwrap().ci[1] > 20.0, "without blocks it drowns: {:?}", change.welch);
    assert!(report.cells[1].change.get(Metric::ErrorsPerS).is_none(), "zero has no logarithm");
}

#[test]
fn no_difference_is_concluded_from_noise() {
    let report = compared(&[0, 2, 0, 1]);
    let change = report.cells[1].change.get(Metric::Tps).unwrap();
    assert_eq!(change.conclusion, Conclusion::NoDifferenceShown);
    assert!(change.detectable_percent > change.change.percent.abs());
}

#[test]
fn one_run_is_reported_as_it_is_in_the_whole() {
    let mut lab = Lab::new();
    lab.record(Tape::new(1));
    let run = lab.record(Tape::with_rate(2, 50));
    let brief = analysis::brief(&lab.ledger, "last", Options::default()).unwrap();
    assert_eq!(analysis::run(&lab.ledger, run).unwrap(), brief.runs[1]);
    lab.record(Tape { attempt: 2, ..Tape::with_rate(2, 60) });
    let report = lab.report();
    assert!(report.runs[1].superseded && !report.runs[1].samples.is_empty());
    for told in &analysis::brief(&lab.ledger, "last", Options::default()).unwrap().runs {
        let whole = report.runs.iter().find(|run| run.run == told.run).unwrap();
        assert_eq!(&analysis::run_of(&lab.ledger, &report, told).unwrap(), whole);
    }
    assert!(analysis::run(&lab.ledger, RunId(99)).is_err());
}

#[test]
fn an_unknown_study_is_refused() {
    let lab = Lab::new();
    let error = report(&lab.ledger, "nothing", Default::default()).unwrap_err();
    assert!(error.to_string().contains("no study \"nothing\""), "{error}");
}
