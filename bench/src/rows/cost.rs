//! What a statement and a session cost.

use super::{at_most, kilobytes, spread, thousands};
use crate::instructions::{Cost, Lengths, SESSIONS, Script};
use crate::memory::Costs;
use crate::table::{Row, Section};

/// User-space instructions of a point select.
const POINT_SELECT: f64 = 2_500.0;
/// Client memory of a connected MySQL session with its user.
const SESSION_KB: f64 = 8.0;
/// The same with the statements of read_write over ten tables.
const READ_WRITE_KB: f64 = 24.0;
/// Of a simulated user who waits.
const SIMULATED_KB: f64 = 1.0;
/// Of a process with a million of them.
const SIMULATED_GB: f64 = 2.0;
/// Time to connect the larger level.
const CONNECT_S: f64 = 2.0;

/// Instructions by callgrind.
pub fn instructions(scripts: &[Script], lengths: Lengths) -> Section {
    let each = |cost: &Cost| thousands(cost.process.round() as u64);
    let rows = scripts.iter().flat_map(|script| {
        let Script { name, ours, bare, sysbench } = script;
        let over = |cost: &Cost| format!("{:.2}x", ours.process / cost.process);
        let reach = if *name == "point_select" { at_most(ours.process, POINT_SELECT, "") } else { String::new() };
        let thread = |cost: &Cost| thousands(cost.thread.round() as u64);
        [
            Row::new(format!("{name}, the agent"), each(ours))
                .beside(format!("sysbench: {}", each(sysbench)), over(sysbench))
                .reach(reach),
            Row::new(format!("{name}, the thread that serves the sessions"), thread(ours))
                .beside(format!("nothing recorded: {}", thread(bare)), format!("{:.2}x", ours.thread / bare.thread)),
        ]
    });
    let (short, long) = (thousands(lengths.short), thousands(lengths.long));
    Section {
        title: "User-space instructions per statement".to_owned(),
        conditions: format!("by callgrind, {SESSIONS} sessions, {long} statements less {short}"),
        rows: rows.collect(),
    }
}

/// Memory and connecting.
pub fn memory(costs: &Costs) -> Section {
    let scale = &costs.scale;
    let kb = |bytes: f64, limit: f64| at_most(bytes / 1024.0, limit, " KB");
    let (few, many, length) = (thousands(scale.few), thousands(scale.many), scale.length.as_secs());
    let users = thousands(scale.simulated);
    let (connected, busy) = (costs.connected, costs.busy);
    let process_gb = costs.simulated_process as f64 / 1e9;
    let rows = vec![
        Row::new(format!("a session of {few}, connected, one statement prepared"), kilobytes(connected.few))
            .reach(kb(connected.few, SESSION_KB)),
        Row::new(format!("a session of {many}, the same"), kilobytes(connected.many))
            .reach(kb(connected.many, SESSION_KB)),
        Row::new(
            format!("a session of {few}, read_write over ten tables, 92 statements prepared"),
            kilobytes(costs.read_write),
        )
        .reach(kb(costs.read_write, READ_WRITE_KB)),
        Row::new(format!("a session of {few}, connected, none prepared"), kilobytes(costs.unprepared)),
        Row::new(format!("a session of {few}, after {length} s without a pause"), kilobytes(busy.few)).beside(
            format!("sysbench: {}", kilobytes(costs.sysbench_busy)),
            format!("{:.3}x", busy.few / costs.sysbench_busy),
        ),
        Row::new(format!("a session of {many}, the same"), kilobytes(busy.many)),
        Row::new(format!("{many} sessions connected, statement prepared"), format!("{} s", spread(costs.connect_s, 2)))
            .reach(at_most(costs.connect_s.median, CONNECT_S, " s")),
        Row::new(format!("a simulated user of {users}, keying and thinking"), kilobytes(costs.simulated))
            .reach(kb(costs.simulated, SIMULATED_KB)),
        Row::new(
            format!("{users} simulated users, keying and thinking: the whole process"),
            format!("{process_gb:.2} GB, {:.0} % of a core", costs.simulated_core * 100.0),
        )
        .reach(at_most(process_gb, SIMULATED_GB, " GB")),
    ];
    Section {
        title: "Client memory and connecting".to_owned(),
        conditions: format!("connected {} times", scale.repetitions),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_stands_beside_sysbench_and_beside_nothing_recorded() {
        let cost = |process, thread| Cost { process, thread, functions: Vec::new() };
        let script = Script {
            name: "point_select",
            ours: cost(3_000.0, 2_800.0),
            bare: cost(2_510.0, 2_500.0),
            sysbench: cost(4_864.0, 200.0),
        };
        let section = instructions(&[script], Lengths { short: 8_000, long: 40_000 });
        let agent = Row::new("point_select, the agent", "3,000")
            .beside("sysbench: 4,864", "0.62x")
            .reach("at most 2500: **missed by 20 %**");
        let thread = Row::new("point_select, the thread that serves the sessions", "2,800")
            .beside("nothing recorded: 2,500", "1.12x");
        assert_eq!(section.rows, [agent, thread]);
    }
}
