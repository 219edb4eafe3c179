//! How far runs are apart that should be equal, and how many of them a study takes for that.

mod synthetic;

use synthetic::{Lab, S, STUDY, Tape, near, study};
use vufleet::analysis::{Metric, Report, blocks_needed};
use vufleet_scenarios::study::{Repetitions, Study, Until};

/// Variants besides the baseline, each of which changes something.
fn variants(names: &[&str]) -> String {
    let change = "apply = [\"SET GLOBAL general_log = 1\"]\nrevert = [\"SET GLOBAL general_log = 0\"]\n";
    names.iter().map(|name| format!("[[variants]]\nname = \"{name}\"\n{change}")).collect()
}

fn compared(names: &[&str]) -> String {
    format!("{STUDY}\n[[variants]]\nname = \"baseline\"\n{}", variants(names))
}

fn until(text: &str, min: u32, max: u32, percent: f64) -> Study {
    let mut study = study(text);
    study.schedule.repetitions = Repetitions::Until(Until { min, max, percent, metric: "tps" });
    study
}

fn record(lab: &mut Lab, variant: &str, block: u32, tps: f64) {
    // Rates are whole transactions of two agents: large ones say to a ten-thousandth what is asked for.
    let mut tape = Tape::new(block);
    tape.variant = variant.to_owned();
    for (_, interval) in tape.intervals().filter(|(_, interval)| interval.kinds[0].ok > 0) {
        interval.kinds[0].ok = (tps * 50.0).round() as u64;
    }
    tape.events.retain(|(agent, _)| agent != "observer");
    tape.facts().observing.clear();
    tape.facts().counters_agent = None;
    lab.record(tape);
}

/// Blocks of a baseline at 100 and a variant at 100 times these.
fn blocks_of(study: &Study, ratios: &[f64]) -> Report {
    let mut lab = Lab::with(study);
    for (block, ratio) in (1..).zip(ratios) {
        record(&mut lab, "baseline", block, 100.0);
        record(&mut lab, "audit", block, 100.0 * ratio);
    }
    lab.report()
}

/// Log-ratios of 0.98 and one more each way: their standard deviation is a tenth of the root of 0.001 (3.16 %).
const PILOT: [f64; 5] = [-0.04, -0.02, 0.0, 0.02, 0.04];

fn pilot() -> Vec<f64> {
    PILOT.iter().map(|log| 0.98 * f64::exp(*log)).collect()
}

#[test]
fn a_pilot_says_how_many_blocks_it_takes() {
    // (2.7764 x 0.031623 / ln 1.02)^2 = 19.66; / ln 1.05: 3.24, and there are five.
    for (percent, max, needed, wanted) in [(2.0, 40, 20, 20), (2.0, 12, 20, 12), (5.0, 40, 5, 5)] {
        let report = blocks_of(&until(&compared(&["audit"]), 5, max, percent), &pilot());
        let found = report.until.as_ref().unwrap();
        assert_eq!((found.metric, found.needed, found.wanted()), (Metric::Tps, Some(needed), Some(wanted)));
        assert_eq!((found.is_cut(), report.repetitions), (needed > max, wanted));
        assert_eq!(blocks_needed(&report), Some(wanted));
        near(found.sd_percent.unwrap(), 3.2127, 1e-3);
        // 2.7764 x 0.031623 / root of 5.
        near(found.reached_percent.unwrap(), 4.0048, 1e-3);
        assert_eq!(report.short_cells().is_empty(), wanted == 5);
    }
}

#[test]
fn the_interval_keeps_the_pilots_deviation() {
    // Fifteen more blocks without any noise: an ordinary interval would be far too narrow.
    let ratios: Vec<f64> = pilot().into_iter().chain([0.98; 15]).collect();
    let report = blocks_of(&until(&compared(&["audit"]), 5, 40, 2.0), &ratios);
    let change = report.cells[1].change.get(Metric::Tps).unwrap();
    assert_eq!((change.n, change.method), (20, "paired, two-stage"));
    near(change.change.percent, -2.0, 1e-2);
    let half = 2.7764 * 0.031_623 / 20f64.sqrt();
    near(change.change.ci[0], 100.0 * ((0.98f64.ln() - half).exp() - 1.0), 1e-2);
    near(change.change.ci[1], 100.0 * ((0.98f64.ln() + half).exp() - 1.0), 3e-2);
    let until = report.until.as_ref().unwrap();
    assert!(until.reached_percent.unwrap() <= 2.0, "{until:?}");
    assert!(report.short_cells().is_empty());
    let other = report.cells[1].change.get(Metric::Qps);
    assert!(other.is_none_or(|change| change.method == "paired"), "one metric decides");
}

#[test]
fn a_pilot_with_gaps_decides_nothing() {
    let study = until(&compared(&["audit"]), 5, 40, 2.0);
    let short = blocks_of(&study, &pilot()[..4]);
    assert_eq!((blocks_needed(&short), short.repetitions), (None, 5));
    assert_eq!(short.until.as_ref().unwrap().reached_percent, None);
    assert_eq!(short.cells[1].change.get(Metric::Tps).unwrap().method, "paired");
    let mut lab = Lab::with(&study);
    for block in 1..=6 {
        record(&mut lab, "baseline", block, 100.0);
        if block != 3 {
            record(&mut lab, "audit", block, 98.0);
        }
    }
    assert_eq!(blocks_needed(&lab.report()), None, "a later block does not stand in for one of the pilot");
    assert_eq!(blocks_needed(&blocks_of(&synthetic::study(&compared(&["audit"])), &pilot())), None, "nobody asked");
}

#[test]
fn without_variants_the_figure_itself_is_made_narrow() {
    let mut lab = Lab::with(&until(STUDY, 5, 40, 2.0));
    for (block, log) in (1..).zip(PILOT) {
        record(&mut lab, "baseline", block, 100.0 * f64::exp(log));
    }
    let report = lab.report();
    assert_eq!(blocks_needed(&report), Some(20));
    let tps = report.cells[0].metrics.get(Metric::Tps).unwrap();
    near(tps.mean, 10_000.0, 1e-3);
    near(tps.ci.unwrap()[1], 10_000.0 * f64::exp(2.7764 * 0.031_623 / 5f64.sqrt()), 1e-3);
}

#[test]
fn equal_variants_show_how_much_is_noise() {
    let text = format!("{}[[variants]]\nname = \"again\"\n", compared(&["small", "large"]));
    let mut lab = Lab::of(&text);
    assert_eq!(lab.report().controls, ["again"]);
    for (block, again) in (1..).zip([1.01, 0.99, 1.02, 0.985]) {
        for (variant, ratio) in [("baseline", 1.0), ("again", again), ("small", 0.99), ("large", 0.8)] {
            record(&mut lab, variant, block, 100.0 * ratio);
        }
    }
    let report = lab.report();
    let tps = report.noise_floor.iter().find(|floor| floor.metric == Metric::Tps).unwrap();
    let again = &report.cells[3].change.get(Metric::Tps).unwrap().change;
    assert_eq!((tps.percent, tps.comparisons), (again.percent.abs(), 1));
    assert_eq!(tps.bound_percent, again.ci[1].abs().max(again.ci[0].abs()));
    let below: Vec<bool> =
        report.cells[1..].iter().map(|cell| cell.change.get(Metric::Tps).unwrap().below_noise_floor).collect();
    assert_eq!(below, [true, false, false], "small, large, and again itself");
    assert!(blocks_of(&study(&compared(&["audit"])), &pilot()).noise_floor.is_empty());
}

#[test]
fn a_drift_over_blocks_is_told_with_the_freedom_of_blocks() {
    let mut lab = Lab::of(&compared(&["audit"]));
    // 1 % less from block to block, and what each block's runs share.
    for (block, shared) in (1..).zip([0.001, -0.001, 0.0, -0.001, 0.001]) {
        for (variant, ratio) in [("baseline", 1.0), ("audit", 0.9)] {
            record(&mut lab, variant, block, 100.0 * ratio * f64::exp(shared - 0.01 * f64::from(block)));
        }
    }
    // A block with one of its cells missing shifts no mean.
    record(&mut lab, "audit", 6, 50.0);
    let report = lab.report();
    let drift = report.block_drift.iter().find(|drift| drift.metric == Metric::Tps).unwrap();
    assert_eq!(drift.blocks, 5);
    near(drift.per_block.percent, -0.995, 1e-2);
    // The residuals' squares sum to 4e-6 over three degrees of freedom, those of the places to 10; t is 3.182.
    let half = 100.0 * 3.182 * (4e-6_f64 / 3.0 / 10.0).sqrt();
    near(drift.per_block.ci[1] - drift.per_block.percent, half, 0.05);
    assert!(drift.p < 0.001, "{drift:?}");
    assert!(report.outliers.iter().all(|outlier| outlier.repetition == 6), "{:?}", report.outliers);
}

#[test]
fn a_run_that_stands_alone_is_named_and_counts() {
    let mut lab = Lab::new();
    for (block, tps) in (1..).zip([100.0, 100.5, 99.5, 101.0, 70.0]) {
        record(&mut lab, "baseline", block, tps);
    }
    let report = lab.report();
    let named: Vec<_> = report.outliers.iter().map(|it| (it.run, it.metric, it.repetition)).collect();
    assert_eq!(named, [(5, Metric::Tps, 5)]);
    near(report.outliers[0].percent, -30.0, 1e-3);
    assert_eq!(report.cells[0].n, 5);
    near(report.cells[0].metrics.get(Metric::Tps).unwrap().mean, 9_420.0, 1e-3);
}

#[test]
fn a_process_that_did_nothing_is_not_the_databases() {
    let mut tape = Tape::new(1);
    // 84,000 statements in the window, and a tick of the process that forks those which answer them.
    for sample in tape.hosts("observer") {
        sample.processes[1].cpu_ticks = sample.at_ns / (20 * S);
    }
    let report = synthetic::report_of(tape);
    let run = &report.runs[0];
    for metric in [Metric::DbProcessCpuPercent, Metric::CpuMsPerTxn] {
        assert_eq!(run.metrics.get(metric), None, "{}", metric.name());
    }
    assert!(run.metrics.get(Metric::DbHostCpuPercent).is_some());
    assert!(run.process_missing.as_ref().unwrap().contains("monitor.process"), "{:?}", run.process_missing);
    assert_eq!(synthetic::report_of(Tape::new(1)).runs[0].process_missing, None);
}
