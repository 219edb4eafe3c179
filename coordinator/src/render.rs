//! The forms that a report takes. Pure over [`Report`]: what a report withholds is not there to be rendered.

mod answer;
mod cells;
mod changes;
mod chart;
mod column;
mod csv;
mod doubts;
mod figures;
mod hgrm;
mod html;
mod json;
mod labels;
mod spread;
mod text;
mod workload;

use std::io::{self, Write};

pub use text::{comparison, text};

use crate::analysis::{Report, RunReport};

/// Names of the files that [`files`] writes, in that order.
pub const FILE_NAMES: [&str; 5] = ["results.json", "runs.csv", "samples.csv", "histograms.hgrm", "report.html"];

/// A piece handed over is at least this large, but for the last one of a file.
const PIECE_BYTES: usize = 64 * 1024;

/// Takes the next piece of a file: its name, and bytes that follow those of the piece before.
pub type Sink<'a> = dyn FnMut(&str, &[u8]) -> io::Result<()> + 'a;

/// Finds a run of a report with everything that was recorded of it, for the one file that has all of that.
pub type Series<'a> = dyn FnMut(&RunReport) -> io::Result<RunReport> + 'a;

/// Writes every result file piece by piece, one file after the other. Each gets at least one piece.
pub fn files(report: &Report, series: &mut Series<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
    let [results, runs, samples, histograms, page] = FILE_NAMES;
    in_pieces(results, sink, |out| json::write(report, out))?;
    in_pieces(runs, sink, |out| csv::runs(report, out))?;
    in_pieces(samples, sink, |out| csv::samples(report, series, out))?;
    in_pieces(histograms, sink, |out| hgrm::write(report, out))?;
    in_pieces(page, sink, |out| html::write(report, out))
}

fn in_pieces(name: &str, sink: &mut Sink<'_>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut pieces = Pieces { name, sink, begun: false };
    let mut buffered = io::BufWriter::with_capacity(PIECE_BYTES, &mut pieces);
    let written = write(&mut buffered).and_then(|()| buffered.flush());
    drop(buffered.into_parts()); // dropping the writer itself would offer a failed sink the rest once more
    written?;
    if pieces.begun { Ok(()) } else { (pieces.sink)(name, &[]) }
}

struct Pieces<'a, 's> {
    name: &'a str,
    sink: &'a mut Sink<'s>,
    begun: bool,
}

impl Write for Pieces<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun = true;
        (self.sink)(self.name, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
