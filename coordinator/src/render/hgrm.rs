//! `histograms.hgrm`: the latencies of each run and transaction kind as percentile distributions, in the text format
//! that HdrHistogram's plotters read (milliseconds). Sections are set apart by comment lines.

use std::io::{self, Write};

use super::doubts::WITHHELD;
use crate::analysis::latency::Latency;
use crate::analysis::{KindLatencies, Report, RunReport};

const NS_PER_MS: f64 = 1e6;
/// Steps for each halving of the distance to 100 %, HdrHistogram's own default.
const STEPS_PER_HALF: u32 = 5;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {}: latencies inside the measured windows, in milliseconds", report.study_id)?;
    if report.withheld {
        return writeln!(out, "# {WITHHELD}");
    }
    for cell in &report.cells {
        let runs: Vec<_> = report
            .runs
            .iter()
            .filter(|run| run.variant == cell.variant && run.profile == cell.profile)
            .filter(|run| run.counts())
            .collect();
        let cell = format!("variant {} profile {}", cell.variant, cell.profile);
        merged(&cell, &runs, out)?;
        for run in runs {
            for kind in &run.latencies {
                let name = format!("{cell} run {}", run.run);
                section(&format!("{name} {} response", kind.kind), &read(&kind.response)?, out)?;
                section(&format!("{name} {} service", kind.kind), &read(&kind.service)?, out)?;
            }
        }
    }
    Ok(())
}

/// All runs of a cell together: for looking at, not for intervals.
fn merged(cell: &str, runs: &[&RunReport], out: &mut dyn Write) -> io::Result<()> {
    let mut kinds: Vec<&str> = runs.iter().flat_map(|run| &run.latencies).map(|kind| kind.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        for (what, bytes) in [("response", response as fn(&KindLatencies) -> &[u8]), ("service", service)] {
            let mut sum = Latency::default();
            for latencies in runs.iter().flat_map(|run| &run.latencies).filter(|it| it.kind == kind) {
                sum.add(&read(bytes(latencies))?);
            }
            section(&format!("{cell} all runs {kind} {what}"), &sum, out)?;
        }
    }
    Ok(())
}

fn response(latencies: &KindLatencies) -> &[u8] {
    &latencies.response
}

fn service(latencies: &KindLatencies) -> &[u8] {
    &latencies.service
}

fn read(bytes: &[u8]) -> io::Result<Latency> {
    Latency::read(bytes).map_err(io::Error::other)
}

fn section(name: &str, latency: &Latency, out: &mut dyn Write) -> io::Result<()> {
    let histogram = latency.histogram();
    writeln!(out, "\n# {name}")?;
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let mut total = 0;
    for step in histogram.iter_quantiles(STEPS_PER_HALF) {
        total += step.count_since_last_iteration();
        let value = step.value_iterated_to() as f64 / NS_PER_MS;
        let quantile = step.quantile_iterated_to();
        write!(out, "{value:>12.3} {quantile:>2.12} {total:>10}")?;
        match quantile < 1.0 {
            true => writeln!(out, " {:>14.2}", 1.0 / (1.0 - quantile))?,
            false => writeln!(out)?,
        }
    }
    let (mean, deviation) = (histogram.mean() / NS_PER_MS, histogram.stdev() / NS_PER_MS);
    writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]")?;
    let max = histogram.max() as f64 / NS_PER_MS;
    writeln!(out, "#[Max     = {max:>12.3}, Total count    = {:>12}]", latency.count())?;
    writeln!(out, "#[Buckets = {:>12}, SubBuckets     = {:>12}]", histogram.buckets(), 2048)
}
