//! The tables, and their place in a page that is otherwise written by hand.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::coverage::{Repeats, Row};
use crate::ledger::{Ages, Cost, Stage};
use crate::load::Calls;
use crate::machine::Machine;
use crate::memory::Costs;
use crate::scale::Fleets;
use crate::statistics::Quartiles;
use crate::throughput::{Cell, Comparison, Figures, Pace, Pair};
use crate::tprocc::Findings;

/// Client memory of a MySQL session that is to be reached.
const SESSION_KB: f64 = 16.0;
/// And of a simulated user.
const SIMULATED_KB: f64 = 4.0;
/// Time to connect the larger level that is to be reached.
const CONNECT_S: f64 = 5.0;

/// Client memory of a TPROC-C session by procedures or without a database.
const TERMINAL_KB: f64 = 20.0;
/// And by statements, most of it prepared statements.
const TERMINAL_STATEMENTS_KB: f64 = 60.0;
/// Client CPU of a warehouse that is to be reached.
const WAREHOUSE_S: f64 = 2.0;

/// Puts a part's table where that of the last time is.
pub fn update(path: &Path, part: &str, table: &str) -> Result<()> {
    let shown = path.display();
    let page = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {shown}; run this from the repository's root or name it with --page"))?;
    let Some(page) = replace(&page, part, table) else {
        let (begin, end) = (begin(part), end(part));
        bail!("{shown} has no place for {part}; put these two lines into it:\n{begin}\n{end}");
    };
    std::fs::write(path, page).with_context(|| format!("cannot write {shown}"))
}

fn begin(part: &str) -> String {
    format!("<!-- {part}, written by `make bench` -->")
}

fn end(part: &str) -> String {
    format!("<!-- end of {part} -->")
}

fn replace(page: &str, part: &str, table: &str) -> Option<String> {
    let (begin, end) = (begin(part), end(part));
    let (head, rest) = page.split_once(&begin)?;
    let (_, tail) = rest.split_once(&end)?;
    Some(format!("{head}{begin}\n\n{}\n\n{end}{tail}", table.trim()))
}

/// One line about where and when.
pub fn heading(machine: &Machine) -> String {
    format!(
        "{}: {} cores shared by load and database, {}, MariaDB {}, {}.\n",
        machine.date,
        machine.cores,
        machine.system,
        machine.server.trim_end_matches("-MariaDB").split("-MariaDB").next().unwrap_or_default(),
        machine.programs.join(", "),
    )
}

/// The table of throughput and CPU.
pub fn throughput(pairs: &[(Cell, Vec<Pair>)], pace: Pace, theirs: &str) -> String {
    let mut out = format!(
        "| sessions | CPU per statement, driving agent | to reach | all processes | throughput | vufleet | {theirs} |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (cell, pairs) in pairs {
        let Some(ratios) = Comparison::of(pairs) else { continue };
        let middle = |figure: fn(&Pair) -> Figures| {
            let of = |part: fn(&Figures) -> f64| Quartiles::of(pairs.iter().map(|pair| part(&figure(pair))));
            let us = of(|figures| figures.driver_us).map_or(0.0, |us| us.median);
            let rate = of(|figures| figures.per_second).map_or(0.0, |rate| rate.median);
            format!("{us:.1} us, {rate:.0}/s")
        };
        writeln!(
            out,
            "| {} {} | **{}** | {} | {} | {} | {} | {} |",
            cell.script,
            cell.sessions,
            ratio(ratios.driver),
            at_most(ratios.driver.median, cell.reach, "x"),
            ratio(ratios.all),
            ratio(ratios.rate),
            middle(|pair| pair.ours),
            middle(|pair| pair.theirs),
        )
        .expect("a string takes every line");
    }
    let count = pairs.iter().map(|(_, pairs)| pairs.len()).min().unwrap_or(0);
    let others = pairs.iter().flat_map(|(_, pairs)| pairs).flat_map(|pair| [pair.ours.others, pair.theirs.others]);
    let others = Quartiles::of(others).map_or(0.0, |others| others.median) * 100.0;
    format!(
        "{out}\nRatios are vufleet over {theirs}: median (quartiles) of {count} pairs, windows of {} s. Other processes took \
         {others:.0} % of the machine in the median window.\n",
        pace.window.as_secs(),
    )
}

/// The table of memory and connecting.
pub fn costs(costs: &Costs) -> String {
    let scale = &costs.scale;
    let kilobytes = |bytes: f64| format!("{:.1} KB", bytes / 1024.0);
    let reach = |bytes: f64, limit: f64| at_most(bytes / 1024.0, limit, " KB");
    let (few, many, length) = (thousands(scale.few), thousands(scale.many), scale.length.as_secs());
    let connect = format!("{} s", spread(costs.connect_s, 1));
    let mut rows = Vec::new();
    let mut row = |what: String, figure: String, reach: String| rows.push((what, figure, reach));
    let none = String::new;
    let (connected, busy) = (costs.connected, costs.busy);
    row(
        format!("a session of {few}, connected, one statement prepared"),
        kilobytes(connected.few),
        reach(connected.few, SESSION_KB),
    );
    row(format!("a session of {many}, the same"), kilobytes(connected.many), reach(connected.many, SESSION_KB));
    row(format!("a session of {few}, connected, none prepared"), kilobytes(costs.unprepared), none());
    row("each further prepared statement of a session".to_owned(), kilobytes(costs.statement), none());
    row(format!("a session of {few}, after {length} s without a pause"), kilobytes(busy.few), none());
    row(format!("a session of {many}, the same"), kilobytes(busy.many), none());
    row(format!("sysbench: a session of {few}, the same"), kilobytes(costs.sysbench_busy), none());
    let users = thousands(scale.simulated);
    row(format!("a simulated user of {users}"), kilobytes(costs.simulated), reach(costs.simulated, SIMULATED_KB));
    let core = format!("{:.0} % of a core", costs.simulated_core * 100.0);
    row(format!("{users} simulated users, each with a pause of 10 s"), core, none());
    row(
        format!("{many} sessions connected, statement prepared"),
        connect,
        at_most(costs.connect_s.median, CONNECT_S, " s"),
    );
    let mut out = String::from("| client's cost | measured | to reach |\n|---|---|---|\n");
    for (what, figure, reach) in rows {
        writeln!(out, "| {what} | {figure} | {reach} |").expect("a string takes every line");
    }
    out
}

/// The table of TPROC-C.
pub fn tprocc(findings: &Findings) -> String {
    let scale = &findings.scale;
    let mut out = format!("| TPROC-C, {} warehouses | driving agent | NOPM |\n|---|---|---|\n", scale.warehouses);
    for level in &findings.levels {
        let users = if level.vus == 1 { "user" } else { "users" };
        writeln!(
            out,
            "| {}, {} virtual {users} | {} us a new order | {} |",
            level.calls.name(),
            level.vus,
            whole(level.driver_us),
            whole(level.nopm),
        )
        .expect("a string takes every line");
    }
    for (calls, rate) in &findings.simulated {
        let each = format!("{} transactions a second of one core", whole(*rate));
        writeln!(out, "| {}, simulated | {each} | |", calls.name()).expect("a string takes every line");
    }
    for keyed in &findings.keyed {
        let limit =
            if keyed.simulated || keyed.calls == Calls::Procedures { TERMINAL_KB } else { TERMINAL_STATEMENTS_KB };
        writeln!(
            out,
            "| {}{}, a session of {} keying and thinking | {:.1} KB ({}) | |",
            keyed.calls.name(),
            if keyed.simulated { ", simulated" } else { "" },
            thousands(keyed.sessions),
            keyed.bytes / 1024.0,
            at_most(keyed.bytes / 1024.0, limit, " KB"),
        )
        .expect("a string takes every line");
    }
    let build = findings.build;
    let reach = at_most(build.cpu_s, WAREHOUSE_S, " s");
    writeln!(
        out,
        "| a warehouse, built | {:.2} s of all processes ({reach}), {:.2} s wall | |",
        build.cpu_s, build.wall_s
    )
    .expect("a string takes every line");
    format!("{out}\nMedian (quartiles) of {} rounds, windows of {} s.\n", scale.rounds, scale.pace.window.as_secs())
}

/// The table of a day's ledger.
pub fn ages(ages: &Ages) -> String {
    let day = ages.day;
    let mut out = format!(
        "{} agents, two runs of {} h each, TPROC-C at 500 transactions a second and agent; {} cores shared with other work.\n\n\
         | a day's ledger | every second | 10-second sums | to reach |\n|---|---|---|---|\n",
        day.agents,
        day.half_s as f64 / 3_600.0,
        crate::processes::cores(),
    );
    let mb = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
    let mut row = |what: &str, figure: &dyn Fn(&Stage) -> String, reach: &str| {
        let (fine, coarse) = (figure(&ages.fine), figure(&ages.coarse));
        writeln!(out, "| {what} | {fine} | {coarse} | {reach} |").expect("a string takes every line");
    };
    let worst = |of: fn(&Stage) -> f64| of(&ages.fine).max(of(&ages.coarse)) / 1e6;
    let hour = at_most(worst(|stage| stage.bytes_per_agent_hour), 40.0, " MB");
    row("an hour of one agent", &|stage| mb(stage.bytes_per_agent_hour), &hour);
    for (index, cost) in ages.fine.costs.iter().enumerate() {
        let of = |stage: &Stage| {
            let cost = &stage.costs[index];
            format!("{:.1} s, {}", cost.took.as_secs_f64(), mb(cost.peak_bytes as f64))
        };
        let reach = if cost.verb.starts_with("report") {
            reports(&ages.fine.costs[index], &ages.coarse.costs[index])
        } else {
            String::new()
        };
        row(&format!("`vufleet {}`", cost.verb), &of, &reach);
    }
    let page = at_most(worst(|stage| stage.page_bytes as f64), 5.0, " MB");
    row("report.html", &|stage| mb(stage.page_bytes as f64), &page);
    row("samples.csv", &|stage| mb(stage.samples_bytes as f64), "");
    let writes = ages.write_s;
    format!(
        "{out}\nOne agent's second was written in {:.0} us at the median, {:.0} us at the 99th percentile, {:.0} ms at most. Rolling the \
         day up took {:.0} s in steps of {:.0} ms at most; every metric of both runs is the same before and after.\n",
        writes.median_us,
        writes.p99_us,
        writes.longest_ms,
        ages.roll_up.as_secs_f64(),
        ages.longest_step.as_secs_f64() * 1e3,
    )
}

/// The table of many agents.
pub fn fleets(fleets: &Fleets) -> String {
    let crowd = fleets.crowd;
    let mut out = format!(
        "{} agents of {} virtual users, each a process of this host of {} cores, for {} min.\n\n\
         | many agents on one coordinator | measured | to reach |\n|---|---|---|\n",
        crowd.agents,
        crowd.vus,
        crate::processes::cores(),
        crowd.length.as_secs() / 60,
    );
    let mut row = |what: &str, figure: String, reach: String| {
        writeln!(out, "| {what} | {figure} | {reach} |").expect("a string takes every line");
    };
    let none = String::new;
    let seconds = |time: std::time::Duration| format!("{:.1} s", time.as_secs_f64());
    let mb = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
    row(
        "all have joined, from the start of the first process",
        seconds(fleets.joined),
        at_most(fleets.joined.as_secs_f64(), 10.0, " s"),
    );
    row("all are back after the coordinator was killed and started again", seconds(fleets.back), none());
    row(
        "CPU of the coordinator under load",
        format!("{:.2} cores", fleets.cores),
        at_most(fleets.cores, 0.5, " cores"),
    );
    row("memory of the coordinator", mb(fleets.resident_bytes as f64), none());
    row(
        "its growth in an hour, by the second half",
        mb(fleets.growth_bytes_per_h),
        no_growth(fleets.growth_bytes_per_h),
    );
    row("events", format!("{:.0} a second", fleets.events_per_s), none());
    row(
        "the ledger, an hour of one agent",
        mb(fleets.bytes_per_agent_hour),
        at_most(fleets.bytes_per_agent_hour / 1e6, 40.0, " MB"),
    );
    row("end of the load until the report is there", seconds(fleets.report), none());
    let apart = |share| format!("{:.2} ms", crate::scale::at_share(&fleets.late_ms, share));
    let starts = format!("{} starts of {} agents", crowd.starts, crowd.starters);
    row(&format!("{starts}: from the appointed time, median"), apart(0.5), none());
    row(
        &format!("{starts}: 99th percentile"),
        apart(0.99),
        at_most(crate::scale::at_share(&fleets.late_ms, 0.99), 5.0, " ms"),
    );
    row(&format!("{starts}: farthest"), apart(1.0), none());
    out
}

/// The table of intervals against a known truth.
pub fn coverage(rows: &[Row]) -> String {
    let mut out = String::from(
        "| order | repetitions | seed | ledgers | interval holds 0, -2, -10 % | interval holds the drift | p < 0.05 without an effect | \
         studies with a false conclusion | took |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let tally = &row.tally;
        let repeats = match row.repeats {
            Repeats::Fixed(count) => count.to_string(),
            Repeats::Until { min, max, percent } => {
                format!("{min} to {max}, until {percent} %: {:.1} on average", tally.mean_blocks())
            }
            Repeats::Peeking { min, max, percent } => {
                format!("{min} to {max}, looking until {percent} %: {:.1} on average", tally.mean_blocks())
            }
        };
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        writeln!(
            out,
            "| {} | {repeats} | {} | {} | {} | {} | {} | {} | {} s |",
            row.order,
            row.seed,
            thousands(tally.studies),
            tally.coverage().map(percent).join(", "),
            percent(tally.drift_held()),
            percent(tally.false_p()),
            percent(tally.false_studies()),
            row.took.as_secs(),
        )
        .expect("a string takes every line");
    }
    out
}

fn whole(of: Quartiles) -> String {
    let [median, low, high] = [of.median, of.low, of.high].map(|figure| thousands(figure.round() as u64));
    format!("{median} ({low} to {high})")
}

fn spread(of: Quartiles, digits: usize) -> String {
    format!("{:.digits$} ({:.digits$} to {:.digits$})", of.median, of.low, of.high)
}

fn ratio(ratio: Quartiles) -> String {
    spread(ratio, 2)
}

fn at_most(found: f64, limit: f64, unit: &str) -> String {
    let wanted = format!("at most {limit}{unit}");
    if found.is_nan() {
        return format!("{wanted}: not measured");
    }
    if found <= limit { wanted } else { format!("{wanted}: missed by {:.0} %", (found / limit - 1.0) * 100.0) }
}

/// Growth of which nothing is wanted: less than a tenth of a megabyte an hour is none.
fn no_growth(bytes_per_h: f64) -> String {
    if bytes_per_h < 0.1e6 { "none".to_owned() } else { "none: missed".to_owned() }
}

/// A report's time and memory, by the costlier ledger.
fn reports(fine: &Cost, coarse: &Cost) -> String {
    let took = at_most(fine.took.max(coarse.took).as_secs_f64(), 60.0, " s");
    let peak = at_most(fine.peak_bytes.max(coarse.peak_bytes) as f64 / 1e6, 1_000.0, " MB");
    format!("{took}; {peak}")
}

fn thousands(number: impl Into<u64>) -> String {
    let number = number.into();
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", thousands(number / 1_000), number % 1_000) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::coverage::Tally;
    use crate::tprocc::{self, Build, Keyed, Level};

    #[test]
    fn a_rerun_replaces_its_table_and_nothing_else() {
        let places: String = ["one", "two"].map(|part| format!("{}\nold\n{}\n", begin(part), end(part))).concat();
        let page = format!("# Title\n{places}method\n");
        let once = replace(&page, "two", "| new |\n").unwrap();
        assert_eq!(
            once,
            page.replace(&format!("{}\nold\n", begin("two")), &format!("{}\n\n| new |\n\n", begin("two")))
        );
        assert_eq!(replace(&once, "two", "| new |\n").unwrap(), once);
    }

    #[test]
    fn a_page_without_a_place_is_refused() {
        let (begin, end) = (begin("one"), end("one"));
        for page in ["", "# Title", &begin, &end, &format!("{end}\n{begin}")] {
            assert_eq!(replace(page, "one", "x"), None, "{page:?}");
        }
    }

    #[test]
    fn a_missed_mark_says_by_how_much() {
        assert_eq!(at_most(2.4, 2.5, "x"), "at most 2.5x");
        assert_eq!(at_most(2.5, 2.5, "x"), "at most 2.5x");
        assert_eq!(at_most(3.0, 2.5, "x"), "at most 2.5x: missed by 20 %");
        assert_eq!(at_most(f64::NAN, 5.0, " ms"), "at most 5 ms: not measured");
        assert_eq!([-1e6, 0.0, 18.3e6].map(no_growth), ["none", "none", "none: missed"]);
    }

    #[test]
    fn numbers_are_read_in_thousands() {
        for (number, text) in [(2, "2"), (999, "999"), (1_000, "1,000"), (50_007, "50,007"), (2_483_273, "2,483,273")] {
            assert_eq!(thousands(number as u64), text);
        }
    }

    #[test]
    fn a_level_says_what_its_new_order_cost() {
        let quartiles = |median| Quartiles { low: median - 10.0, median, high: median + 10.0 };
        let pace = Pace { warm_up: Duration::from_secs(1), window: Duration::from_secs(8) };
        let findings = Findings {
            scale: tprocc::Scale {
                warehouses: 16,
                levels: [1, 8, 16],
                simulated: 64,
                keyed: [(Calls::Statements, 1); 2],
                keyed_simulated: 1,
                rounds: 5,
                pace,
            },
            build: Build { cpu_s: 2.5, wall_s: 1.25 },
            levels: vec![Level {
                calls: Calls::Statements,
                vus: 8,
                driver_us: quartiles(900.0),
                nopm: quartiles(40.0),
            }],
            simulated: vec![(Calls::Procedures, quartiles(500_000.0))],
            keyed: vec![Keyed { calls: Calls::Statements, simulated: true, sessions: 10_240, bytes: 22.0 * 1024.0 }],
        };
        let text = super::tprocc(&findings);
        let rows: Vec<_> = text.lines().skip(2).take(4).collect();
        assert_eq!(
            rows,
            [
                "| statements, 8 virtual users | 900 (890 to 910) us a new order | 40 (30 to 50) |",
                "| procedures, simulated | 500,000 (499,990 to 500,010) transactions a second of one core | |",
                "| statements, simulated, a session of 10,240 keying and thinking | 22.0 KB (at most 20 KB: missed by 10 %) | |",
                "| a warehouse, built | 2.50 s of all processes (at most 2 s: missed by 25 %), 1.25 s wall | |",
            ]
        );
    }

    #[test]
    fn a_row_of_intervals_says_what_they_are_of() {
        let row = Row {
            order: "blocks",
            repeats: Repeats::UNTIL,
            seed: 20_261_201,
            tally: Tally::default(),
            took: Duration::from_millis(61_400),
        };
        let start =
            "| blocks | 5 to 60, until 2 %: 0.0 on average | 20261201 | 0 | 0.0 %, 0.0 %, 0.0 % | 0.0 % | 0.0 % |";
        let text = coverage(&[row]);
        let line = text.lines().nth(2).unwrap();
        assert!(line.starts_with(start) && line.ends_with("| 61 s |"), "{line}");
        let columns = |line: &str| line.matches('|').count();
        assert!(text.lines().all(|other| columns(other) == columns(line)), "{text}");
    }

    #[test]
    fn a_row_holds_medians_of_its_own_pairs() {
        let figures = |per_second, driver_us| Figures { per_second, driver_us, all_us: driver_us * 1.5, others: 0.25 };
        let pair = |ours, theirs| Pair { ours: figures(900.0, ours), theirs: figures(1000.0, theirs) };
        let cell = Cell { script: "read_write", sessions: 16, reach: 2.0 };
        let pace = Pace { warm_up: Duration::from_secs(1), window: Duration::from_secs(8) };
        let text = throughput(&[(cell, vec![pair(10.0, 10.0), pair(30.0, 10.0), pair(42.0, 20.0)])], pace, "sysbench");
        let row = text.lines().nth(2).unwrap();
        let start =
            "| read_write 16 | **2.10 (1.55 to 2.55)** | at most 2x: missed by 5 % | 2.10 (1.55 to 2.55) | 0.90";
        assert!(row.starts_with(start), "{row}");
        assert!(row.ends_with("| 30.0 us, 900/s | 10.0 us, 1000/s |"), "{row}");
        assert!(text.contains("of 3 pairs, windows of 8 s. Other processes took 25 %"), "{text}");
    }
}
