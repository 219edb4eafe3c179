//! The clock of an agent's host is set while its agent is at work.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::lab::fleet::{Coordinator, agent, agent_command, is_here, listed};
use super::lab::{Lab, files, study};

/// Adds as many seconds to the wall clock as a file says, for every process that it is loaded into.
const SHIFTED: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
    char text[32] = {0};
    int file = open(getenv("SHIFT_FILE"), O_RDONLY);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length > 0 ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    long failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += shift();
    return (int)failed;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"#;

/// The library of it.
fn shifted(lab: &Lab) -> PathBuf {
    let (source, library) = (lab.path("shifted.c"), lab.path("shifted.so"));
    std::fs::write(&source, SHIFTED).unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}

/// Sets a wall clock off by so many seconds, in one step.
fn set_off(file: &Path, seconds: i64) {
    let fresh = file.with_extension("fresh");
    std::fs::write(&fresh, seconds.to_string()).unwrap();
    std::fs::rename(fresh, file).unwrap();
}

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
    let clock = lab.path("shift");
    set_off(&clock, 0);
    let mut command = agent_command(&coordinator.url, "drive", "astray");
    command.env("LD_PRELOAD", shifted(&lab)).env("SHIFT_FILE", &clock);
    let mut astray = lab.spawn(command);
    astray.await_that("it joins", || listed(&lab, &coordinator.url).iter().any(|line| is_here(line, "astray")));
    let run = format!("run study.toml --coordinator {} --wait-for-agents 2", coordinator.url);
    let mut job = lab.start(&format!("{run} --set schedule.measure=8s --set monitor.interval=500ms --out out"));
    for (intervals, seconds) in [(4, 30), (12, -30), (20, 0)] {
        lab.await_load(&mut job, 1, intervals);
        set_off(&clock, seconds);
        if seconds != 0 {
            let astray_s = || offset_s(&lab, &coordinator.url, "astray") + seconds as f64;
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
