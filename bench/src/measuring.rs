//! What vufleet's own measuring costs the client: recorder, watchdog, intervals and the stream to the coordinator, against the same
//! sessions on the same loop without any of it.

use anyhow::Result;

use crate::load::Wire;
use crate::program::Program;
use crate::server::Server;
use crate::throughput::{self, Cell, Pace, Pair};

/// At these levels.
pub const CELLS: [Cell; 3] = [
    Cell { script: "point_select", sessions: 16, wire: Wire::Tcp },
    Cell { script: "point_select", sessions: 64, wire: Wire::Tcp },
    Cell { script: "read_write", sessions: 16, wire: Wire::Tcp },
];

/// Pairs of both, cell after cell, then again.
pub async fn measure(ours: &Program, server: &mut Server, pace: Pace, rounds: usize) -> Result<Vec<(Cell, Vec<Pair>)>> {
    throughput::all_pairs(server, [ours, &Program::Bare], &CELLS, pace, rounds).await
}
