//! A day's ledger.

use super::{at_most, megabytes};
use crate::ledger::{Ages, Stage};
use crate::table::{Row, Section};

/// With every second of it, and beside that with 10-second sums.
pub fn ages(ages: &Ages) -> Section {
    let day = ages.day;
    let mut rows = Vec::new();
    let mut row = |what: &str, figure: &dyn Fn(&Stage) -> String, reach: String| {
        let beside = format!("10-second sums: {}", figure(&ages.coarse));
        rows.push(Row::new(what, figure(&ages.fine)).beside(beside, "").reach(reach));
    };
    let worst = |of: fn(&Stage) -> f64| of(&ages.fine).max(of(&ages.coarse)) / 1e6;
    let hour = at_most(worst(|stage| stage.bytes_per_agent_hour), 40.0, " MB");
    row("an hour of one agent", &|stage| megabytes(stage.bytes_per_agent_hour), hour);
    for (index, cost) in ages.fine.costs.iter().enumerate() {
        let of = |stage: &Stage| {
            let cost = &stage.costs[index];
            format!("{:.1} s, {}", cost.took.as_secs_f64(), megabytes(cost.peak_bytes as f64))
        };
        let reach = if cost.verb.starts_with("report") { reports(ages, index) } else { String::new() };
        row(&format!("`vufleet {}`", cost.verb), &of, reach);
    }
    let page = at_most(worst(|stage| stage.page_bytes as f64), 5.0, " MB");
    row("report.html", &|stage| megabytes(stage.page_bytes as f64), page);
    row("samples.csv", &|stage| megabytes(stage.samples_bytes as f64), String::new());
    let writes = ages.write_s;
    rows.push(Row::new(
        "one agent's second, written",
        format!(
            "{:.0} us at the median, {:.0} us at the 99th percentile, {:.0} ms at most",
            writes.median_us, writes.p99_us, writes.longest_ms
        ),
    ));
    rows.push(Row::new(
        "rolling the day up",
        format!(
            "{:.0} s in steps of {:.0} ms at most",
            ages.roll_up.as_secs_f64(),
            ages.longest_step.as_secs_f64() * 1e3
        ),
    ));
    let hours = day.half_s as f64 / 3_600.0;
    let conditions = format!(
        "{} agents, two runs of {hours} h each, TPROC-C at 500 transactions a second and agent. Every metric of both runs is the \
         same before and after the roll-up",
        day.agents,
    );
    Section { title: "A day in the ledger".to_owned(), conditions, rows }
}

/// A report's time and memory, by the costlier ledger.
fn reports(ages: &Ages, index: usize) -> String {
    let (fine, coarse) = (&ages.fine.costs[index], &ages.coarse.costs[index]);
    let took = at_most(fine.took.max(coarse.took).as_secs_f64(), 60.0, " s");
    let peak = at_most(fine.peak_bytes.max(coarse.peak_bytes) as f64 / 1e6, 1_000.0, " MB");
    format!("{took}; {peak}")
}
