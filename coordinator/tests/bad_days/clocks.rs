//! The clock of an agent's host is set while its agent is at work.

use super::lab::fleet::{Coordinator, agent, agent_command, is_here, listed};
use super::lab::wall::Wall;
use super::lab::{Lab, files, study};

/// Offset of an agent's wall clock from the coordinator's, as the coordinator tells it.
fn offset_s(lab: &Lab, url: &str, name: &str) -> f64 {
    let line = listed(lab, url).into_iter().find(|line| is_here(line, name)).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit = words.iter().position(|word| *word == "ms,").unwrap_or_else(|| panic!("{line}"));
    let number: f64 = words[unit - 1].parse().unwrap_or_else(|_| panic!("{line}"));
    number / 1e3
}

#[test]
fn an_agent_whose_wall_clock_jumps_in_mid_run_puts_everything_into_its_own_second() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "");
    let _steady = agent(&lab, &coordinator, "drive,observe", "steady");
    let clock = Wall::of(&lab, "astray");
    let mut command = agent_command(&coordinator.url, "drive", "astray");
    clock.give(&mut command);
    let mut astray = lab.spawn(command);
    astray.await_that("it joins", || listed(&lab, &coordinator.url).iter().any(|line| is_here(line, "astray")));
    let run = format!("run study.toml --coordinator {} --wait-for-agents 2", coordinator.url);
    let mut job = lab.start(&format!("{run} --set schedule.measure=8s --set monitor.interval=500ms --out out"));
    for (intervals, seconds) in [(4, 30.0), (12, -30.0), (20, 0.0)] {
        lab.await_load(&mut job, 1, intervals);
        clock.set(seconds, 0.0);
        if seconds != 0.0 {
            let astray_s = || offset_s(&lab, &coordinator.url, "astray") + seconds;
            job.await_that("its clock is seen to be off", || astray_s().abs() < 5.0);
        }
    }
    job.end().expect(0);
    let results = files::results(&lab.path("out"));
    let run = files::counted(&results);
    assert!(!files::reasons(run).contains("clock"), "{}", files::story(&results));
    let number = run["run"].to_string();
    let samples = files::samples(&lab.path("out"));
    for name in ["steady", "astray"] {
        let mine = |row: &&std::collections::BTreeMap<String, String>| {
            row["run"] == number && row["agent"] == name && row["role"] == "drive" && !row["sessions"].is_empty()
        };
        let times =
            |key: &str| -> Vec<f64> { samples.iter().filter(mine).map(|row| row[key].parse().unwrap()).collect() };
        let (starts, ends) = (times("start_s"), times("end_s"));
        assert!(starts.len() >= 18, "{name}: {starts:?}");
        assert!(starts[0].abs() < 0.5 && *ends.last().unwrap() < 15.0, "{name}: {starts:?} {ends:?}");
        for (start, before) in starts.iter().skip(1).zip(&ends) {
            assert!((start - before).abs() < 0.25, "{name} has a gap at {before} s: {starts:?} {ends:?}");
        }
    }
}
