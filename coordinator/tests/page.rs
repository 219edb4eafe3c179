//! `report.html`: one page that tells what the other forms tell, and needs nothing but itself.

mod synthetic;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use serde_json::Value;
use synthetic::audit::{all_files, lab, told};
use synthetic::{Lab, S, STUDY, T0, Tape, near};
use vufleet::analysis::statistics::Percent;
use vufleet::analysis::waits::Wait;
use vufleet::analysis::{
    BlockDrift, Metric, NoiseFloor, Outlier, Report, SettingsReport, SwitchReport, UntilReport, brief,
};
use vufleet::ledger::{MeasureFacts, RunEnd};
use vufleet::render::text;
use vufleet_proto::v1::event::Body;

fn page(report: &Report) -> String {
    all_files(report).remove("report.html").unwrap()
}

/// The words of a page, without its markup.
fn words(page: &str) -> String {
    let body = page.split_once("<body>").unwrap().1;
    let texts = body.split('<').filter_map(|piece| piece.split_once('>')).map(|(_, text)| text);
    let words = texts.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let plain = words.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    plain.replace("&nbsp;", " ").replace('\u{a0}', " ").replace("&amp;", "&")
}

/// What stands in the cells of its tables.
fn entries(page: &str) -> Vec<Vec<String>> {
    let row = |row: &str| {
        let cells = row.split("<td").skip(1).filter_map(|cell| cell.split_once('>')?.1.split_once("</td>"));
        cells.map(|(entry, _)| entry.replace("&lt;", "<")).collect::<Vec<_>>()
    };
    page.split("<tr>").skip(1).map(row).filter(|row| !row.is_empty()).collect()
}

/// Everything that a report may hold.
fn full() -> Report {
    let mut report = told(&lab(1, false), false);
    report.controls.clear();
    report.noise_floor = vec![NoiseFloor { metric: Metric::Tps, percent: 1.3, bound_percent: 2.9, comparisons: 2 }];
    let per_block = Percent { percent: 0.93, ci: [0.6, 1.2] };
    report.block_drift = vec![BlockDrift { metric: Metric::Tps, per_block, p: 0.0002, blocks: 3 }];
    report.outliers = vec![Outlier {
        run: 7,
        variant: "baseline".to_owned(),
        profile: "16vu".to_owned(),
        repetition: 1,
        metric: Metric::Tps,
        percent: 12.5,
        score: 4.2,
    }];
    report.until = Some(UntilReport {
        metric: Metric::Tps,
        percent: 2.0,
        pilot: 5,
        max: 20,
        sd_percent: Some(1.1),
        needed: Some(31),
        reached_percent: Some(2.4),
    });
    let before = BTreeMap::from([("innodb_flush_log_at_trx_commit".to_owned(), "1".to_owned())]);
    report.settings = vec![SettingsReport { source: "database".to_owned(), before, ..Default::default() }];
    for cell in &mut report.cells {
        let name = "WRITELOG".to_owned();
        cell.waits = vec![Wait { name, ms_per_s: 120.0, signal_ms_per_s: 2.0, waits_per_s: 100.0 }];
    }
    let mut switched = report.runs[0].clone();
    (switched.run, switched.repetition) = (99, 0);
    switched.switches =
        vec![SwitchReport { variant: "audit".to_owned(), from_ns: T0 + 12 * S, to_ns: T0 + 12 * S + S / 3 }];
    report.runs.push(switched);
    report
}

const HEADINGS: [&str; 11] = [
    "Change per level",
    "Load levels",
    "Over time",
    "Latency percentiles",
    "Waits",
    "Validity",
    "Settings of the database and the hosts",
    "Statistics",
    "How far equal runs are apart",
    "Doubts",
    "How it was measured",
];

fn headings(page: &str) -> Vec<&str> {
    page.split("<h2 id=")
        .skip(1)
        .filter_map(|rest| rest.split_once('>')?.1.split_once("</h2>"))
        .map(|it| it.0)
        .collect()
}

#[test]
fn everything_has_its_place_and_what_is_absent_has_none() {
    let mut report = full();
    report.target.shared_host = true;
    assert_eq!(headings(&page(&report)), HEADINGS);
    let mut lab = Lab::new();
    lab.record(Tape::new(1));
    lab.finish();
    let single = page(&lab.report());
    let expected =
        ["Load levels", "Over time", "Latency percentiles", "Validity", "Statistics", "Doubts", "How it was measured"];
    assert_eq!(headings(&single), expected);
    assert!(words(&single).contains("TPS was 200.0 (one run, no interval) at 16 virtual users."));
    let nothing = page(&Lab::new().report());
    assert_eq!(headings(&nothing), ["Load levels", "Doubts", "How it was measured"]);
    assert!(words(&nothing).contains("There is no answer: no run has ended."));
}

#[test]
fn the_answer_follows_the_conclusion() {
    let mut report = full();
    let first = |report: &Report| text(report, 4000).lines().next().unwrap().to_owned();
    let change = |report: &mut Report, profile: &str, edit: &dyn Fn(&mut vufleet::analysis::Change)| {
        let cell = report.cells.iter_mut().find(|cell| cell.profile == profile && cell.variant == "audit").unwrap();
        let mut changed = cell.change.get(Metric::Tps).unwrap().clone();
        edit(&mut changed);
        cell.change.put(Metric::Tps, changed);
    };
    change(&mut report, "16vu", &|change| change.change = Percent { percent: -7.8, ci: [-8.0, -7.7] });
    assert_eq!(
        first(&report),
        "audit lowers TPS by 7.4 to 7.8 % at 4 and 16 virtual users, most at 16 virtual users (95 % interval 7.7 to 8.0 %)."
    );
    let unshown = |change: &mut vufleet::analysis::Change| {
        change.conclusion = vufleet::analysis::Conclusion::NoDifferenceShown;
        change.detectable_percent = 2.1;
    };
    change(&mut report, "4vu", &unshown);
    assert_eq!(
        first(&report),
        "audit lowers TPS by 7.8 % (95 % interval 7.7 to 8.0 %) at 16 virtual users; at 4 virtual users no difference is \
         shown, where a change of 2.1 % would have been seen four times out of five."
    );
    change(&mut report, "4vu", &|change| change.not_after_correction_for = Some(2));
    assert!(
        first(&report).contains("(at 4 virtual users not after correction for 2 comparisons)"),
        "{}",
        first(&report)
    );
    change(&mut report, "16vu", &unshown);
    assert!(first(&report).starts_with("No difference in TPS is shown between audit and baseline at 4 and 16 virtual"));
    // Where load and database share a machine, throughput is what the load left over.
    report.target.shared_host = true;
    assert!(first(&report).starts_with("audit raises CPU per transaction by "), "{}", first(&report));
    // A variant that equals the baseline tells how much noise alone can do.
    report.controls = vec!["audit".to_owned()];
    let told = text(&report, 4000);
    assert!(told.contains("audit, in which the database is as in baseline, differs from it"), "{told}");
    assert!(told.contains("a difference is shown where there is none"), "{told}");
}

#[test]
fn a_study_without_a_run_that_counts_has_no_answer() {
    let mut lab = Lab::new();
    for repetition in 1..=2 {
        let end = Some((T0 + 5 * S, RunEnd::Failed("the server is <gone>".to_owned())));
        lab.record(Tape { end, ..Tape::new(repetition) });
    }
    lab.finish();
    let page = page(&lab.report());
    assert!(words(&page).contains("There is no answer: all 2 runs are invalid; the first one: the server is <gone>."));
    assert!(!page.contains("<gone>") && !headings(&page).contains(&"Latency percentiles"));
}

/// Terminal, page, JSON and CSV: the same figures.
#[test]
fn every_form_tells_the_same_figures() {
    let report = full();
    let files = all_files(&report);
    let rows = entries(&files["report.html"]);
    let wide = text(&report, 4000);
    let (mut cells, mut changes) = (0, 0);
    for line in wide.lines().filter(|line| line.starts_with("4vu ") || line.starts_with("16vu ")) {
        let told: Vec<&str> = line.split("  ").map(str::trim).filter(|entry| !entry.is_empty()).collect();
        assert!(rows.iter().any(|row| *row == told), "the page has no row {told:?}");
        if line.contains('\u{b1}') { cells += 1 } else { changes += 1 }
    }
    assert_eq!((cells, changes), (4, 8), "{wide}");
    let results: Value = serde_json::from_str(&files["results.json"]).unwrap();
    for cell in results["cells"].as_array().unwrap() {
        let name = [cell["profile"].as_str().unwrap(), cell["variant"].as_str().unwrap()];
        let own = || rows.iter().filter(|row| row.len() > 6 && row[..2] == name);
        let tps = &cell["metrics"]["tps"];
        let mean: f64 = own().find(|row| row[2].parse::<u32>().is_ok()).unwrap()[3]
            .split_once(" \u{b1} ")
            .unwrap()
            .0
            .parse()
            .unwrap();
        near(mean, tps["mean"].as_f64().unwrap(), 1e-3);
        let runs = csv::Reader::from_reader(files["runs.csv"].as_bytes())
            .deserialize()
            .map(Result::unwrap)
            .collect::<Vec<BTreeMap<String, String>>>();
        let counted: Vec<f64> = runs
            .iter()
            .filter(|run| run["profile"] == name[0] && run["variant"] == name[1] && run["repetition"] != "0")
            .filter(|run| run["verdict"] != "invalid" && run["superseded"] == "false")
            .map(|run| run["tps"].parse().unwrap())
            .collect();
        near(counted.iter().sum::<f64>() / counted.len() as f64, tps["mean"].as_f64().unwrap(), 1e-9);
        if let Some(change) = cell["change"]["tps"].as_object() {
            let row = own().find(|row| row[2] == "tps").unwrap();
            near(row[3].trim_end_matches('%').parse().unwrap(), change["percent"].as_f64().unwrap(), 0.02);
        }
    }
}

#[test]
fn what_equal_runs_differ_by_is_told_on_the_terminal_and_on_the_page() {
    let mut report = full();
    report.controls = vec!["audit".to_owned()];
    let (page, terminal) = (words(&page(&report)), text(&report, 4000));
    for sentence in [
        "noise floor: audit differs from baseline though nothing does: TPS 1.3 % (interval up to 2.9 %)",
        "repetitions for \u{b1} 2 % of tps: 5 pilot blocks ask for 31, more than the 20 allowed; reached is \u{b1} 2.4 %",
        "drift over the blocks: TPS +0.9 % a block (+0.6 to +1.2 %, p <0.001); pairs within blocks are free of it",
        "far from the others of their cells, and counted all the same: run 7 (16vu baseline, block 1) in TPS by +12.5 %",
        "shown and in no cell: run 99 (4vu; audit on at 12.0 s)",
    ] {
        assert!(page.contains(sentence) && terminal.contains(sentence), "{sentence:?} is not in\n{terminal}\n{page}");
    }
    assert!(text(&report, 80).lines().all(|line| line.chars().count() <= 80), "{}", text(&report, 80));
}

#[test]
fn charts_can_be_heard() {
    let page = page(&full());
    let charts: Vec<&str> = page.split("<svg ").skip(1).collect();
    assert!(charts.len() > 10, "{}", charts.len());
    for chart in charts {
        let ornament = chart.contains("aria-hidden=\"true\"");
        let told = chart.starts_with("viewBox") && chart.contains("role=\"img\" aria-labelledby=\"chart");
        assert!(ornament || (told && chart.contains("<title id=") && chart.contains("<desc id=")), "{chart}");
    }
    let (figures, tables) = (page.matches("<figure>").count(), page.matches("Figures of this chart").count());
    assert_eq!(figures, tables + 1, "all but the run with a switch, whose figures are in samples.csv");
}

#[test]
fn nothing_that_a_study_says_becomes_markup() {
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
    let mut report = full();
    report.study = evil.to_owned();
    report.baseline = evil.to_owned();
    let old = std::mem::replace(&mut report.variants[0], evil.to_owned());
    report.cells.iter_mut().filter(|cell| cell.variant == old).for_each(|cell| cell.variant = evil.to_owned());
    report.runs.iter_mut().filter(|run| run.variant == old).for_each(|run| run.variant = evil.to_owned());
    report.target.version = Some(evil.to_owned());
    report.runs[0].witness_missing = Some(evil.to_owned());
    report.settings[0].before.insert(evil.to_owned(), evil.to_owned());
    report.cells[0].waits[0].name = evil.to_owned();
    report.profiles[0].pacing = evil.to_owned();
    let page = page(&report);
    assert!(!page.contains("<script") && !page.contains("<img"), "something got through");
    assert!(page.matches("&lt;script&gt;alert(1)").count() > 10);
}

/// Nothing to fetch, nothing to run.
#[test]
fn the_page_needs_nothing_but_itself() {
    let page = page(&full());
    for reference in ["http:", "https:", "//", "<script", "src=", "@import", "url(", "onload", "<iframe", "<object"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert_eq!(page.matches("href=").count(), page.matches("href=\"#").count() + 1, "links within, and an empty icon");
}

fn chromium(page: &Path) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new("chromium");
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-extensions", "--no-first-run"])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", home.path().display()))
        .arg(format!("file://{}", page.display()));
    let output = command.output().unwrap_or_else(|error| panic!("chromium: {error}; install it: ./.ci/tools chromium"));
    assert!(output.status.success(), "{output:?}");
    output
}

/// What the browser had to complain about: what it refused to load is among it.
fn complaints(output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect()
}

#[test]
fn a_browser_shows_it_without_a_complaint() {
    let dir = tempfile::tempdir().unwrap();
    let report = full();
    let (path, greedy) = (dir.path().join("report.html"), dir.path().join("greedy.html"));
    let page = page(&report);
    std::fs::write(&path, &page).unwrap();
    std::fs::write(&greedy, page.replace("</body>", "<img src=\"https://192.0.2.1/pixel.png\"></body>")).unwrap();
    let output = chromium(&path);
    assert_eq!(complaints(&output), Vec::<String>::new());
    let shown = words(&String::from_utf8(output.stdout).unwrap());
    assert!(shown.contains("audit lowers TPS by 7.4 to 7.8 % at 4 and 16 virtual users"), "{shown}");
    for heading in HEADINGS.iter().filter(|heading| **heading != "Doubts") {
        assert!(shown.contains(heading), "{heading}");
    }
    assert!(!complaints(&chromium(&greedy)).is_empty(), "this test sees what a page asks for");
}

/// Two levels, five variants of each, fifty blocks of four minutes: a week of runs. Few intervals carry latencies, which are what
/// takes long to make and to read.
fn many() -> Lab {
    const SECONDS: i64 = 240;
    let names = ["baseline", "b", "c", "d", "e"];
    let variants: String = names.map(|name| format!("[[variants]]\nname = \"{name}\"\n")).concat();
    let study = STUDY.replace("vus = 16", "vus = [4, 16]").replace("repetitions = 3", "repetitions = 50");
    let mut lab = Lab::of(&format!("{study}{variants}"));
    let body = |second: i64, tps: u64| {
        let mut interval = synthetic::interval(second, if second < 15 { tps } else { 0 });
        for kind in &mut interval.kinds {
            (kind.ok, kind.statements) = (tps, 20 * tps);
        }
        Body::Interval(interval)
    };
    for (profile, vus, tps) in [("4vu", 4, 20), ("16vu", 16, 50)] {
        let mut tape = Tape::new(1);
        tape.events = (0..SECONDS)
            .flat_map(|second| {
                let wobble = 100 + (second * second * 7919 % 37) as u64;
                let drive = ("load-a".to_owned(), body(second, tps));
                [drive, ("observer".to_owned(), Body::Host(synthetic::database_host(second, wobble)))]
            })
            .collect();
        profile.clone_into(&mut tape.profile);
        tape.facts().driving.truncate(1);
        tape.facts().measure = MeasureFacts::DurationNs((SECONDS as u64 - 10) * S);
        (tape.facts().sessions, tape.facts().vus) = (8, vus);
        tape.end = Some((T0 + (SECONDS as u64 + 2) * S, RunEnd::Finished));
        for block in 1..=50 {
            for variant in names {
                lab.record(Tape { variant: variant.to_owned(), repetition: block, ..tape.clone() });
            }
        }
    }
    lab.finish();
    lab
}

#[test]
fn five_hundred_runs_make_a_page_that_opens() {
    let lab = many();
    let begun = Instant::now();
    let report = brief(&lab.ledger, "last", Default::default()).unwrap();
    let folded = begun.elapsed();
    assert_eq!(report.runs.len(), 500);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    let begun = Instant::now();
    let page = page(&report);
    let rendered = begun.elapsed();
    std::fs::write(&path, &page).unwrap();
    let begun = Instant::now();
    let output = chromium(&path);
    let opened = begun.elapsed();
    let megabytes = page.len() as f64 / 1e6;
    println!("500 runs: folded in {folded:.1?}, rendered in {rendered:.1?}, {megabytes:.1} MB, opened in {opened:.1?}");
    assert!(megabytes < 5.0, "{megabytes} MB");
    assert_eq!(complaints(&output), Vec::<String>::new());
    assert!(String::from_utf8_lossy(&output.stdout).contains("</footer>"));
}
