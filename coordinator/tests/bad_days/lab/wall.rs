//! Wall clocks that are off, jump and drift, for one process at a time: a library that is loaded into it. Its monotonic clock is the
//! machine's.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Lab;

/// Adds to the wall clock what a file says: seconds, and parts in a million of the time since the process began.
const SHIFTED: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double monotonic(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double began;

__attribute__((constructor)) static void begin(void) {
    began = monotonic();
}

static long shift_ns(void) {
    char text[64] = {0};
    double seconds = 0, ppm = 0;
    int file = open(getenv("SHIFT_FILE"), O_RDONLY);
    if (file < 0) return 0;
    if (read(file, text, sizeof text - 1) > 0) sscanf(text, "%lf %lf", &seconds, &ppm);
    close(file);
    return (long)((seconds + ppm * 1e-6 * (monotonic() - began)) * 1e9);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    long failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        long ns = time->tv_nsec + shift_ns();
        long carry = (ns >= 0 ? ns : ns - 999999999L) / 1000000000L;
        time->tv_sec += carry;
        time->tv_nsec = ns - carry * 1000000000L;
    }
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

time_t time(time_t *told) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (told) *told = now.tv_sec;
    return now.tv_sec;
}
"#;

/// The wall clock of one process.
pub struct Wall {
    library: PathBuf,
    file: PathBuf,
}

impl Wall {
    /// A clock that is right so far.
    pub fn of(lab: &Lab, name: &str) -> Wall {
        let (source, library) = (lab.path(&format!("{name}.c")), lab.path(&format!("{name}.so")));
        std::fs::write(&source, SHIFTED).unwrap();
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let wall = Wall { library, file: lab.path(&format!("{name}.shift")) };
        wall.set(0.0, 0.0);
        wall
    }

    /// Has it for its own.
    pub fn give(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library).env("SHIFT_FILE", &self.file);
    }

    /// Sets it off by so many seconds, and lets it drift, in one step.
    pub fn set(&self, seconds: f64, ppm: f64) {
        let fresh = Path::new(&self.file).with_extension("fresh");
        std::fs::write(&fresh, format!("{seconds} {ppm}")).unwrap();
        std::fs::rename(fresh, &self.file).unwrap();
    }
}
