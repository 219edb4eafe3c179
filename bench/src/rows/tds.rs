//! Sessions of SQL Server.

use super::{at_most, kilobytes, spread, thousands};
use crate::table::{Row, Section};
use crate::tds::{Found, Scale};

/// A call, over the client library's alone.
const CALL: f64 = 1.2;
/// A session with its user.
const SESSION_KB: f64 = 16.0;

/// CPU of calls and memory, on the scripted server.
pub fn tds(found: &Found, scale: &Scale) -> Section {
    let calls = found.cells.iter().map(|cell| {
        let what = format!("CPU of a call, {}, {} sessions", cell.call, cell.sessions);
        Row::new(what, format!("{} us", spread(cell.ours_us, 1)))
            .beside(format!("tiberius alone: {} us", spread(cell.bare_us, 1)), format!("{}x", spread(cell.ratio, 2)))
            .reach(at_most(cell.ratio.median, CALL, "x"))
    });
    let memory = found.held.iter().flat_map(|held| {
        let of = thousands(held.sessions);
        let limit = |bytes: f64| at_most(bytes / 1024.0, SESSION_KB, " KB");
        let row =
            |what: &str, bytes: f64| Row::new(format!("a session of {of} with its user, {what}"), kilobytes(bytes));
        [
            row("connected", held.connected).reach(limit(held.connected)),
            row("calling once a second", held.used).reach(limit(held.used)),
            row("calling without a pause", held.busy).reach(limit(held.busy)),
            Row::new(
                format!("a session of {of} without a user, TPROC-C's statements prepared"),
                kilobytes(held.prepared),
            )
            .beside(format!("tiberius alone, after calls: {}", kilobytes(held.bare_used)), ""),
        ]
    });
    Section {
        title: "Sessions of SQL Server".to_owned(),
        conditions: format!(
            "a scripted server on the same host; CPU in {} pairs of {} ms, of both in one process by turns",
            scale.pairs,
            scale.round.as_millis()
        ),
        rows: calls.chain(memory).collect(),
    }
}
