//! Two studies with a known truth, held against each other.

mod synthetic;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use synthetic::{Lab, S, STUDY, Tape, near};
use vufleet::analysis::compare::{Comparison, Mismatch, Pairing, Subject, compare};
use vufleet::analysis::{Conclusion, Metric, Options};
use vufleet::ledger::{DATABASE, Fact, Moment};
use vufleet::render::comparison as told;

const BLOCKS: u32 = 5;

/// A baseline and an audit at 16 users. `rates` are transactions a second and agent of both; blocks differ a little.
fn lab(rates: [u64; 2], relative_only: bool, edit: impl Fn(String) -> String, tape: impl Fn(&mut Tape)) -> Lab {
    let study = edit(format!(
        "{STUDY}[[variants]]\nname = \"baseline\"\n[[variants]]\nname = \"audit\"\nobserver = {{ preset = \"userstat\" }}\n[report]\nrelative_only = {relative_only}\n"
    ));
    let mut lab = Lab::of(&study.replace("repetitions = 3", "repetitions = 5"));
    for block in 1..=BLOCKS {
        for (variant, rate) in ["baseline", "audit"].into_iter().zip(rates) {
            let mut run = Tape::with_rate(block, rate + u64::from(block % 3));
            run.variant = variant.to_owned();
            tape(&mut run);
            lab.record(run);
        }
    }
    lab.finish();
    lab
}

fn plain(rates: [u64; 2]) -> Lab {
    lab(rates, false, |study| study, |_| {})
}

fn subject(lab: &Lab) -> Subject {
    Subject::read(&lab.ledger, "last").unwrap()
}

fn alike(a: &Lab, b: &Lab) -> Comparison {
    compare(&subject(a), &subject(b), &Pairing::Alike, Options::default()).unwrap()
}

#[test]
fn cells_alike_are_compared_without_pairs_and_corrected_together() {
    let comparison = alike(&plain([1000, 900]), &plain([1100, 902]));
    let names: Vec<_> = comparison.cells.iter().map(|cell| cell.a.to_string()).collect();
    assert_eq!(names, ["baseline/16vu", "audit/16vu"]);
    let step = |cell: usize| comparison.cells[cell].change.get(Metric::Tps).unwrap();
    near(step(0).change.percent, 10.0, 0.01);
    assert_eq!((step(0).conclusion, step(0).method), (Conclusion::Higher, "welch"));
    assert_eq!(step(1).conclusion, Conclusion::Higher, "two in nine hundred, with next to no noise");
    assert!(step(0).p_holm >= step(0).p && step(0).detectable_percent > 0.0);
    near(comparison.cells[0].metrics.get(Metric::Tps).unwrap()[1].mean, 2200.0, 0.01);
    assert_eq!(comparison.cells[0].n, [5, 5]);
    let text = told(&comparison, 160);
    for words in ["B against A, not paired", "+10.0%", "higher", "made at different times", "tps"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_a_variant_changes_is_compared_free_of_what_differs_between_the_studies() {
    // B's machine is twice as fast; the audit takes a tenth in A, and three tenths in B.
    let comparison = alike(&plain([1000, 900]), &plain([2000, 1400]));
    assert_eq!(comparison.effects.len(), 1);
    let effect = &comparison.effects[0];
    assert_eq!((effect.cell.variant.as_str(), effect.n), ("audit", [5, 5]));
    let [a, b] = effect.own.get(Metric::Tps).unwrap();
    near(a.percent, -10.0, 0.02);
    near(b.percent, -30.0, 0.02);
    let step = effect.change.get(Metric::Tps).unwrap();
    near(step.change.percent, 100.0 * (0.7 / 0.9 - 1.0), 0.02);
    assert_eq!(step.conclusion, Conclusion::Lower);
    let same = alike(&plain([1000, 900]), &plain([2000, 1800]));
    let step = same.effects[0].change.get(Metric::Tps).unwrap();
    assert!(step.change.percent.abs() < 0.2, "{step:?}");
}

#[test]
fn two_cells_of_one_study_are_paired_by_block() {
    let lab = plain([1000, 900]);
    let both = |pairing: &Pairing| compare(&subject(&lab), &subject(&lab), pairing, Options::default());
    let cells = Pairing::Cells { a: "baseline/16vu".to_owned(), b: "audit/16vu".to_owned() };
    let comparison = both(&cells).unwrap();
    let step = comparison.cells[0].change.get(Metric::Tps).unwrap();
    assert_eq!(step.method, "paired");
    near(step.change.percent, -10.0, 0.02);
    let text = told(&comparison, 160);
    assert!(text.contains("paired by block") && !text.contains("different times"), "{text}");
    let variants = Pairing::Variants { a: "baseline".to_owned(), b: "audit".to_owned() };
    assert_eq!(both(&variants).unwrap().cells, comparison.cells);
    let refused = both(&Pairing::Alike).unwrap_err();
    assert!(matches!(&refused, Mismatch::SameStudy { .. }) && refused.to_string().contains("--cell-a"), "{refused}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_there_is() {
    let a = plain([1000, 900]);
    let b = lab([1000, 900], false, |study| study.replace("vus = 16", "vus = 8"), |run| run.profile = "8vu".to_owned());
    let (a, b) = (subject(&a), subject(&b));
    for (pairing, words) in [
        (Pairing::Alike, "baseline, audit at 16vu; 20260528"),
        (Pairing::Variants { a: "x".to_owned(), b: "audit".to_owned() }, "no variant \"x\"; it has baseline, audit"),
        (Pairing::Cells { a: "audit/16vu".to_owned(), b: "audit/16vu".to_owned() }, "it has baseline/8vu, audit/8vu"),
    ] {
        let refused = compare(&a, &b, &pairing, Options::default()).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn what_else_differs_is_listed() {
    let settings = |value: &'static str| {
        move |run: &mut Tape| {
            let values = BTreeMap::from([("sync_binlog".to_owned(), Some(value.to_owned()))]);
            let fact = Fact::Settings { source: DATABASE.to_owned(), at_ns: 7 * S, moment: Moment::First, values };
            if (run.repetition, run.variant.as_str()) == (1, "baseline") {
                run.noted.push(fact);
            }
        }
    };
    let a = lab([1000, 900], false, |study| study, settings("0"));
    let b = lab(
        [1000, 900],
        false,
        |study| study.replace("table_size = 25000", "table_size = 10000"),
        |run| {
            settings("1")(run);
            run.facts().target_version = Some("11.4.2-MariaDB".to_owned());
            run.facts().driving.pop();
        },
    );
    let comparison = alike(&a, &b);
    let found: Vec<_> = comparison.differences.iter().map(|it| format!("{} {}", it.of, it.name)).collect();
    for known in ["target version", "study workload.table_size", "fleet driving agents", "database sync_binlog"] {
        assert!(found.iter().any(|name| name == known), "{known}: {found:?}");
    }
    assert!(!found.iter().any(|name| name.starts_with("vufleet")), "{found:?}");
    let text = told(&comparison, 160);
    for words in
        ["target version: 10.11.19-MariaDB, 11.4.2-MariaDB", "database sync_binlog: 0, 1", "a change may be theirs"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn absolute_figures_are_withheld_when_either_study_asks() {
    let (open, closed) = (plain([1000, 900]), lab([1234, 1100], true, |study| study, |_| {}));
    for (a, b) in [(&open, &closed), (&closed, &open)] {
        let comparison = alike(a, b);
        assert!(comparison.withheld);
        let everything = told(&comparison, 200) + &serde_json::to_string(&comparison).unwrap();
        for figure in ["2000", "2468", "1234", "1235"] {
            assert!(!everything.contains(figure), "{figure}: {everything}");
        }
        assert!(comparison.cells[0].change.get(Metric::Tps).is_some(), "changes stay");
        assert!(comparison.cells[0].metrics.get(Metric::DbHostCpuPercent).is_some(), "so do per cents of CPU");
        let absolute = compare(&subject(a), &subject(b), &Pairing::Alike, Options { absolute: true }).unwrap();
        assert!(!absolute.withheld && absolute.cells[0].metrics.get(Metric::Tps).is_some());
    }
}

fn vufleet(dir: &Path, line: &str) -> (Option<i32>, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_vufleet")).args(line.split_whitespace()).current_dir(dir).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_verb_reads_two_ledgers_and_says_by_its_exit_code_what_was_missing() {
    let (a, b) = (plain([1000, 900]), plain([1100, 990]));
    let line =
        format!("compare last last --data {} --data-b {} --json", a.dir.path().display(), b.dir.path().display());
    let (code, said, _) = vufleet(a.dir.path(), &line);
    assert_eq!(code, Some(0), "{said}");
    let comparison: Value = serde_json::from_str(&said).unwrap();
    let change = &comparison["cells"][0]["change"]["tps"];
    assert_eq!(
        (change["conclusion"].as_str(), change["method"].as_str()),
        (Some("higher"), Some("welch")),
        "{change:#}"
    );
    assert_eq!(comparison["cells"][0]["a"]["variant"], "baseline");
    let mut single = Lab::of(STUDY);
    single.record(Tape::new(1));
    single.finish();
    let line = format!("compare last last --data {} --data-b {}", a.dir.path().display(), single.dir.path().display());
    let (code, said, _) = vufleet(a.dir.path(), &line);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("fewer than 2 runs"), "{said}");
    let (code, _, said) = vufleet(a.dir.path(), &line.replace("compare last", "compare 1999"));
    assert!(code == Some(1) && said.contains("1999"), "{said}");
    let (code, _, said) = vufleet(a.dir.path(), "compare last last --cell-a x/y");
    assert!(code == Some(2) && said.contains("--cell-b"), "{said}");
}
