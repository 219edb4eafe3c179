//! TPROC-C.

use super::{at_most, kilobytes, thousands, whole};
use crate::load::Calls;
use crate::table::{Row, Section};
use crate::tprocc::Findings;

/// Client memory of a TPROC-C session by procedures or without a database.
const TERMINAL_KB: f64 = 20.0;
/// And by statements, most of it prepared statements.
const TERMINAL_STATEMENTS_KB: f64 = 60.0;
/// Client CPU of a warehouse.
const WAREHOUSE_S: f64 = 1.0;

/// Load, build and memory.
pub fn tprocc(findings: &Findings) -> Section {
    let scale = &findings.scale;
    let mut rows = Vec::new();
    for level in &findings.levels {
        let users = if level.vus == 1 { "user" } else { "users" };
        let what = format!("{}, {} virtual {users}", level.calls.name(), level.vus);
        rows.push(
            Row::new(what, format!("{} us a new order", whole(level.driver_us)))
                .beside(format!("{} NOPM", whole(level.nopm)), ""),
        );
    }
    for (calls, rate) in &findings.simulated {
        let each = format!("{} transactions a second of one core", whole(*rate));
        rows.push(Row::new(format!("{}, simulated", calls.name()), each));
    }
    for keyed in &findings.keyed {
        let limit =
            if keyed.simulated || keyed.calls == Calls::Procedures { TERMINAL_KB } else { TERMINAL_STATEMENTS_KB };
        let simulated = if keyed.simulated { ", simulated" } else { "" };
        let (name, sessions) = (keyed.calls.name(), thousands(keyed.sessions));
        rows.push(
            Row::new(format!("{name}{simulated}, a session of {sessions} keying and thinking"), kilobytes(keyed.bytes))
                .reach(at_most(keyed.bytes / 1024.0, limit, " KB")),
        );
    }
    let build = findings.build;
    rows.push(
        Row::new(
            "a warehouse, built",
            format!("{:.2} s CPU of all processes, {:.2} s wall", build.cpu_s, build.wall_s),
        )
        .reach(at_most(build.cpu_s, WAREHOUSE_S, " s CPU")),
    );
    Section {
        title: format!("TPROC-C, {} warehouses", scale.warehouses),
        conditions: format!(
            "median (quartiles) of {} rounds, windows of {} s",
            scale.rounds,
            scale.pace.window.as_secs()
        ),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::statistics::Quartiles;
    use crate::throughput::Pace;
    use crate::tprocc::{self, Build, Keyed, Level};

    #[test]
    fn a_level_says_what_its_new_order_cost() {
        let quartiles = |median| Quartiles { low: median - 10.0, median, high: median + 10.0 };
        let pace = Pace { warm_up: Duration::from_secs(1), window: Duration::from_secs(8) };
        let (warehouses, levels, keyed) = (16, vec![1, 8, 16], [(Calls::Statements, 1); 2]);
        let findings = Findings {
            scale: tprocc::Scale {
                warehouses,
                levels,
                simulated: 64,
                keyed,
                keyed_simulated: 1,
                rounds: 5,
                cycle: pace.window,
                pace,
            },
            build: Build { cpu_s: 1.25, wall_s: 0.75 },
            levels: vec![Level {
                calls: Calls::Statements,
                vus: 8,
                driver_us: quartiles(900.0),
                nopm: quartiles(40.0),
            }],
            simulated: vec![(Calls::Procedures, quartiles(500_000.0))],
            keyed: vec![Keyed { calls: Calls::Statements, simulated: true, sessions: 10_240, bytes: 22.0 * 1024.0 }],
        };
        let rows = super::tprocc(&findings).rows;
        let expected = [
            Row::new("statements, 8 virtual users", "900 (890 to 910) us a new order").beside("40 (30 to 50) NOPM", ""),
            Row::new("procedures, simulated", "500,000 (499,990 to 500,010) transactions a second of one core"),
            Row::new("statements, simulated, a session of 10,240 keying and thinking", "22.0 KB")
                .reach("at most 20 KB: **missed by 10 %**"),
            Row::new("a warehouse, built", "1.25 s CPU of all processes, 0.75 s wall")
                .reach("at most 1 s CPU: **missed by 25 %**"),
        ];
        assert_eq!(rows, expected);
    }
}
